"""Orders on a socket -> sandboxes started. The one process of a controller that forks.

Small, single-threaded, standard library only. A controller has gigabytes and threads: a fork from it is slow, and
PDEATHSIG follows the *thread* that forked, so a sandbox would die with a worker thread.

    controller --SEQPACKET--> launcher      b"start" + [order in a memfd, the sandbox's end of a socketpair]
    launcher's child -> that socketpair     b"+o" or b"+c" + [workspace, baseline, upper, pidfd, bwrap's stderr]
                                            or b"-" and a JSON error
    then the child becomes bubblewrap, and init speaks on the same socket

When the controller goes, by whatever signal, the socket ends: every sandbox is killed, every cgroup removed.
When the launcher goes, the kernel kills each bubblewrap (PDEATHSIG).
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import signal
import socket
import sys
from typing import NamedTuple, NoReturn

from steelyard.sandboxes import cgroups, mounts, seccomp
from steelyard.sandboxes.bwrap_arguments import Descriptors, HostLayout, bwrap_arguments
from steelyard.sandboxes.ground import prepare
from steelyard.sandboxes.order import Order
from steelyard.sandboxes.overlay_probe import overlay_works

_SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL


class Kit(NamedTuple):
    """What every sandbox needs, read once."""

    bwrap: str
    init: int
    seccomp: int
    layout: HostLayout


def main(control: int, bwrap: str, init: str, tag: str) -> None:
    with contextlib.suppress(KeyboardInterrupt):  # Ctrl-C is the controller's to handle
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        mounts.prctl(mounts.PR_SET_CHILD_SUBREAPER, 1)  # so that a killed bubblewrap's init can be waited for
        sock = socket.socket(fileno=control)
        kit = Kit(bwrap, _in_memory(init), seccomp.sealed(), HostLayout.look())
        sock.send(json.dumps({"overlay": overlay_works()}).encode())
        children = _serve(sock, kit)
        _end(children)
    cgroups.remove_all(tag)


def _in_memory(path: str) -> int:
    """A sealed copy that every sandbox executes: no file of the host is bound for it, nobody can change it."""
    descriptor = os.memfd_create("init", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    with open(path, "rb") as file:  # noqa: PTH123  # pathlib is not needed by the launcher otherwise
        os.write(descriptor, file.read())
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALS)
    return descriptor


def _serve(sock: socket.socket, kit: Kit) -> set[int]:
    children: set[int] = set()
    wake, woken = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    events = select.poll()
    events.register(sock, select.POLLIN)
    events.register(wake, select.POLLIN)
    while True:
        ready = dict(events.poll())
        if wake in ready:
            os.read(wake, 4096)
        _reap(children)
        if sock.fileno() in ready:
            message, descriptors, _, _ = socket.recv_fds(sock, 64, 2)
            if not message:
                return children
            children.add(_start(sock, kit, *descriptors))


def _reap(children: set[int]) -> None:
    with contextlib.suppress(ChildProcessError):
        while (pid := os.waitpid(-1, os.WNOHANG)[0]) != 0:
            children.discard(pid)


def _end(children: set[int]) -> None:
    for pid in children:  # ours and not yet reaped, so the number cannot be another's
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


def _start(sock: socket.socket, kit: Kit, order: int, end: int) -> int:
    launcher = os.getpid()
    pid = os.fork()
    if pid == 0:
        sock.close()
        _child(kit, order, socket.socket(fileno=end), launcher)
    os.close(order)
    os.close(end)
    return pid


def _child(kit: Kit, order: int, end: socket.socket, launcher: int) -> NoReturn:
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        _become_bwrap(kit, _read_order(order), end, launcher)
    except BaseException as error:  # noqa: BLE001  # told to the controller, which makes it an InfraFault
        number = error.errno if isinstance(error, OSError) else None
        with contextlib.suppress(OSError):
            end.sendall(b"-" + json.dumps({"error": str(error) or repr(error), "errno": number}).encode())
    os._exit(1)


def _read_order(descriptor: int) -> Order:
    with open(descriptor, "rb") as file:  # noqa: PTH123  # a descriptor has no path
        file.seek(0)
        return Order.from_json(file.read())


def _become_bwrap(kit: Kit, order: Order, end: socket.socket, launcher: int) -> NoReturn:
    root = os.geteuid() == 0
    cgroups.join(order.cgroups)  # first: what we copy and mount is charged to the sandbox too
    ground = prepare(order)
    stderr = os.memfd_create("stderr", os.MFD_CLOEXEC)
    pidfd = os.pidfd_open(os.getpid())
    if root:
        os.setgroups([])
        os.setresgid(order.run_gid, order.run_gid, order.run_gid)
        os.setresuid(order.run_uid, order.run_uid, order.run_uid)
    mounts.prctl(mounts.PR_SET_PDEATHSIG, signal.SIGKILL)  # after setresuid, which clears it
    if os.getppid() != launcher:
        os._exit(1)  # it went before we asked to go with it
    given = Descriptors(_reopened(kit.seccomp), _inheritable(kit.init))
    arguments = bwrap_arguments(order, kit.layout, given, ground.bound, _as_file)
    touched = ground.workspace if ground.touched is None else ground.touched
    word = b"+c" if ground.touched is None else b"+o"
    socket.send_fds(end, [word], [ground.workspace, ground.baseline, touched, pidfd, stderr])
    os.dup2(end.fileno(), 0)
    os.dup2(end.fileno(), 1)
    os.dup2(stderr, 2)
    os.execv(kit.bwrap, arguments)


def _reopened(descriptor: int) -> int:
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


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:5])
