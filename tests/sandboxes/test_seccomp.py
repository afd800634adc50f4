"""The filter, run here by a small interpreter of BPF, for both architectures."""

from __future__ import annotations

import errno
import struct

import pytest

from steelyard.sandboxes.seccomp import (
    AARCH64,
    X86_64,
    Table,
    guarded_calls,
    guarding_program,
    program,
    watching_for,
)

ALLOW, KILL, NOTIFY = 0x7FFF0000, 0x80000000, 0x7FC00000
TABLES = pytest.mark.parametrize("table", [X86_64, AARCH64], ids=["x86_64", "aarch64"])


def verdict(
    table: Table, number: int, *arguments: int, arch: int | None = None, steps: bytes | None = None
) -> int:
    padded = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("<iIQ6Q", number, arch or table.arch, 0, *padded)
    code = list(struct.iter_unpack("<HBBI", steps or program(table)))
    at = accumulator = 0
    while True:
        operation, if_true, if_false, operand = code[at]
        at += 1
        if operation == 0x06:
            return int(operand)
        if operation == 0x20:
            accumulator = struct.unpack_from("<I", data, operand)[0]
        else:
            tests = {
                0x15: accumulator == operand,
                0x35: accumulator >= operand,
                0x45: bool(accumulator & operand),
            }
            at += if_true if tests[operation] else if_false


def refused(error: int) -> int:
    return 0x00050000 | error


@TABLES
def test_every_denied_call_is_refused(table: Table) -> None:
    assert {verdict(table, number) for number in table.denied.values()} == {refused(errno.EPERM)}


@TABLES
def test_no_two_denied_calls_share_a_number(table: Table) -> None:
    assert len(set(table.denied.values())) == len(table.denied)


@TABLES
def test_both_architectures_deny_the_same_calls(table: Table) -> None:
    assert set(X86_64.denied) - set(table.denied) <= {"iopl", "ioperm"}


@TABLES
def test_another_architecture_is_killed(table: Table) -> None:
    assert verdict(table, 0, arch=0x40000003) == KILL


def test_the_x32_interface_is_not_there() -> None:
    assert verdict(X86_64, 0x40000000 + 101) == refused(errno.ENOSYS)


@TABLES
def test_clone3_is_not_there_so_that_libc_uses_clone(table: Table) -> None:
    assert verdict(table, table.clone3) == refused(errno.ENOSYS)


@TABLES
@pytest.mark.parametrize(
    "flag", [0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000]
)
def test_no_clone_makes_a_namespace(table: Table, flag: int) -> None:
    assert verdict(table, table.clone, flag | 17) == refused(errno.EPERM)


@TABLES
def test_a_thread_is_allowed(table: Table) -> None:
    assert verdict(table, table.clone, 0x3D0F00) == ALLOW


@TABLES
def test_typing_into_a_terminal_is_refused_and_asking_its_size_is_not(table: Table) -> None:
    assert verdict(table, table.ioctl, 0, 0x5412) == refused(errno.EPERM)
    assert verdict(table, table.ioctl, 0, 0x5413) == ALLOW


@TABLES
def test_only_families_that_a_network_namespace_holds_are_allowed(table: Table) -> None:
    allowed = {family for family in range(50) if verdict(table, table.socket, family) == ALLOW}
    assert allowed == {1, 2, 10, 16}


@TABLES
def test_ordinary_calls_are_allowed(table: Table) -> None:
    special = {table.clone3, table.socket, *table.denied.values()}
    assert {verdict(table, number) for number in range(424) if number not in special} == {ALLOW}


@TABLES
def test_a_watched_sandbox_allows_nothing_that_another_refuses(table: Table) -> None:
    """Outside of init a notification without a listener is ENOSYS; inside, init answers."""
    outer, watched = program(table, notify=True), watching_for(table)
    calls = [(number, 0) for number in table.denied.values()]
    calls += [(table.clone, 0x10000011), (table.clone3, 0), (table.ioctl, 0), (table.socket, 40)]
    for number, first in calls:
        arguments = (first, 0x5412)
        assert verdict(table, number, *arguments) != ALLOW
        assert verdict(table, number, *arguments, steps=outer) not in {ALLOW, KILL}
        assert verdict(table, number, *arguments, steps=watched.inner) not in {ALLOW, KILL}
    assert watched.plain == program(table)
    assert verdict(table, 0, arch=0x40000003, steps=watched.inner) == KILL


