"""A run folder: files appear whole, names sort by time, and runs are found by part of their id."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from steelyard.errors import InfraFault, OperatorFault
from steelyard.evidence.folder.folder import RunFolder, find_named, find_run, find_runs, new_run_id


def make_run(root: Path, run_id: str) -> RunFolder:
    folder = RunFolder.create(root, run_id)
    folder.write_json("manifest.json", {})
    return folder


def test_a_run_folder_is_private(tmp_path: Path) -> None:
    assert RunFolder.create(tmp_path / "runs", "r").path.stat().st_mode & 0o777 == 0o700


def test_a_run_folder_is_never_reused(tmp_path: Path) -> None:
    RunFolder.create(tmp_path, "r")
    with pytest.raises(InfraFault):
        RunFolder.create(tmp_path, "r")


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    folder = make_run(tmp_path, "r")
    folder.write_json("checks/unit/outcome.json", {"b": 1, "a": [None]})
    assert folder.read_json("checks/unit/outcome.json") == {"a": [None], "b": 1}


def test_a_rewritten_file_leaves_no_temporary_one(tmp_path: Path) -> None:
    folder = make_run(tmp_path, "r")
    folder.write_bytes("patch.diff", b"1")
    folder.write_bytes("patch.diff", b"2")
    assert sorted(path.name for path in folder.path.iterdir() if path.is_file()) == [
        "manifest.json",
        "patch.diff",
    ]


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/../x", "", ".hidden", "a//b", "a/", "x\0y"])
def test_a_name_cannot_lead_out_of_the_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="not a name"):
        make_run(tmp_path, "r").write_bytes(name, b"")


def test_a_run_is_incomplete_until_it_has_a_seal(tmp_path: Path) -> None:
    folder = make_run(tmp_path, "r")
    states = [folder.state]
    folder.write_json("seal.json", {})
    assert [*states, folder.state] == ["incomplete", "sealed"]


def test_run_ids_sort_by_time_and_are_safe_as_names() -> None:
    early = new_run_id("widgets/1412", "claude code:x", now=datetime(2026, 3, 7, 12, 0, 0, 5000, tzinfo=UTC))
    late = new_run_id("a", "b", now=datetime(2026, 3, 7, 12, 0, 0, 6000, tzinfo=UTC))
    assert early < late
    assert re.fullmatch(r"20260307T120000005Z-widgets_1412-claude_code_x-[0-9a-f]{6}", early)


def test_a_hostile_contract_id_stays_a_plain_name() -> None:
    assert "/" not in new_run_id("../../etc", "\x1b[2J")
    assert new_run_id("...", "").count("-") == 3


def test_runs_are_found_in_order_and_by_part_of_their_id(tmp_path: Path) -> None:
    for run_id in ("2-b-noop-bbbbbb", "1-a-noop-aaaaaa"):
        make_run(tmp_path, run_id)
    (tmp_path / "other").mkdir()
    assert [run.run_id for run in find_runs(tmp_path)] == ["1-a-noop-aaaaaa", "2-b-noop-bbbbbb"]
    assert find_run(tmp_path, "1-a").run_id == "1-a-noop-aaaaaa"
    assert find_run(tmp_path, "bbbbbb").run_id == "2-b-noop-bbbbbb"
    assert find_run(tmp_path, str(tmp_path / "1-a-noop-aaaaaa")).run_id == "1-a-noop-aaaaaa"


def test_a_run_folder_right_here_needs_no_slash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_run(tmp_path, "1-a-x")
    monkeypatch.chdir(tmp_path)
    assert find_run(tmp_path / "runs", "1-a-x").path == tmp_path / "1-a-x"
    (tmp_path / "other").mkdir()
    with pytest.raises(OperatorFault, match="no run"):
        find_run(tmp_path / "runs", "other")


def test_an_ambiguous_or_unknown_id_is_the_operators_mistake(tmp_path: Path) -> None:
    make_run(tmp_path, "1-a-x")
    make_run(tmp_path, "1-b-x")
    with pytest.raises(OperatorFault, match="2 runs"):
        find_run(tmp_path, "1-")
    with pytest.raises(OperatorFault, match="no run"):
        find_run(tmp_path, "3")
    assert find_runs(tmp_path / "nowhere") == []


def test_an_empty_name_does_not_name_all_runs_of_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in `steelyard regrade "$RUN"` where the variable is not set."""
    make_run(tmp_path, "r")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OperatorFault, match="the name of a run is empty"):
        find_named(tmp_path, "")
    assert [one.run_id for one in find_named(tmp_path, ".")] == ["r"]
