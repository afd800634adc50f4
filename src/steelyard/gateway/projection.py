"""An answer while it streams -> what it costs so far, at each chunk, and samples of that for its event.

    "projected": [{"chunk": 1, "tokens": 1012, "usd": 0.0051, "units": 0.0}, ...]     at most `MOST_SAMPLES`, the last chunk last

Before the server reports the tokens of the prompt, they are those that were reserved. For a fixed prompt the price of a model
is linear in the tokens of the answer, so the price list is asked once for each prompt, and not for each chunk.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any, NamedTuple

from steelyard.providers.answer import AnswerMeter
from steelyard.providers.prices import UNITS_CHARACTER, Cost
from steelyard.providers.usage import Usage

MOST_SAMPLES = 8
_MANY = 1_000_000  # tokens; the price of one may be smaller than what a price list rounds to


class UsageProjection(NamedTuple):
    """What an answer uses if it ends here."""

    tokens: int
    usd: Decimal
    units: Decimal


class Projection:
    """Of one answer, fed after each chunk."""

    def __init__(self, cost: Callable[[Usage, int], Cost], prompt_tokens: int) -> None:
        self._cost = cost
        self._prompt = Usage(prompt_tokens)
        self._priced: Usage | None = None  # the prompt whose price is known
        self._base = self._each = Decimal(0)
        self._in_units = False
        self._chunks = 0
        self._stride = 1
        self._last: UsageProjection | None = None
        self._samples: list[tuple[int, UsageProjection]] = []

    def feed(self, meter: AnswerMeter) -> UsageProjection:
        """After the meter has read the next chunk."""
        if meter.usage is not None:
            self._prompt = replace(meter.usage, tokens_out=0, reasoning=0)
        if self._prompt != self._priced:
            self._price()
        tokens = self._prompt.tokens_in + meter.output_tokens
        if self._in_units:
            now = UsageProjection(tokens, Decimal(0), self._base + UNITS_CHARACTER * meter.output_chars)
        else:
            now = UsageProjection(tokens, self._base + self._each * meter.output_tokens, Decimal(0))
        self._sample(now)
        return now

    def to_json(self) -> list[dict[str, Any]]:
        samples = list(self._samples)
        if self._last is not None and samples[-1][0] != self._chunks:
            samples.append((self._chunks, self._last))
        return [
            {"chunk": chunk, "tokens": one.tokens, "usd": float(one.usd), "units": float(one.units)}
            for chunk, one in samples
        ]

    def _price(self) -> None:
        base, many = self._cost(self._prompt, 0), self._cost(replace(self._prompt, tokens_out=_MANY), 0)
        self._priced = self._prompt
        self._in_units = base.units is not None
        self._base = base.units if base.units is not None else base.usd or Decimal(0)
        self._each = ((many.usd or Decimal(0)) - (base.usd or Decimal(0))) / _MANY

    def _sample(self, now: UsageProjection) -> None:
        """Evenly spread over the chunks so far: when there are too many, every second one is dropped."""
        self._chunks += 1
        self._last = now
        if (self._chunks - 1) % self._stride:
            return
        if len(self._samples) == MOST_SAMPLES - 1:
            self._samples = self._samples[::2]
            self._stride *= 2
            if (self._chunks - 1) % self._stride:
                return
        self._samples.append((self._chunks, now))
