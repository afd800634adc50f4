"""Orders on a socket -> sandboxes started. The one process of a controller that forks.

Small, single-threaded, standard library only, and little of that: `threading` alone makes a fork half a millisecond slower.
A controller has gigabytes and threads: a fork from it is slow, and PDEATHSIG follows the *thread* that forked, so a sandbox
would die with a worker thread.

    controller --SEQPACKET--> launcher      b"start" + [order in a memfd, the sandbox's end of a socketpair]
                                            b"lock" or b"unlock" + [a sandbox's mount namespace, an end for the answer]
    launcher -> that end                    u32: 0, or the error number with which the workspace could not be switched
    launcher --SEQPACKET--> a spare         the same: a child that is forked, in its cgroups and, as root, on a network of its own
                                            already, because the kernel may take 10 ms for these
    spare -> the sandbox's socketpair       b"+o" or b"+c", u32 number of its cgroups,
                                            [workspace, baseline, upper, pidfd, bwrap's stderr]
                                            or b"-" and a JSON error
    then the spare becomes bubblewrap, and init speaks on the same socket

When the controller goes, by whatever signal, the socket ends: every sandbox is killed, every cgroup removed.
When the launcher goes, the kernel kills each bubblewrap (PDEATHSIG). What is left when both go in the same
millisecond is ended by the next launcher that starts (orphans.py).
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import json
import os
import resource
import select
import signal
import socket
import struct
import time
from collections import deque
from pathlib import Path
from typing import NamedTuple, NoReturn

from steelyard.sandbox_paths import WORKSPACE
from steelyard.sandboxes import seccomp
from steelyard.sandboxes.bubblewrap import mounts
from steelyard.sandboxes.bubblewrap.arguments import Descriptors, HostLayout, bwrap_arguments
from steelyard.sandboxes.bubblewrap.mount_plan import prepare, prepare_network
from steelyard.sandboxes.bubblewrap.order import START, UNLOCK, Order
from steelyard.sandboxes.bubblewrap.orphans import mark
from steelyard.sandboxes.bubblewrap.overlay_probe import overlay_works
from steelyard.sandboxes.file_overlay import FileOverlay
from steelyard.sandboxes.limits import cgroups

# Ctrl-C, `kill`, a closed terminal: they may come to the whole process group, and we clean up after the controller.
_OF_THE_CONTROLLER = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SPARES = 2  # an agent and its bench start in pairs, and a spare takes longer to get ready than to be used
START_LIMIT_S = 300  # a workspace that must be copied may take its time
_FAILED = 77  # exit code of a child that never became bubblewrap
_SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL


class Kit(NamedTuple):
    """What every sandbox needs, read once."""

    bwrap: str
    init: int
    seccomp: int
    notifying: int  # the filter of a watched sandbox
    layout: HostLayout
    tag: str
    launcher: int  # our process id
    control: int  # our socket; a child lets go of it


def main(control: int, bwrap: str, init: str, tag: str) -> None:
    for number in _OF_THE_CONTROLLER:
        signal.signal(number, signal.SIG_IGN)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # a deep tree of an agent's takes one a level
    mounts.prctl(mounts.PR_SET_CHILD_SUBREAPER, 1)  # so that a killed bubblewrap's init can be waited for
    sock = socket.socket(fileno=control)
    kit = Kit(
        bwrap,
        _in_memory(init),
        seccomp.program_descriptor(),
        seccomp.program_descriptor(notify=True),
        HostLayout.look(),
        tag,
        os.getpid(),
        control,
    )
    try:
        facts = {"overlay": overlay_works()}
    except OSError as error:  # no process more for this user
        sock.send(json.dumps({"failed": error.strerror}).encode())
        return
    with contextlib.suppress(BrokenPipeError):  # a controller that has ended is noticed below
        sock.send(json.dumps(facts).encode())
    _load()
    gc.freeze()  # a collection in a child would copy every page it looks at
    nursery = Nursery(kit)
    _serve(sock, nursery)
    nursery.end()
    # Of the controller: a killed launcher before us left a spare's
    cgroups.remove_all(tag.rpartition("-")[0])


def _load() -> None:
    """Do here what would otherwise be done anew in each child, at the first use."""
    cgroups.host()
    mounts.load()
    FileOverlay("", "gone")  # its class compiles the method that makes an instance


def _in_memory(path: str) -> int:
    """A sealed copy that every sandbox executes: no file of the host is bound for it, and no process can change it."""
    descriptor = os.memfd_create("init", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    with open(path, "rb") as file:  # noqa: PTH123  # pathlib is not needed by the launcher otherwise
        os.write(descriptor, file.read())
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALS)
    return descriptor


def _serve(sock: socket.socket, nursery: Nursery) -> None:
    wake, woken = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    events = select.poll()
    events.register(sock, select.POLLIN)
    events.register(wake, select.POLLIN)
    while True:
        nursery.fill()
        ready = dict(events.poll())
        if wake in ready:
            os.read(wake, 4096)
            nursery.reap()
        if sock.fileno() in ready:
            try:
                message, descriptors, _, _ = socket.recv_fds(sock, 64, 2)
            except ConnectionError:  # the controller ended with something of ours unread
                return
            if not message:
                return
            if message == START:
                nursery.hand_over(descriptors)
            else:
                _switch(descriptors, writable=message == UNLOCK)


def _switch(descriptors: list[int], *, writable: bool) -> None:
    """Let the commands of a sandbox write to its workspace, or not, from a child that enters its mount namespace."""
    namespace, answer = descriptors
    with socket.socket(fileno=answer) as end, contextlib.suppress(OSError):
        end.send(struct.pack("<I", _switch_in_child(namespace, writable=writable)))
    os.close(namespace)


def _switch_in_child(namespace: int, *, writable: bool) -> int:
    try:
        pid = os.fork()
    except OSError as error:
        return error.errno or _FAILED
    if pid == 0:
        code = _FAILED
        try:
            mounts.enter_mounts(namespace)
            mounts.set_writable(WORKSPACE, writable=writable)
            code = 0
        except OSError as error:
            code = error.errno or _FAILED
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status) & 0xFF


class _Spare(NamedTuple):
    pid: int
    sock: socket.socket


class Nursery:
    """The launcher's children: spares that wait for an order, and the sandboxes."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._numbers: dict[int, int] = {}  # pid -> number of its cgroups
        self._last = 0
        self._spares: deque[_Spare] = deque()

    def fill(self) -> None:
        # This user may start no more processes: the request for one reports it
        with contextlib.suppress(OSError):
            while len(self._spares) < _SPARES:
                self._spares.append(self._fork())

    def hand_over(self, descriptors: list[int]) -> None:
        try:
            # The oldest: its joining is done
            spare = self._spares.popleft() if self._spares else self._fork()
        except OSError as error:
            _tell_failure(socket.socket(fileno=os.dup(descriptors[1])), error)
        else:
            with (
                contextlib.suppress(OSError),
                spare.sock,
            ):  # one that died: the controller reads an end of file
                socket.send_fds(spare.sock, [b"start"], descriptors)
        for descriptor in descriptors:
            os.close(descriptor)

    def reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    break
                self._bury(pid, status)
        # A dead bubblewrap's child, which may wait for it for ever
        _kill(set(_children()) - set(self._numbers))

    def _bury(self, pid: int, status: int) -> None:
        number = self._numbers.pop(pid, None)
        if number is not None and status in {
            _FAILED << 8,
            signal.SIGALRM,
        }:  # the controller does not know these cgroups
            cgroups.remove_all(f"{self._kit.tag}-{number}")
        for spare in [spare for spare in self._spares if spare.pid == pid]:
            spare.sock.close()
            self._spares.remove(spare)

    def end(self) -> None:
        """Until no child is left: with each one that dies we may inherit another."""
        with contextlib.suppress(ChildProcessError):
            while True:
                _kill({*self._numbers, *_children()})
                pid, _ = os.waitpid(-1, os.WNOHANG)
                self._numbers.pop(pid, None)
                if pid == 0:
                    time.sleep(0.002)

    def _fork(self) -> _Spare:
        self._last += 1
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        pid = os.fork()
        if pid == 0:
            ours.close()
            _child(self._kit, self._last, theirs)
        theirs.close()
        self._numbers[pid] = self._last
        return _Spare(pid, ours)


