"""Requests to judging models -> what they cost: an item of a run's cost of its own, in no cap of the agent's.

    {"usd": 0.031, "method": "library", "id": "genai-prices 0.2.1",
     "quantities": {"judge_request/call": 1, "judge_input/token": 5210, "judge_output/token": 340}}

Prices are the rows `judge_request` (call, token), `judge_input` and `judge_output` (token) of the operator's list; a list without
them prices no judge, and then the makers' prices apply. Prices of the agent's models (`llm_...`) do not: a judge is another model.
With a price of input alone, or of output alone, the cost of a request is not known.
A request whose tokens or whose price is not known makes `usd` null, never 0. An opinion that is reused costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, NamedTuple

from steelyard.judge import panel as judge_panel
from steelyard.judge import provider
from steelyard.providers import prices as makers_prices
from steelyard.providers import usage

TOKENS_PER_BYTE = 0.5  # of a prompt, at most; real ones have a third
_CALL, _TOKEN, _IN, _OUT = (
    "judge_request/call",
    "judge_request/token",
    "judge_input/token",
    "judge_output/token",
)
_ROWS = (_CALL, _TOKEN, _IN, _OUT)
Rows = Mapping[str, float]  # of the price list: action_type/unit -> unit_price


class Request(NamedTuple):
    """One model that was asked. None: it did not say."""

    model: str  # as the contract names it
    tokens_in: int | None
    tokens_out: int | None


class _Price(NamedTuple):
    usd: Decimal | None
    method: str | None
    id: str | None


def requests_of(opinions: Iterable[Mapping[str, Any]]) -> list[Request]:
    """Those of the opinions, as a grading records them, that were paid for."""
    return [
        Request(str(one.get("model", "")), one.get("tokens_in"), one.get("tokens_out"))
        for one in opinions
        if one.get("asked", True) and not one.get("reused", False)
    ]


def judge_cost(requests: Iterable[Request], rows: Rows) -> dict[str, Any] | None:
    """The item `judge` of a run's cost; None where no model was asked. `rows` are those of the operator's price list."""
    asked = list(requests)
    if not asked:
        return None
    prices = [_price(one, rows) for one in asked]
    amounts = [one.usd for one in prices]
    known = [usd for usd in amounts if usd is not None]
    priced = next((one for one in prices if one.method is not None), _Price(None, None, None))
    return {
        "usd": round(float(sum(known)), 6) if len(known) == len(amounts) else None,
        "method": priced.method,
        "id": priced.id,
        "quantities": {
            _CALL: len(asked),
            _IN: _sum(one.tokens_in for one in asked),
            _OUT: _sum(one.tokens_out for one in asked),
        },
    }


def most_usd(panel: judge_panel.Panel, prompt_bytes: int, rows: Rows) -> float:
    """What one question to the panel may cost; a model without a price adds nothing."""
    total = Decimal(0)
    for one in panel.jurors:
        if one.missing or one.provider is None:
            continue
        body = one.provider.body(one.name, "", "")
        output = int(body.get("max_tokens") or body.get("max_completion_tokens") or 0)
        question = Request(one.model, int(prompt_bytes * TOKENS_PER_BYTE), output)
        total += _price(question, rows).usd or Decimal(0)
    return float(total)


def _price(request: Request, rows: Rows) -> _Price:
    if request.tokens_in is None or request.tokens_out is None:
        return _Price(None, None, None)
    if any(name in rows for name in _ROWS):
        by_call = not any(name in rows for name in (_TOKEN, _IN, _OUT))
        each = rows.get(_TOKEN, 0.0 if by_call else None)
        into, out = rows.get(_IN, each), rows.get(_OUT, each)
        if into is None or out is None:  # a list that prices one side only
            return _Price(None, None, None)
        tokens = Decimal(str(into)) * request.tokens_in + Decimal(str(out)) * request.tokens_out
        return _Price(Decimal(str(rows.get(_CALL, 0.0))) + tokens, "csv", None)
    maker = provider.maker_of(request.model)
    if maker is None:
        return _Price(None, None, None)
    used = usage.Usage(request.tokens_in, request.tokens_out)
    cost = makers_prices.Prices().cost(maker.provider.name, maker.name, used, 0)
    return _Price(cost.usd, cost.method, cost.id) if cost.usd is not None else _Price(None, None, None)


def _sum(tokens: Iterable[int | None]) -> int | None:
    found = list(tokens)
    return None if None in found else sum(one or 0 for one in found)
