"""Trials -> results, on the threads of this machine: at most `jobs` trials at a time, taken from the plan as they start.

    expect -> environment (prepared by the first trial that needs it) -> gate -> run, seal, grade -> gate -> release
                          an infrastructure fault: wait, then another attempt; after the last one the trial is invalid

A fault costs its own trial. A contract whose setup fails costs the trials of that contract; every other trial runs. A trial
without a result has its fault in its `TrialResult`; `run` raises nothing for it.
"""

from __future__ import annotations

import itertools
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import field, replace
from pathlib import Path

from steelyard.agents.catalogue import agent_for
from steelyard.agents.configured import mounted_name
from steelyard.bench.absent_tools import absent_programs, refuse_absent_tools
from steelyard.contract.contract import Contract
from steelyard.contract.contract_store import ContractStore
from steelyard.deferred.data_class import dataclass
from steelyard.environment.prepare import Environment, prepare_environment
from steelyard.errors import ContractFault, InfraFault, OperatorFault, SteelyardError
from steelyard.evidence.evidence import Evidence
from steelyard.evidence.folder.folder import SEAL
from steelyard.execution.live_run import LiveRuns
from steelyard.execution.run_trial import run_trial
from steelyard.execution.stop import StopRequest
from steelyard.filesystem.disk_reserve import Reserve, Reserves
from steelyard.plan.phase import Phase
from steelyard.plan.trial import Retry, Trial
from steelyard.sandboxes.admission import ON_WAIT
from steelyard.study.environments import Environments
from steelyard.study.gate import Gate, Withheld
from steelyard.study.judging import Judging
from steelyard.study.observer import Observer, SerialObserver, TrialResult
from steelyard.study.record import Record, grade_evidence
from steelyard.study.retry_policy import TrialRetryPolicy, UngradedRun, fault_of, machine_fault

MACHINE_FAULTS = (InfraFault, OSError)
DEFECT = "defect.txt"
POLL_S = 0.5  # how often a study that waits for its runs looks for a signal
STOP_S = 60.0  # how long an interrupted study waits for its runs to be stopped and sealed


class NotTriedError(Exception):
    """A fault of the contract or the operator that was found before an agent started: the run left nothing."""

    def __init__(self, fault: SteelyardError) -> None:
        super().__init__(str(fault))
        self.fault = fault


def prepare_and_keep(contract: Contract, sandbox: str | None) -> Environment:
    """The environment of a contract, with every program that its checks start; the contract is kept for a later regrade."""
    environment = prepare_environment(contract, sandbox=sandbox)
    refuse_absent_tools(environment)
    ContractStore(environment.cache).keep(contract)
    return environment


def refuse_absent_agent(trial: Trial, environment: Environment) -> None:
    """Raises OperatorFault for an agent whose program is not in the sandbox."""
    agent = agent_for(trial.agent, trial.contract, trial.options)
    programs = agent.programs()
    missing = absent_programs(environment, sorted(programs)) if programs else []
    if missing and (place := mounted_name(agent, missing[0])):
        raise OperatorFault(
            f"agent {agent.name}: the folder of --agent-path is not on PATH; write `{place}` instead of `{missing[0]}`"
        )
    if missing:
        raise OperatorFault(
            f"agent {agent.name}: `{missing[0]}` is not in the sandbox of {trial.contract.id}; "
            "give its folder with --agent-path and write its whole path, name its toolchain in the contract, or use an image that has it"
        )


