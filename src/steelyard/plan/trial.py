"""Contracts x agents x repeats -> trials, the unit of statistics."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from steelyard.contract.contract import Contract
from steelyard.plan.agent_options import NO_OPTIONS, AgentOptions

PROTOCOL_SEED = 20260307


@dataclass(frozen=True, slots=True)
class Trial:
    """One agent on one contract, one repeat."""

    contract: Contract
    agent: str  # as given: "script:fix.sh", "mine=command:my-agent"
    repeat: int = 1
    options: AgentOptions = NO_OPTIONS  # what the agent is given beside the contract

    @property
    def seed(self) -> int:
        """What grading draws its randomness from: the protocol's seed, the contract and the repeat."""
        material = f"{PROTOCOL_SEED}:{self.contract.digest}:{self.repeat}".encode()
        return int.from_bytes(hashlib.sha256(material).digest()[:4], "big")


def plan_trials(
    contracts: Sequence[Contract], agents: Sequence[str], repeats: int, options: AgentOptions = NO_OPTIONS
) -> tuple[Trial, ...]:
    """Every agent gets the same contracts and the same number of repeats."""
    return tuple(
        Trial(contract, agent, repeat, options)
        for contract in contracts
        for agent in agents
        for repeat in range(1, repeats + 1)
    )
