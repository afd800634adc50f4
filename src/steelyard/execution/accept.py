"""The captured change -> every check of the oracle, each on a fresh bench, each an event."""

from __future__ import annotations

from functools import partial

import orjson

from steelyard.bench.outcome import Outcome
from steelyard.bench.rebuild import rebuild
from steelyard.bench.run_check import Bench, check_environment
from steelyard.evidence.misleading import misleading
from steelyard.execution.live_run import LiveRun

TOO_LARGE = "the change is larger than the import allows"
EXECUTION = frozenset(
    {"id", "outcome", "why", "exit", "start", "end", "observed_s", "stdout", "stderr", "score"}
)


def accept(run: LiveRun) -> None:
    rebuilt = rebuild(run.ground, run.change, run.blobs)
    said = [run.folder.path / "agent" / f"{name}.txt" for name in ("stdout", "stderr")]
    findings = [*run.change.findings, *rebuilt.findings, *misleading(run.change, run.blobs, said)]
    run.folder.write_bytes("findings.json", orjson.dumps([finding.to_json() for finding in findings]))
    bench = Bench(run.ground, rebuilt.laid, check_environment(run.trial.seed), run.events.now)
    for entry in run.trial.contract.checks:
        run.events.append("check.start", "harness", {"id": entry.name, "under": entry.under})
        # A change too large to import is the agent's failure: it must not become a run that does not count.
        complete = run.change.complete
        _record(run, bench.run(entry, partial(_told, run)) if complete else bench.refuse(entry, TOO_LARGE))


def _told(run: LiveRun, execution: Outcome) -> None:
    """One execution, in short: what each test of it said stands in `check.end`, of the one that decided."""
    short = {name: value for name, value in execution.to_json().items() if name in EXECUTION}
    run.events.append("check.run", "harness", {**short, "failing": len(execution.failing)})


def _record(run: LiveRun, outcome: Outcome) -> None:
    data = outcome.to_json()
    run.folder.write_bytes(
        f"checks/{outcome.id}/outcome.json", orjson.dumps(data, option=orjson.OPT_INDENT_2)
    )
    run.events.append("check.end", "harness", {**data, "env": check_environment(run.trial.seed)})
