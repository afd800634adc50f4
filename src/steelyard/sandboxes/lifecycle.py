"""The states of a sandbox, the same for every backend.

    working --kill_processes--> idle --run--> working --stop--> stopped --close--> closed

    kill_processes   every process is killed; hosts are shut afterwards, or a process that still ran could take their place
    stop             the same for good, and what the kernel counted is read; a stop that failed once fails the same way again
    close            stop, and everything is given back to this machine; after a failed stop too

Any thread may call any of them. Two calls that kill wait for each other.
"""

from __future__ import annotations

import errno
import os
import threading
from abc import ABC, abstractmethod
from typing import Self

from steelyard.errors import InfraFault
from steelyard.evidence.change.captured_tree import CapturedTree
from steelyard.sandboxes.base import AllowedHost, Command, CommandResult, ExitStats, OnConnection, OnOutput
from steelyard.sandboxes.egress.proxy import EgressProxy
from steelyard.sandboxes.init.wire import Wire
from steelyard.sandboxes.process_tree import ProcessTree

DEATH_S = 10.0
_STATES = {True: "writable", False: "read-only"}
_LOST = "the sandbox died, so its final state is unknown"


class Lifecycle(ABC):
    """Kills, stops and closes one sandbox; a backend says how its own is ended and given back."""

    def __init__(
        self, wire: Wire, allowed_hosts: tuple[AllowedHost, ...], on_connection: OnConnection | None
    ) -> None:
        self._wire = wire
        self._on_connection = on_connection
        self._allowed_hosts = EgressProxy(wire, allowed_hosts, on_connection)
        self._dying = threading.Lock()
        self._exit_stats: ExitStats | None = None
        self._fault: InfraFault | None = None
        self._idle = False
        self._closed = False

    @abstractmethod
    def run(self, command: Command, on_output: OnOutput | None = None) -> CommandResult:
        """Run one command to its end."""

    @abstractmethod
    def _die(self) -> ExitStats:
        """End every process and prove it. Called once, with everything else of this class waiting."""

    @abstractmethod
    def _give_back(self) -> None:
        """Return what the sandbox holds of this machine. Called once, after `_die`, also if that failed."""

    def _forget(self) -> None:  # noqa: B027  # most backends keep nothing
        """What was read of the workspace is no longer true. Called before it is read anew."""

    def kill_processes(self) -> None:
        with self._dying:
            if self._exit_stats is not None or not self._wire.kill_all(DEATH_S):
                raise InfraFault(_LOST)
            self._allowed_hosts.shut()
            self._forget()
            self._idle = True

    def set_workspace_writable(self, *, writable: bool) -> bool:
        with self._dying:
            if self._exit_stats is not None or self._wire.gone:
                raise InfraFault(_LOST)
            error = self._switch_writes(writable=writable)
        if error not in {0, errno.EBUSY}:
            raise InfraFault(f"the workspace cannot be made {_STATES[writable]}: {os.strerror(error)}")
        return error == 0

    def _switch_writes(self, *, writable: bool) -> int:
        """0, or an error number. Most backends cannot."""
        del writable
        return errno.EOPNOTSUPP

    def open_folder(self, path: str) -> int | None:
        del path
        return None

    def running_tree(self) -> CapturedTree | None:
        return None

    def process_tree(self) -> ProcessTree | None:
        return None

    def hold_deadlines(self, *, hold: bool) -> None:
        self._wire.hold_deadlines(hold=hold)

    def attempts(self) -> dict[str, int]:
        return {}

    def forget_hosts(self, kept: tuple[AllowedHost, ...]) -> None:
        with self._dying:
            self._allowed_hosts.shut()
            self._allowed_hosts = EgressProxy(self._wire, kept, self._on_connection)

    def stop(self) -> ExitStats:
        with self._dying:
            if self._fault is not None:
                raise self._fault
            if self._exit_stats is None:
                self._forget()
                try:
                    self._exit_stats = self._die()
                except InfraFault as fault:
                    self._fault = fault
                    raise
            return self._exit_stats

    def close(self) -> None:
        try:
            if self._fault is None:  # a run whose stop failed has said so
                self.stop()
        finally:
            with self._dying:
                if not self._closed:
                    self._closed = True
                    self._give_back()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _begin(self) -> None:
        """Before a command: the workspace may change again, and the hosts can be reached."""
        self._idle = False
        self._allowed_hosts.open()

    def _require_dead(self) -> None:
        if (self._exit_stats is None and not self._idle) or self._closed:
            raise RuntimeError("the remains of a sandbox are there between stop and close")
