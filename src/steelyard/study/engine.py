"""Trials -> Records, on this machine's threads. An infrastructure fault costs another run, never a score.

What goes wrong before a run has a folder, or when its record cannot be written, costs that trial alone: the others go on,
and the fault is raised when they have ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from steelyard.agents.catalogue import agent_for
from steelyard.bench.absent_tools import absent, refuse_absent_tools
from steelyard.contract.contract import Contract
from steelyard.environment.prepare import Environment, prepare_environment
from steelyard.errors import InfraFault, OperatorFault
from steelyard.evidence.evidence import Evidence
from steelyard.evidence.folder.folder import SEAL
from steelyard.execution.run_trial import run_trial
from steelyard.filesystem.disk_reserve import Reserve, reserved
from steelyard.plan.trial import Trial
from steelyard.study.judging import Judging
from steelyard.study.record import Record, grade_evidence

MACHINE_FAULTS = (InfraFault, OSError)
MAX_RUNS = 2  # of one trial, when the machine and not the agent failed


@dataclass(frozen=True)
class Engine:
    """How trials are run here: where the folders go, in which sandbox, how many at once."""

    out: Path
    jobs: int = 1
    sandbox: str | None = None
    signer: Path | None = None  # an ed25519 private key
    judging: Judging | None = None  # without it no model is asked
    on_prepare: Callable[[Contract], None] = field(default=lambda _: None)
    on_start: Callable[[Trial], None] = field(default=lambda _: None)

    def run(self, trials: Sequence[Trial]) -> Iterator[tuple[Trial, list[Record]]]:
        """Each trial with all its runs, in the order in which they end; the last run is the one that counts."""
        # Grounds first and one by one: two threads would only wait for the same setup layer.
        environments = {
            id(contract): self._lay(contract)
            for contract in {id(t.contract): t.contract for t in trials}.values()
        }
        faults = [fault for t in trials if isinstance(fault := environments[id(t.contract)], Exception)]
        self._refuse_absent_agents(trials, environments)
        pool = ThreadPoolExecutor(max(1, self.jobs))
        done_all = False
        try:
            running = {
                pool.submit(self._try, trial, environment): trial
                for trial in trials
                if isinstance(environment := environments[id(trial.contract)], Environment)
            }
            for done in as_completed(running):
                failed = done.exception()
                # Without `pop` every record would be kept until the last trial ends.
                trial = running.pop(done)
                if isinstance(failed, MACHINE_FAULTS):
                    faults.append(failed)
                else:
                    yield trial, done.result()
                del done
            done_all = True
        finally:
            # Interrupted, nobody waits for agents that may have half an hour left.
            pool.shutdown(wait=done_all, cancel_futures=True)
        if faults:
            raise _untried(faults, len(trials))

    def _lay(self, contract: Contract) -> Environment | Exception:
        self.on_prepare(contract)
        try:
            environment = prepare_environment(contract, sandbox=self.sandbox)
            refuse_absent_tools(environment)
        except MACHINE_FAULTS as fault:
            return fault
        return environment

    def _refuse_absent_agents(
        self, trials: Sequence[Trial], environments: Mapping[int, Environment | Exception]
    ) -> None:
        """An agent whose program is in no sandbox is the operator's mistake, found before any other is tried."""
        wanted: dict[int, dict[str, str]] = {}
        for trial in trials:
            agent = agent_for(trial.agent, trial.contract)
            # Agents of other packages may not say.
            programs: tuple[str, ...] = getattr(agent, "programs", tuple)()
            wanted.setdefault(id(trial.contract), {}).update(dict.fromkeys(programs, agent.name))
        for key, agents in wanted.items():
            environment = environments[key]
            missing = (
                absent(environment, sorted(agents)) if agents and isinstance(environment, Environment) else []
            )
            if missing and isinstance(environment, Environment):
                where = environment.contract.id
                raise OperatorFault(
                    f"agent {agents[missing[0]]}: `{missing[0]}` is not in the sandbox of {where}; "
                    "name its toolchain, or use an image that has it"
                )

    def _try(self, trial: Trial, environment: Environment) -> list[Record]:
        self.on_start(trial)
        records: list[Record] = []
        while len(records) < MAX_RUNS and (
            not records or records[-1].evidence.termination == "infrastructure"
        ):
            with reserved(self.out) as reserve:
                evidence = run_trial(trial, environment, self.out, signer=self.signer)
                records.append(self._graded(trial, environment, evidence, reserve))
        return records

    def _graded(self, trial: Trial, environment: Environment, evidence: Evidence, reserve: Reserve) -> Record:
        try:
            return grade_evidence(
                trial.contract, evidence, lambda: environment, self.signer, self.judging, reserve=reserve
            )
        except MACHINE_FAULTS:
            # Not sealed and ungraded for ever: without its seal it is a run that was cut off.
            with suppress(OSError):
                evidence.folder.file(SEAL).unlink()
            raise


def _untried(faults: Sequence[BaseException], trials: int) -> InfraFault:
    first = faults[0]
    said = str(first) if isinstance(first, InfraFault) else f"an operation failed on this machine: {first}"
    return InfraFault(f"{len(faults)} of {trials} trials could not be run: {said}" if trials > 1 else said)
