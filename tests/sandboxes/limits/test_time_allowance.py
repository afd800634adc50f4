"""Commands of several sandboxes share an allowance of time; what was cut off decides nothing."""

from __future__ import annotations

import pytest

from steelyard.errors import GraderFault
from steelyard.sandboxes.base import Command, SandboxSpec
from steelyard.sandboxes.docker.sandbox import DockerSandbox
from steelyard.sandboxes.fake import Answer, FakeBackend, FakeSandbox
from steelyard.sandboxes.limits.time_allowance import TimeAllowance, TimedBackend, limit_time


class Clock:
    def __init__(self) -> None:
        self.s = 0.0

    def __call__(self) -> int:
        return int(self.s * 1e9)


def test_time_counts_only_while_something_is_spending() -> None:
    clock = Clock()
    allowance = TimeAllowance(10, clock)
    clock.s = 100
    with allowance.spending():
        clock.s = 104
    clock.s = 200
    with allowance.spending():
        clock.s = 203
        assert (allowance.spent_s, allowance.left_s()) == (7, 3)


def test_the_wait_of_a_sandbox_for_the_memory_of_other_runs_is_not_the_checks_time() -> None:
    clock = Clock()
    allowance = TimeAllowance(10, clock)

    def wait(_: SandboxSpec) -> None:
        clock.s += 3600

    backend = TimedBackend(FakeBackend(lambda _: Answer(), wait), allowance)
    with allowance.spending():
        clock.s = 4
        with backend.start(SandboxSpec(layers=())):
            clock.s += 1
        assert (allowance.spent_s, allowance.left_s()) == (5, 5)
    assert allowance.spent_s == 5


def test_no_sandbox_starts_when_nothing_is_left() -> None:
    clock = Clock()
    allowance = TimeAllowance(1, clock)
    with allowance.spending():
        clock.s = 2
        with pytest.raises(GraderFault, match="1 s together"):
            TimedBackend(FakeBackend(lambda _: Answer()), allowance).start(SandboxSpec(layers=()))
    assert allowance.is_exceeded


def test_a_command_that_is_cut_off_decides_nothing() -> None:
    """By a clock that stands still: the time that is left is not over before the command begins."""
    clock = Clock()
    allowance = TimeAllowance(10, clock)
    backend = TimedBackend(FakeBackend(lambda _: Answer(hangs=True)), allowance)
    with allowance.spending(), backend.start(SandboxSpec(layers=())) as sandbox:
        clock.s = 9.9
        with pytest.raises(GraderFault, match="used up"):
            sandbox.run(Command(("sleep",), timeout_s=600))
    assert allowance.is_exceeded


def test_a_command_that_reaches_its_own_limit_timed_out_as_ever() -> None:
    allowance = TimeAllowance(600)
    backend = TimedBackend(FakeBackend(lambda _: Answer(hangs=True)), allowance)
    with allowance.spending(), backend.start(SandboxSpec(layers=())) as sandbox:
        assert sandbox.run(Command(("sleep",), timeout_s=0.1)).timed_out
    assert not allowance.is_exceeded


def test_a_command_within_the_allowance_runs_as_ever() -> None:
    allowance = TimeAllowance(600)
    backend = TimedBackend(FakeBackend(lambda _: Answer(stdout=b"hello")), allowance)
    with allowance.spending(), backend.start(SandboxSpec(layers=())) as sandbox:
        assert sandbox.run(Command(("greet",))).stdout.text == "hello"
        assert sandbox.stop() is not None


def test_a_timed_container_has_every_method_of_a_container() -> None:
    """A verifier with a system of its own takes artifacts out of it, which only a container can do."""
    with FakeSandbox(lambda _: Answer()) as sandbox:
        names = {name for name in dir(DockerSandbox) if not name.startswith("_")}
        assert names <= set(dir(limit_time(sandbox, TimeAllowance(1))))
