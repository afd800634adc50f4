"""A table of system calls -> the BPF program that bubblewrap loads with --seccomp (and `docker/profile.py` makes Docker's from it).

load arch      not ours          -> kill        (i386 calls would bypass every number below)
load number    x32 bit           -> ENOSYS
               in the deny list  -> EPERM
               clone3            -> ENOSYS      (its flags are behind a pointer; libc falls back to clone)
               clone             -> EPERM  if any CLONE_NEW* flag
               ioctl             -> EPERM  if TIOCSTI or TIOCLINUX (typing into another program's terminal)
               socket            -> EAFNOSUPPORT unless unix, inet, inet6 or netlink
                                           (a network namespace does not hold back vsock)
               anything else     -> allow

An agent's sandbox is watched where the kernel can: `watching` makes the filters of such a sandbox.

    outer    as above, but what is refused is a notification: without a listener the kernel answers ENOSYS, so a call stays
             refused whatever happens to init
    inner    loaded by init with a listener: the same calls, and `watched`; init answers each by its row in the table
    plain    loaded by init where it can have no listener: as above

`guarding_program` is loaded by init beside the program above, for a command that guards files (`init/guard_files.py`).
"""

from __future__ import annotations

import errno
import functools
import os
import platform
import struct
from collections.abc import Mapping

from steelyard.deferred.data_class import dataclass
from steelyard.deferred.named_tuple import NamedTuple
from steelyard.errors import InfraFault

_ALLOW = 0x7FFF0000
_KILL = 0x80000000
_ERRNO = 0x00050000
_NOTIFY = 0x7FC00000

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCH, _FIRST_ARGUMENT, _SECOND_ARGUMENT = 0, 4, 16, 24
_CLONE_PARENT = 0x8000
_O_PATH = 0x200000  # nothing is read or written
INIT, PRIO_USER = 1, 2

CLONE_NEW_ANYTHING = 0x7E020000  # NEWNS, CGROUP, UTS, IPC, USER, PID, NET; TIME exists in clone3 only
TERMINAL_INJECTION = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX
FAMILIES = (1, 2, 10, 16)  # unix, inet, inet6, netlink


@dataclass(frozen=True, slots=True)
class Table:
    """One architecture: its audit number and the numbers of the calls that matter."""

    arch: int
    clone: int
    clone3: int
    ioctl: int
    socket: int
    exit_group: int
    prlimit64: int
    setpriority: int
    scheduling: Mapping[str, int]  # calls whose first argument is the process that they concern
    x32: bool
    denied: Mapping[str, int]
    watched: Mapping[str, int]  # calls that the kernel decides, and that are reported when it refuses them


# The same numbers on every architecture since Linux 5.
_SINCE_5 = {
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "pidfd_getfd": 438,
    "process_madvise": 440,
    "mount_setattr": 442,
    "quotactl_fd": 443,
}

X86_64 = Table(
    arch=0xC000003E,
    clone=56,
    clone3=435,
    ioctl=16,
    socket=41,
    exit_group=231,
    prlimit64=302,
    setpriority=141,
    scheduling={
        "sched_setparam": 142,
        "sched_setscheduler": 144,
        "sched_setaffinity": 203,
        "sched_setattr": 314,
    },
    x32=True,
    denied={
        "ptrace": 101,
        "syslog": 103,
        "personality": 135,
        "pivot_root": 155,
        "adjtimex": 159,
        "acct": 163,
        "settimeofday": 164,
        "mount": 165,
        "umount2": 166,
        "swapon": 167,
        "swapoff": 168,
        "reboot": 169,
        "iopl": 172,
        "ioperm": 173,
        "init_module": 175,
        "delete_module": 176,
        "quotactl": 179,
        "clock_settime": 227,
        "kexec_load": 246,
        "add_key": 248,
        "request_key": 249,
        "keyctl": 250,
        "unshare": 272,
        "perf_event_open": 298,
        "fanotify_init": 300,
        "open_by_handle_at": 304,
        "clock_adjtime": 305,
        "setns": 308,
        "process_vm_readv": 310,
        "process_vm_writev": 311,
        "kcmp": 312,
        "finit_module": 313,
        "kexec_file_load": 320,
        "bpf": 321,
        "userfaultfd": 323,
        **_SINCE_5,
    },
    watched={
        "open": 2,
        "connect": 42,
        "sendto": 44,
        "sendmsg": 46,
        "execve": 59,
        "truncate": 76,
        "rename": 82,
        "mkdir": 83,
        "rmdir": 84,
        "creat": 85,
        "link": 86,
        "unlink": 87,
        "symlink": 88,
        "chmod": 90,
        "openat": 257,
        "mkdirat": 258,
        "unlinkat": 263,
        "renameat": 264,
        "linkat": 265,
        "symlinkat": 266,
        "fchmodat": 268,
        "sendmmsg": 307,
        "renameat2": 316,
        "execveat": 322,
        "openat2": 437,
        "fchmodat2": 452,
    },
)

