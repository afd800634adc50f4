"""Seconds that the commands of several sandboxes may take together -> a backend whose commands end when they are used up.

    allowance = TimeAllowance(3600)
    with allowance.spending(): checks run in sandboxes of TimedBackend(backend, allowance)
    allowance.is_exceeded      something did not run, or not to its end, for want of time

What was cut off decides nothing: GraderFault. So neither a result nor a fact about a trusted tree comes from half a run.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from steelyard.errors import GraderFault
from steelyard.evidence.change.captured_tree import CapturedTree
from steelyard.sandboxes.base import (
    AllowedHost,
    Backend,
    Command,
    CommandResult,
    ExitStats,
    Facts,
    OnOutput,
    Sandbox,
    SandboxSpec,
)
from steelyard.sandboxes.process_tree import ProcessTree

if TYPE_CHECKING:
    from steelyard.sandboxes.docker.archive import UnpackRules

_S = 1e9


class TimeAllowance:
    """Its clock runs while something is `spending`, and stands still in `starting`."""

    def __init__(self, total_s: float, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self.total_s = total_s
        self.is_exceeded = False
        self._clock = clock
        self._lock = threading.Lock()
        self._spent_ns = 0
        self._since: int | None = None  # the moment up to which time is in `_spent_ns`
        self._starting = 0

    @property
    def spent_s(self) -> float:
        with self._lock:
            self._count()
            return self._spent_ns / _S

    @contextmanager
    def spending(self) -> Iterator[None]:
        with self._lock:
            self._since = self._clock()
        try:
            yield
        finally:
            with self._lock:
                self._count()
                self._since = None

    @contextmanager
    def starting(self) -> Iterator[None]:
        """A sandbox starts. It may wait for memory that other runs have, which no check is to blame for."""
        with self._lock:
            self._count()
            self._starting += 1
        try:
            yield
        finally:
            with self._lock:
                self._count()
                self._starting -= 1

    def _count(self) -> None:
        """The lock is held."""
        if self._since is not None:
            now = self._clock()
            self._spent_ns += 0 if self._starting else now - self._since
            self._since = now

    def left_s(self) -> float:
        """Raises GraderFault where nothing is left."""
        left_s = self.total_s - self.spent_s
        if left_s <= 0:
            raise self.exceeded()
        return left_s

    def exceeded(self) -> GraderFault:
        self.is_exceeded = True
        return GraderFault(f"the checks of a run may take {self.total_s:g} s together, which are used up")


class TimedBackend:
    """Another backend, whose sandboxes run commands for as long as the allowance lasts."""

    def __init__(self, backend: Backend, allowance: TimeAllowance) -> None:
        self._backend, self._allowance = backend, allowance

    def facts(self, spec: SandboxSpec) -> Facts:
        return self._backend.facts(spec)

    def start(self, spec: SandboxSpec) -> Sandbox:
        self._allowance.left_s()
        with self._allowance.starting():
            return limit_time(self._backend.start(spec), self._allowance)


def limit_time(sandbox: Sandbox, allowance: TimeAllowance) -> Sandbox:
    return _TimedSandbox(sandbox, allowance)


class _TimedSandbox:
    def __init__(self, sandbox: Sandbox, allowance: TimeAllowance) -> None:
        self._sandbox, self._allowance = sandbox, allowance

    def run(self, command: Command, on_output: OnOutput | None = None) -> CommandResult:
        left_s = self._allowance.left_s()
        is_shorter = command.timeout_s is None or left_s < command.timeout_s
        done = self._sandbox.run(
            replace(command, timeout_s=left_s) if is_shorter else command, *([on_output] if on_output else [])
        )
        if is_shorter and done.timed_out:
            raise self._allowance.exceeded()
        return done

    # The rest is the other sandbox's, method by method: so mypy sees when one is missing.

    @property
    def facts(self) -> Facts:
        return self._sandbox.facts

    def kill_processes(self) -> None:
        self._sandbox.kill_processes()

    def set_workspace_writable(self, *, writable: bool) -> bool:
        return self._sandbox.set_workspace_writable(writable=writable)

    def process_tree(self) -> ProcessTree | None:
        return self._sandbox.process_tree()

    def hold_deadlines(self, *, hold: bool) -> None:
        self._sandbox.hold_deadlines(hold=hold)

    def attempts(self) -> dict[str, int]:
        return self._sandbox.attempts()

    def forget_hosts(self, kept: tuple[AllowedHost, ...]) -> None:
        self._sandbox.forget_hosts(kept)

    def stop(self) -> ExitStats:
        return self._sandbox.stop()

    def captured_tree(self) -> CapturedTree:
        return self._sandbox.captured_tree()

    def open_folder(self, path: str) -> int | None:
        return self._sandbox.open_folder(path)

    def running_tree(self) -> CapturedTree | None:
        return self._sandbox.running_tree()

    def copy_out(self, place: str, into: Path, taking: UnpackRules) -> None:
        self._sandbox.copy_out(place, into, taking)  # type: ignore[attr-defined]  # a container's only

    def close(self) -> None:
        self._sandbox.close()

    def __enter__(self) -> Self:
        self._sandbox.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self._sandbox.__exit__(*exc)
