"""The states of a sandbox: what stops is stopped once, what failed fails the same way, and everything is given back."""

from __future__ import annotations

import pytest

from steelyard.errors import InfraFault
from steelyard.sandboxes.base import Command, CommandResult, ExitStats, OnOutput
from steelyard.sandboxes.fake import Answer, FakeInit
from steelyard.sandboxes.init.wire import Wire
from steelyard.sandboxes.lifecycle import Lifecycle


class Counting(Lifecycle):
    """A sandbox that counts how often it is ended and given back."""

    def __init__(self, init: FakeInit, fault: InfraFault | None = None) -> None:
        wire = Wire(init.controller)
        wire.hello(b"", 10)
        super().__init__(wire, (), None)
        self._fails_with = fault
        self.ends: list[str] = []

    def run(self, command: Command, on_output: OnOutput | None = None) -> CommandResult:
        self._begin()
        return self._wire.run(command, "/", {}, on_output)

    def look(self) -> None:
        self._require_dead()

    def _die(self) -> ExitStats:
        self.ends.append("die")
        self._wire.close()
        if self._fails_with is not None:
            raise self._fails_with
        return ExitStats(oom_kills=1)

    def _give_back(self) -> None:
        self.ends.append("give back")


@pytest.fixture
def init() -> FakeInit:
    return FakeInit(lambda _: Answer())


def test_a_sandbox_is_ended_once_and_given_back_once(init: FakeInit) -> None:
    sandbox = Counting(init)
    assert sandbox.stop() == sandbox.stop() == ExitStats(oom_kills=1)
    sandbox.close()
    sandbox.close()
    assert sandbox.ends == ["die", "give back"]


def test_a_stop_that_failed_fails_again_and_closing_still_gives_back(init: FakeInit) -> None:
    sandbox = Counting(init, InfraFault("it lives on"))
    for _ in range(2):
        with pytest.raises(InfraFault, match="it lives on"):
            sandbox.stop()
    sandbox.close()
    assert sandbox.ends == ["die", "give back"]


def test_closing_says_that_the_first_stop_failed_and_gives_back(init: FakeInit) -> None:
    sandbox = Counting(init, InfraFault("it lives on"))
    with pytest.raises(InfraFault, match="it lives on"):
        sandbox.close()
    assert sandbox.ends == ["die", "give back"]


def test_the_workspace_is_read_only_while_nothing_runs(init: FakeInit) -> None:
    sandbox = Counting(init)
    with pytest.raises(RuntimeError):
        sandbox.look()
    sandbox.kill_processes()
    sandbox.look()
    sandbox.run(Command(("true",)))
    with pytest.raises(RuntimeError):
        sandbox.look()
    sandbox.stop()
    sandbox.look()
    sandbox.close()
    with pytest.raises(RuntimeError):
        sandbox.look()


def test_a_stopped_sandbox_does_not_settle(init: FakeInit) -> None:
    sandbox = Counting(init)
    sandbox.stop()
    with pytest.raises(InfraFault, match="unknown"):
        sandbox.kill_processes()
    sandbox.close()
