"""The controller's side of the launcher: an order sent -> a sandbox's socket and descriptors.

One launcher a controller, started when the first sandbox is; a dead one is replaced at the next start.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import functools
import itertools
import json
import os
import resource
import select
import shutil
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path

from steelyard.deferred.named_tuple import NamedTuple
from steelyard.errors import AgentFault, InfraFault, SteelyardError
from steelyard.filesystem.owner import owner_tag
from steelyard.sandboxes.bubblewrap.order import LOCK, START, UNLOCK, Order
from steelyard.sandboxes.init.binary import init_binary

LEAST_FILES, WANTED_FILES = 256, 4096
_SWITCH_S = 60.0
START_TIMEOUT_S = 310.0  # a little more than the launcher gives itself
_RIGHTS_ROOM = socket.CMSG_SPACE(8 * 4) + socket.CMSG_SPACE(12)
# `_exit`: the controller waits for the end, and nothing is left to be ended in order.
_BOOT = "import os, sys; sys.path[:0] = [sys.argv.pop(1)]; from steelyard.sandboxes.bubblewrap.launcher import main; main(int(sys.argv[1]), *sys.argv[2:]); os._exit(0)"


class StartingSandbox(NamedTuple):
    """A sandbox on its way up: bubblewrap is running, init is about to speak on `sock`."""

    sock: socket.socket
    workspace: int
    baseline: int
    touched: int | None
    bwrap: int  # a pidfd
    stderr: int
    number: int  # of its cgroups


class ReceivedFrame(NamedTuple):
    data: bytes
    descriptors: list[int]
    sender: int  # its process id as seen from here


class LauncherGoneFault(InfraFault):
    """The launcher was killed; a new one may succeed."""


class LaunchedSandbox(NamedTuple):
    by: Launcher
    started: StartingSandbox


class Launcher:
    """A running launcher process. `overlay` says why an overlay cannot be had; "" when it can."""

    def __init__(self, process: subprocess.Popen[bytes], sock: socket.socket, tag: str, overlay: str) -> None:
        self._process = process
        self._sock = sock
        self.tag = tag
        self.overlay = overlay

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    @classmethod
    def start(cls) -> Launcher:
        _allow_open_files()
        bwrap, init = bwrap_path(), init_binary()
        tag = f"{owner_tag()}-{next(_generations)}"
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        source = str(Path(__file__).parents[3])
        command = [
            sys.executable,
            "-I",
            "-S",
            *(["-B"] if sys.dont_write_bytecode else []),
            "-c",
            _BOOT,
            source,
            str(theirs.fileno()),
            bwrap,
            str(init),
        ]
        try:
            with theirs:
                process = subprocess.Popen(
                    [*command, tag],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    env={"PATH": os.defpath, "LC_ALL": "C.UTF-8"},  # its memory holds none of our secrets
                )
        except OSError as error:  # too many processes of this user, or no memory for one more
            ours.close()
            raise InfraFault(f"the sandbox launcher did not start: {error.strerror}") from error
        ours.settimeout(30)
        try:
            facts = json.loads(ours.recv(65536))
        except (OSError, ValueError) as error:
            process.kill()
            process.wait()
            raise InfraFault("the sandbox launcher did not start; run `steelyard doctor`") from error
        if "failed" in facts:
            process.wait()
            raise InfraFault(f"the sandbox launcher did not start: {facts['failed']}")
        ours.settimeout(None)
        return cls(process, ours, tag, facts["overlay"])

    def launch(self, order: Order) -> StartingSandbox:
        """Raises InfraFault when the machine, not the spec, is at fault."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        ours.settimeout(START_TIMEOUT_S)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        memory = os.memfd_create("order", os.MFD_CLOEXEC)
        try:
            os.write(memory, order.to_json())
            socket.send_fds(self._sock, [START], [memory, theirs.fileno()])
        except OSError as error:
            ours.close()
            raise LauncherGoneFault("the sandbox launcher has died") from error
        finally:
            os.close(memory)
            theirs.close()
        try:
            return _await_ground(ours, order)
        except BaseException:
            ours.close()
            raise

    def switch_writes(self, init: int, *, writable: bool) -> int:
        """Make the workspace of the sandbox of that init process writable or read-only: 0, or an error number."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours, theirs:
            ours.settimeout(_SWITCH_S)
            try:
                namespace = os.open(f"/proc/{init}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
            except OSError as error:
                return error.errno or errno.EIO
            try:
                word = UNLOCK if writable else LOCK
                socket.send_fds(self._sock, [word], [namespace, theirs.fileno()])
                theirs.close()
                answer = ours.recv(4)
            except OSError as error:
                raise LauncherGoneFault("the sandbox launcher has died") from error
            finally:
                os.close(namespace)
        if len(answer) != 4:
            raise LauncherGoneFault("the sandbox launcher has died")
        return int(struct.unpack("<I", answer)[0])

    def is_dying(self) -> bool:
        """Whether it ends within a second: what it started may be gone a moment before it is."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=1)
        return not self.alive

    def let_go(self) -> None:
        self._sock.close()

    def close(self) -> None:
        """End it: it kills what still runs and removes the cgroups."""
        self.let_go()
        with contextlib.suppress(OSError):  # it was waited for before
            _await_end(os.pidfd_open(self.pid), 10.0)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=0)


