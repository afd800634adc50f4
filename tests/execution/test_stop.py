"""A stop request: the first one wins, the agent is killed whatever it starts, and the termination names who asked."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from authoring import FIX, Author
from steelyard.agents.base import Ending, Session, Turn, Workplace, ending_of
from steelyard.agents.catalogue import BUILT_IN
from steelyard.agents.process import ProcessAgent
from steelyard.contract.load import load_contract
from steelyard.environment.prepare import prepare_environment
from steelyard.evidence.trace.chain import Event, read_events
from steelyard.execution.live_run import LiveRun, LiveRuns
from steelyard.execution.run_trial import run_trial
from steelyard.execution.stop import StopRequest, StopSwitch
from steelyard.graders.catalogue import installed_catalogue
from steelyard.plan.trial import Trial
from steelyard.sandboxes.base import Command
from steelyard.sandboxes.fake import Answer, FakeSandbox
from steelyard.sandboxes.init.feed import Feed
from steelyard.study.engine import Engine

BY_MONITOR = StopRequest("no_progress", "nothing changed in 40 calls", "monitor no_progress", {"calls": 40})
BY_OPERATOR = StopRequest("operator", "stopped by hand", "operator", at_once=True)


def test_the_first_of_many_requests_wins() -> None:
    switch, recorded = StopSwitch(), list[str]()
    requests = [StopRequest("cost_cap", str(number), f"budget {number}") for number in range(20)]
    taken: list[bool] = []
    threads = [
        threading.Thread(
            target=lambda one=one: taken.append(switch.request(one, lambda: recorded.append(one.by)))
        )
        for one in requests
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == [*[False] * 19, True]
    assert switch.current is not None
    assert recorded == [switch.current.by]


@pytest.mark.parametrize("code", ["completed", "agent_crash", "infrastructure"])
def test_a_run_is_not_stopped_without_a_decision(code: str) -> None:
    with pytest.raises(ValueError, match="no reason to stop"):
        StopRequest(code, "", "")  # type: ignore[arg-type]


def test_after_the_agents_end_only_a_stop_at_once_is_taken() -> None:
    switch = StopSwitch()
    switch.end_agent()
    assert not switch.request(BY_MONITOR)
    assert switch.request(BY_OPERATOR)


def test_a_run_that_is_over_cannot_be_stopped() -> None:
    switch = StopSwitch()
    switch.close()
    assert not switch.request(BY_OPERATOR)


def test_a_process_that_is_started_after_the_kill_is_killed_too() -> None:
    switch = StopSwitch()
    with FakeSandbox(lambda _: Answer(hangs=True)) as sandbox:
        with switch.working(sandbox):
            threading.Thread(target=switch.request, args=(BY_MONITOR,)).start()
            ended = [sandbox.run(Command(("sleep",))).signal for _ in range(3)]
        assert ended == [9, 9, 9]


def test_a_command_that_follows_the_agents_turn_is_not_killed() -> None:
    switch = StopSwitch()
    with FakeSandbox(lambda request: Answer(hangs=request.argv == ["agent"])) as sandbox:
        with switch.working(sandbox):
            switch.request(BY_MONITOR)
            sandbox.run(Command(("agent",)))
        assert sandbox.run(Command(("collect",))).exit_code == 0


Work = Callable[[Turn], Ending]


@dataclass(frozen=True)
class Scripted(ProcessAgent):
    work_on: Work
    name: str = "scripted"

    def parameters(self) -> dict[str, str]:
        return {}

    def work(self, turn: Turn) -> Ending:
        return self.work_on(turn)


class Watching(LiveRuns):
    """Calls `on_event` with each event of every run."""

    def __init__(self, on_event: Callable[[LiveRun, Event], None]) -> None:
        super().__init__()
        self._on_event = on_event

    def add(self, run: LiveRun) -> None:
        super().add(run)
        run.events.subscribe(lambda event: self._on_event(run, event))


@pytest.fixture
def contract_of(author: Author, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., object]:
    monkeypatch.setenv("STEELYARD_CACHE", str(cache))
    return lambda **keys: load_contract(author.write(**keys), installed_catalogue())


def test_a_subscriber_stops_a_run_and_is_named_in_its_termination(
    contract_of: Callable[..., object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is stopped by another part of the controller, is not a crash, and is run once."""
    slow = Scripted(lambda turn: ending_of(turn.run(("/bin/sh", "-c", f"{FIX} sleep 3000"))))
    monkeypatch.setitem(BUILT_IN, "slow", lambda _: slow)

    def stop(run: LiveRun, event: Event) -> None:
        if event.type == "tool.call":
            run.request_stop(BY_MONITOR)

    engine = Engine(tmp_path / "runs", live=Watching(stop))
    (result,) = engine.run([Trial(contract_of(), "slow")])  # type: ignore[arg-type]
    (record,) = result.records
    events = list(read_events(record.evidence.folder.events))
    (ended,) = [event.payload for event in events if event.type == "termination"]
    assert (ended["code"], ended["by"]) == ("no_progress", "monitor no_progress")
    assert ended["evidence"] == {"calls": 40}
    (intervention,) = [event for event in events if event.type == "intervention"]
    assert (intervention.payload["action"], intervention.payload["by"]) == (
        "terminate",
        "monitor no_progress",
    )
    assert record.verdict.verdict == "fail"
    assert record.evidence.summary.stopped_by == "monitor no_progress"
    assert record.verdict.patch_verdict == "pass"  # the checks ran