AARCH64 = Table(
    arch=0xC00000B7,
    clone=220,
    clone3=435,
    ioctl=29,
    socket=198,
    exit_group=94,
    prlimit64=261,
    setpriority=140,
    scheduling={
        "sched_setparam": 118,
        "sched_setscheduler": 119,
        "sched_setaffinity": 122,
        "sched_setattr": 274,
    },
    x32=False,
    denied={
        "umount2": 39,
        "mount": 40,
        "pivot_root": 41,
        "quotactl": 60,
        "acct": 89,
        "personality": 92,
        "unshare": 97,
        "kexec_load": 104,
        "init_module": 105,
        "delete_module": 106,
        "clock_settime": 112,
        "syslog": 116,
        "ptrace": 117,
        "reboot": 142,
        "settimeofday": 170,
        "adjtimex": 171,
        "add_key": 217,
        "request_key": 218,
        "keyctl": 219,
        "swapon": 224,
        "swapoff": 225,
        "perf_event_open": 241,
        "fanotify_init": 262,
        "open_by_handle_at": 265,
        "clock_adjtime": 266,
        "setns": 268,
        "process_vm_readv": 270,
        "process_vm_writev": 271,
        "kcmp": 272,
        "finit_module": 273,
        "bpf": 280,
        "userfaultfd": 282,
        "kexec_file_load": 294,
        **_SINCE_5,
    },
    watched={
        "mkdirat": 34,
        "unlinkat": 35,
        "symlinkat": 36,
        "linkat": 37,
        "renameat": 38,
        "truncate": 45,
        "fchmodat": 53,
        "openat": 56,
        "connect": 203,
        "sendto": 206,
        "sendmsg": 211,
        "execve": 221,
        "sendmmsg": 269,
        "renameat2": 276,
        "execveat": 281,
        "openat2": 437,
        "fchmodat2": 452,
    },
)

TABLES = {"x86_64": X86_64, "aarch64": AARCH64}


def _step(code: int, if_true: int, if_false: int, operand: int) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, operand)


def _refuse(error: int) -> bytes:
    return _step(_RETURN, 0, 0, _ERRNO | error)


_PASS = _step(_RETURN, 0, 0, _ALLOW)


def _when_number_is(number: int, then: list[bytes]) -> list[bytes]:
    return [_step(_EQUAL, 0, len(then), number), *then]


def program(table: Table, *, notify: bool = False, watched: bool = False) -> bytes:
    """`notify`: what is refused is a notification; `watched`: so are the calls that the kernel decides."""
    denied = _step(_RETURN, 0, 0, _NOTIFY) if notify else _refuse(errno.EPERM)
    steps = [_step(_LOAD, 0, 0, _ARCH), _step(_EQUAL, 1, 0, table.arch), _step(_RETURN, 0, 0, _KILL)]
    steps.append(_step(_LOAD, 0, 0, _NUMBER))
    if table.x32:
        steps += [_step(_AT_LEAST, 0, 1, 0x40000000), _refuse(errno.ENOSYS)]
    for number in table.denied.values():
        steps += _when_number_is(number, [denied])
    steps += _when_number_is(table.clone3, [_refuse(errno.ENOSYS)])
    load_first, load_second = (_step(_LOAD, 0, 0, at) for at in (_FIRST_ARGUMENT, _SECOND_ARGUMENT))
    new_namespace = [load_first, _step(_ANY_BIT, 0, 1, CLONE_NEW_ANYTHING), denied, _PASS]
    steps += _when_number_is(table.clone, new_namespace)
    injection = [part for request in TERMINAL_INJECTION for part in _when_number_is(request, [denied])]
    steps += _when_number_is(table.ioctl, [load_second, *injection, _PASS])
    families = [part for family in FAMILIES for part in _when_number_is(family, [_PASS])]
    unsupported = denied if notify else _refuse(errno.EAFNOSUPPORT)
    steps += _when_number_is(table.socket, [load_first, *families, unsupported])
    steps += _of_other_processes(table)
    if watched:
        for name, number in table.watched.items():
            steps += _when_number_is(number, _watched_steps(name))
    return b"".join([*steps, _PASS])


def _of_other_processes(table: Table) -> list[bytes]:
    """Limits are set by each process for itself, and the priority of init by init alone: all processes have the same user.

    Otherwise tested code could take descriptors from the verifier that writes its reward, or from init.
    """
    refuse = _refuse(errno.EPERM)
    first, second, third, third_high = (
        _step(_LOAD, 0, 0, _FIRST_ARGUMENT + offset) for offset in (0, 8, 16, 20)
    )
    limits = [first, _step(_EQUAL, 5, 0, 0), third, _step(_EQUAL, 0, 2, 0), third_high]
    steps = _when_number_is(table.prlimit64, [*limits, _step(_EQUAL, 1, 0, 0), refuse, _PASS])
    for number in table.scheduling.values():
        steps += _when_number_is(number, [first, *_when_number_is(INIT, [refuse]), _PASS])
    of_user = [first, *_when_number_is(PRIO_USER, [refuse])]
    return steps + _when_number_is(
        table.setpriority, [*of_user, second, *_when_number_is(INIT, [refuse]), _PASS]
    )


