"""One executing grader on a fresh bench -> Outcome.

The grader's spec (`execution_spec.py`) says what runs: a command judged by its exit code, a suite (`run_tests`) or a
verifier (`run_verifier`).
Each check gets its own sandbox: snapshot, setup, the change, then its hidden files last. Nothing of the
agent's lives on in it, and nothing of one check reaches the next.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, TypeVar, assert_never

from steelyard.bench.execution_spec import BenchSpec, CommandSpec, SuiteSpec, VerifierSpec, bench_spec
from steelyard.bench.git_settings import git_variables
from steelyard.bench.ground import Ground
from steelyard.bench.hidden_files import hidden_files
from steelyard.bench.kept_output import STREAM_BYTES, OutputStore
from steelyard.bench.live import LiveTree
from steelyard.bench.missing_tool import MISSING, NOT_FOUND, EndOn, is_missing_for_all
from steelyard.bench.oracle_files import OracleFiles
from steelyard.bench.outcome import CheckOutcome, Outcome, Stream
from steelyard.bench.replay import decide, replay
from steelyard.bench.run_tests import Executed, oracle_bench, run_tests
from steelyard.bench.run_tests import decide as decide_tests
from steelyard.bench.run_verifier import run_verifier, verifier_argv, verifier_places
from steelyard.bench.runners.base import Ran
from steelyard.bench.stand_ins import without_stand_ins
from steelyard.bench.suite import Decision
from steelyard.bench.verified import Verified
from steelyard.bench.whose_fault import blamed
from steelyard.contract.catalogue import GraderEntry
from steelyard.contract.model import Reruns
from steelyard.contract.tree import is_within
from steelyard.errors import AgentFault, GraderFault, InfraFault
from steelyard.sandboxes.base import (
    Box,
    Command,
    Death,
    Finished,
    Laid,
    OnConnection,
    Place,
    Sandbox,
    with_doors,
)

INFRASTRUCTURE_TRIES = 2
T = TypeVar("T")
Somewhere = Callable[
    [tuple[Laid, ...], Callable[[Sandbox], Finished], Callable[[Finished], Finished]], tuple[Finished, Death]
]


class CommandEnd(NamedTuple):
    """How the command of a check ended, and how its sandbox did."""

    finished: Finished
    death: Death


@dataclass(frozen=True, slots=True)
class Bench:
    """A ground with a change on it, ready for checks."""

    ground: Ground
    laid: tuple[Laid, ...]
    env: dict[str, str]
    clock: Callable[[], int] = time.monotonic_ns  # ns since run start, in a run
    live: LiveTree | None = None  # where the change is already
    changed: tuple[Laid, ...] | None = None  # all of it, for places where nothing runs
    on_connection: OnConnection | None = None
    outputs: OutputStore | None = None  # where long outputs are kept whole
    given: tuple[Laid, ...] = ()  # what the harness brought along with steps: it is under every change
    is_trusted: bool = False  # nobody suspects this change
    data: tuple[Laid, ...] = ()  # of the tests, as the change has it

    def run(self, entry: GraderEntry, executed: Callable[[Outcome], None] = lambda _: None) -> Outcome:
        """Run one check by the contract's replay rule, telling each execution; one stands for them all."""
        outcomes: list[Outcome] = []
        spec = bench_spec(entry)
        rule = self.ground.contract.spec.oracle.reruns if entry.is_check else Reruns()

        def execute() -> CheckOutcome:
            try:
                outcome = self._execute(entry, spec)
                if not self.is_trusted:
                    on_trusted = partial(self._on_trusted, entry, spec)
                    again = partial(self._execute, entry, spec)
                    outcome = blamed(self.ground, outcome, on_trusted, again)
            except (
                GraderFault
            ) as fault:  # the check decides nothing with the reference either: no change is to blame
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
        end = CommandEnd(Finished(None), Death())
        return self._outcome(entry, bench_spec(entry), end, (outcome, why), self.clock())

    def _execute(self, entry: GraderEntry, spec: BenchSpec) -> Outcome:
        start = self.clock()
        try:
            match spec:
                case CommandSpec():
                    return self._commanded(entry, spec, start)
                case SuiteSpec():
                    return self._tested(entry, spec, start)
                case VerifierSpec():
                    return self._verified(entry, spec, start)
                case _:
                    assert_never(spec)
        except AgentFault as fault:
            return self.refuse(entry, str(fault))

    def _on_trusted(
        self, entry: GraderEntry, spec: BenchSpec, laid: tuple[Laid, ...], time_share: float
    ) -> Outcome:
        """The same check on a trusted change, in a sandbox of its own, with that share of its time."""
        laid = (*self.given, *laid)
        bench = replace(self, laid=laid, changed=laid, live=None, is_trusted=True)
        timed = replace(spec, timeout_s=spec.timeout_s * time_share)
        return bench._execute(entry, timed)  # noqa: SLF001  # one of us

    def _commanded(self, entry: GraderEntry, spec: CommandSpec, start: int) -> Outcome:
        end = CommandEnd(*self._command_on(spec, self._with_own_tests(), self._on_the_change))
        judged = _judge(end, spec)
        if spec.expect_exit != NOT_FOUND:
            judged = self._or_missing(
                entry,
                end.finished,
                judged,
                lambda laid: self._command_on(spec, laid, self._in_a_fresh_sandbox),
            )
        return self._outcome(entry, spec, end, judged, start)

    def _with_own_tests(self) -> tuple[Laid, ...]:
        """A command or a verifier runs the change's tests where it has some, and those need their data."""
        tests = OracleFiles(self.ground.baseline)
        return (*self.laid, *self.data) if any(one.path in tests for one in self.laid) else self.laid

    def _command_on(
        self, spec: CommandSpec, laid: tuple[Laid, ...], somewhere: Somewhere
    ) -> tuple[Finished, Death]:
        places = [dest for _, dest in spec.injected]
        # What the change planted in a hidden folder would sit beside the hidden files and be read with them.
        own = [piece for piece in laid if not any(is_within(piece.path, place) for place in places)]
        command = Command(
            _argv(spec),
            env={**git_environment(self.ground), **self.env},
            timeout_s=spec.timeout_s,
            whole_bytes=STREAM_BYTES,
        )
        return somewhere(
            (*own, *hidden_files(self.ground.contract, spec)),
            lambda sandbox: sandbox.run(command),
            lambda done: done,
        )

    def _or_missing(
        self, entry: GraderEntry, finished: Finished, judged: tuple[CheckOutcome, str], end_on: EndOn
    ) -> tuple[CheckOutcome, str]:
        """What was judged, unless the contract asks for a command that nobody has."""
        if judged[0] != "fail" or finished.exit_code != NOT_FOUND:
            return judged
        return ("error", MISSING) if is_missing_for_all(self.ground, entry.name, end_on) else judged

    def _tested(self, entry: GraderEntry, spec: SuiteSpec, start: int) -> Outcome:
        with self.ground.cache.temporary() as scratch:
            bench = oracle_bench(
                self.ground,
                spec,
                self.laid,
                hidden_files(self.ground.contract, spec, scratch),
                lambda laid, use: self._in_a_fresh_sandbox(laid, use, lambda ran: ran.finished),
            )
            needs_all = entry.required and entry.pass_threshold >= 1 and not spec.declared
            tested: Executed = run_tests(replace(bench, needs_all=needs_all))
            finished, reported = tested.ran
            decided = decide_tests(spec, tested)
            end = CommandEnd(finished, tested.death)
            bad_end = _ended_badly(end, spec.timeout_s)
            judged = bad_end or (decided.at(entry.pass_threshold), decided.why)
            if not reported.passed and not reported.tampering:
                judged = self._or_missing(entry, finished, judged, lambda laid: _end_of(bench.on(laid).run()))
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

    def _verified(self, entry: GraderEntry, spec: VerifierSpec, start: int) -> Outcome:
        if spec.separate is None:
            return self._verified_here(entry, spec, start)
        with self.ground.cache.temporary() as scratch:
            from steelyard.bench.apart import apart  # noqa: PLC0415  # containers, and only for who needs them

            changed = self.laid if self.changed is None else self.changed
            other = apart(self.ground, changed, spec.separate, scratch)
            bench = replace(self, ground=other.ground, laid=other.laid, live=None)
            outcome = bench._verified_here(entry, spec, start, other.logs)  # noqa: SLF001  # one of us
        return replace(outcome, notes=(*outcome.notes, *other.notes))

    def _verified_here(
        self, entry: GraderEntry, spec: VerifierSpec, start: int, published: tuple[Laid, ...] = ()
    ) -> Outcome:
        contract = self.ground.contract
        laid = self._with_own_tests()
        cleared = without_stand_ins(self.ground, self._path_variable(spec), laid, self._ask)
        (finished, verified), death = self._on_the_change(
            cleared.laid,
            lambda sandbox: run_verifier(
                sandbox, contract, spec, {**git_environment(self.ground), **self.env}
            ),
            lambda ran: ran.finished,
            places=verifier_places(contract, spec, published),
            user=str(spec.user or ""),
        )
        end = CommandEnd(finished, death)
        judged = _ended_badly(end, spec.timeout_s) or _rewarded(verified, entry.pass_threshold)
        outcome = self._outcome(entry, spec, end, judged, start)
        return replace(
            outcome,
            argv=verifier_argv(contract, spec),
            notes=(*outcome.notes, *cleared.notes),
            score=verified.reward if judged[0] != "error" else None,
            verified=verified,
        )

    def _path_variable(self, spec: VerifierSpec) -> str:
        return self.ground.path_variable({**self.ground.contract.spec.environment.env, **spec.env})

    def _ask(self, command: Command) -> Finished:
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
            notes=("out of memory",) if end.death.oom_kills else (),
        )

    def _on_the_change(
        self,
        laid: tuple[Laid, ...],
        use: Callable[[Sandbox], T],
        finished: Callable[[T], Finished],
        places: tuple[Place, ...] = (),
        user: str = "",
    ) -> tuple[T, Death]:
        """A fresh sandbox, or the agent's own when the contract says `bench: live`."""
        if self.live is None:
            return self._in_a_fresh_sandbox(laid, use, finished, places, user)
        self.live.lay(laid, places)
        used = use(self.live.sandbox)
        if not finished(used).lost:
            self.live.sandbox.settle()
        return used, Death()

    def _in_a_fresh_sandbox(
        self,
        laid: tuple[Laid, ...],
        use: Callable[[Sandbox], T],
        finished: Callable[[T], Finished],
        places: tuple[Place, ...] = (),
        user: str = "",
    ) -> tuple[T, Death]:
        box = self.ground.box(laid=laid, places=places, env=self.env, user=user)
        for left in reversed(range(INFRASTRUCTURE_TRIES)):
            try:
                with self.ground.backend.start(self._with_doors(box)) as sandbox:
                    used = use(sandbox)
                    death = sandbox.stop()
            except InfraFault:
                if not left:
                    raise
                continue
            # A sandbox that died of its own memory is the candidate's doing; any other way is ours.
            if finished(used).lost and not death.oom_kills and left:
                continue
            break
        return used, death

    def _with_doors(self, box: Box) -> Box:
        return with_doors(box, self.ground.contract.spec.oracle.network, self.on_connection)