@dataclass(frozen=True)
class Engine:
    """How trials are run here: where the folders go, in which sandbox, how many at once."""

    out: Path
    jobs: int = 1
    sandbox: str | None = None
    signer: Path | None = None  # an ed25519 private key
    judging: Judging | None = None  # without it no model is asked
    observer: Observer = field(default_factory=Observer)
    retry: TrialRetryPolicy = field(default_factory=TrialRetryPolicy)
    prepare: Callable[[Contract, str | None], Environment] = prepare_and_keep
    live: LiveRuns = field(default_factory=LiveRuns)
    gate: Gate = field(default_factory=Gate)
    earlier: tuple[Retry, ...] = ()  # attempts at the trials that were made elsewhere
    # The name of a signal that was received. Its KeyboardInterrupt is lost where Python ignores exceptions (in a finaliser).
    interrupted: Callable[[], str] = field(default=lambda: "")

    def run(self, trials: Iterable[Trial]) -> Iterator[TrialResult]:
        """Each trial with all its runs, in the order in which they end."""
        study = _Study(self)
        plan, jobs = iter(trials), max(1, self.jobs)
        pool = ThreadPoolExecutor(jobs)
        running: set[Future[TrialResult]] = set()
        try:
            ahead = study.expect_next(plan)
            while ahead is not None or running:
                while ahead is not None and len(running) < jobs:
                    # One trial ahead: an environment that the next trial needs is not forgotten in between.
                    trial, ahead = ahead, study.expect_next(plan)
                    running.add(pool.submit(study.run, trial))
                    del trial
                done, running = wait(running, POLL_S, FIRST_COMPLETED)
                if signal := self.interrupted():
                    running |= done
                    raise KeyboardInterrupt(signal)  # noqa: TRY301  # stopped as by the exception that was lost
                while done:
                    # Nothing here keeps a result that was yielded.
                    yield done.pop().result()
        except KeyboardInterrupt as interrupt:
            study.stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            yield from self._stop(running, str(interrupt) or "SIGINT")
            raise
        except BaseException:
            # Agents may have half an hour left, and nothing waits for them.
            study.stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        finally:
            study.close()
        pool.shutdown()

    def _stop(self, running: set[Future[TrialResult]], signal: str) -> Iterator[TrialResult]:
        """Stop every run and yield those that are sealed in time; a second interrupt ends the wait."""
        why = f"the operator stopped the run ({signal})"
        self.live.stop_all(StopRequest("operator", why, f"operator {signal}", at_once=True))
        # A cancelled future never counts as done for `wait`.
        for done in wait([one for one in running if not one.cancelled()], STOP_S).done:
            if done.exception() is None:
                yield done.result()


