"""Trials -> Records, on this machine's threads. An infrastructure fault costs another run, never a score."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

from steelyard.agents.catalogue import agent_for
from steelyard.bench.absent_tools import absent, refuse_absent_tools
from steelyard.bench.ground import Ground, lay_ground
from steelyard.contract.contract import Contract
from steelyard.errors import OperatorFault
from steelyard.execution.run_trial import run_trial
from steelyard.plan.trial import Trial
from steelyard.study.judging import Judging
from steelyard.study.record import Record, grade_evidence

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
        grounds = {
            id(contract): self._lay(contract)
            for contract in {id(t.contract): t.contract for t in trials}.values()
        }
        self._refuse_absent_agents(trials, grounds)
        pool = ThreadPoolExecutor(max(1, self.jobs))
        done_all = False
        try:
            running = {pool.submit(self._try, trial, grounds[id(trial.contract)]): trial for trial in trials}
            for done in as_completed(running):
                # Without `pop` every record would be kept until the last trial ends.
                yield running.pop(done), done.result()
                del done
            done_all = True
        finally:
            # Interrupted, nobody waits for agents that may have half an hour left.
            pool.shutdown(wait=done_all, cancel_futures=True)

    def _lay(self, contract: Contract) -> Ground:
        self.on_prepare(contract)
        ground = lay_ground(contract, sandbox=self.sandbox)
        refuse_absent_tools(ground)
        return ground

    def _refuse_absent_agents(self, trials: Sequence[Trial], grounds: Mapping[int, Ground]) -> None:
        """An agent whose program is in no sandbox is the operator's mistake, found before any other is tried."""
        wanted: dict[int, dict[str, str]] = {}
        for trial in trials:
            agent = agent_for(trial.agent, trial.contract)
            # Agents of other packages may not say.
            programs: tuple[str, ...] = getattr(agent, "programs", tuple)()
            wanted.setdefault(id(trial.contract), {}).update(dict.fromkeys(programs, agent.name))
        for key, agents in wanted.items():
            missing = absent(grounds[key], sorted(agents)) if agents else []
            if missing:
                where = grounds[key].contract.id
                raise OperatorFault(
                    f"agent {agents[missing[0]]}: there is no `{missing[0]}` in the sandbox of {where}; "
                    "name its toolchain, or use an image that has it"
                )

    def _try(self, trial: Trial, ground: Ground) -> list[Record]:
        self.on_start(trial)
        records: list[Record] = []
        while len(records) < MAX_RUNS and (
            not records or records[-1].evidence.termination == "infrastructure"
        ):
            evidence = run_trial(trial, ground, self.out, signer=self.signer)
            records.append(
                grade_evidence(trial.contract, evidence, lambda: ground, self.signer, self.judging)
            )
        return records
