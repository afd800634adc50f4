"""The table of system calls that bubblewrap's filter is made of -> the same filter as Docker wants it.

{"defaultAction": "SCMP_ACT_ALLOW", "architectures": ["SCMP_ARCH_X86_64"], "syscalls": [{"names": ["ptrace"], ...}]}

Rules about one call are joined by "or". Comparisons are of 64 bits, while the kernel looks at 32 of an ioctl's
request: those are masked, or a program could set a bit that only the filter sees.
"""

from __future__ import annotations

import errno
import functools
import json
import platform
from typing import Any

from steelyard.errors import InfraFault
from steelyard.sandboxes.seccomp import (
    CLONE_NEW_ANYTHING,
    FAMILIES,
    INIT,
    PRIO_USER,
    TABLES,
    TERMINAL_INJECTION,
    Table,
)

_ARCHITECTURES = {"x86_64": "SCMP_ARCH_X86_64", "aarch64": "SCMP_ARCH_AARCH64"}
_32_BITS = 0xFFFFFFFF


def profile(table: Table, architecture: str, *, left_to_init: bool = False) -> dict[str, Any]:
    """`left_to_init`: what init itself refuses, by the filter that it loads before anything else runs, is left to it. An engine
    accepts no notification without a listener of its own, and a refusal here would come before init's.
    """
    if left_to_init:
        rules = [_rule(["clone3"], errno.ENOSYS)]
        return {"defaultAction": "SCMP_ACT_ALLOW", "architectures": [architecture], "syscalls": rules}
    flags = [1 << bit for bit in range(32) if CLONE_NEW_ANYTHING & 1 << bit]
    refused_families = [family for family in range(max(FAMILIES)) if family not in FAMILIES]
    return {
        "defaultAction": "SCMP_ACT_ALLOW",
        "architectures": [architecture],
        "syscalls": [
            _rule([*table.denied], errno.EPERM),
            _rule(["clone3"], errno.ENOSYS),
            *(_rule(["clone"], errno.EPERM, _masked(0, flag, flag)) for flag in flags),
            *(_rule(["ioctl"], errno.EPERM, _masked(1, _32_BITS, code)) for code in TERMINAL_INJECTION),
            *(_rule(["socket"], errno.EAFNOSUPPORT, _masked(0, _32_BITS, f)) for f in refused_families),
            _rule(["socket"], errno.EAFNOSUPPORT, _argument(0, max(FAMILIES), "SCMP_CMP_GT")),
            _rule(["prlimit64"], errno.EPERM, _argument(0, 0, "SCMP_CMP_NE"), _argument(2, 0, "SCMP_CMP_NE")),
            _rule([*table.scheduling], errno.EPERM, _masked(0, _32_BITS, INIT)),
            _rule(["setpriority"], errno.EPERM, _masked(0, _32_BITS, PRIO_USER)),
            _rule(["setpriority"], errno.EPERM, _masked(1, _32_BITS, INIT)),
        ],
    }


def _rule(names: list[str], error: int, *arguments: dict[str, Any]) -> dict[str, Any]:
    return {"names": names, "action": "SCMP_ACT_ERRNO", "errnoRet": error, "args": list(arguments)}


def _argument(index: int, value: int, comparison: str) -> dict[str, Any]:
    return {"index": index, "value": value, "valueTwo": 0, "op": comparison}


def _masked(index: int, mask: int, value: int) -> dict[str, Any]:
    return {"index": index, "value": mask, "valueTwo": value, "op": "SCMP_CMP_MASKED_EQ"}


@functools.cache
def here(*, left_to_init: bool = False) -> str:
    """The profile for this machine, as JSON."""
    machine = platform.machine()
    if machine not in TABLES:
        raise InfraFault(f"no system call filter for {machine}; use x86_64 or aarch64")
    return json.dumps(profile(TABLES[machine], _ARCHITECTURES[machine], left_to_init=left_to_init))
