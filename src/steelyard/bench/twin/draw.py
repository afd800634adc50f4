"""A secret of one grading -> in which of the two runs of a suite each test is changed.

    run 0     a   B   C   d   e         capitals: tests with a wrong expectation
    run 1     A   b   c   D   E

No run is the real one. Each test is changed in one of the two runs, by a coin of its own, so code that finds out that one
test is changed knows nothing of the others. The secret never enters a sandbox; the record has it once the runs have ended.

Tests that depend on each other cannot be changed one by one: a changed test that fails may take the next one with it. On a
trusted tree it is found out how fine the coins may be: one for each test, class, file, or one for the whole suite.
"""

from __future__ import annotations

import secrets
from typing import Literal

from steelyard.bench.twin.base import draw_number
from steelyard.deferred.data_class import dataclass

Grain = Literal["test", "class", "file", "suite"]
GRAINS: tuple[Grain, ...] = ("test", "class", "file", "suite")  # finest first
SECRET_BYTES = 16


@dataclass(frozen=True, slots=True)
class Draw:
    secret: bytes
    grain: Grain = "test"

    @classmethod
    def new(cls, grain: Grain = "test") -> Draw:
        return cls(secrets.token_bytes(SECRET_BYTES), grain)

    def changed_in(self, file: str, unit: str) -> int:
        """The run, 0 or 1, in which this test is changed."""
        return draw_number(self.secret, "coin", *self._group(file, unit)) & 1

    def values(self, file: str) -> bytes:
        """The secret from which the new values of one file are drawn."""
        return draw_number(self.secret, "values", file).to_bytes(8, "big") + self.secret

    def _group(self, file: str, unit: str) -> tuple[str, ...]:
        match self.grain:
            case "test":
                return file, unit
            case "class":
                return file, _around(unit)
            case "file":
                return (file,)
        return ()


def _around(unit: str) -> str:
    """The class of a Python test, the suite of a JavaScript one."""
    return unit.rpartition("::")[0] or unit.rpartition(" > ")[0]
