"""What a model is to score, and the score that it gives."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, NamedTuple

from steelyard.deferred.data_class import dataclass

RUBRIC_BYTES = 50_000


@dataclass(frozen=True, slots=True)
class ModelScore:
    """One model's score. Without one, `answered` says whether it said anything at all."""

    model: str
    score: float | None = None
    reasoning: str = ""
    steered: bool = False
    answered: bool = False
    error: str = ""
    asked: bool = True  # a request was sent; False: there is no key
    tokens_in: int | None = None
    tokens_out: int | None = None

    @property
    def readable(self) -> bool:
        return self.score is not None and not self.steered

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


class ScoredWork(NamedTuple):
    """What is scored, and against what."""

    rubric: str
    brief: str
    diff: str