def _await_end(pidfd: int, patience_s: float) -> None:
    """Until the process has ended: `Popen.wait` with a time limit asks every few milliseconds."""
    try:
        ended = select.poll()
        ended.register(pidfd, select.POLLIN)
        ended.poll(int(patience_s * 1000))
    finally:
        os.close(pidfd)


def receive(sock: socket.socket, size: int) -> ReceivedFrame:
    """Data with the descriptors and the sender that came along."""
    data, ancillary, _, _ = sock.recvmsg(size, _RIGHTS_ROOM)
    descriptors: list[int] = []
    sender = 0
    for _level, kind, content in ancillary:
        if kind == socket.SCM_RIGHTS:
            count = len(content) // 4
            descriptors += struct.unpack(f"{count}i", content[: count * 4])
        elif kind == socket.SCM_CREDENTIALS:
            sender = struct.unpack("3i", content[:12])[0]
    return ReceivedFrame(data, descriptors, sender)


def _await_ground(sock: socket.socket, order: Order) -> StartingSandbox:
    try:
        word, descriptors, _ = receive(sock, 6)
    except TimeoutError as error:
        raise InfraFault(f"a sandbox was not ready after {START_TIMEOUT_S:.0f} s") from error
    if word.startswith(b"+") and len(descriptors) == 5:
        workspace, baseline, touched, bwrap, stderr = descriptors
        is_overlay = word.startswith(b"+o")
        if not is_overlay:
            os.close(touched)
        number = struct.unpack("<I", word[2:])[0]
        return StartingSandbox(
            sock, workspace, baseline, touched if is_overlay else None, bwrap, stderr, number
        )
    if not word:
        raise LauncherGoneFault("the sandbox launcher died while it started a sandbox")
    text = word
    while part := sock.recv(65536):
        text += part
    problem = json.loads(text[1:])
    if problem["errno"] == errno.ENOSPC and order.uppers is None:
        # The quota belongs to the sandbox, so the files to be written do not fit: this is no fault of the machine.
        raise AgentFault("the change does not fit the disk of its sandbox")
    raise InfraFault(f"cannot start a sandbox: {problem['error']}; run `steelyard doctor`")


def _allow_open_files() -> None:
    """A sandbox takes descriptors here, and init keeps its own above those of its commands."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = WANTED_FILES if hard == resource.RLIM_INFINITY else min(hard, WANTED_FILES)
    if most < LEAST_FILES:
        raise InfraFault(
            f"only {most} files may be open at once, and a sandbox needs {LEAST_FILES}; run `ulimit -n 1024`"
        )
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


@functools.cache
def bwrap_path() -> str:
    found = shutil.which("bwrap", path=f"/usr/bin:/usr/local/bin:/bin:{os.environ.get('PATH', '')}")
    if found is None:
        raise InfraFault("bubblewrap is not installed; run `apt-get install bubblewrap`")
    return found


_lock = threading.Lock()
_generations = itertools.count(1)  # a second launcher must not reuse the first one's names
_launchers: dict[int, Launcher] = {}  # by process: a forked controller gets one of its own


def launcher() -> Launcher:
    """This controller's launcher, started if it is not running."""
    with _lock:
        mine = _launchers.get(os.getpid())
        if mine is None or not mine.alive:
            if not _launchers:
                os.register_at_fork(after_in_child=_forget_parents)
                atexit.register(_close_own)
            if mine is not None:
                mine.close()
            mine = _launchers[os.getpid()] = Launcher.start()
        return mine


def start_early() -> None:
    """Start this controller's launcher beside what else a command has to load: both take as long.

    What prevents it is reported when a sandbox is started.
    """
    with contextlib.suppress(RuntimeError):  # no more threads
        threading.Thread(target=_start_quietly, name="start-launcher", daemon=True).start()


def _start_quietly() -> None:
    with contextlib.suppress(SteelyardError, OSError):
        launcher()


def launch(order: Order) -> LaunchedSandbox:
    """Start a sandbox; once more with a new launcher if the old one was just killed."""
    own = launcher()
    try:
        return LaunchedSandbox(own, own.launch(order))
    except LauncherGoneFault:
        if not own.is_dying():
            raise
    own = launcher()
    return LaunchedSandbox(own, own.launch(order))


def _forget_parents() -> None:
    """A forked child must not hold the socket whose end tells the launcher that its controller is gone."""
    for inherited in _launchers.values():
        inherited.let_go()


def _close_own() -> None:
    mine = _launchers.pop(os.getpid(), None)
    if mine is not None:
        mine.close()
