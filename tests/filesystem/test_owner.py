"""A leftover is known by its name."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from steelyard.errors import OperatorFault
from steelyard.filesystem.owner import RUN_UID, is_stale, owner_tag, run_uid


def test_what_this_process_made_is_not_stale() -> None:
    assert not is_stale(owner_tag())
    assert not is_stale(f"{owner_tag()}-a1b2")


def test_what_a_finished_process_made_is_stale() -> None:
    shown = subprocess.run(
        [sys.executable, "-c", "from steelyard.filesystem.owner import owner_tag; print(owner_tag())"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert is_stale(shown.stdout.strip())


def test_what_was_made_before_the_last_boot_is_stale() -> None:
    boot, rest = owner_tag().split("-", 1)
    other = "0" * 8 if boot != "0" * 8 else "1" * 8
    assert is_stale(f"{other}-{rest}")


def test_a_reused_pid_does_not_keep_a_leftover_alive() -> None:
    head, _, started = owner_tag().rpartition("-")
    assert is_stale(f"{head}-{int(started) + 1}")


def test_what_another_pid_space_made_cannot_be_judged_so_it_stays() -> None:
    boot, space, pid, started = owner_tag().split("-")
    assert not is_stale(f"{boot}-{int(space) + 1}-{pid}-{int(started) + 1}")


@pytest.mark.parametrize("name", ["", "notes.txt", "12345678", "zzzzzzzz-1-2-3", "3f2a91c0-1-2"])
def test_a_name_without_a_tag_is_never_swept(name: str) -> None:
    assert not is_stale(name)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has another run uid")
def test_root_has_a_run_uid_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STEELYARD_RUN_UID", raising=False)
    assert run_uid() == RUN_UID
    monkeypatch.setenv("STEELYARD_RUN_UID", "4711")
    assert run_uid() == 4711


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has another run uid")
@pytest.mark.parametrize("asked", ["0", "-1", "ann", ""])
def test_a_run_uid_that_is_no_ordinary_user_is_refused(asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_RUN_UID", asked)
    with pytest.raises(OperatorFault, match="STEELYARD_RUN_UID"):
        run_uid()


@pytest.mark.usefixtures("ordinary_user")
def test_an_ordinary_user_is_its_own_run_uid() -> None:
    assert run_uid() == os.geteuid() != 0
