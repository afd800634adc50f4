"""Loops that change nothing: no progress, the same call again, two states in turn, the same installation, tests without an
edit between them, tests that fail one after the other, bursts of calls; and breakers that trip again and again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import field
from typing import Any, Literal

from steelyard.contract.model import Action, Breakers
from steelyard.deferred.data_class import dataclass
from steelyard.evidence.trace.chain import Event
from steelyard.evidence.trace.termination import Termination
from steelyard.monitors.alert import MOST_EVENTS, Alert
from steelyard.monitors.context import Context
from steelyard.monitors.reading import Call, call_id, is_failed

NAME = "liveness"
Code = Literal[
    "oscillation", "repeated_call", "idle_tests", "reinstall", "burst", "failed_tests", "breaker_repeat"
]
ENDS_AS: dict[Code, Termination] = {
    "oscillation": "oscillation",
    "repeated_call": "repeated_call",
    "idle_tests": "repeated_call",
    "reinstall": "dependency_loop",
    "burst": "repeated_call",
    "failed_tests": "failed_check_cap",
    "breaker_repeat": "breaker_repeat",
}
_S = 1_000_000_000
_WORK = frozenset(
    {"tool.call", "tool.result", "process.start", "model.request", "model.response", "sandbox.sample"}
)
_DECISIONS = frozenset({"tool.call", "model.request"})
_ACTIVITY = frozenset({"tool.call", "tool.result", "process.start", "model.request", "model.response"})


@dataclass(slots=True)
class Occurrences:
    """How often something happened since the workspace last changed, and in which events."""

    times: int = 0
    events: list[int] = field(default_factory=list)

    def add(self, seq: int) -> int:
        self.times += 1
        self.events.append(seq)
        del self.events[:-MOST_EVENTS]
        return self.times


@dataclass(slots=True)
class LivenessMonitor:
    breakers: Breakers
    _same: dict[str, Occurrences] = field(default_factory=dict)
    _tests: Occurrences = field(default_factory=Occurrences)
    _failed: Occurrences = field(default_factory=Occurrences)
    _open_tests: dict[str, int] = field(default_factory=dict)  # test runs that have not ended
    _installs: dict[str, Occurrences] = field(default_factory=dict)
    _processes: set[Any] = field(default_factory=set)  # sampled installations, which start themselves again
    _last_key: str = ""
    _visits: deque[int] = field(default_factory=lambda: deque([0], maxlen=2))  # states
    _changed_seq: int = 0  # the last change of the workspace
    _returns: Occurrences = field(default_factory=Occurrences)
    _seen: set[int] = field(default_factory=lambda: {0})
    _progress_t: int | None = None
    _progress_seq: int = 0
    _idle_calls: int = 0
    _recent: deque[tuple[int, int]] = field(default_factory=deque)  # of calls: t, event
    _tripped: dict[str, Occurrences] = field(default_factory=dict)

    def observe(self, event: Event, context: Context) -> Iterator[Alert]:
        if event.type == "monitor.alert":
            yield from self._trip(event)
        if not context.is_agent_at_work:
            return
        if event.type in _WORK and context.changed_by:
            self._settle(event, context)
        # Files that a build makes and removes while a call runs are no decisions of the agent.
        if event.type in _DECISIONS or (self.breakers.sampled and event.type in _WORK):
            yield from self._visit(context.state)
        call = context.call
        yield from self._fail_again(event, call)
        if call is not None:
            yield from self._reinstall(call, event)
            if not call.sampled or self.breakers.sampled:
                yield from self._repeat(call, context)
                yield from self._test_again(call)
            if not call.sampled:
                yield from self._burst(call)
        yield from self._stall(event, context)

    def _settle(self, event: Event, context: Context) -> None:
        """The workspace is in another state, and the agent goes on from there."""
        self._changed_seq = context.changed_by[-1]
        context.changed_by.clear()
        self._same.clear()
        self._tests = Occurrences()
        if context.state not in self._seen:
            self._seen.add(context.state)
            self._mark_progress(event)

    def _visit(self, state: int) -> Iterator[Alert]:
        """A state in which the agent decides what to do next."""
        if state == self._visits[-1]:
            return
        is_return = len(self._visits) > 1 and self._visits[-2] == state
        self._visits.append(state)
        if not is_return:
            self._returns = Occurrences()
            return
        rule = self.breakers.oscillation
        if self._returns.add(self._changed_seq) == rule.times:
            why = f"the workspace went back and forth between two states {rule.times} times"
            yield _alert("oscillation", why, rule.action, self._returns, rule.times)

    def _repeat(self, call: Call, context: Context) -> Iterator[Alert]:
        if not context.is_watched and call.key != self._last_key:
            self._same.clear()  # what the other call changed is not known
        self._last_key = call.key
        rule = self.breakers.repeated_call
        counted = self._same.setdefault(call.key, Occurrences())
        if counted.add(call.seq) == rule.times:
            why = f"the same call {rule.times} times without a change of the workspace"
            yield _alert("repeated_call", why, rule.action, counted, rule.times)

    def _test_again(self, call: Call) -> Iterator[Alert]:
        rule = self.breakers.idle_tests
        if call.is_test_run and self._tests.add(call.seq) % rule.times == 0:
            why = f"{self._tests.times} test runs without a change of the workspace"
            yield _alert("idle_tests", why, rule.action, self._tests, rule.times)

    def _fail_again(self, event: Event, call: Call | None) -> Iterator[Alert]:
        rule = self.breakers.failed_tests
        if rule is None:
            return
        if call is not None and call.is_test_run and not call.sampled:
            self._open_tests[call_id(event.payload, event.seq)] = event.seq
        if event.type != "tool.result" or not self._open_tests:
            return
        named = call_id(event.payload, -1)
        if named not in self._open_tests and named != "#-1":
            return
        self._open_tests.pop(named, None) or self._open_tests.popitem()
        if not is_failed(event.payload):
            self._failed = Occurrences()
        elif self._failed.add(event.seq) % rule.times == 0:
            why = f"{self._failed.times} test runs failed one after the other"
            yield _alert("failed_tests", why, rule.action, self._failed, rule.times)

    def _reinstall(self, call: Call, event: Event) -> Iterator[Alert]:
        rule = self.breakers.reinstall
        if not call.installs or (call.sampled and self._is_known(event)):
            return
        for install in call.installs:
            counted = self._installs.setdefault(install.key, Occurrences())
            if counted.add(call.seq) == rule.times:
                why = f"`{install.key}` was installed {rule.times} times"
                yield _alert("reinstall", why, rule.action, counted, rule.times)

    def _is_known(self, event: Event) -> bool:
        parent, own = event.payload.get("parent"), event.payload.get("process")
        is_known = parent in self._processes or own in self._processes
        if isinstance(own, str):
            self._processes.add(own)
        return is_known

    def _burst(self, call: Call) -> Iterator[Alert]:
        rule = self.breakers.burst
        self._recent.append((call.t, call.seq))
        while self._recent and call.t - self._recent[0][0] > rule.within_s * _S:
            self._recent.popleft()
        if len(self._recent) >= rule.calls:
            counted = Occurrences(len(self._recent), [seq for _, seq in self._recent][-MOST_EVENTS:])
            self._recent.clear()
            why = f"{rule.calls} calls within {rule.within_s:g} s"
            yield _alert("burst", why, rule.action, counted, rule.calls)

    def _stall(self, event: Event, context: Context) -> Iterator[Alert]:
        if self._progress_t is None or (event.type in _ACTIVITY and not context.is_watched):
            self._mark_progress(event)
        if context.call is not None and not context.call.sampled:
            self._idle_calls += 1
        rule, since = self.breakers.no_progress, self._progress_t or 0
        idle_s = (event.t - since) / _S
        if idle_s >= rule.minutes * 60 or self._idle_calls >= rule.calls:
            alert = Alert(
                monitor=NAME,
                code="no_progress",
                why=f"no new state of the workspace for {idle_s:.0f} s and {self._idle_calls} calls",
                severity="loop",
                action=rule.action,
                signals={"idle_s": round(idle_s, 3), "calls": self._idle_calls},
                threshold={"minutes": rule.minutes, "calls": rule.calls},
                events=(self._progress_seq, event.seq),
                ends_as="no_progress",
            )
            self._mark_progress(event)
            yield alert

    def _mark_progress(self, event: Event) -> None:
        self._progress_t, self._progress_seq, self._idle_calls = event.t, event.seq, 0

    def _trip(self, event: Event) -> Iterator[Alert]:
        """A breaker that slowed the agent down, once more."""
        payload = event.payload
        if payload.get("monitor") != NAME or payload.get("code") == "breaker_repeat":
            return
        if payload.get("action") in {"terminate", "quarantine", "alert"}:
            return
        rule = self.breakers.repeat
        counted = self._tripped.setdefault(str(payload.get("code")), Occurrences())
        if counted.add(event.seq) == rule.times:
            why = f"the breaker {payload.get('code')} tripped {rule.times} times"
            yield _alert("breaker_repeat", why, rule.action, counted, rule.times)


def _alert(code: Code, why: str, action: Action, counted: Occurrences, times: int) -> Alert:
    return Alert(
        monitor=NAME,
        code=code,
        why=why,
        severity="loop",
        action=action,
        signals={"times": counted.times},
        threshold={"times": times},
        events=tuple(counted.events),
        ends_as=ENDS_AS[code],
    )
