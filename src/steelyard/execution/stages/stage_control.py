"""The contract's stages -> which stage the run is in, and a workspace that is read-only in `inspect`.

    enforced   the contract requires it: the run begins with a read-only workspace, until `steelyard-stage write`
    observed   the run begins in the first stage without enforcement; the first change of the workspace in `inspect`, or the first tool
               call of kind `write`, is the step to `write`, and the first test run after it the step to `test`. An agent that asks for a
               stage by `steelyard-stage` is held to it from then on.

Each step is `stage.leave` and `stage.enter`. A write that fails in an enforced `inspect`, or that is seen in it, is an alert, and
`policy.on_write_in_inspect` says what follows. It is known by the system call, where the sandbox is watched, by a tool call or a request
of kind `write`, or by the error message that a program prints.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Literal

from steelyard.contract.model import Action
from steelyard.deferred.pattern import deferred_pattern
from steelyard.errors import InfraFault
from steelyard.evidence.trace.chain import Event
from steelyard.evidence.trace.events import EventLog
from steelyard.monitors.alert import Alert
from steelyard.monitors.reading import call_of
from steelyard.sandboxes.base import WORKSPACE, Sandbox

MOST_ALERTS = 100
ALERT = "write_in_inspect"
_READ_ONLY = deferred_pattern(rb"[Rr]ead-only file system|EROFS")
_OVERLAP = 24
Mode = Literal["enforced", "observed"]


def _is_refused_write(event: Event) -> bool:
    """A system call that the kernel refused, or a request that the mediator of an agent denied."""
    payload = event.payload
    if event.type == "kernel.attempt":
        target = str(payload.get("target"))
        return payload.get("error") == "EROFS" and f"{target}/".startswith(f"{WORKSPACE}/")
    is_decision = event.type == "permission.decision" and payload.get("decision") == "deny"
    return is_decision and payload.get("stage") == "inspect"


def _do_nothing(alert: Alert, seq: int) -> None:
    """Until the interventions of the run are there."""


def _what_wrote(event: Event) -> str:
    payload = event.payload
    if event.type == "kernel.attempt":
        return f"{payload.get('process')} tried to write {payload.get('target')}"
    if event.type == "permission.decision":
        return "the agent asked whether it may write"
    if event.type == "tool.call":
        return f"the agent called {payload.get('tool') or payload.get('name') or 'a tool'} to write"
    return f"{payload.get('path') or 'the workspace'} changed"


class StageControl:
    """The stage of one run. One thread asks for stages; `observe` is called in the thread that appends an event.

    It has no lock: a lock that is held while an event is appended, and taken while one is delivered, would block both threads.
    """

    def __init__(
        self, events: EventLog, stages: tuple[str, ...], mode: Mode, on_write: Action = "alert"
    ) -> None:
        self._events = events
        self._stages = stages
        self._on_write = on_write  # what follows from a write in `inspect`
        self._sandbox: Sandbox | None = None
        self._is_working = False
        self._alerts = 0
        self._entered: int | None = None  # the event of the current stage
        self._tail = b""
        self._explained = 0  # refused writes whose error message is still to come
        self.is_enforced = mode == "enforced"
        self.current = stages[0]
        self.is_suspended: Callable[[], bool] = lambda: False  # writes, by an intervention
        self.act: Callable[[Alert, int], None] = _do_nothing

    @property
    def is_staged(self) -> bool:
        """Whether there is more than writing."""
        return self._stages != ("write",)

    @property
    def allows_writes(self) -> bool:
        return not (self.is_enforced and self.current == "inspect")

    def start(self, sandbox: Sandbox | None, *, exempt: bool = False) -> None:
        """The agent's time begins. A change that is handed over, and the contract's own solution, are made in `write`."""
        self._sandbox = sandbox
        if sandbox is None or exempt:
            self.current = "write"
        elif not self.allows_writes and not sandbox.set_workspace_writable(writable=False):
            raise InfraFault("the workspace cannot be made read-only: something in it is open for writing")
        self._enter_event(None)
        self._is_working = True

    def resume(self) -> None:
        """The next step of the contract begins, in the stage in which the last one ended."""
        if not self.allows_writes and self._sandbox is not None:
            self._sandbox.set_workspace_writable(writable=False)
        self._enter_event(None)
        self._is_working = True

    def leave(self, code: str, leftover: int = 0) -> int:
        """The agent's work has ended; the `seq` of the event."""
        self._is_working = False
        if not self.allows_writes and self._sandbox is not None:
            with suppress(InfraFault):  # it is dead; one that lives on is for the harness now
                self._sandbox.set_workspace_writable(writable=True)
        more = {"leftover_processes": leftover} if leftover else {}
        return self._events.append("stage.leave", "harness", {"stage": self.current, "code": code, **more})

    def request(self, stage: str) -> str:
        """Enter a stage that the agent asks for; why not, or nothing."""
        if stage not in self._stages:
            return f"there is no such stage; this contract has {', '.join(self._stages)}"
        if not self._is_working or self._sandbox is None:
            return "the agent's time is over"
        writable = stage != "inspect"
        if writable and self.is_suspended():
            return "writes are suspended"
        try:
            if not self._sandbox.set_workspace_writable(writable=writable):
                return "a file of the workspace is open for writing"
        except InfraFault as fault:
            return str(fault)
        self.is_enforced = True
        if stage != self.current:
            self._step(stage, by="agent")
        return ""

    def observe(self, event: Event) -> None:
        """One event of the log, in the thread that appended it."""
        if not self._is_working:
            return
        if self.current == "write":
            self._observe_test(event)
        if self.current != "inspect":
            return
        is_change = event.type in {"workspace.change", "workspace.changes"}
        is_write = event.type == "tool.call" and event.payload.get("kind") == "write"
        is_write = is_write and event.payload.get("whole_agent") is not True
        if (is_change or is_write) and not self.is_enforced and "write" in self._stages:
            self._step("write", by="observation", cause=event.seq)
        elif is_write or (is_change and event.payload.get("attributed")):
            self._alert({"event": event.seq, "seen": event.type}, _what_wrote(event))
        elif self.is_enforced and _is_refused_write(event):
            self._explained += event.type == "kernel.attempt"
            self._alert({"event": event.seq, "seen": event.type}, _what_wrote(event))

    def _observe_test(self, event: Event) -> None:
        """A test runner of the agent's, where no stage is enforced."""
        if self.is_enforced or "test" not in self._stages or event.type not in {"process.start", "tool.call"}:
            return
        call = call_of(event)
        if call is not None and call.is_test_run:
            self._step("test", by="observation", cause=event.seq)

    def observe_output(self, data: bytes) -> None:
        """What a process of the agent prints: the message of a write that the kernel refused."""
        if not self.is_enforced or self.current != "inspect":
            return
        text = self._tail + data
        self._tail = text[-_OVERLAP:]
        if _READ_ONLY.search(text):
            self._tail = b""
            if self._explained:
                self._explained -= 1
            else:
                self._alert({"seen": "output"}, "a program printed that the file system is read-only")

    def _alert(self, signals: dict[str, Any], what: str) -> None:
        self._alerts += 1
        if self._alerts > MOST_ALERTS:
            return
        alert = Alert(
            monitor="stages",
            code=ALERT,
            why=f"{what}, in stage inspect",
            severity="advisory" if self._on_write == "alert" else "violation",
            action=self._on_write,
            signals=signals,
            threshold={"stage": "inspect"},
            events=[seq for seq in (self._entered, signals.get("event")) if seq is not None],
            ends_as="safety",
            more={"enforced": self.is_enforced},
        )
        payload = alert.payload("inspect")
        del payload["monitor"]  # it is not raised again from the log: what a program prints is no event
        seq = self._events.append("monitor.alert", "monitor", payload)
        if self.is_enforced:
            refused = {"action": "refuse", "code": ALERT, "alert": seq}
            self._events.append("intervention", "harness", refused)
        self.act(alert, seq)

    def _step(self, stage: str, *, by: str, cause: int | None = None) -> None:
        self._events.append("stage.leave", "harness", {"stage": self.current, "by": by})
        self.current = stage
        self._enter_event(cause, by=by)

    def _enter_event(self, cause: int | None, by: str = "harness") -> None:
        payload: dict[str, Any] = {"stage": self.current}
        if self.is_staged:
            payload |= {"by": by, "enforced": self.is_enforced, "cause": cause}
        self._entered = self._events.append("stage.enter", "harness", payload)