class _Study:
    """One call of `Engine.run`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._observer = SerialObserver(engine.observer)
        self._environments = Environments(refuse_absent_agent)
        self._reserves = Reserves(engine.out)
        self.stopped = threading.Event()

    def close(self) -> None:
        self._reserves.close()

    def expect_next(self, plan: Iterator[Trial]) -> Trial | None:
        trial = next(plan, None)
        if trial is not None:
            self._environments.expect(trial)
        return trial

    def run(self, trial: Trial) -> TrialResult:
        """Raises nothing of the trial's: whatever goes wrong is its result."""
        ON_WAIT.set(lambda why: self._observer.waiting(trial, why))
        self._observer.started(trial)
        attempts = _Attempts(trial, retries=list(self._engine.earlier))
        try:
            fault = self._attempt_until_done(attempts)
        except SteelyardError as raised:
            fault = raised
        except OSError as error:
            fault = machine_fault(error)
        except Exception as defect:  # noqa: BLE001  # a defect of Steelyard fails this trial, with a message, and no other trial
            fault = InfraFault(f"internal error in Steelyard: {defect!r}")
            fault.__cause__ = defect
        finally:
            self._environments.release(trial)
        result = TrialResult(trial, tuple(attempts.records), fault, tuple(attempts.retries))
        self._observer.finished(result)
        return result

    def _attempt_until_done(self, attempts: _Attempts) -> SteelyardError | None:
        """The fault that kept the last attempt from a record, if one did."""
        trial = attempts.trial
        self._observer.phase(trial, "environment")
        environment = self._environments.environment_of(trial, lambda: self._prepare(attempts))
        for number in itertools.count(1):
            fault = self._attempt(attempts, environment)
            spoiled = fault if fault is not None else fault_of(attempts.records[-1].evidence)
            if spoiled is None:
                break
            if not self._wait(attempts, self._engine.retry.next_run(number, str(spoiled), spoiled)):
                break
        return fault

    def _attempt(self, attempts: _Attempts, environment: Environment) -> InfraFault | None:
        """One run, sealed and graded; a fault that left no sealed run is returned, and may be tried again."""
        trial, engine = attempts.trial, self._engine
        attempts.is_begun = False
        if why := engine.gate.enter(trial, self.stopped.is_set):
            raise Withheld(why)
        try:
            with self._reserves.one() as reserve:
                evidence = self._execute(attempts, environment)
                record = self._grade(trial, environment, evidence, reserve)
        except NotTriedError as untried:
            engine.gate.cancel(trial)
            raise untried.fault from None
        except MACHINE_FAULTS as error:
            self._leave_without_record(attempts)
            return machine_fault(error)
        except BaseException:
            self._leave_without_record(attempts)
            raise
        engine.gate.leave(trial, record.use)
        attempts.records.append(record)
        return None

    def _leave_without_record(self, attempts: _Attempts) -> None:
        """A run that was begun is charged its bound, by its folder too; one that the machine had no room for left none, and used nothing."""
        if attempts.is_begun:
            self._engine.gate.leave(attempts.trial, None)
        else:
            self._engine.gate.cancel(attempts.trial)

    def _execute(self, attempts: _Attempts, environment: Environment) -> Evidence:
        trial, engine = attempts.trial, self._engine

        def on_phase(phase: Phase, detail: str) -> None:
            attempts.is_begun = attempts.is_begun or phase != "prepare"  # its folder is there
            self._observer.phase(trial, phase, detail)

        try:
            return run_trial(
                trial,
                environment,
                engine.out,
                signer=engine.signer,
                live=engine.live,
                on_phase=on_phase,
                retries=tuple(attempts.retries),
            )
        except (ContractFault, OperatorFault) as fault:  # the run was discarded
            raise NotTriedError(fault) from fault

    def _grade(self, trial: Trial, environment: Environment, evidence: Evidence, reserve: Reserve) -> Record:
        self._observer.phase(trial, "grade")
        judging = self._engine.judging
        if judging is not None:
            judging = replace(judging, on_ask=lambda _: self._observer.phase(trial, "judge"))
        try:
            return grade_evidence(
                trial.contract, evidence, lambda: environment, self._engine.signer, judging, reserve=reserve
            )
        except Exception as error:
            # Not sealed and ungraded for ever: without its seal it is a run that was cut off.
            with suppress(OSError, InfraFault):
                evidence.folder.file(SEAL).unlink()
                if not isinstance(error, (SteelyardError, OSError)):
                    evidence.folder.write_bytes(DEFECT, traceback.format_exc().encode(errors="replace"))
            if isinstance(error, MACHINE_FAULTS):
                raise UngradedRun(str(machine_fault(error))) from error
            raise

    def _prepare(self, attempts: _Attempts) -> Environment:
        number = 1
        while True:
            try:
                return self._engine.prepare(attempts.trial.contract, self._engine.sandbox)
            except MACHINE_FAULTS as error:
                fault = machine_fault(error)
                if not self._wait(attempts, self._engine.retry.next_preparation(number, fault)):
                    raise fault from error
            number += 1

    def _wait(self, attempts: _Attempts, retry: Retry | None) -> bool:
        """Whether another attempt follows; the time until then has passed."""
        if retry is None or self.stopped.is_set():
            return False
        attempts.retries.append(retry)
        self._observer.retried(attempts.trial, retry)
        self._engine.retry.sleep(retry.wait_s)
        return not self.stopped.is_set()


@dataclass
class _Attempts:
    trial: Trial
    records: list[Record] = field(default_factory=list)
    retries: list[Retry] = field(default_factory=list)
    is_begun: bool = False  # the attempt that is under way has a run folder
