"""One executing grader on a fresh bench -> Outcome.

The grader's spec (`execution_spec.py`) says what runs: a command judged by its exit code, a suite (`run_tests`) or a
verifier (`run_verifier`).
Each check gets its own sandbox: snapshot, setup, the change, then its hidden files last. Nothing of the
agent's lives on in it, and nothing of one check reaches the next.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TypeVar, assert_never

from steelyard.bench import live as live_tree
from steelyard.bench import missing_tool
from steelyard.bench.execution_spec import BenchSpec, CommandSpec, SuiteSpec, VerifierSpec, bench_spec
from steelyard.bench.kept_output import STREAM_BYTES, OutputStore
from steelyard.bench.outcome import REACHED, CheckOutcome, Limit, Outcome, Stream
from steelyard.bench.replay import decide, replay
from steelyard.bench.runners import base
from steelyard.bench.suite import run_tests as suites
from steelyard.bench.suite import suite
from steelyard.bench.transfer import path_hijacks
from steelyard.bench.transfer.git_settings import git_variables
from steelyard.bench.transfer.hidden_files import hidden_files
from steelyard.bench.transfer.oracle.files import OracleFiles
from steelyard.bench.transfer.shell_scripts import read_only_scripts
from steelyard.bench.verifier import believed_reward, container, reward_files, run_verifier
from steelyard.bench.whose_fault import blame_change, excuse_change, on_trusted_tree
from steelyard.contract.catalogue import GraderEntry
from steelyard.contract.model import Reruns
from steelyard.deferred.data_class import dataclass
from steelyard.deferred.named_tuple import NamedTuple
from steelyard.environment.prepare import Environment
from steelyard.errors import AgentFault, GraderFault, InfraFault
from steelyard.filesystem.tree import is_within
from steelyard.sandboxes.base import (
    Command,
    CommandResult,
    ExitStats,
    FileOverlay,
    Mount,
    OnConnection,
    Sandbox,
    SandboxSpec,
    with_allowed_hosts,
)

INFRASTRUCTURE_TRIES = 2
T = TypeVar("T")
Somewhere = Callable[
    [tuple[FileOverlay, ...], Callable[[Sandbox], CommandResult], Callable[[CommandResult], CommandResult]],
    tuple[CommandResult, ExitStats],
]


class CommandEnd(NamedTuple):
    """How the command of a check ended, and how its sandbox did."""

    finished: CommandResult
    exit_stats: ExitStats


@dataclass(frozen=True, slots=True)
class Bench:
    """An environment with a change, ready for checks."""

    environment: Environment
    overlays: tuple[FileOverlay, ...]
    env: dict[str, str]
    clock: Callable[[], int] = time.monotonic_ns  # ns since run start, in a run
    live: live_tree.LiveTree | None = None  # where the change is already
    changed: tuple[FileOverlay, ...] | None = None  # all of it, for places where nothing runs
    on_connection: OnConnection | None = None
    outputs: OutputStore | None = None  # where long outputs are kept whole
    given: tuple[FileOverlay, ...] = ()  # files that come with steps: they lie under every change
    is_trusted: bool = False  # the reference or the bare snapshot, not an agent's change
    data: tuple[FileOverlay, ...] = ()  # of the tests, as the change has it
    lacks_tool: bool = False  # an earlier check missed a command that the reference misses too

    def run(self, entry: GraderEntry, executed: Callable[[Outcome], None] = lambda _: None) -> Outcome:
        """Run one check by the contract's replay rule, telling each execution; one stands for them all."""
        outcomes: list[Outcome] = []
        spec = bench_spec(entry)
        rule = self.environment.contract.spec.oracle.reruns if entry.is_check else Reruns()

        def execute() -> CheckOutcome:
            try:
                outcome = self._execute(entry, spec)
                if not self.is_trusted:
                    on_trusted = partial(self._on_trusted, entry, spec)
                    again = partial(self._execute, entry, spec)
                    outcome = blame_change(self.environment, outcome, on_trusted, again)
                    if self.lacks_tool:
                        outcome = excuse_change(self.environment, outcome, on_trusted)
            # The check decides nothing with the reference either: no change is to blame
            except GraderFault as fault:
                outcome = self.refuse(entry, str(fault), "error")
            outcomes.append(outcome)
            executed(outcomes[-1])
            return outcomes[-1].outcome

        runs = tuple(replay(rule, execute))
        decided = decide(rule, runs)
        forged = next((one for one in outcomes if one.forged), None)
        if forged is not None:
            decided = "fail"  # who forges once is not asked what else he can
        telling = forged or next((one for one in outcomes if one.outcome == decided), outcomes[-1])
        return replace(telling, outcome=decided, runs=runs, start=outcomes[0].start, end=outcomes[-1].end)

    def refuse(self, entry: GraderEntry, why: str, outcome: CheckOutcome = "fail") -> Outcome:
        """The outcome of a check that the change itself, or how its agent ended, made impossible."""
        end = CommandEnd(CommandResult(None), ExitStats())
        return self._outcome(entry, bench_spec(entry), end, (outcome, why), self.clock())

    def _execute(self, entry: GraderEntry, spec: BenchSpec) -> Outcome:
        start = self.clock()
        try:
            match spec:
                case CommandSpec():
                    return self._run_command(entry, spec, start)
                case SuiteSpec():
                    return self._run_suite(entry, spec, start)
                case VerifierSpec():
                    return self._run_verifier(entry, spec, start)
                case _:
                    assert_never(spec)
        except AgentFault as fault:
            return self.refuse(entry, str(fault))

    def _on_trusted(
        self, entry: GraderEntry, spec: BenchSpec, overlays: tuple[FileOverlay, ...], time_share: float
    ) -> Outcome:
        """The same check on a trusted change, in a sandbox of its own, with that share of its time."""
        overlays = (*self.given, *overlays)
        bench = replace(self, overlays=overlays, changed=overlays, live=None, is_trusted=True)
        timed = replace(spec, timeout_s=spec.timeout_s * time_share)
        return bench._execute(entry, timed)  # noqa: SLF001  # one of us

    def _run_command(self, entry: GraderEntry, spec: CommandSpec, start: int) -> Outcome:
        end = CommandEnd(*self._command_on(spec, self._with_own_tests(), self._on_the_change))
        judged = _judge(end, spec)
        if spec.expect_exit != missing_tool.NOT_FOUND:
            judged = self._or_missing(
                entry,
                end.finished,
                judged,
                lambda overlays: self._command_on(spec, overlays, self._in_a_fresh_sandbox),
            )
        return self._outcome(entry, spec, end, judged, start)

    def _with_own_tests(self) -> tuple[FileOverlay, ...]:
        """A command or a verifier runs the change's tests where it has some, and those need their data."""
        tests = OracleFiles(self.environment.baseline)
        return (
            (*self.overlays, *self.data) if any(one.path in tests for one in self.overlays) else self.overlays
        )

    def _command_on(
        self, spec: CommandSpec, overlays: tuple[FileOverlay, ...], somewhere: Somewhere
    ) -> tuple[CommandResult, ExitStats]:
        extra_mounts = [dest for _, dest in spec.injected]
        # What the change planted in a hidden folder would sit beside the hidden files and be read with them.
        own = [piece for piece in overlays if not any(is_within(piece.path, place) for place in extra_mounts)]
        command = Command(
            _argv(spec),
            env={**git_environment(self.environment), **self.env},
            timeout_s=spec.timeout_s,
            whole_bytes=STREAM_BYTES,
        )
        hidden = hidden_files(self.environment.contract, spec)
        scripts = read_only_scripts(
            spec.command, hidden, self.environment.baseline, self.environment.contract.snapshot.tree
        )
        return somewhere(
            (*own, *hidden, *(FileOverlay(path, "read_only") for path in scripts)),
            lambda sandbox: sandbox.run(command),
            lambda done: done,
        )

    def _or_missing(
        self,
        entry: GraderEntry,
        finished: CommandResult,
        judged: tuple[CheckOutcome, str],
        end_on: missing_tool.EndOn,
    ) -> tuple[CheckOutcome, str]:
        """What was judged, unless the contract asks for a command that is missing."""
        if judged[0] != "fail" or finished.exit_code != missing_tool.NOT_FOUND:
            return judged
        return (
            ("error", missing_tool.MISSING)
            if missing_tool.is_missing_for_all(self.environment, entry.name, end_on)
            else judged
        )

    def _run_suite(self, entry: GraderEntry, spec: SuiteSpec, start: int) -> Outcome:
        with self.environment.cache.temporary() as scratch:
            bench = suites.oracle_bench(
                self.environment,
                spec,
                self.overlays,
                hidden_files(self.environment.contract, spec, scratch),
                lambda overlays, use: self._in_a_fresh_sandbox(overlays, use, lambda ran: ran.finished),
            )
            needs_all = entry.required and entry.pass_threshold >= 1 and not spec.declared
            tested = suites.run_tests(replace(bench, needs_all=needs_all))
            finished, reported = tested.ran
            decided = suites.decide(spec, tested)
            end = CommandEnd(finished, tested.exit_stats)
            bad_end = _ended_badly(end, spec.timeout_s)
            judged = bad_end or (decided.at(entry.pass_threshold), decided.why)
            if not reported.passed and not reported.tampering:
                judged = self._or_missing(
                    entry, finished, judged, lambda overlays: _end_of(bench.on(overlays).run())
                )
        score = 0.0 if bad_end else decided.score
        outcome = self._outcome(entry, spec, end, judged, start)
        return replace(
            outcome,
            notes=(*outcome.notes, *tested.notes),
            failing=decided.failing,
            oracle=tested.oracle,
            score=score if judged[0] != "error" else None,
            reported=reported,
            controls=tested.controls,
        )

    def _run_verifier(self, entry: GraderEntry, spec: VerifierSpec, start: int) -> Outcome:
        if spec.separate is None:
            return self._run_verifier_here(entry, spec, start)
        with self.environment.cache.temporary() as scratch:
            changed = self.overlays if self.changed is None else self.changed
            other = container.apart(self.environment, changed, spec.separate, scratch)
            bench = replace(self, environment=other.environment, overlays=other.overlays, live=None)
            outcome = bench._run_verifier_here(entry, spec, start, other.logs, self)  # noqa: SLF001  # one of us
        return replace(outcome, notes=(*outcome.notes, *other.notes))

    def _run_verifier_here(
        self,
        entry: GraderEntry,
        spec: VerifierSpec,
        start: int,
        published: tuple[FileOverlay, ...] = (),
        of_work: Bench | None = None,
    ) -> Outcome:
        """`of_work`: the bench of the work, where the verifier has a system of its own. Trusted trees start from that one, too."""
        contract = self.environment.contract
        overlays = self._with_own_tests()
        cleared = path_hijacks.without_path_hijacks(
            self.environment, self._path_variable(spec), overlays, self._ask
        )
        ran, exit_stats = self._on_the_change(
            cleared.overlays,
            lambda sandbox: run_verifier.run_verifier(
                sandbox,
                contract,
                spec,
                {**git_environment(self.environment), **self.env},
                is_live=self.live is not None,
            ),
            lambda ran: ran.finished,
            extra_mounts=run_verifier.verifier_mounts(contract, spec, published),
            user=str(spec.user or ""),
        )
        verified = (of_work or self)._believed_reward(entry, spec, ran)  # noqa: SLF001  # one of us
        end = CommandEnd(ran.finished, exit_stats)
        judged = _ended_badly(end, spec.timeout_s) or _judge_reward(verified, entry.pass_threshold)
        outcome = self._outcome(entry, spec, end, judged, start)
        return replace(
            outcome,
            argv=run_verifier.verifier_argv(contract, spec),
            notes=(*outcome.notes, *cleared.notes),
            score=verified.reward if judged[0] != "error" else None,
            verified=verified,
        )

    def _believed_reward(
        self, entry: GraderEntry, spec: VerifierSpec, ran: run_verifier.VerifierRan
    ) -> reward_files.RewardFiles:
        if self.is_trusted:
            return ran.verified
        on_trusted = partial(self._on_trusted, entry, spec)
        elsewhere = believed_reward.Elsewhere(
            lambda: on_trusted_tree(self.environment, on_trusted), lambda: on_trusted((), 1.0)
        )
        return believed_reward.believed_reward(self.environment.contract, spec, ran, elsewhere)

    def _path_variable(self, spec: VerifierSpec) -> str:
        return self.environment.path_variable({**self.environment.contract.spec.environment.env, **spec.env})

    def _ask(self, command: Command) -> CommandResult:
        """A question that needs the bench and nothing of the change."""
        return self._in_a_fresh_sandbox((), lambda sandbox: sandbox.run(command), lambda done: done)[0]

    def _outcome(
        self,
        entry: GraderEntry,
        spec: BenchSpec,
        end: CommandEnd,
        judged: tuple[CheckOutcome, str],
        start: int,
    ) -> Outcome:
        finished = end.finished
        return Outcome(
            id=entry.name,
            under=entry.under,
            outcome=judged[0],
            why=judged[1],
            argv=_argv(spec),
            exit=finished.exit_code,
            started=not finished.not_started,
            ceiling_s=spec.timeout_s,
            observed_s=finished.wall_ns / 1e9,
            stdout=Stream.of(finished.stdout, self.outputs),
            stderr=Stream.of(finished.stderr, self.outputs),
            start=start,
            end=self.clock(),
            runs=(judged[0],),
            timed_out=finished.timed_out,
            notes=_reached_limits(end.exit_stats),
        )

    def _on_the_change(
        self,
        overlays: tuple[FileOverlay, ...],
        use: Callable[[Sandbox], T],
        finished: Callable[[T], CommandResult],
        extra_mounts: tuple[Mount, ...] = (),
        user: str = "",
    ) -> tuple[T, ExitStats]:
        """A fresh sandbox, or the agent's own when the contract says `bench: live`."""
        if self.live is None:
            return self._in_a_fresh_sandbox(overlays, use, finished, extra_mounts, user)
        self.live.write(overlays, extra_mounts)
        used = use(self.live.sandbox)
        if not finished(used).lost:
            self.live.sandbox.kill_processes()
        return used, ExitStats()

    def _in_a_fresh_sandbox(
        self,
        overlays: tuple[FileOverlay, ...],
        use: Callable[[Sandbox], T],
        finished: Callable[[T], CommandResult],
        extra_mounts: tuple[Mount, ...] = (),
        user: str = "",
    ) -> tuple[T, ExitStats]:
        sandbox_spec = self.environment.sandbox_spec(
            overlays=overlays, extra_mounts=extra_mounts, env=self.env, user=user, phase="checks"
        )
        for left in reversed(range(INFRASTRUCTURE_TRIES)):
            try:
                with self.environment.backend.start(self._with_allowed_hosts(sandbox_spec)) as sandbox:
                    used = use(sandbox)
                    exit_stats = sandbox.stop()
            except InfraFault:
                if not left:
                    raise
                continue
            # A sandbox that died of its own memory is the candidate's doing; any other way is ours.
            if finished(used).lost and not exit_stats.oom_kills and left:
                continue
            break
        return used, exit_stats

    def _with_allowed_hosts(self, sandbox_spec: SandboxSpec) -> SandboxSpec:
        return with_allowed_hosts(
            sandbox_spec, self.environment.contract.spec.oracle.network, self.on_connection
        )