def _watched_steps(name: str) -> list[bytes]:
    """Of a call that the kernel decides: opens without O_PATH, messages that name an address, and the others always."""
    notify = _step(_RETURN, 0, 0, _NOTIFY)
    if name in {"open", "openat"}:
        flags = _SECOND_ARGUMENT if name == "open" else _SECOND_ARGUMENT + 8
        return [_step(_LOAD, 0, 0, flags), _step(_ANY_BIT, 1, 0, _O_PATH), notify, _PASS]
    if name == "sendto":
        low = _FIRST_ARGUMENT + 4 * 8
        has_address = [_step(_LOAD, 0, 0, low), _step(_EQUAL, 0, 3, 0), _step(_LOAD, 0, 0, low + 4)]
        return [*has_address, _step(_EQUAL, 0, 1, 0), _PASS, notify]
    return [notify]


class WatchedCall(NamedTuple):
    """A row of init's table: the error of a call that is refused (0: the kernel decides), and how the call is shown."""

    name: str
    number: int
    answer: int
    shown: int


class WatchedCalls(NamedTuple):
    """What init needs to watch system calls."""

    calls: tuple[WatchedCall, ...]
    inner: bytes
    plain: bytes

    def payload(self) -> bytes:
        """Of the frame W."""
        rows = b"".join(struct.pack("<III", *call[1:]) for call in self.calls)
        head = struct.pack("<I", len(self.calls)) + rows
        return head + struct.pack("<I", len(self.inner)) + self.inner + self.plain


# How init shows a call: the numbers of its enum.
_SHOWN = {
    "connect": 1,
    "sendto": 2,
    "execve": 3,
    "execveat": 4,
    "open": 5,
    "openat": 6,
    "creat": 7,
    "openat2": 8,
    "sendmsg": 9,
    "sendmmsg": 9,
    "mkdir": 10,
    "mkdirat": 11,
    "unlink": 12,
    "rmdir": 12,
    "unlinkat": 13,
    "rename": 14,
    "renameat": 15,
    "renameat2": 15,
    "symlink": 17,
    "link": 17,
    "symlinkat": 18,
    "linkat": 19,
    "truncate": 20,
    "chmod": 21,
    "fchmodat": 22,
    "fchmodat2": 22,
}


def watching_for(table: Table) -> WatchedCalls:
    denied = {**table.denied, "clone": table.clone, "ioctl": table.ioctl}
    calls = [WatchedCall(name, number, errno.EPERM, 0) for name, number in denied.items()]
    calls.append(WatchedCall("socket", table.socket, errno.EAFNOSUPPORT, 0))
    calls += [WatchedCall(name, number, 0, _SHOWN[name]) for name, number in table.watched.items()]
    return WatchedCalls(tuple(calls), program(table, notify=True, watched=True), program(table))


_GUARDED = (
    *("open", "openat", "openat2", "creat", "rename", "renameat", "renameat2", "truncate"),
    *("execve", "execveat"),
)
_EXIT = 16  # of init's enum


def guarded_calls(table: Table) -> tuple[WatchedCall, ...]:
    """The kernel decides all of them; init acts before."""
    found = {name: table.watched[name] for name in _GUARDED if name in table.watched}
    calls = [WatchedCall(name, number, 0, _SHOWN[name]) for name, number in found.items()]
    return (*calls, WatchedCall("exit_group", table.exit_group, 0, _EXIT))


def guarding_program(table: Table) -> bytes:
    """Opens, moves, execs and the end of a process are notifications; a child of the caller's parent is refused."""
    steps = [_step(_LOAD, 0, 0, _ARCH), _step(_EQUAL, 1, 0, table.arch), _step(_RETURN, 0, 0, _KILL)]
    steps.append(_step(_LOAD, 0, 0, _NUMBER))
    load_first = _step(_LOAD, 0, 0, _FIRST_ARGUMENT)
    sibling = [load_first, _step(_ANY_BIT, 0, 1, _CLONE_PARENT), _refuse(errno.EPERM), _PASS]
    steps += _when_number_is(table.clone, sibling)
    for call in guarded_calls(table):
        steps += _when_number_is(call.number, _watched_steps(call.name))
    return b"".join([*steps, _PASS])


@functools.cache
def table_here() -> Table:
    machine = platform.machine()
    if machine not in TABLES:
        raise InfraFault(f"no system call filter for {machine}; use x86_64 or aarch64, or `sandbox: docker`")
    return TABLES[machine]


@functools.cache
def here() -> bytes:
    """The program for this machine."""
    return program(table_here())


@functools.cache
def watched_calls_here() -> WatchedCalls:
    """For a watched sandbox on this machine."""
    return watching_for(table_here())


def program_descriptor(*, notify: bool = False) -> int:
    """The program for this machine in memory, as a descriptor."""
    descriptor = os.memfd_create("seccomp", os.MFD_CLOEXEC)
    os.write(descriptor, program(table_here(), notify=notify))
    return descriptor
