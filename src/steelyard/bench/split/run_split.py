"""A suite -> its results from a sandbox without the candidate, which answers from another one."""

from __future__ import annotations

import secrets
import signal
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from steelyard.bench.runners.base import Runner, RunnerResult
from steelyard.bench.runners.python_command import python_command
from steelyard.bench.split.answering import Account, Candidate, call_limit_s
from steelyard.bench.split.kinds import Kinds
from steelyard.bench.split.node import candidate_scripts, lay_stubs, node_worker
from steelyard.bench.split.programs import BOOT, ISOLATED, Launch, first_line
from steelyard.bench.split.relay import Relay
from steelyard.bench.split.trees import (
    Names,
    candidate_names,
    candidate_tree,
    oracle_tree,
    package,
    unusable,
)
from steelyard.bench.suite.reported import SuiteReport
from steelyard.bench.suite.suite import Suite
from steelyard.bench.transfer.oracle.files import OracleFiles
from steelyard.sandboxes.base import CommandResult, ExitStats, FileOverlay, Sandbox


class InSandbox(Protocol):
    def __call__(
        self, overlays: tuple[FileOverlay, ...], use: Callable[[Sandbox], RunnerResult]
    ) -> tuple[RunnerResult, ExitStats]: ...


@dataclass(frozen=True, slots=True)
class SplitBench:
    """What a split needs to know about a suite and the trees around it."""

    suite: Suite
    runner: Runner
    baseline: Collection[str]
    patterns: tuple[str, ...]  # of the oracle's files
    named: tuple[str, ...]  # modules that are the candidate's; () for all that are not the oracle's
    objects: tuple[str, ...]  # names that may give objects which stay in the candidate's sandbox
    work: Sequence[FileOverlay]
    hidden: Sequence[FileOverlay]
    in_sandbox: InSandbox
    kinds: Kinds = field(default_factory=Kinds)  # of what the tests look up, here and on the trusted tree


def run_split(bench: SplitBench, scratch: Path) -> tuple[RunnerResult, ExitStats]:
    """Both sandboxes live at once, the candidate's as long as the tests'. The death is the candidate's."""
    theirs = OracleFiles(bench.baseline, bench.patterns)
    names = candidate_names(bench.baseline, theirs, bench.work, bench.hidden, bench.named)
    why = unusable(names)
    if why:
        reported = SuiteReport(bench.runner.NAME, "reporter", problems=(why,))
        return RunnerResult(CommandResult(None, not_started=why), reported), ExitStats()
    address = f"/tmp/candidate-{secrets.token_hex(8)}"  # noqa: S108  # in a sandbox, and random
    settings = _settings(bench, names, address)
    tester = (
        *oracle_tree(bench.baseline, theirs, bench.hidden, names, scratch),
        *package(settings, names, scratch),
    )

    def with_candidate(candidate: Sandbox) -> RunnerResult:
        there = Candidate(candidate, _programs(bench.suite, names), bench.suite.timeout_s)
        ran, exit_stats = bench.in_sandbox(
            tester, lambda sandbox_spec: _run_suite(bench, names, sandbox_spec, there, address)
        )
        # The verdict needs to know of memory that ran out on either side.
        return ran if not exit_stats.oom_kills else ran._replace(finished=replace(ran.finished, lost=False))

    return bench.in_sandbox(candidate_tree(bench.baseline, theirs, bench.work), with_candidate)


def _run_suite(
    bench: SplitBench, names: Names, tester: Sandbox, there: Candidate, address: str
) -> RunnerResult:
    relay = Relay(tester, there, address, bench.kinds)
    try:
        theirs = OracleFiles(bench.baseline, bench.patterns)
        scripts = candidate_scripts(bench.baseline, theirs, bench.work, bench.hidden)
        why = relay.wait_until_ready() or lay_stubs(tester, bench.suite, scripts)
        if why:
            reported = SuiteReport(bench.runner.NAME, "reporter", problems=(why,))
            return RunnerResult(CommandResult(None, not_started=why), reported)
        ran = bench.runner.run(tester, _suite(bench.suite, names))
    finally:
        relay.close()
        bench.kinds.whole = relay.account.hung_s == 0
    return _with(relay.account, ran, bench.suite.timeout_s)


def _with(account: Account, ran: RunnerResult, timeout_s: float) -> RunnerResult:
    """What the relay saw, added to what the tests say."""
    finished, problems = ran.finished, [*ran.reported.problems, *account.problems]
    if account.lost:
        # A candidate whose sandbox the machine lost has not failed: the whole is tried again.
        return RunnerResult(CommandResult(None, lost=True), replace(ran.reported, problems=tuple(problems)))
    if finished.timed_out and account.waited_s > timeout_s / 2:
        problems.insert(
            0, f"the tests waited for the candidate for {account.waited_s:.0f} of {timeout_s:g} s"
        )
        finished = replace(finished, timed_out=False, signal=signal.SIGKILL)
    # Standard output was the channel; what the candidate printed takes its place.
    printed = account.printed.stderr if account.printed is not None else finished.stdout
    return RunnerResult(replace(finished, stdout=printed), replace(ran.reported, problems=tuple(problems)))


def _settings(bench: SplitBench, names: Names, address: str) -> dict[str, object]:
    return {
        "address": address,
        "first": sorted(names.first),
        "last": sorted(names.last),
        "roots": names.roots,
        "objects": list(bench.objects),
        "call_s": call_limit_s(bench.suite.timeout_s),
    }


def _suite(suite: Suite, names: Names) -> Suite:
    """With the stubs on the path, however the command is started. Nothing of the change is where this suite runs."""
    up = "/".join([".."] * len([part for part in suite.cwd.split("/") if part]))
    roots = ["/".join(part for part in (up or ".", root) if part) for root in names.roots]
    before = suite.env.get("PYTHONPATH", "")
    path = ":".join([*roots, *([before] if before else [])])
    return replace(
        suite,
        env={**suite.env, "PYTHONPATH": path},
        changed=frozenset(),
        theirs=frozenset(),
        settings={},
        own_modules=frozenset(),
    )


def _programs(suite: Suite, names: Names) -> dict[str, Launch]:
    command = python_command(suite.argv)
    start = command.started_with("-B", "-c", BOOT) if command else ("python3", "-B", "-c", BOOT)
    config = {"roots": names.roots}
    return {
        "python": Launch(start, first_line("worker", config), cwd="", env=suite.env),
        "remote_ops": Launch(ISOLATED, first_line("remote_ops", {}), env=suite.env),
        **node_worker(suite),
    }
