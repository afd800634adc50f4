"""Why a run has no result: it runs, it was interrupted, or it was sealed and not graded."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from steelyard.evidence import in_use
from steelyard.evidence.folder.folder import GRADINGS, GRADINGS_HEAD, REPORT, SEAL, RunFolder
from steelyard.evidence.in_use import InUse
from steelyard.evidence.unfinished import unfinished_state


def test_a_run_whose_process_holds_the_folder_is_running(tmp_path: Path) -> None:
    with InUse(tmp_path):
        assert unfinished_state(RunFolder(tmp_path)) == "running"


def test_a_run_without_a_seal_and_without_a_process_was_interrupted(tmp_path: Path) -> None:
    assert unfinished_state(RunFolder(tmp_path)) == "interrupted"


def test_a_run_that_another_process_looks_at_is_not_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look takes the lock for a moment: until this one waits for it."""
    looking = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(looking, fcntl.LOCK_EX)
    monkeypatch.setattr("steelyard.evidence.in_use.time.sleep", lambda _: os.close(looking))
    assert not in_use.is_in_use(tmp_path)


def test_a_sealed_run_without_a_grading_is_not_graded(tmp_path: Path) -> None:
    (tmp_path / SEAL).touch()
    assert unfinished_state(RunFolder(tmp_path)) == "not graded"


@pytest.mark.parametrize("trace", [GRADINGS_HEAD, REPORT, f"{GRADINGS}/0001.json"])
def test_a_sealed_run_with_a_trace_of_a_grading_has_a_result(tmp_path: Path, trace: str) -> None:
    """A removed grading is a damaged record and not a run that waits for one."""
    (tmp_path / SEAL).touch()
    (tmp_path / trace).parent.mkdir(exist_ok=True)
    (tmp_path / trace).touch()
    with InUse(tmp_path):
        assert unfinished_state(RunFolder(tmp_path)) == ""
