"""Contracts -> their prepared environments: the first trial that needs one prepares it, the others wait for that trial.

The engine announces each trial before it starts (`expect`) and reports its end (`release`). An environment is forgotten when
no announced trial needs it any more, so a study holds as many environments as trials run at the same time, and one more.
A preparation that failed is an outcome too: every trial that needs it gets the same fault, and nothing is prepared again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import field

from steelyard.contract.contract import Contract
from steelyard.deferred.data_class import dataclass
from steelyard.environment.prepare import Environment
from steelyard.errors import SteelyardError
from steelyard.plan.trial import Trial

CheckAgent = Callable[[Trial, Environment], None]


@dataclass
class _Slot:
    contract: Contract  # held, so that its identity is not used again
    trials: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    environment: Environment | None = None
    fault: SteelyardError | None = None
    agents: dict[str, SteelyardError | None] = field(default_factory=dict)


class Environments:
    """`check_agent` raises a fault when the agent of a trial cannot start in an environment."""

    def __init__(self, check_agent: CheckAgent) -> None:
        self._check_agent = check_agent
        self._slots: dict[int, _Slot] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._slots)

    def expect(self, trial: Trial) -> None:
        """One more trial of this contract will need its environment."""
        with self._lock:
            self._slots.setdefault(id(trial.contract), _Slot(trial.contract)).trials += 1

    def release(self, trial: Trial) -> None:
        """A trial that was expected has ended."""
        with self._lock:
            slot = self._slots[id(trial.contract)]
            slot.trials -= 1
            if slot.trials == 0:
                del self._slots[id(trial.contract)]

    def environment_of(self, trial: Trial, prepare: Callable[[], Environment]) -> Environment:
        """The environment of an expected trial; raises the fault of its preparation, or of its agent in it.

        `prepare` is called if no other trial has done so.
        """
        slot = self._slots[id(trial.contract)]
        with slot.lock:
            environment = _prepare(slot, prepare)
            if trial.agent not in slot.agents:
                slot.agents[trial.agent] = _fault_of(lambda: self._check_agent(trial, environment))
            fault = slot.agents[trial.agent]
        if fault is not None:
            raise fault
        return environment


def _prepare(slot: _Slot, prepare: Callable[[], Environment]) -> Environment:
    if slot.fault is not None:
        raise slot.fault
    if slot.environment is None:
        try:
            slot.environment = prepare()
        except SteelyardError as fault:
            slot.fault = fault
            raise
    return slot.environment


def _fault_of(check: Callable[[], None]) -> SteelyardError | None:
    try:
        check()
    except SteelyardError as fault:
        return fault
    return None
