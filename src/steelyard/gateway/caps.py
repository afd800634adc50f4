"""Caps of a run on tokens, cost and model calls -> a reservation before each request, and the end of the run.

    reserve    prompt + most output, in tokens and in dollars or units     before a request is forwarded
    overshoot  what an answer uses so far is more than the caps leave      at each chunk; the answer is cut there
    charge     what was really used takes the place of the reservation     when its answer has ended

A request whose prompt fits but whose whole answer does not gets the rest as its allowance, and its answer is cut there.
While other requests are under way and hold reservations, a request that does not fit waits for them; so requests at the
same time cannot exceed a cap together. When nothing is under way and a request does not fit, the cap is reached.

How many tokens a prompt has only the provider knows. It is estimated from its bytes: half of them at first, then by the
largest ratio that this run has seen, between a third and one, plus the most that a prompt had beyond its bytes. Until the
first answer has taught the ratio, requests near a cap go one at a time. A stream that reports the tokens of its prompt is cut
at once if these do not fit. So the most that a run can exceed a cap by is the error of one estimate.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import field
from decimal import Decimal

from steelyard.deferred.data_class import dataclass
from steelyard.evidence.trace.termination import Termination
from steelyard.gateway.projection import UsageProjection
from steelyard.providers.answer import BYTES_IN_TOKEN
from steelyard.providers.prices import UNITS_CHARACTER, UNITS_REQUEST, Cost
from steelyard.providers.usage import Usage

BLIND_FACTOR = 20
FIRST_RATIO, LEAST_RATIO, MARGIN = 0.5, 1 / 3, 1.1  # tokens of a prompt for each of its bytes


@dataclass(frozen=True, slots=True)
class Caps:
    """None is no cap. The contract's budget, less what is kept for acceptance."""

    tokens: int | None = None
    cost_usd: Decimal | None = None
    cost_units: Decimal | None = None
    model_calls: int | None = None


class CapReached(Exception):
    """No further request of the run is forwarded."""

    def __init__(self, code: Termination, budget: str, used: float, cap: float) -> None:
        super().__init__(f"{used:g} of {cap:g} {_WORDS[budget]} are used")
        self.code = code
        self.budget = budget  # the contract's key
        self.used, self.cap = used, cap


_WORDS = {
    "tokens": "tokens",
    "cost_usd": "USD",
    "cost_units": "cost units",
    "model_calls": "model calls",
    "gateway_requests": "requests to the gateway",
}


@dataclass(frozen=True, slots=True)
class RequestNeed:
    """What a request may use."""

    prompt_bytes: int
    max_output: int  # tokens
    cost: Callable[[Usage, int], Cost]  # of a usage and characters of an answer


@dataclass(eq=False, slots=True)
class Reservation:
    """Held while a request is under way."""

    need: RequestNeed
    tokens: int
    usd: Decimal
    units: Decimal
    output: int  # tokens that the answer may have
    is_cut: bool  # fewer than the request asks for


