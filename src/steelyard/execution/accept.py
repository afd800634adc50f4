"""The captured change -> the outcomes of its checks, each on a fresh bench, each an event."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import orjson

from steelyard.bench import live
from steelyard.bench.execution_spec import VerifierSpec, bench_specs
from steelyard.bench.missing_tool import MISSING
from steelyard.bench.outcome import CheckOutcome, Outcome
from steelyard.bench.rebuild import laid_entries, rebuild
from steelyard.bench.run_check import Bench, check_environment, git_environment
from steelyard.bench.step_files import overlays_of
from steelyard.contract.catalogue import GraderEntry
from steelyard.evidence.change.misleading_text import find_misleading_text
from steelyard.evidence.finding import Finding
from steelyard.execution.alerts import alerts_of_check, end_for_checks
from steelyard.execution.live_run import LiveRun
from steelyard.execution.network.connection_events import connection_log
from steelyard.execution.network.try_allowed_hosts import try_check_hosts
from steelyard.filesystem.tree import is_within, printable
from steelyard.sandbox_paths import PUBLISHED
from steelyard.sandboxes.base import FileOverlay
from steelyard.sandboxes.limits.time_allowance import TimedBackend, limit_time

NOT_APPLIED = "not run: the patch does not apply"
TOO_LARGE = "the change is larger than the import allows"
EXECUTION = frozenset(
    {"id", "outcome", "why", "exit", "start", "end", "observed_s", "stdout", "stderr", "score"}
)


def accept(run: LiveRun, checks: Sequence[GraderEntry]) -> dict[str, Outcome]:
    """The outcome of each check on the captured change; empty when the run was stopped at once."""
    if run.stop.is_at_once:
        return {}
    rebuilt = rebuild(run.environment, run.change, run.blobs)
    _note(run, _bench_findings(checks, rebuilt.findings))
    step_files = overlays_of(run.step_files, run.unchanged_step_files)
    changed = (*step_files, *laid_entries(run.change.entries, run.blobs))
    bench = _bench(run, (*step_files, *rebuilt.overlays))
    bench = replace(bench, changed=changed, given=step_files, data=rebuilt.data)
    if not run.change.complete:
        # A change too large to import is the agent's failure: it must not become a run that does not count.
        return _each(run, checks, lambda entry: bench.refuse(entry, TOO_LARGE))
    if run.patch_refused:
        # The bare snapshot is not the work: no check is run on it as if it were.
        return _each(run, checks, lambda entry: bench.refuse(entry, NOT_APPLIED))
    try_check_hosts(run)
    is_live = run.ending is not None and run.is_graded_live(run.ending)
    if run.allowance is None:
        return _live(run, checks) if is_live else _each(run, checks, _on_bench(run, bench))
    with run.allowance.spending():
        outcomes = _live(run, checks) if is_live else _each(run, checks, _on_bench(run, bench))
    if run.allowance.is_exceeded:
        end_for_checks(run, run.allowance, next(reversed(outcomes), ""))
    return outcomes


def _bench_findings(checks: Sequence[GraderEntry], findings: Sequence[Finding]) -> list[Finding]:
    """Without the finding that published files were left out, where a separate verifier receives them."""
    specs = bench_specs(checks)
    has_published = any(isinstance(spec, VerifierSpec) and spec.separate is not None for spec in specs)
    return [one for one in findings if not (has_published and is_within(one.where, PUBLISHED))]


def _live(run: LiveRun, checks: Sequence[GraderEntry]) -> dict[str, Outcome]:
    """Run the checks in the agent's own sandbox, which holds the change and is not used afterwards."""
    sandbox = run.sandbox if run.allowance is None else limit_time(run.sandbox, run.allowance)
    bench = replace(_bench(run, ()), live=live.LiveTree(sandbox))
    try:
        return _each(run, checks, _on_bench(run, bench))
    finally:
        run.exit_stats = run.sandbox.stop()


def _on_bench(run: LiveRun, bench: Bench) -> Callable[[GraderEntry], Outcome]:
    """Run one check after the other. After one that missed a tool, failures are compared with the reference."""
    lacks_tool = False

    def decide(entry: GraderEntry) -> Outcome:
        nonlocal lacks_tool
        outcome = replace(bench, lacks_tool=lacks_tool).run(entry, partial(_log_execution, run))
        lacks_tool = lacks_tool or (outcome.outcome == "error" and outcome.why == MISSING)
        return outcome

    return decide


def refuse_all(
    run: LiveRun, checks: Sequence[GraderEntry], outcome: CheckOutcome, why: str
) -> dict[str, Outcome]:
    """Record the same outcome for checks that are not run."""
    _note(run, ())
    bench = _bench(run, ())
    return _each(run, checks, lambda entry: bench.refuse(entry, why, outcome))


def _bench(run: LiveRun, overlays: tuple[FileOverlay, ...]) -> Bench:
    environment = run.environment
    if run.allowance is not None:
        environment = replace(environment, backend=TimedBackend(environment.backend, run.allowance))
    return Bench(
        environment,
        overlays,
        check_environment(run.trial.seed),
        run.events.now,
        on_connection=connection_log(run.events, "check"),
        outputs=run.outputs,
    )


def _each(
    run: LiveRun, checks: Sequence[GraderEntry], decide: Callable[[GraderEntry], Outcome]
) -> dict[str, Outcome]:
    outcomes = {}
    for entry in checks:
        if run.stop.is_at_once:
            break
        run.events.append("check.start", "harness", {"id": entry.name, "under": entry.under})
        outcomes[entry.name] = decide(entry)
        _record(run, outcomes[entry.name])
    return outcomes


def _note(run: LiveRun, bench_findings: Sequence[Finding]) -> None:
    """Write the findings about the change. Those of earlier steps stay."""
    printed = sorted((run.folder.path / "agent").glob("*.txt"))
    found = [
        *run.change.findings,
        *_trace_findings(run),
        *bench_findings,
        *find_misleading_text(run.change, run.blobs, printed),
    ]
    run.findings = list(dict.fromkeys([*run.findings, *found]))
    run.folder.write_bytes("findings.json", orjson.dumps([finding.to_json() for finding in run.findings]))


def _trace_findings(run: LiveRun) -> list[Finding]:
    """Changes that no event shows. A contract that requires a complete trace fails them: gaps must not be a way to hide."""
    if not run.gaps:
        return []
    is_required = "complete_trace" in run.trial.contract.spec.policy.require
    more = f" and {len(run.gaps) - 1} more paths" if len(run.gaps) > 1 else ""
    why = f"it was changed without an event while the agent worked{more}; the trace is incomplete"
    return [Finding("incomplete_trace", "violation" if is_required else "info", printable(run.gaps[0]), why)]


def _log_execution(run: LiveRun, execution: Outcome) -> None:
    """Log one execution of a check. The results of single tests are in `check.end`, for the execution that decided."""
    short = {name: value for name, value in execution.to_json().items() if name in EXECUTION}
    run.events.append("check.run", "harness", {**short, "failing": len(execution.failing)})
    alerts_of_check(run, execution)


def _record(run: LiveRun, outcome: Outcome) -> None:
    data = outcome.to_json()
    run.folder.write_bytes(
        f"checks/{outcome.id}/outcome.json", orjson.dumps(data, option=orjson.OPT_INDENT_2)
    )
    env = check_environment(run.trial.seed)
    if outcome.reported is None:
        env = {**git_environment(run.environment), **env}
    run.events.append("check.end", "harness", {**data, "env": env})
