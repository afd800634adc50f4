"""`steelyard verify` says ok, or what was altered and where, and its exit code agrees."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from authoring import Author, Steelyard
from steelyard.cli.records import verify
from steelyard.errors import OperatorFault
from steelyard.evidence.change.change import Change, ChangeEntry
from steelyard.evidence.folder.folder import RunFolder
from steelyard.evidence.folder.gradings import append_grading
from steelyard.evidence.folder.seal import seal
from steelyard.evidence.trace.events import EventLog
from steelyard.filesystem.tree import Entry

GRADING = {
    "schema": "steelyard.grading/1",
    "contract": {"id": "c", "digest": "0" * 64},
    "grades": [],
    "verdict": {"verdict": "ungraded", "status": "scorable", "acceptance": "success", "gates": {}},
}


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
    append_grading(folder, GRADING)
    assert run_verb("1-a", "--runs", str(tmp_path), "--deep") == 0
    digest = folder.read_json("seal.json")["digest"]
    assert capsys.readouterr().out == (
        f"ok  1-a  2 events, 4 files, 1 grading, seal {digest}; "
        "not signed: anyone with write access could have forged it\n"
    )


def test_a_run_without_gradings_is_said_to_be_never_graded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_run(tmp_path, "1-a")
    assert run_verb("1-a", "--runs", str(tmp_path)) == 0
    assert "4 files, never graded, seal" in capsys.readouterr().out


def test_every_fault_has_its_own_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make_run(tmp_path, "1-a")
    folder.write_bytes("extra", b"")
    folder.file("change.json").unlink()
    assert run_verb("1-a", "--runs", str(tmp_path)) == 1
    assert capsys.readouterr().out.splitlines() == [
        "broken  1-a  extra: added after the run was sealed",
        "broken  1-a  change.json: missing",
    ]


def test_the_json_line_says_what_was_looked_at(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make_run(tmp_path, "1-a")
    append_grading(folder, GRADING)
    assert run_verb("1-a", "--runs", str(tmp_path), "--json") == 0
    line = json.loads(capsys.readouterr().out)
    assert line == {
        "schema": "steelyard.verify/1", "run": "1-a", "folder": str(folder.path), "ok": True, "state": "sealed",
        "seal": folder.read_json("seal.json")["digest"], "signed": False, "gradings": 1, "broken": [],
    }  # fmt: skip


def test_the_json_line_of_a_run_with_a_damaged_seal_is_still_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_run(tmp_path, "1-a").file("seal.json").write_bytes(b"null")
    assert run_verb("1-a", "--runs", str(tmp_path), "--json") == 1
    line = json.loads(capsys.readouterr().out)
    assert (line["seal"], line["signed"], line["broken"][0]["where"]) == (None, False, "seal.json")


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


def test_every_run_of_a_folder_is_verified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_run(tmp_path / "runs", "1-a")
    make_run(tmp_path / "runs", "2-b")
    assert run_verb(str(tmp_path / "runs")) == 0
    assert [line[:7] for line in capsys.readouterr().out.splitlines()] == ["ok  1-a", "ok  2-b"]


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


def test_a_run_that_was_sealed_before_its_capture_is_looked_at_deeply(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The machine failed before there was a change: the run is invalid, and its record whole."""
    folder = make_run(tmp_path, "1-a", sealed=False)
    folder.file("change.json").unlink()
    seal(folder)
    assert run_verb("1-a", "--runs", str(tmp_path), "--deep") == 0
    assert capsys.readouterr().out.startswith("ok  1-a  ")


def test_what_a_killed_write_left_is_a_note(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make_run(tmp_path, "1-a")
    (folder.path / ".tmp-0123456789abcdef").write_bytes(b"{")
    assert run_verb("1-a", "--runs", str(tmp_path)) == 0
    assert "note  1-a  .tmp-0123456789abcdef: left by an interrupted write" in capsys.readouterr().out


def test_an_unsigned_run_does_not_satisfy_a_public_key(tmp_path: Path) -> None:
    make_run(tmp_path, "1-a")
    key = Ed25519PrivateKey.generate().public_key()
    (tmp_path / "pub").write_bytes(
        key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    assert run_verb("1-a", "--runs", str(tmp_path), "--public-key", str(tmp_path / "pub")) == 1


def test_a_public_key_that_is_not_there_is_the_operators_mistake(tmp_path: Path) -> None:
    make_run(tmp_path, "1-a")
    with pytest.raises(OperatorFault, match="not a readable public key"):
        run_verb("1-a", "--runs", str(tmp_path), "--public-key", str(tmp_path / "absent"))


def test_a_run_that_does_not_exist_is_the_operators_mistake(tmp_path: Path) -> None:
    with pytest.raises(OperatorFault):
        run_verb("nothing", "--runs", str(tmp_path))


@pytest.fixture
def two_runs(steelyard: Steelyard, author: Author) -> tuple[Path, Path]:
    """A run that failed and one that passed."""
    lines = steelyard("run", author.write(), "--agent", "noop", "--agent", "reference", "--json").lines
    folders = {line["verdict"]: Path(line["folder"]) for line in lines}
    return folders["fail"], folders["pass"]


def edit_verdict(folder: Path) -> None:
    grading = folder / "gradings/0001.json"
    data = json.loads(grading.read_bytes())
    data["verdict"]["verdict"] = "pass"
    grading.write_text(json.dumps(data))


def test_show_of_an_altered_run_begins_with_a_warning(
    steelyard: Steelyard, two_runs: tuple[Path, Path]
) -> None:
    failed, _ = two_runs
    edit_verdict(failed)
    assert steelyard("verify", failed.name).code == 1
    result = steelyard("show", failed.name)
    assert result.code == 1
    assert result.out.startswith("record altered: gradings/0001.json: ")
    line = steelyard("show", failed.name, "--json")
    assert (line.code, line.line["broken"].split(":")[0]) == (1, "gradings/0001.json")


@pytest.mark.parametrize("raw", [b"", b"null", b"{}", b"\xff"])
def test_a_damaged_grading_does_not_hide_the_other_runs(
    steelyard: Steelyard, two_runs: tuple[Path, Path], raw: bytes
) -> None:
    failed, passed = two_runs
    (failed / "gradings/0001.json").write_bytes(raw)
    result = steelyard("show")
    assert (result.code, result.err) == (1, "")
    assert f"see `steelyard verify {failed.name}`" in result.out
    assert "reference" in result.out
    lines = {line["run"]: line for line in steelyard("show", "--json").lines}
    assert "not a grading" in lines[failed.name]["broken"]
    assert lines[passed.name]["verdict"] == "pass"
    assert steelyard("show", failed.name).code == 1


def test_a_real_run_that_is_signed_has_signed_gradings(
    steelyard: Steelyard, author: Author, tmp_path: Path
) -> None:
    key = Ed25519PrivateKey.generate()
    (tmp_path / "key").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    (tmp_path / "pub").write_bytes(
        key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
    line = steelyard("run", author.write(), "--agent", "noop", "--sign", tmp_path / "key", "--json").line
    result = steelyard("verify", line["run"], "--public-key", tmp_path / "pub")
    assert (result.code, result.out.endswith("; signed\n")) == (0, True), result.out
    edit_verdict(Path(line["folder"]))
    assert "bad signature" in steelyard("verify", line["run"], "--public-key", tmp_path / "pub").out
