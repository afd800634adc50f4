"""Events of the model gateway -> tokens, cost and calls of a run; what is not known is None, never 0.

Only events of the harness count. What an agent reports of itself (`model.response` by the actor `agent`) is a claim.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from steelyard.deferred.data_class import dataclass

NO_REQUEST = "no request"  # the method of a `cost` event: the gateway was open, and nothing went through it
_TOKENS = ("tokens_in", "tokens_out")
_PARTS = ("cache_read", "cache_write", "reasoning")


@dataclass(slots=True)
class ModelUsage:
    """Sums over the gateway's events."""

    calls: int = 0  # requests that ask a model for an answer
    responses: int = 0
    errors: int = 0
    claims: int = 0  # answers that only the agent reports
    estimated: int = 0  # answers whose tokens no server counted
    waited_ns: int = 0  # for overloaded upstreams; parallel waits once
    usd: float | None = None
    units: float | None = None
    unpriced: int = 0  # answers without a price in dollars
    method: str | None = None
    prices: str | None = None  # which price list
    models: dict[str, int] = field(default_factory=dict)  # as the price list calls them -> answers
    parts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_PARTS, 0))
    metered: int = 0  # answers whose tokens are known
    tokens_in: int = 0
    tokens_out: int = 0
    is_silent: bool = False  # the gateway was open, and nothing went through it

    @property
    def usage(self) -> tuple[int, int] | None:
        """Tokens in, tokens out; not known unless every answer has both."""
        if self.is_silent and not self.responses:
            return 0, 0
        if not self.metered or self.metered != self.responses:
            return None
        return self.tokens_in, self.tokens_out

    @property
    def cost_usd(self) -> float | None:
        """Not known as soon as one answer has no price."""
        return None if self.unpriced else self.usd

    def add(self, kind: str, actor: str, payload: Mapping[str, Any]) -> None:
        if actor != "harness":
            self.claims += kind == "model.response"
        elif kind == "model.request":
            self.calls += payload.get("metered") is not False
        elif kind == "model.response":
            self._add_response(payload.get("usage"))
        elif kind == "model.error":
            self.errors += 1
        elif kind == "model.wait":
            self.waited_ns = max(self.waited_ns, _count(payload.get("total_ns")) or 0)
        elif kind == "cost":
            self._add_cost(payload)

    def _add_response(self, usage: Any) -> None:
        self.responses += 1
        if not isinstance(usage, dict):
            return
        used = [_count(usage.get(name)) for name in _TOKENS]
        if used[0] is not None and used[1] is not None:
            self.metered += 1
            self.tokens_in += used[0]
            self.tokens_out += used[1]
        self.estimated += usage.get("estimated") is True
        for name in _PARTS:
            self.parts[name] += _count(usage.get(name)) or 0

    def _add_cost(self, payload: Mapping[str, Any]) -> None:
        usd, units = _amount(payload.get("usd")), _amount(payload.get("units"))
        self.is_silent = self.is_silent or payload.get("method") == NO_REQUEST
        if usd is not None:
            self.usd = (self.usd or 0.0) + usd
        elif units is not None:
            self.units = (self.units or 0.0) + units
            self.unpriced += 1
        self.method = str(payload.get("method") or "") or self.method
        self.prices = str(payload.get("id") or "") or self.prices
        matched = payload.get("matched_model")
        if isinstance(matched, str):
            self.models[matched] = self.models.get(matched, 0) + 1


def _count(value: Any) -> int | None:
    return value if type(value) is int and value >= 0 else None


def _amount(value: Any) -> float | None:
    return (
        float(value)
        if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
        else None
    )