@TABLES
def test_init_has_a_row_for_every_notification(table: Table) -> None:
    answers = {call.number: call.answer for call in watching_for(table).calls}
    assert {answers[number] for number in table.denied.values()} == {errno.EPERM}
    assert {answers[number] for number in table.watched.values()} == {0}
    assert answers[table.socket] == errno.EAFNOSUPPORT
    assert len(answers) <= 128  # MAX_WATCHED of init.c


@TABLES
def test_a_command_that_guards_files_waits_for_init_where_files_are_opened_and_at_its_end(
    table: Table,
) -> None:
    steps, watched = guarding_program(table), table.watched
    openat = [
        verdict(table, watched["openat"], 0, 0, flags, steps=steps) for flags in (0, 1, 0o102, 0o10000000)
    ]
    assert openat == [NOTIFY, NOTIFY, NOTIFY, ALLOW]
    calls = (watched["renameat2"], watched["execve"], table.exit_group)
    assert {verdict(table, number, steps=steps) for number in calls} == {NOTIFY}
    assert (
        verdict(table, table.clone, 17, steps=steps) == verdict(table, table.socket, 2, steps=steps) == ALLOW
    )
    assert verdict(table, table.clone, 0x8011, steps=steps) == 0x50000 | errno.EPERM
    rows = {call.number: call.answer for call in guarded_calls(table)}
    assert {*calls, watched["openat"]} <= rows.keys()
    assert {*rows.values()} == {0}


@TABLES
def test_opens_without_o_path_and_messages_with_an_address_are_watched(table: Table) -> None:
    inner = watching_for(table).inner
    openat, sendto = table.watched["openat"], table.watched["sendto"]
    opens = (0, 0o2000000, 1, 0o102, 0o10000000, 0o12000001)  # the last two with O_PATH
    found = [verdict(table, openat, 0, 0, flags, steps=inner) for flags in opens]
    assert found == [NOTIFY] * 4 + [ALLOW] * 2
    addresses = (0, 1, 1 << 32)
    assert [verdict(table, sendto, 3, 0, 1, 0, address, steps=inner) for address in addresses] == [
        ALLOW,
        NOTIFY,
        NOTIFY,
    ]
    assert verdict(table, table.watched["connect"], 3, steps=inner) == NOTIFY
    assert verdict(table, table.socket, 2, steps=inner) == verdict(table, 999, steps=inner) == ALLOW


@TABLES
def test_a_process_sets_its_own_limits_and_reads_those_of_others(table: Table) -> None:
    own, another = 0, 7
    assert verdict(table, table.prlimit64, own, 7, 0x7F00_0000_1000) == ALLOW
    assert verdict(table, table.prlimit64, another, 7, 0, 0x7F00_0000_1000) == ALLOW
    for address in (0x1000, 0x7F00_0000_0000):
        assert verdict(table, table.prlimit64, another, 7, address) == refused(errno.EPERM)


@TABLES
def test_the_scheduling_of_init_is_changed_by_no_other_process(table: Table) -> None:
    for number in table.scheduling.values():
        assert verdict(table, number, 1) == refused(errno.EPERM)
        assert (verdict(table, number, 0), verdict(table, number, 7)) == (ALLOW, ALLOW)
    process, group, user = 0, 1, 2
    assert verdict(table, table.setpriority, process, 1, 19) == refused(errno.EPERM)
    assert verdict(table, table.setpriority, user, 0, 19) == refused(errno.EPERM)
    assert verdict(table, table.setpriority, process, 7, 19) == ALLOW
    assert verdict(table, table.setpriority, group, 0, 19) == ALLOW
