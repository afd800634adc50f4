"""How often, and after which wait, a trial is attempted again."""

from __future__ import annotations

from steelyard.errors import InfraFault, LastingFault, MissingCapability
from steelyard.plan.trial import Retry
from steelyard.study.retry_policy import TrialRetryPolicy, UngradedRun, machine_fault


def test_the_wait_doubles_until_the_longest() -> None:
    policy = TrialRetryPolicy(runs=6, first_wait_s=1.0, longest_wait_s=5.0, draw=lambda: 1.0)
    retries = [policy.next_run(failed, "full") for failed in range(1, 6)]
    assert [one and one.wait_s for one in retries] == [1.0, 2.0, 4.0, 5.0, 5.0]


def test_the_wait_is_drawn_from_the_upper_half_of_its_range() -> None:
    shortest = TrialRetryPolicy(draw=lambda: 0.0).next_run(1, "full")
    assert shortest == Retry(attempt=2, why="full", wait_s=0.5)


def test_a_preparation_is_attempted_three_times() -> None:
    retries = [TrialRetryPolicy().next_preparation(failed, InfraFault("away")) for failed in (1, 2, 3)]
    assert [one and one.attempt for one in retries] == [2, 3, None]


def test_a_run_is_attempted_twice() -> None:
    """An agent that can provoke a fault of the machine gets no third chance."""
    assert [TrialRetryPolicy().next_run(failed, "full") is None for failed in (1, 2)] == [False, True]


def test_a_lasting_fault_is_not_attempted_again() -> None:
    assert TrialRetryPolicy().next_preparation(1, MissingCapability("absent")) is None


def test_a_refused_key_is_not_attempted_again() -> None:
    assert TrialRetryPolicy().next_run(1, "refused", LastingFault("refused")) is None


def test_a_grading_that_failed_does_not_run_the_agent_again() -> None:
    assert TrialRetryPolicy().next_run(1, "full", UngradedRun("full")) is None


def test_an_error_of_the_system_is_a_fault_of_the_machine() -> None:
    error = OSError(24, "Too many open files")
    assert isinstance(machine_fault(error), InfraFault)
    assert str(machine_fault(error)) == "an operation failed on this machine: [Errno 24] Too many open files"


def test_a_fault_of_the_machine_stays_what_it_is() -> None:
    fault = InfraFault("dead")
    assert machine_fault(fault) is fault