def _end_of(ran: tuple[base.RunnerResult, ExitStats]) -> tuple[CommandResult, ExitStats]:
    return ran[0].finished, ran[1]


def git_environment(environment: Environment) -> Mapping[str, str]:
    """For checks that are believed by their exit code or their word; a contract may have its own."""
    declared = environment.contract.spec.environment
    return {} if "GIT_CONFIG_COUNT" in declared.env else git_variables(declared.scope)


def check_environment(seed: int) -> dict[str, str]:
    """The variables that make a check repeatable; all of them are in its event."""
    return {
        "PYTHONHASHSEED": str(seed),
        "SOURCE_DATE_EPOCH": "1772841600",
        "STEELYARD_SEED": str(seed),
        "TZ": "UTC",
        "LC_ALL": "C.UTF-8",
    }


def _argv(spec: BenchSpec) -> tuple[str, ...]:
    return ("/bin/sh", "-c", spec.command)


def _reached_limits(exit_stats: ExitStats) -> tuple[str, ...]:
    reached: Mapping[Limit, int | bool] = {
        "memory": exit_stats.oom_kills,
        "disk": exit_stats.disk_full,
        "processes": exit_stats.processes_refused,
    }
    return tuple(REACHED[name] for name, was_reached in reached.items() if was_reached)


