"""What a test runner is asked to run: a grader's options, made concrete."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from steelyard.bench.outcome import CheckOutcome
from steelyard.contract.threshold import is_enough
from steelyard.deferred.data_class import dataclass
from steelyard.deferred.named_tuple import NamedTuple


class Decision(NamedTuple):
    """What a grader makes of a report: the outcome, the share of the credit, why, and which ids did not pass."""

    outcome: CheckOutcome
    score: float
    why: str
    failing: tuple[str, ...] = ()

    def at(self, pass_threshold: float) -> CheckOutcome:
        """The outcome where a part is enough; nothing at all is never enough, and an error stays one."""
        if self.outcome == "error":
            return "error"
        return "pass" if self.score > 0 and is_enough(self.score, pass_threshold) else "fail"


@dataclass(frozen=True, slots=True)
class Suite:
    """One command that runs tests, ready for a sandbox that has the tree in it."""

    command: str
    argv: tuple[str, ...] = ()  # the command's words; () when only a shell can make sense of it
    env: Mapping[str, str] = field(default_factory=dict)  # the contract's, and those before the command
    cwd: str = ""  # relative to the workspace
    timeout_s: float = 900.0
    report: str = ""
    isolation: Literal["suite", "process"] = "suite"
    declared: tuple[str, ...] = ()
    only: tuple[str, ...] = ()  # ids of the tests that are run; () for all. Only the Python runners obey it
    changed: frozenset[str] = frozenset()  # paths of the change, without its tests
    theirs: frozenset[str] = frozenset()  # words of argv that lead to a file of the change
    # Changed files with settings of runners, as they were
    settings: Mapping[str, str] = field(default_factory=dict)
    own_modules: frozenset[str] = frozenset()  # names of Python modules that the snapshot itself provides

    @property
    def trusted(self) -> frozenset[str]:
        """The words of the command that lead to nothing of the change's."""
        return frozenset(self.argv) - self.theirs
