"""Controls: the same suite once more with changed expectations, which honest work must fail.

A candidate that makes every test pass makes the changed ones pass too. A changed test *counts* when it is certain to
fail for an honest candidate that passed the real one; a counted test that passes is forged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Controls:
    """What the controls of one check said."""

    kind: Literal["twin"]
    changed: int  # passed tests whose expectation was changed in the twin
    counted: int  # of those, how many must fail
    wrong: tuple[str, ...]  # counted ones that passed all the same
    coverage: float  # counted / passed; 0 when there is a problem
    problem: str = ""  # why there are no controls, or none that came to their end

    @property
    def hold(self) -> bool:
        """Whether there were any, and they came to their end."""
        return self.counted > 0 and not self.problem

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "wrong": list(self.wrong)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Controls:
        return cls(**{**data, "wrong": tuple(data["wrong"])})