@dataclass
class ModelBudget:
    """Used on the loop of the gateway only."""

    caps: Caps = Caps()
    tokens: int = 0
    usd: Decimal = Decimal(0)
    units: Decimal = Decimal(0)
    calls: int = 0
    ratio: float = FIRST_RATIO
    overhead: int = 0  # tokens that a provider counts beyond one for each byte
    _held: set[Reservation] = field(default_factory=set)
    _settled: asyncio.Condition | None = None
    _seen_ratio: float = 0.0

    async def reserve(self, need: RequestNeed) -> Reservation:
        """Raises CapReached."""
        self._settled = self._settled or asyncio.Condition()
        async with self._settled:
            while True:
                try:
                    reservation = self._fit(need)
                except CapReached:
                    if not self._held:
                        raise
                else:
                    if not (self._held and self._is_blind(reservation)):
                        self._held.add(reservation)
                        self.calls += 1
                        return reservation
                await self._settled.wait()

    def overshoot(self, reservation: Reservation, so_far: UsageProjection) -> str:
        """How much the budget had left for an answer that exceeds it; empty while the answer fits.

        An answer that exceeds its reservation takes what no other request holds, and its reservation grows.
        """
        if (
            so_far.tokens <= reservation.tokens
            and so_far.usd <= reservation.usd
            and so_far.units <= reservation.units
        ):
            return ""
        others = [one for one in self._held if one is not reservation]
        caps = self.caps
        rows: tuple[tuple[str, Decimal | int, Decimal | int, Decimal | int | None], ...] = (
            ("tokens", so_far.tokens, self.tokens + sum(one.tokens for one in others), caps.tokens),
            ("USD", so_far.usd, self.usd + sum(one.usd for one in others), caps.cost_usd),
            ("cost units", so_far.units, self.units + sum(one.units for one in others), caps.cost_units),
        )
        for word, used, taken, cap in rows:
            if cap is not None and used and taken + used > cap:
                return f"{max(cap - taken, 0):,} {word}"
        reservation.tokens = max(reservation.tokens, so_far.tokens)
        reservation.usd = max(reservation.usd, so_far.usd)
        reservation.units = max(reservation.units, so_far.units)
        return ""

    def charge(self, reservation: Reservation, usage: Usage | None, cost: Cost | None) -> None:
        """With what was really used; nothing where no answer came. The second call for a reservation does nothing."""
        if reservation not in self._held:
            return
        self._held.discard(reservation)
        if usage is not None:
            self.tokens += usage.tokens
            if not usage.estimated:
                self._learn(usage.tokens_in, reservation.need.prompt_bytes)
        if cost is not None:
            self.usd += cost.usd or 0
            self.units += cost.units or 0
        if self._settled is not None:
            condition = self._settled
            asyncio.get_running_loop().create_task(_notify(condition))

    def reached(self) -> CapReached | None:
        """The first cap that what is used has come to."""
        for code, budget, used, cap in self._state():
            if cap is not None and used >= cap and budget != "model_calls":
                return CapReached(code, budget, float(used), float(cap))
        return None

    def _state(self) -> tuple[tuple[Termination, str, Decimal | int, Decimal | int | None], ...]:
        caps = self.caps
        return (
            ("token_cap", "tokens", self.tokens, caps.tokens),
            ("cost_cap", "cost_usd", self.usd, caps.cost_usd),
            ("cost_cap", "cost_units", self.units, caps.cost_units),
            ("model_call_cap", "model_calls", self.calls, caps.model_calls),
        )

    def _fit(self, need: RequestNeed) -> Reservation:
        """The largest answer that fits beside everything that is used or held; raises CapReached for none."""
        caps = self.caps
        if caps.model_calls is not None and self.calls >= caps.model_calls:
            raise CapReached("model_call_cap", "model_calls", self.calls, caps.model_calls)
        prompt = int(need.prompt_bytes * self.ratio) + self.overhead + 1
        most = max(need.max_output, 1)
        if caps.tokens is not None:
            free = caps.tokens - self.tokens - sum(one.tokens for one in self._held)
            if free <= prompt:
                raise CapReached("token_cap", "tokens", self.tokens, caps.tokens)
            most = min(most, free - prompt)
        most, usd, units = self._affordable(need, prompt, most)
        return Reservation(need, prompt + most, usd, units, most, is_cut=most < need.max_output)

    def _is_blind(self, reservation: Reservation) -> bool:
        """Whether the ratio is not known yet, and a wrong one could matter."""
        if self._seen_ratio:
            return False
        caps, many = self.caps, BLIND_FACTOR
        return (
            (caps.tokens is not None and caps.tokens - self.tokens < many * reservation.tokens)
            or (caps.cost_usd is not None and caps.cost_usd - self.usd < many * reservation.usd)
            or (caps.cost_units is not None and caps.cost_units - self.units < many * reservation.units)
        )

    def _affordable(self, need: RequestNeed, prompt: int, most: int) -> tuple[int, Decimal, Decimal]:
        """The most output up to `most`, and its price in dollars and units."""
        usd, units = _prices(need, prompt, most)
        if self._fits_both(usd, units):
            return most, usd, units
        usd, units = _prices(need, prompt, 1)
        if not self._fits_both(usd, units):
            budget = "cost_usd" if usd else "cost_units"
            used, cap = (self.usd, self.caps.cost_usd) if usd else (self.units, self.caps.cost_units)
            raise CapReached("cost_cap", budget, float(used), float(cap or 0))
        low, high = 1, most
        while high - low > 1:
            middle = (low + high) // 2
            fits = self._fits_both(*_prices(need, prompt, middle))
            low, high = (middle, high) if fits else (low, middle)
        return low, *_prices(need, prompt, low)

    def _fits_both(self, usd: Decimal, units: Decimal) -> bool:
        held_usd = sum((one.usd for one in self._held), Decimal(0))
        held_units = sum((one.units for one in self._held), Decimal(0))
        return _fits(self.usd + held_usd + usd, usd, self.caps.cost_usd) and _fits(
            self.units + held_units + units, units, self.caps.cost_units
        )

    def _learn(self, tokens_in: int, prompt_bytes: int) -> None:
        self._seen_ratio = max(self._seen_ratio, tokens_in / max(prompt_bytes, 1))
        self.ratio = max(LEAST_RATIO, min(1.0, self._seen_ratio * MARGIN))
        self.overhead = max(self.overhead, tokens_in - prompt_bytes)


async def _notify(condition: asyncio.Condition) -> None:
    async with condition:
        condition.notify_all()


def _prices(need: RequestNeed, prompt: int, output: int) -> tuple[Decimal, Decimal]:
    chars = output * BYTES_IN_TOKEN
    cost = need.cost(Usage(prompt, output), chars)
    if cost.units is not None:
        return Decimal(0), UNITS_REQUEST + UNITS_CHARACTER * chars
    return cost.usd or Decimal(0), Decimal(0)


def _fits(total: Decimal, own: Decimal, cap: Decimal | None) -> bool:
    """A request that costs nothing of this kind fits always."""
    return cap is None or own == 0 or total <= cap