def _judge_reward(verified: reward_files.RewardFiles, threshold: float) -> tuple[CheckOutcome, str]:
    if verified.reward is None:
        return "error", verified.errors[0]
    why = f"reward {verified.reward:g}"
    return suite.Decision("pass", verified.reward, why).at(threshold), why


def _judge(end: CommandEnd, spec: CommandSpec) -> tuple[CheckOutcome, str]:
    ended_badly = _ended_badly(end, spec.timeout_s)
    if ended_badly is not None:
        return ended_badly
    finished, exit_stats = end
    if finished.signal is not None:
        memory = ", out of memory" if exit_stats.oom_kills else ""
        return "fail", f"killed by signal {finished.signal}{memory}"
    if finished.exit_code == spec.expect_exit:
        return "pass", f"exit {finished.exit_code}"
    return "fail", f"exit {finished.exit_code}, expected {spec.expect_exit}"


def _ended_badly(end: CommandEnd, timeout_s: float) -> tuple[CheckOutcome, str] | None:
    finished, exit_stats = end
    if finished.timed_out:
        return "error", f"timed out after {timeout_s:g} s"
    if finished.not_started:
        return "error", f"could not start: {finished.not_started}"
    if finished.lost:
        return ("fail", "ran out of memory") if exit_stats.oom_kills else ("error", "its sandbox died")
    return None
