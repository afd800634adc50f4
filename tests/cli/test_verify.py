"""`steelyard verify` says ok, or what was altered and where, and its exit code agrees."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from steelyard.cli import verify
from steelyard.contract.tree import Entry
from steelyard.errors import OperatorFault
from steelyard.evidence.change import Change, ChangeEntry
from steelyard.evidence.events import EventLog
from steelyard.evidence.folder import RunFolder
from steelyard.evidence.gradings import append_grading
from steelyard.evidence.seal import seal


def make_run(root: Path, run_id: str, *, sealed: bool = True, blob: bool = True) -> RunFolder:
    folder = RunFolder.create(root, run_id)
    folder.write_json("manifest.json", {})
    with EventLog(folder.events) as log:
        log.append("run.start", "harness", {})
        log.append("run.end", "harness", {})
    stored = folder.blobs.put_bytes(b"x")
    change = Change("0", (ChangeEntry("a", None, Entry("file", "644", stored.size, stored.sha256)),))
    folder.write_bytes("change.json", change.to_bytes())
    if not blob:
        folder.blobs.path(stored.sha256).unlink()
    if sealed:
        seal(folder)
    return folder


def run_verb(*words: str) -> int:
    parser = argparse.ArgumentParser()
    verify.arguments(parser)
    return verify.run(parser.parse_args(words))


def test_an_untouched_run_is_ok(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make_run(tmp_path, "1-a")
    append_grading(folder, {})
    assert run_verb("1-a", "--runs", str(tmp_path), "--deep") == 0
    digest = folder.read_json("seal.json")["digest"]
    assert capsys.readouterr().out == f"ok  1-a  2 events, 4 files, 1 gradings, not signed, seal {digest}\n"


def test_a_run_may_be_named_by_its_folder(tmp_path: Path) -> None:
    assert run_verb(str(make_run(tmp_path, "1-a").path)) == 0


def test_an_edited_event_is_named_with_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make_run(tmp_path, "1-a")
    folder.events.write_bytes(folder.events.read_bytes().replace(b"run.end", b"run.bad"))
    assert run_verb("1-a", "--runs", str(tmp_path)) == 1
    assert "broken  1-a  events.jsonl: line 2: edited" in capsys.readouterr().out


def test_an_incomplete_run_is_said_to_be_incomplete(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_run(tmp_path, "1-a", sealed=False)
    assert run_verb("1-a", "--runs", str(tmp_path)) == 1
    assert "incomplete" in capsys.readouterr().out


def test_one_broken_run_among_several_decides_the_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_run(tmp_path, "1-a")
    make_run(tmp_path, "2-b").file("manifest.json").write_bytes(b"{} ")
    assert run_verb("1-a", "2-b", "--runs", str(tmp_path), "--json") == 1
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["ok"], second["ok"], second["broken"][0]["where"]) == (True, False, "manifest.json")


def test_a_blob_that_was_never_there_is_found_by_looking_deep(tmp_path: Path) -> None:
    make_run(tmp_path, "1-a", blob=False)
    assert run_verb("1-a", "--runs", str(tmp_path)) == 0
    assert run_verb("1-a", "--runs", str(tmp_path), "--deep") == 1


def test_an_unsigned_run_does_not_satisfy_a_public_key(tmp_path: Path) -> None:
    make_run(tmp_path, "1-a")
    assert run_verb("1-a", "--runs", str(tmp_path), "--public-key", str(tmp_path / "key")) == 1


def test_a_run_that_does_not_exist_is_the_operators_mistake(tmp_path: Path) -> None:
    with pytest.raises(OperatorFault):
        run_verb("nothing", "--runs", str(tmp_path))