def _children() -> list[int]:
    """Our own and those that we inherited; none of them is reaped yet, so no number is another's."""
    pid = os.getpid()
    with contextlib.suppress(FileNotFoundError), open(f"/proc/{pid}/task/{pid}/children") as file:  # noqa: PTH123
        return [int(child) for child in file.read().split()]
    return []


def _kill(pids: set[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _child(kit: Kit, number: int, orders: socket.socket) -> NoReturn:
    """Never returns: becomes bubblewrap, or tells the controller why not and exits."""
    end: socket.socket | None = None
    try:
        mounts.prctl(mounts.PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        # Ctrl-C is for the controller: a sandbox that it kills first would be a fault of this machine
        os.setpgid(0, 0)
        for of_the_controller in _OF_THE_CONTROLLER:
            signal.signal(of_the_controller, signal.SIG_DFL)
        os.close(kit.control)
        ahead = _get_ready(f"{kit.tag}-{number}")
        message, descriptors, _, _ = socket.recv_fds(orders, 64, 2)
        if message:
            # A tree that takes for ever ends us, not the patience of the controller
            signal.alarm(START_LIMIT_S)
            end = socket.socket(fileno=descriptors[1])
            _become_bwrap(kit, number, ahead, _read_order(descriptors[0]), end)
    except BaseException as error:  # noqa: BLE001  # reported to the controller, which makes it an InfraFault
        if end is not None:
            _tell_failure(end, error)
    os._exit(_FAILED)


class _Ready(NamedTuple):
    """What a spare has before its order: its cgroups, and the network of the host to go back to if it left it."""

    cgroups: list[Path]
    host_network: int | None


def _get_ready(name: str) -> _Ready | OSError:
    """Ahead of any order, so that what we copy and mount is charged too; a failure is reported with the order."""
    try:
        folders = cgroups.make(name, cgroups.host())
        cgroups.join(folders)
        return _Ready(folders, prepare_network())
    except OSError as error:
        return error


def _tell_failure(end: socket.socket, error: BaseException) -> None:
    with contextlib.suppress(OSError):
        problem = {"error": str(error) or repr(error), "errno": getattr(error, "errno", None)}
        end.sendall(b"-" + json.dumps(problem).encode())


def _read_order(descriptor: int) -> Order:
    with open(descriptor, "rb") as file:
        file.seek(0)
        return Order.from_json(file.read())


def _become_bwrap(
    kit: Kit, number: int, ready: _Ready | OSError, order: Order, end: socket.socket
) -> NoReturn:
    if isinstance(ready, OSError):
        raise ready
    cgroups.limit(
        ready.cgroups, cgroups.GroupLimits(order.memory_bytes, order.processes, order.cpu), cgroups.host()
    )
    root = os.geteuid() == 0
    environment = prepare(order, ready.host_network)
    stderr = os.memfd_create("stderr", os.MFD_CLOEXEC)
    pidfd = os.pidfd_open(os.getpid())
    if root:
        _drop_root(order)
    mounts.prctl(mounts.PR_SET_PDEATHSIG, signal.SIGKILL)  # again: setresuid clears it
    if os.getppid() != kit.launcher:
        os._exit(_FAILED)  # it went before we asked to go with it
    filter_ = kit.notifying if order.is_watched else kit.seccomp
    given = Descriptors(_reopen(filter_), _inheritable(kit.init))
    arguments = bwrap_arguments(order, kit.layout, given, environment.bound, _as_file)
    touched = environment.workspace if environment.touched is None else environment.touched
    word = (b"+c" if environment.touched is None else b"+o") + struct.pack("<I", number)
    socket.send_fds(end, [word], [environment.workspace, environment.baseline, touched, pidfd, stderr])
    signal.alarm(0)  # it would survive exec
    os.dup2(end.fileno(), 0)
    os.dup2(end.fileno(), 1)
    os.dup2(stderr, 2)
    os.execv(kit.bwrap, [mark(f"{kit.tag}-{number}"), *arguments])  # noqa: S606  # no shell is the point


def _drop_root(order: Order) -> None:
    os.setgroups([])
    os.setresgid(order.run_gid, order.run_gid, order.run_gid)
    os.setresuid(order.run_uid, order.run_uid, order.run_uid)


def _reopen(descriptor: int) -> int:
    """The same file from its beginning: a dup would share the offset with every other sandbox."""
    return _inheritable(os.open(f"/proc/self/fd/{descriptor}", os.O_RDONLY | os.O_CLOEXEC))


def _inheritable(descriptor: int) -> int:
    os.set_inheritable(descriptor, True)
    return descriptor


def _as_file(text: str) -> int:
    descriptor = os.memfd_create("file", 0)
    os.write(descriptor, text.encode())
    os.lseek(descriptor, 0, os.SEEK_SET)
    return _inheritable(descriptor)
