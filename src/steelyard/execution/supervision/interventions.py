"""The alerts of the monitors -> what is done about them, each step an event that names its alert.

    alert            nothing
    kill             the processes of a command that took too long are killed, and the agent goes on
    throttle         the agent's processes are stopped for a while, longer each time
    suspend_writes   the workspace is read-only until an operator or the deadline decides
    pause            the agent's processes are stopped until an operator or the deadline decides
    quarantine       the run ends, is kept, and is not scored until it has been reviewed
    terminate        the run ends with the code of the alert

The monitors read the events in the order of the log, a moment after they were appended: ten times a second while the agent
works, and once more when its turn ends. An alert is a function of the log up to the last of its `events`. What takes time, such as a
pause, happens in a thread of its own, one step after the other; what stops no process (`suspend_writes`) waits in another, so that an
agent whose writes are suspended can still be paused or throttled.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from steelyard.contract.model import OperatorPause, Policy
from steelyard.deferred.named_tuple import NamedTuple
from steelyard.errors import InfraFault
from steelyard.evidence.folder.folder import RunFolder
from steelyard.evidence.trace.chain import Event
from steelyard.evidence.trace.events import Actor, EventLog
from steelyard.evidence.trace.termination import Termination
from steelyard.execution.stop import StopRequest
from steelyard.execution.supervision.decisions import Decision, read_decision, remove_control
from steelyard.execution.supervision.sampler import Sampler
from steelyard.monitors.alert import Alert
from steelyard.monitors.watchdog import Watchdog
from steelyard.sandboxes.base import Sandbox

POLL_S = 0.2
MOST_THROTTLE_S = 60.0
_BUSY_S = 2.0  # how long a file that is open for writing may keep the workspace writable


class Task(NamedTuple):
    """An intervention that takes time."""

    alert: Alert
    seq: int


Tasks = queue.SimpleQueue[Task | None]


class Interventions:
    """Of one run: follows its events, and acts on its sandbox while the agent works."""

    def __init__(
        self,
        folder: RunFolder,
        events: EventLog,
        watchdog: Watchdog,
        policy: Policy,
        request_stop: Callable[[StopRequest], bool],
    ) -> None:
        self._folder = folder
        self._events = events
        self._watchdog = watchdog
        self._operator: OperatorPause = policy.operator
        self._throttle_s = policy.breakers.throttle_s
        self._request_stop = request_stop
        self._tasks: Tasks = queue.SimpleQueue()
        self._suspensions: Tasks = queue.SimpleQueue()
        self._throttles: dict[str, int] = {}
        self._idle = threading.Event()  # set: the agent's turn is over
        self._take = events.follow()
        self._draining = threading.Lock()  # events are read in their order
        self._sampler = Sampler(events)
        self.are_writes_suspended = False
        self._undecided: Task | None = None  # a suspension of writes
        self._paused_s = 0.0  # over all pauses that have ended
        self._paused_since: float | None = None
        self.allows_writes: Callable[[], bool] = lambda: True  # the stage of the run
        self.on_wait: Callable[[str], None] = lambda _: None  # for what an operator is needed; "": no longer

    def drain(self) -> None:
        """Let the monitors read every event that is in the log by now, those of their own alerts included."""
        with self._draining:
            while taken := self._take():
                for event in taken:
                    self._observe(event)

    def _observe(self, event: Event) -> None:
        if event.type == "tool.call" and event.payload.get("whole_agent") is True:
            self._sampler.agent_argv.add(tuple(map(str, event.payload.get("argv", ()))))
        for alert, payload in self._watchdog.observe(event):
            seq = self._events.append("monitor.alert", "monitor", payload)
            self.act(alert, seq)

    def act(self, alert: Alert, seq: int) -> None:
        """Do what the alert, which is event `seq`, calls for."""
        if alert.action == "terminate":
            self._terminate(alert, seq)
        elif alert.action == "quarantine":
            self._quarantine(alert, seq)
        elif alert.action == "suspend_writes":
            self._suspensions.put(Task(alert, seq))
        elif alert.action != "alert":
            self._tasks.put(Task(alert, seq))

    def _terminate(
        self, alert: Alert, seq: int, code: Termination | None = None, by: str = "", why: str = ""
    ) -> None:
        measured = {"signals": dict(alert.signals), "threshold": dict(alert.threshold)}
        self._request_stop(
            StopRequest(
                code or alert.ends_as,
                why or alert.why,
                by or f"monitor {alert.monitor} {alert.code}",
                measured,
                seq,
            )
        )

    def _quarantine(self, alert: Alert, seq: int, by: str = "") -> None:
        self._record(alert, seq, "quarantine")
        self._terminate(alert, seq, "safety", by, f"quarantined: {alert.why}")

    def _record(self, alert: Alert, seq: int, action: str, **more: Any) -> None:
        self._events.append(
            "intervention", "harness", {"action": action, "code": alert.code, "alert": seq, **more}
        )

    @contextmanager
    def acting(self, sandbox: Sandbox) -> Iterator[None]:
        """While the agent works in `sandbox`: it is sampled, and interventions act on it."""
        self._idle.clear()
        queues = (self._tasks, self._suspensions)
        threads = [
            threading.Thread(
                target=self._work, args=(sandbox, tasks), name="steelyard-interventions", daemon=True
            )
            for tasks in queues
        ]
        for tasks in queues:
            _empty(tasks)
        if self._undecided is not None:  # writes are suspended in the next turn too
            self._suspensions.put(self._undecided)
        for thread in threads:
            thread.start()
        try:
            with self._sampler.sampling(sandbox.process_tree(), self.drain):
                yield
        finally:
            self._idle.set()
            for tasks, thread in zip(queues, threads, strict=True):
                tasks.put(None)
                thread.join()

    def close(self) -> None:
        remove_control(self._folder)

    def _work(self, sandbox: Sandbox, tasks: Tasks) -> None:
        while (task := tasks.get()) is not None:
            with suppress(InfraFault):  # a sandbox or a log that is gone: the run itself reports it
                if task.alert.action == "throttle":
                    self._throttle(task, sandbox)
                elif task.alert.action == "pause":
                    self._pause(task, sandbox)
                elif task.alert.action == "kill":
                    self._kill(task, sandbox)
                else:
                    self._suspend_writes(task, sandbox)

    def _throttle(self, task: Task, sandbox: Sandbox) -> None:
        times = self._throttles[task.alert.code] = self._throttles.get(task.alert.code, 0) + 1
        delay_s = min(self._throttle_s * 2 ** (times - 1), MOST_THROTTLE_S)
        with _frozen(sandbox) as is_frozen:
            self._record(task.alert, task.seq, "throttle", delay_s=delay_s, applied=is_frozen)
            if is_frozen:
                self._idle.wait(delay_s)

    def _kill(self, task: Task, sandbox: Sandbox) -> None:
        tree = sandbox.process_tree()
        killed = 0 if tree is None else tree.kill(task.alert.more["processes"])
        self._record(task.alert, task.seq, "kill", killed=killed, applied=killed > 0)

    def _pause(self, task: Task, sandbox: Sandbox) -> None:
        with _frozen(sandbox) as is_frozen, self._clock_stopped(sandbox, is_frozen=is_frozen):
            clock = "stopped" if is_frozen else "running"
            self._record(task.alert, task.seq, "pause", applied=is_frozen, clock=clock, **self._deadline())
            begun = time.monotonic()
            decision = self._decision(task)
            waited_s = round(time.monotonic() - begun, 3)
            self._follow(task, decision, paused_s=waited_s if is_frozen else 0.0)

    @property
    def counted_test_runs(self) -> int:
        """How many there were among the calls that the agent reported."""
        return self._watchdog.context.test_runs

    @property
    def paused_s(self) -> float:
        """How long the agent's clock stood still so far."""
        since = self._paused_since
        return self._paused_s + (time.monotonic() - since if since is not None else 0.0)

    @contextmanager
    def _clock_stopped(self, sandbox: Sandbox, *, is_frozen: bool) -> Iterator[None]:
        """The agent's time limits stand still while its processes do; the deadline of the pause does not."""
        if not is_frozen:
            yield
            return
        self._paused_since = time.monotonic()
        sandbox.hold_deadlines(hold=True)
        try:
            yield
        finally:
            sandbox.hold_deadlines(hold=False)
            self._paused_s, self._paused_since = self.paused_s, None

    def _suspend_writes(self, task: Task, sandbox: Sandbox) -> None:
        is_applied = self.are_writes_suspended = _set_writable(sandbox, writable=False)
        self._record(task.alert, task.seq, "suspend_writes", applied=is_applied, **self._deadline())
        decision = self._decision(task)
        self.are_writes_suspended = False
        if is_applied and self.allows_writes():
            _set_writable(sandbox, writable=True)
        self._undecided = task if decision is None else None  # the turn ended first
        self._follow(task, decision)

    def _deadline(self) -> dict[str, Any]:
        return {"deadline_s": self._operator.deadline_s, "default": self._operator.default}

    def _decision(self, task: Task) -> Decision | None:
        self._announce(self._question(task.alert))
        try:
            return self._decided_by(task.seq)
        finally:
            self._announce("")

    def _announce(self, text: str) -> None:
        with suppress(OSError):  # a terminal that is gone changes no run
            self.on_wait(text)

    def _question(self, alert: Alert) -> str:
        """For the person who started the run."""
        state = "paused" if alert.action == "pause" else "writes are suspended"
        return (
            f"{state}: {alert.why}; `steelyard operate {os.path.relpath(self._folder.path)}` shows and decides it, "
            f"without a decision in {self._operator.deadline_s:g} s: {self._operator.default}"
        )

    def _decided_by(self, seq: int) -> Decision | None:
        """The operator's decision, or that of the deadline; None where the agent ended first."""
        deadline = time.monotonic() + self._operator.deadline_s
        while time.monotonic() < deadline:
            decision = read_decision(self._folder, seq)
            if decision is not None:
                self._decided(seq, decision, "operator")
                return decision
            if self._idle.wait(POLL_S):
                return None
        decision = Decision(self._operator.default, "deadline", "no decision before the deadline")
        self._decided(seq, decision, "harness")
        return decision

    def _decided(self, seq: int, decision: Decision, actor: Actor) -> None:
        self._events.append("operator.decision", actor, {**decision.to_json(), "alert": seq})

    def _follow(self, task: Task, decision: Decision | None, paused_s: float | None = None) -> None:
        if decision is None:
            return
        by = f"operator {decision.by}"
        if decision.decision == "resume":
            more = {} if paused_s is None else {"paused_s": paused_s}
            self._record(task.alert, task.seq, "resume", **more)
        elif decision.decision == "quarantine":
            self._quarantine(task.alert, task.seq, by)
        elif decision.by == "deadline":
            self._terminate(task.alert, task.seq, by="deadline of a pause")
        else:
            self._terminate(
                task.alert, task.seq, "operator", by, f"terminated by {decision.by}: {decision.reason}"
            )


def _empty(tasks: Tasks) -> None:
    """What was asked for between two turns has nothing to act on."""
    with suppress(queue.Empty):
        while True:
            tasks.get_nowait()


@contextmanager
def _frozen(sandbox: Sandbox) -> Iterator[bool]:
    """Every process of the sandbox is stopped, as far as this machine can."""
    tree = sandbox.process_tree()
    if tree is None:
        yield False
        return
    try:
        yield tree.freeze()
    finally:
        tree.thaw()


def _set_writable(sandbox: Sandbox, *, writable: bool) -> bool:
    deadline = time.monotonic() + _BUSY_S
    while True:
        try:
            if sandbox.set_workspace_writable(writable=writable):
                return True
        except InfraFault:
            return False
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
