"""The filter for containers is made of the same table as the one for bubblewrap."""

from __future__ import annotations

import errno
import json
from typing import Any

import pytest

from steelyard.sandboxes import seccomp
from steelyard.sandboxes.docker.profile import here, profile

TABLES = [(seccomp.X86_64, "SCMP_ARCH_X86_64"), (seccomp.AARCH64, "SCMP_ARCH_AARCH64")]
U64 = (1 << 64) - 1


def answer(rules: dict[str, Any], name: str, *arguments: int) -> int:
    """What the kernel would say, as libseccomp reads such rules; 0 is yes."""
    for rule in rules["syscalls"]:
        if name in rule["names"] and all(_holds(one, arguments) for one in rule["args"]):
            return int(rule["errnoRet"])
    return 0


def _holds(condition: dict[str, Any], arguments: tuple[int, ...]) -> bool:
    value = arguments[condition["index"]] & U64
    if condition["op"] == "SCMP_CMP_MASKED_EQ":
        return bool(value & condition["value"] == condition["valueTwo"])
    assert condition["op"] == "SCMP_CMP_GT"
    return bool(value > condition["value"])


@pytest.mark.parametrize(("table", "architecture"), TABLES)
def test_every_denied_call_is_denied(table: seccomp.Table, architecture: str) -> None:
    rules = profile(table, architecture)
    assert {answer(rules, name) for name in table.denied} == {errno.EPERM}


@pytest.mark.parametrize(
    "flag", [0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000]
)
def test_a_new_namespace_is_refused_and_a_new_process_is_not(flag: int) -> None:
    rules = profile(*TABLES[0])
    assert answer(rules, "clone", flag | 17) == errno.EPERM
    assert answer(rules, "clone", 0x1200011) == 0
    assert answer(rules, "clone3", 0) == errno.ENOSYS


@pytest.mark.parametrize("request_", [0x5412, 0x541C, 0x5412 | 1 << 40])
def test_typing_into_a_terminal_is_refused_whatever_the_upper_bits(request_: int) -> None:
    assert answer(profile(*TABLES[0]), "ioctl", 0, request_) == errno.EPERM
    assert answer(profile(*TABLES[0]), "ioctl", 0, 0x5401) == 0


@pytest.mark.parametrize("family", range(64))
def test_only_four_families_of_sockets_are_open(family: int) -> None:
    expected = 0 if family in {1, 2, 10, 16} else errno.EAFNOSUPPORT
    assert answer(profile(*TABLES[0]), "socket", family) == expected
    assert answer(profile(*TABLES[0]), "socket", family | 1 << 40) == errno.EAFNOSUPPORT


def test_the_profile_of_this_machine_is_json() -> None:
    assert json.loads(here())["defaultAction"] == "SCMP_ACT_ALLOW"