def _end_of(ran: tuple[Ran, Death]) -> tuple[Finished, Death]:
    return ran[0].finished, ran[1]


def git_environment(ground: Ground) -> Mapping[str, str]:
    """For checks that are believed by their exit code or their word; a contract may have its own."""
    declared = ground.contract.spec.environment
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


def _rewarded(verified: Verified, threshold: float) -> tuple[CheckOutcome, str]:
    if verified.reward is None:
        return "error", verified.errors[0]
    why = f"reward {verified.reward:g}"
    return Decision("pass", verified.reward, why).at(threshold), why


def _judge(end: CommandEnd, spec: CommandSpec) -> tuple[CheckOutcome, str]:
    ended_badly = _ended_badly(end, spec.timeout_s)
    if ended_badly is not None:
        return ended_badly
    finished, death = end
    if finished.signal is not None:
        memory = ", out of memory" if death.oom_kills else ""
        return "fail", f"killed by signal {finished.signal}{memory}"
    if finished.exit_code == spec.expect_exit:
        return "pass", f"exit {finished.exit_code}"
    return "fail", f"exit {finished.exit_code}, expected {spec.expect_exit}"


def _ended_badly(end: CommandEnd, timeout_s: float) -> tuple[CheckOutcome, str] | None:
    finished, death = end
    if finished.timed_out:
        return "error", f"timed out after {timeout_s:g} s"
    if finished.not_started:
        return "error", f"could not start: {finished.not_started}"
    if finished.lost:
        return ("fail", "ran out of memory") if death.oom_kills else ("error", "the sandbox died under it")
    return None
