"""A request to stop a run -> the agent's processes are killed, and the termination names who asked.

    run.request_stop(StopRequest("cost_cap", "5.02 of 5.00 USD are spent", by="budget cost_usd"))

A budget, a monitor, the operator or a signal may ask, from any thread. The first request wins; whatever happens to the
run afterwards, its termination is that request. So a run that was stopped is never `agent_crash` or `infrastructure`,
and is never run again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import field
from typing import Any

from steelyard.deferred.data_class import dataclass
from steelyard.errors import InfraFault
from steelyard.evidence.trace.termination import CLASS_OF, Termination
from steelyard.sandboxes.base import Sandbox

AGAIN_S = 0.1  # an agent that starts another process after a kill is killed again
_NO_STOPS = frozenset({"completed", "agent", "infrastructure"})


@dataclass(frozen=True, slots=True)
class StopRequest:
    """Why a run is stopped, and by what."""

    code: Termination
    why: str
    by: str  # "budget wall_s", "limit memory", "monitor no_progress", "operator SIGINT"
    evidence: Mapping[str, Any] = field(default_factory=dict)  # what was measured, and the threshold
    alert: int | None = None  # the event that the request follows from
    at_once: bool = False  # no check runs afterwards: the run counts for nothing

    def __post_init__(self) -> None:
        if CLASS_OF[self.code] in _NO_STOPS:
            raise ValueError(f"{self.code} is no reason to stop a run")


class StopSwitch:
    """Takes the first request, and kills what the agent runs until the agent's turn is over."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._request: StopRequest | None = None
        self._recording = False
        self._agent_is_done = False
        self._closed = False
        self._sandbox: Sandbox | None = None  # in which the agent works now
        self._killing: threading.Thread | None = None

    @property
    def current(self) -> StopRequest | None:
        return self._request

    @property
    def is_at_once(self) -> bool:
        return self._request is not None and self._request.at_once

    def request(self, request: StopRequest, record: Callable[[], object] = lambda: None) -> bool:
        """Whether this request is the one that stops the run. `record` is called for that one only, before the kill.

        After the agent has ended there is nothing to stop but checks, so only an `at_once` request is taken.
        """
        with self._changed:
            if self._request is not None or self._closed or (self._agent_is_done and not request.at_once):
                return False
            self._request, self._recording = request, True
        try:
            record()  # without the lock: an event log has a lock of its own, and a subscriber may ask for a stop
        finally:
            with self._changed:
                self._recording = False
                self._changed.notify_all()
                self._kill_if_working()
        return True

    @contextmanager
    def working(self, sandbox: Sandbox) -> Iterator[None]:
        """While the agent works in `sandbox`. No process is killed by a request any more when this is left."""
        with self._changed:
            self._sandbox = sandbox
            self._kill_if_working()
        try:
            yield
        finally:
            with self._changed:
                self._sandbox = None
                killing, self._killing = self._killing, None
                self._changed.notify_all()
            if killing is not None:
                killing.join()

    def end_agent(self) -> None:
        """The agent has ended for good."""
        with self._changed:
            self._agent_is_done = True

    def close(self) -> None:
        """No request is taken from now on, and one that was taken is recorded."""
        with self._changed:
            self._closed = True
            self._changed.wait_for(lambda: not self._recording)

    def _kill_if_working(self) -> None:
        if self._request is None or self._recording or self._sandbox is None or self._killing is not None:
            return
        self._killing = threading.Thread(
            target=self._kill, args=(self._sandbox,), name="steelyard-stop", daemon=True
        )
        self._killing.start()

    def _kill(self, sandbox: Sandbox) -> None:
        while True:
            with suppress(InfraFault, RuntimeError):  # a sandbox that is dead already
                sandbox.kill_processes()
            with self._changed:
                if self._changed.wait_for(lambda: self._sandbox is not sandbox, AGAIN_S):
                    return
