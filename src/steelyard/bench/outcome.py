"""How one check ended on the bench -> `checks/<id>/outcome.json`.

{"schema": "steelyard.outcome/1", "id": "hidden", "under": "acceptance", "outcome": "fail", "why": "exit 1",
 "argv": ["/bin/sh", "-c", "..."], "exit": 1, "started": true, "ceiling_s": 900, "observed_s": 0.4,
 "start": 1201, "end": 1602, "failing": [], "stdout": {"digest", "bytes", "prefix", "tail", "blob", "cut"}, "stderr": {...},
 "runs": ["fail"], "notes": ["out of memory"],
 "oracle": "twin", "score": 0.5, "reported": {"runner", "channel", "counts", "results", ...}, "controls": {...}}

The last three are null for a check that runs no tests.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from steelyard.bench.kept_output import OutputStore
from steelyard.bench.suite import controls as suite_controls
from steelyard.bench.suite import reported as suite_report
from steelyard.bench.verifier import reward_files
from steelyard.deferred.data_class import dataclass
from steelyard.evidence.output_view import SHOWN_BYTES
from steelyard.sandboxes.base import CapturedOutput

CheckOutcome = Literal["pass", "fail", "error"]
OracleKind = Literal["in_process", "twin", "split"]
Limit = Literal["memory", "disk", "processes"]
# A limit of the check's sandbox -> the note of an outcome that says that it was reached.
REACHED: Mapping[Limit, str] = {
    "memory": "out of memory",
    "disk": "disk full",
    "processes": "processes refused",
}
SCHEMA = "steelyard.outcome/1"


@dataclass(frozen=True, slots=True)
class Stream:
    """What is kept of an output stream: its digest and size always, its two ends, and a blob where those are not all."""

    digest: str
    bytes: int
    prefix: str = ""
    tail: str = ""
    blob: str | None = None
    cut: int = 0  # bytes that the run does not have

    @classmethod
    def of(cls, captured: CapturedOutput, store: OutputStore | None) -> Stream:
        """Without a store, in a grading of a sealed run, only the ends are kept."""
        ends = captured.head + captured.tail
        shown = 2 * SHOWN_BYTES
        blob, cut = store.keep(captured, shown) if store else (None, max(0, captured.size - shown))
        return cls(
            captured.sha256,
            captured.size,
            ends[:SHOWN_BYTES].decode(errors="replace"),
            ends[SHOWN_BYTES:][-SHOWN_BYTES:].decode(errors="replace"),
            blob,
            cut,
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "digest": self.digest,
            "bytes": self.bytes,
            "prefix": self.prefix,
            "tail": self.tail,
            "blob": self.blob,
            "cut": self.cut,
        }


@dataclass(frozen=True, slots=True)
class Outcome:
    """One check, decided: by its last word after the contract's replay rule."""

    id: str
    under: str
    outcome: CheckOutcome
    why: str
    argv: tuple[str, ...]
    exit: int | None
    started: bool
    ceiling_s: float
    observed_s: float
    stdout: Stream
    stderr: Stream
    start: int = 0  # ns since run start
    end: int = 0
    failing: tuple[str, ...] = ()
    runs: tuple[CheckOutcome, ...] = ()
    notes: tuple[str, ...] = ()
    oracle: OracleKind = "in_process"  # what really ran, not what was asked for
    score: float | None = None  # the share of the credit that the tests earned
    reported: suite_report.SuiteReport | None = None
    controls: suite_controls.Controls | None = None
    verified: reward_files.RewardFiles | None = None
    timed_out: bool = False

    @property
    def forged(self) -> tuple[str, ...]:
        """Why these results are not the tests' own, if they are not."""
        tampering = self.reported.tampering if self.reported is not None else ()
        wrong = self.controls.wrong if self.controls is not None else ()
        return (*tampering, *(f"{one} passes with a wrong expected value" for one in wrong))

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "id": self.id,
            "under": self.under,
            "outcome": self.outcome,
            "why": self.why,
            "argv": list(self.argv),
            "exit": self.exit,
            "started": self.started,
            "timed_out": self.timed_out,
            "ceiling_s": self.ceiling_s,
            "observed_s": self.observed_s,
            "start": self.start,
            "end": self.end,
            "failing": list(self.failing),
            "stdout": self.stdout.to_json(),
            "stderr": self.stderr.to_json(),
            "runs": list(self.runs),
            "notes": list(self.notes),
            "oracle": self.oracle,
            "score": self.score,
            "reported": None if self.reported is None else self.reported.to_json(),
            "controls": None if self.controls is None else self.controls.to_json(),
            "verified": None if self.verified is None else self.verified.to_json(),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Outcome:
        fields = {name: value for name, value in data.items() if name != "schema"}
        for name in ("argv", "failing", "runs", "notes"):
            fields[name] = tuple(fields[name])
        for name in ("stdout", "stderr"):
            fields[name] = Stream(**fields[name])
        if fields.get("reported") is not None:
            fields["reported"] = suite_report.SuiteReport.from_json(fields["reported"])
        if fields.get("controls") is not None:
            fields["controls"] = suite_controls.Controls.from_json(fields["controls"])
        if fields.get("verified") is not None:
            fields["verified"] = reward_files.RewardFiles.from_json(fields["verified"])
        return cls(**fields)
