"""Contracts x agents x repeats -> trials, the unit of statistics.

    Trial.id   "t" and 16 hex digits of sha256 over [contract digest, agent as typed, repeat number], and of a trial of a
               study the digest of its plan

Outside a study the same contract, agent and repeat have the same id on every machine. Manifest and result line record it.
A run id is of one attempt; several attempts of a trial share the trial's id.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence

from steelyard.contract.contract import Contract
from steelyard.deferred.data_class import dataclass
from steelyard.deferred.named_tuple import NamedTuple
from steelyard.plan.agent_options import NO_OPTIONS, AgentOptions

PROTOCOL_SEED = 20260307
REFERENCE = "reference"  # the agent that is the contract's own solution
HONEYPOT = "honeypot"  # the stratum of contracts that cannot be satisfied
ID_DIGITS = 16


class StudyPlace(NamedTuple):
    """Where in a study a trial stands; its manifest and its result line say so."""

    digest: str  # of the plan
    name: str
    stage: str
    stratum: str
    seed: int = PROTOCOL_SEED  # that the plan drew its order from


@dataclass(frozen=True, slots=True)
class Trial:
    """One agent on one contract, one repeat."""

    contract: Contract
    agent: str  # as typed: "script:fix.sh", "mine=command:my-agent"
    repeat: int = 1
    options: AgentOptions = NO_OPTIONS  # what the agent is given beside the contract
    place: StudyPlace | None = None
    # What the checks of a run may take together; none: only their own limits
    acceptance_s: float | None = None

    @property
    def id(self) -> str:
        """Stable across machines, and unique in a plan."""
        study = () if self.place is None else (self.place.digest,)
        material = json.dumps([self.contract.digest, self.agent, self.repeat, *study]).encode()
        return f"t{hashlib.sha256(material).hexdigest()[:ID_DIGITS]}"

    @property
    def seed(self) -> int:
        """What grading draws its randomness from: the protocol's seed, the contract and the repeat."""
        material = f"{PROTOCOL_SEED}:{self.contract.digest}:{self.repeat}".encode()
        return int.from_bytes(hashlib.sha256(material).digest()[:4], "big")


class Retry(NamedTuple):
    """One more attempt at a trial, because the machine and not the agent spoiled the last one."""

    attempt: int  # the number of the attempt that follows; the first attempt is 1
    why: str
    wait_s: float


@dataclass(frozen=True, slots=True)
class Plan:
    """Trials that are made one at a time, as often as the plan is iterated: a million of them take no memory."""

    contracts: Sequence[Contract]
    agents: Sequence[str]
    repeats: int = 1
    options: AgentOptions = NO_OPTIONS

    def __len__(self) -> int:
        return len(self.contracts) * len(self.agents) * self.repeats

    def __iter__(self) -> Iterator[Trial]:
        """A contract or an agent that is named twice gets further repeats, so that no two trials are the same."""
        done: Counter[tuple[str, str]] = Counter()
        for contract in self.contracts:
            for agent in self.agents:
                first = done[contract.digest, agent] + 1
                done[contract.digest, agent] += self.repeats
                for repeat in range(first, first + self.repeats):
                    yield Trial(contract, agent, repeat, self.options)


def plan_trials(
    contracts: Sequence[Contract], agents: Sequence[str], repeats: int, options: AgentOptions = NO_OPTIONS
) -> Plan:
    """Every agent gets the same contracts and the same number of repeats."""
    return Plan(tuple(contracts), tuple(agents), repeats, options)
