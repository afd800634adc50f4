"""Tokens of a model -> what they cost: by a price list of the operator's, by genai-prices, or in abstract units.

    --cost-model FILE    action_type,unit,unit_price,notes        the operator's list; it is asked first
                         llm_request,token,0.000002,every token of a request
                         llm_request,call,0.001,each request
                         llm_input | llm_output | llm_cache_read | llm_cache_write,token,...   instead of one price for all
    genai-prices         the makers' prices, by the name of the model; the name that it matched is recorded
    fallback/1           a model without a price: 1 + 0.001 x characters of the answer, in units; its dollars are unknown

What something costs is never 0 because its price is unknown.
"""

from __future__ import annotations

import csv
import functools
import hashlib
from collections.abc import Mapping
from dataclasses import field
from decimal import Decimal, InvalidOperation
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from steelyard.deferred.data_class import dataclass
from steelyard.errors import OperatorFault
from steelyard.evidence.fallback_units import FALLBACK
from steelyard.providers.usage import Usage

UNITS_REQUEST, UNITS_CHARACTER = Decimal(1), Decimal("0.001")
MOST_CSV_BYTES = 1 << 20
_TOKEN_ACTIONS = ("llm_input", "llm_output", "llm_cache_read", "llm_cache_write")
_MAKERS = {"anthropic": "anthropic", "openai": "openai", "gemini": "google"}

# What runs, judges and people are metered by: a row of another name prices nothing.
METERED = frozenset(
    {
        *(
            f"{action}/token"
            for action in (*_TOKEN_ACTIONS, "llm_request", "judge_request", "judge_input", "judge_output")
        ),
        *("llm_request/call", "judge_request/call", "exec/minute", "tool_call/call", "provisioning/start"),
        *("human/minute", "overhead/run", "artifact_storage/gigabyte-day"),
    }
)

Method = Literal["csv", "library", "fallback"]


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one request. In dollars, or in units where no price is known: exactly one of the two."""

    usd: Decimal | None
    units: Decimal | None
    method: Method
    id: str  # "sha256:..." of the list, "genai-prices 0.2.1", "fallback/1"
    matched_model: str | None = None  # as the library calls it

    def to_json(self) -> dict[str, Any]:
        return {
            "usd": None if self.usd is None else float(self.usd),
            "units": None if self.units is None else float(self.units),
            "method": self.method,
            "id": self.id,
            "matched_model": self.matched_model,
        }


@dataclass(frozen=True, slots=True)
class CostModel:
    """The rows of an operator's price list, and its digest."""

    sha256: str
    rows: Mapping[tuple[str, str], Decimal] = field(repr=False)  # (action_type, unit) -> unit_price

    @property
    def by_name(self) -> dict[str, float]:
        """Each price by `action_type/unit`."""
        return {f"{action}/{unit}": float(price) for (action, unit), price in sorted(self.rows.items())}

    @property
    def unmetered(self) -> list[str]:
        """Rows that price nothing: a misspelt name, or another unit than the one that is metered."""
        return [name for name in self.by_name if name not in METERED]

    @property
    def prices_requests(self) -> bool:
        return any(action == "llm_request" or action in _TOKEN_ACTIONS for action, _ in self.rows)

    def price(self, action: str, unit: str) -> Decimal | None:
        return self.rows.get((action, unit))

    def request_usd(self, usage: Usage) -> Decimal:
        each = self.price("llm_request", "token") or Decimal(0)
        read, write = usage.cache_read, usage.cache_write
        kinds = (usage.tokens_in - read - write, usage.tokens_out, read, write)
        fresh = self.price("llm_input", "token")
        total = self.price("llm_request", "call") or Decimal(0)
        for action, tokens in zip(_TOKEN_ACTIONS, kinds, strict=True):
            price = self.price(action, "token")
            if price is None:
                price = fresh if action.startswith("llm_cache") and fresh is not None else each
            total += price * tokens
        return total


@dataclass(frozen=True, slots=True)
class Prices:
    """How the requests of a run are priced."""

    cost_model: CostModel | None = None

    @property
    def id(self) -> str:
        if self.cost_model is not None and self.cost_model.prices_requests:
            return f"sha256:{self.cost_model.sha256}"
        return library_id()

    def cost(self, provider: str, model: str, usage: Usage, chars: int) -> Cost:
        """`chars`: of the answer's text, for the fallback."""
        if self.cost_model is not None and self.cost_model.prices_requests:
            return Cost(self.cost_model.request_usd(usage), None, "csv", self.id)
        priced = _library_price(provider, model, usage)
        if priced is not None:
            return priced
        return Cost(None, UNITS_REQUEST + UNITS_CHARACTER * chars, "fallback", FALLBACK)


def read_cost_model(path: Path) -> CostModel:
    """Raises OperatorFault that names the line."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise OperatorFault(f"--cost-model {path}: {error.strerror}") from error
    if len(data) > MOST_CSV_BYTES:
        raise OperatorFault(f"--cost-model {path}: more than {MOST_CSV_BYTES >> 20} MiB")
    try:
        lines = list(csv.DictReader(data.decode("utf-8-sig").splitlines()))
    except UnicodeDecodeError as error:
        raise OperatorFault(f"--cost-model {path}: not a CSV file: it is not UTF-8 text") from error
    except csv.Error as error:
        raise OperatorFault(f"--cost-model {path}: not a CSV file: {error}") from error
    missing = {"action_type", "unit", "unit_price"} - set(lines[0] if lines else ())
    if missing:
        raise OperatorFault(f"--cost-model {path}: no column {', '.join(sorted(missing))}, or no row")
    rows: dict[tuple[str, str], Decimal] = {}
    for number, line in enumerate(lines, start=2):
        key = (str(line["action_type"] or "").strip(), str(line["unit"] or "").strip())
        if key in rows:
            raise OperatorFault(f"--cost-model {path}:{number}: {key[0]} per {key[1]} is there twice")
        rows[key] = _price(line["unit_price"], f"--cost-model {path}:{number}")
    return CostModel(hashlib.sha256(data).hexdigest(), rows)


def _price(text: Any, where: str) -> Decimal:
    try:
        price = Decimal(str(text or "").strip())
    except InvalidOperation as error:
        raise OperatorFault(f"{where}: unit_price {str(text)[:40]!r} is not a number") from error
    if not price.is_finite() or price < 0:
        raise OperatorFault(f"{where}: unit_price is {price}, and must be 0 or more")
    return price


@functools.cache
def library_id() -> str:
    return f"genai-prices {version('genai-prices')}"


def _library_price(provider: str, model: str, usage: Usage) -> Cost | None:
    import genai_prices  # noqa: PLC0415  # a fifth of a second to load

    if not model:
        return None
    try:
        found = genai_prices.calc_price(
            genai_prices.Usage(
                input_tokens=usage.tokens_in,
                output_tokens=usage.tokens_out,
                cache_read_tokens=usage.cache_read,
                cache_write_tokens=usage.cache_write,
                **({"cache_write_1h_tokens": usage.cache_write_1h} if usage.cache_write_1h else {}),
            ),
            model,
            provider_id=_MAKERS[provider],
        )
    except (LookupError, ValueError):
        return None
    return Cost(found.total_price, None, "library", library_id(), found.model.id)
