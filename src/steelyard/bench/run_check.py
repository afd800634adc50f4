"""One executing grader on a fresh bench -> Outcome.

Each check gets its own sandbox: snapshot, setup, the change, then its hidden files last. Nothing of the
agent's lives on in it, and nothing of one check reaches the next.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from steelyard.bench.ground import Ground
from steelyard.bench.outcome import CheckOutcome, Outcome, Stream
from steelyard.bench.replay import decide, replay
from steelyard.contract.catalogue import GraderEntry
from steelyard.contract.model import Reruns
from steelyard.contract.tree import is_within
from steelyard.errors import AgentFault, InfraFault
from steelyard.sandboxes.base import Captured, Command, Death, Finished, Laid

INFRASTRUCTURE_TRIES = 2


class Executing(Protocol):
    """The options of a grader type that runs a command."""

    cmd: str
    timeout_s: float
    expect_exit: int

    @property
    def injected(self) -> tuple[tuple[str, str], ...]: ...


@dataclass(frozen=True, slots=True)
class Bench:
    """A ground with a change on it, ready for checks."""

    ground: Ground
    laid: tuple[Laid, ...]
    env: dict[str, str]
    clock: Callable[[], int] = time.monotonic_ns  # ns since run start, in a run

    def run(self, entry: GraderEntry) -> Outcome:
        """Run one check by the contract's replay rule; the last execution is the one on record."""
        outcomes: list[Outcome] = []
        rule = self.ground.contract.spec.oracle.reruns if entry.is_check else Reruns()

        def execute() -> CheckOutcome:
            outcomes.append(self._execute(entry))
            return outcomes[-1].outcome

        runs = tuple(replay(rule, execute))
        decided = decide(rule, runs)
        telling = next((one for one in outcomes if one.outcome == decided), outcomes[-1])
        return replace(telling, outcome=decided, runs=runs, start=outcomes[0].start, end=outcomes[-1].end)

    def refuse(self, entry: GraderEntry, why: str) -> Outcome:
        """The outcome of a check that the change itself made impossible."""
        now, nothing = self.clock(), Stream.of(Captured())
        options: Executing = entry.grader
        argv = ("/bin/sh", "-c", options.cmd)
        return Outcome(
            entry.name, entry.under, "fail", why, argv, None, started=True, ceiling_s=options.timeout_s,
            observed_s=0.0, stdout=nothing, stderr=nothing, start=now, end=now, runs=("fail",),
        )  # fmt: skip

    def _execute(self, entry: GraderEntry) -> Outcome:
        options: Executing = entry.grader
        argv = ("/bin/sh", "-c", options.cmd)
        start = self.clock()
        try:
            finished, death = self._in_a_fresh_sandbox(options, argv)
        except AgentFault as fault:
            return self.refuse(entry, str(fault))
        outcome, why = _judge(finished, death, options)
        return Outcome(
            id=entry.name,
            under=entry.under,
            outcome=outcome,
            why=why,
            argv=argv,
            exit=finished.exit_code,
            started=not finished.not_started,
            ceiling_s=options.timeout_s,
            observed_s=finished.wall_ns / 1e9,
            stdout=Stream.of(finished.stdout),
            stderr=Stream.of(finished.stderr),
            start=start,
            end=self.clock(),
            notes=("out of memory",) if death.oom_kills else (),
        )

    def _in_a_fresh_sandbox(self, options: Executing, argv: tuple[str, ...]) -> tuple[Finished, Death]:
        hidden = [laid for src, dest in options.injected for laid in self._hidden(src, dest)]
        places = [dest for _, dest in options.injected]
        # What the change planted in a hidden folder would sit beside the hidden files and be read with them.
        own = [piece for piece in self.laid if not any(is_within(piece.path, place) for place in places)]
        box = self.ground.box(laid=(*own, *hidden), env=self.env)
        for left in reversed(range(INFRASTRUCTURE_TRIES)):
            try:
                with self.ground.backend.start(box) as sandbox:
                    finished = sandbox.run(Command(argv, timeout_s=options.timeout_s))
                    death = sandbox.stop()
            except InfraFault:
                if not left:
                    raise
                continue
            # A sandbox that died of its own memory is the candidate's doing; any other way is ours.
            if finished.lost and not death.oom_kills and left:
                continue
            break
        return finished, death

    def _hidden(self, src: str, dest: str) -> list[Laid]:
        """A hidden file, or every file of a hidden folder."""
        return [
            Laid(f"{dest}{name.removeprefix(src)}", "file", mode=file.mode, source=file.path)
            for name, file in self.ground.contract.files.items()
            if name == src or name.startswith(f"{src}/")
        ]


def check_environment(seed: int) -> dict[str, str]:
    """The variables that make a check repeatable; all of them are in its event."""
    return {
        "PYTHONHASHSEED": str(seed),
        "SOURCE_DATE_EPOCH": "1772841600",
        "STEELYARD_SEED": str(seed),
        "TZ": "UTC",
        "LC_ALL": "C.UTF-8",
    }


def _judge(finished: Finished, death: Death, options: Executing) -> tuple[CheckOutcome, str]:
    if finished.timed_out:
        return "error", f"no end after {options.timeout_s:g} s"
    if finished.not_started:
        return "error", f"could not start: {finished.not_started}"
    if finished.lost:
        return ("fail", "ran out of memory") if death.oom_kills else ("error", "the sandbox died under it")
    if finished.signal is not None:
        memory = ", out of memory" if death.oom_kills else ""
        return "fail", f"killed by signal {finished.signal}{memory}"
    if finished.exit_code == options.expect_exit:
        return "pass", f"exit {finished.exit_code}"
    return "fail", f"exit {finished.exit_code}, expected {options.expect_exit}"