def test_a_run_that_is_stopped_before_its_agent_starts_never_starts_it(
    contract_of: Callable[..., object], tmp_path: Path
) -> None:
    live = LiveRuns()
    live.stop_all(BY_OPERATOR)
    contract = contract_of()
    evidence = run_trial(
        Trial(contract, "command:touch begun"),  # type: ignore[arg-type]
        prepare_environment(contract),  # type: ignore[arg-type]
        tmp_path / "runs",
        live=live,
    )
    assert (evidence.termination, evidence.summary.stopped_by) == ("operator", "operator")
    assert evidence.summary.types["tool.call"] == evidence.summary.types["check.start"] == 0
    assert evidence.change.entries == ()


@dataclass
class Conversation:
    """One process for the whole trial: a line in, a line out."""

    workplace: Workplace
    feed: Feed = field(default_factory=Feed)
    answers: list[bytes] = field(default_factory=list)
    answered: threading.Condition = field(default_factory=threading.Condition)
    closed: list[bool] = field(default_factory=list)

    def __post_init__(self) -> None:
        line = 'n=0; while read -r line; do n=$((n+1)); echo "$n $line" >> log; echo "$n"; done'
        command = Command(("/bin/sh", "-c", line), stdin=self.feed, env=self.workplace.env)
        run = self.workplace.sandbox.run
        self._thread = threading.Thread(target=lambda: run(command, self._take), daemon=True)
        self._thread.start()

    def _take(self, _: str, data: bytes) -> None:
        with self.answered:
            self.answers.append(data)
            self.answered.notify_all()

    def respond(self, turn: Turn) -> Ending:
        known = len(self.answers)
        self.feed.write(turn.brief.splitlines()[0].encode() + b"\n")
        with self.answered:
            self.answered.wait_for(lambda: len(self.answers) > known)
        return Ending("completed", "answered")

    def close(self) -> None:
        self.closed.append(True)
        self.feed.close()
        self._thread.join()


def test_one_session_with_one_process_answers_every_turn(
    contract_of: Callable[..., object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Conversation] = []

    @dataclass(frozen=True)
    class Talking(Scripted):
        def open(self, workplace: Workplace) -> Session:
            opened.append(Conversation(workplace))
            return opened[-1]

    monkeypatch.setitem(BUILT_IN, "talking", lambda _: Talking(lambda _: Ending("completed", "")))
    contract = contract_of(
        brief="one", turns=["two", "three"], oracle={"checks": [{"id": "log", "cmd": "cat log; false"}]}
    )
    (result,) = Engine(tmp_path / "runs").run([Trial(contract, "talking")])  # type: ignore[arg-type]
    (session,) = opened
    assert session.closed == [True]
    (entry,) = result.record.evidence.change.entries
    assert entry.new is not None
    assert result.record.evidence.blobs.read(entry.new.sha256) == b"1 one\n2 two\n3 three\n"
