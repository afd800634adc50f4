"""Environments are prepared once for the trials that need them at the time, and then forgotten."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from fake_study import FakeStudy

from steelyard.contract.contract import Contract
from steelyard.environment.prepare import Environment
from steelyard.errors import OperatorFault
from steelyard.plan.trial import Trial
from steelyard.study.environments import Environments

Make = Callable[..., Contract]


def accept_agent(trial: Trial, environment: Environment) -> None:
    del trial, environment


def test_an_environment_is_forgotten_after_its_last_trial(contract: Make) -> None:
    environments, trial = Environments(accept_agent), Trial(contract(), "noop")
    for _ in range(2):
        environments.expect(trial)
    environments.release(trial)
    assert len(environments) == 1
    environments.release(trial)
    assert len(environments) == 0


def test_trials_that_come_at_the_same_time_share_one_preparation(
    fake_study: FakeStudy, contract: Make
) -> None:
    environments, trial = Environments(accept_agent), Trial(contract(), "noop")
    environments.expect(trial)
    with ThreadPoolExecutor(4) as pool:
        prepare = lambda: fake_study.prepare(trial.contract, None)  # noqa: E731
        found = list(pool.map(lambda _: environments.environment_of(trial, prepare), range(8)))
    assert len({id(one) for one in found}) == 1
    assert fake_study.prepared == ["sum"]


def test_an_agent_is_checked_once_in_each_environment(fake_study: FakeStudy, contract: Make) -> None:
    checked: list[str] = []

    def refuse(trial: Trial, environment: Environment) -> None:
        del environment
        checked.append(trial.agent)
        if trial.agent == "absent":
            raise OperatorFault("there is no such program")

    environments, made = Environments(refuse), contract()
    for agent in ("absent", "noop", "absent"):
        trial = Trial(made, agent)
        environments.expect(trial)
        try:
            environments.environment_of(trial, lambda: fake_study.prepare(made, None))
        except OperatorFault:
            assert agent == "absent"
    assert checked == ["absent", "noop"]


def test_a_fault_of_preparation_is_the_fault_of_every_trial(contract: Make) -> None:
    environments, trial = Environments(accept_agent), Trial(contract(), "noop")
    environments.expect(trial)
    raised = []

    def fail() -> Environment:
        raised.append(1)
        raise OperatorFault("not here")

    for _ in range(2):
        with pytest.raises(OperatorFault, match="not here"):
            environments.environment_of(trial, fail)
    assert raised == [1]
