"""A seal: whatever is altered afterwards is named, and only gradings and the report may come."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sealed_run import make_run, make_sealed_run

from steelyard.errors import InfraFault, OperatorFault
from steelyard.evidence.folder import RunFolder
from steelyard.evidence.gradings import append_grading
from steelyard.evidence.seal import check_seal, seal


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return make_sealed_run(tmp_path)


def places(run: RunFolder) -> list[str]:
    return [item.where for item in check_seal(run)]


def test_an_untouched_run_holds(run: RunFolder) -> None:
    assert check_seal(run) == []


def test_gradings_and_the_report_may_come_afterwards(run: RunFolder) -> None:
    append_grading(run, {"verdict": "pass"})
    append_grading(run, {"verdict": "fail"})
    run.write_json("report.json", {})
    assert check_seal(run) == []


@pytest.mark.parametrize(
    "name", ["manifest.json", "change.json", "patch.diff", "checks/unit/outcome.json", "agent/stdout.txt"]
)
def test_an_altered_file_is_named(run: RunFolder, name: str) -> None:
    run.file(name).write_bytes(run.read_bytes(name) + b" ")
    assert places(run) == [name]


@pytest.mark.parametrize("name", ["manifest.json", "checks/unit/outcome.json", "events.jsonl"])
def test_a_missing_file_is_named(run: RunFolder, name: str) -> None:
    run.file(name).unlink()
    assert name in places(run)


@pytest.mark.parametrize("name", ["extra.txt", "checks/unit/reward.json", "blobs/.tmp-x", "agent/\udcff"])
def test_an_extra_file_is_named(run: RunFolder, name: str) -> None:
    (run.path / name).write_bytes(b"")
    [where] = places(run)
    assert where.split("%")[0] in name


def test_an_altered_blob_is_named_unless_blobs_are_not_looked_at(run: RunFolder) -> None:
    [blob] = [path for path in (run.path / "blobs").rglob("*") if path.is_file()]
    blob.chmod(0o600)
    blob.write_bytes(b"other")
    assert [item.why.split(":")[0] for item in check_seal(run)] == ["altered"]
    assert check_seal(run, deep=False) == []


def test_a_link_to_the_same_bytes_is_named(run: RunFolder, tmp_path: Path) -> None:
    run.file("patch.diff").rename(tmp_path / "elsewhere")
    run.file("patch.diff").symlink_to(tmp_path / "elsewhere")
    assert places(run) == ["patch.diff"]


def test_a_link_to_a_folder_is_named_and_not_walked(run: RunFolder) -> None:
    (run.path / "agent/more").symlink_to("/")
    assert places(run) == ["agent/more"]


def test_a_fifo_does_not_stop_the_check(run: RunFolder) -> None:
    os.mkfifo(run.path / "agent/pipe")
    assert places(run) == ["agent/pipe"]


def test_a_fifo_in_place_of_the_seal_does_not_stop_the_check(run: RunFolder) -> None:
    run.file("seal.json").unlink()
    os.mkfifo(run.file("seal.json"))
    assert places(run) == ["seal.json"]


def test_an_edited_event_is_named_with_its_line(run: RunFolder) -> None:
    run.events.write_bytes(run.events.read_bytes().replace(b'"execute"', b'"search"'))
    [item] = check_seal(run)
    assert str(item).startswith("events.jsonl: line 3: edited")


def test_a_cut_tail_is_named_with_its_line(run: RunFolder) -> None:
    run.events.write_bytes(b"".join(run.events.read_bytes().splitlines(keepends=True)[:-1]))
    [item] = check_seal(run)
    assert str(item).startswith("events.jsonl: line 8: cut tail")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: data | {"head": "0" * 64},
        lambda data: data | {"events": 3},
        lambda data: data | {"files": {}},
        lambda data: data | {"digest": "0" * 64},
        lambda data: data | {"more": 1},
        lambda data: data | {"schema": "steelyard.seal/2"},
        lambda data: {key: value for key, value in data.items() if key != "head"},
        lambda data: [data],
        lambda data: data | {"files": {"a": "\ud800"}},
        lambda data: data | {"signature": {"value": "x"}},
    ],
)
def test_an_edited_seal_is_named(run: RunFolder, spoil: Callable[[dict[str, object]], object]) -> None:
    run.file("seal.json").write_text(json.dumps(spoil(run.read_json("seal.json"))))
    assert places(run) == ["seal.json"]


@pytest.mark.parametrize("raw", [b"", b"{", b"null", b"\xff", b"[" * 100_000])
def test_a_damaged_seal_is_named_and_not_a_crash(run: RunFolder, raw: bytes) -> None:
    run.file("seal.json").write_bytes(raw)
    assert places(run) == ["seal.json"]


def test_a_run_without_a_seal_is_incomplete(tmp_path: Path) -> None:
    [item] = check_seal(make_run(tmp_path))
    assert "incomplete" in item.why


def test_a_broken_log_cannot_be_sealed(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    run.events.write_bytes(run.events.read_bytes()[:-5])
    with pytest.raises(InfraFault, match="line 8"):
        seal(run)


def test_a_folder_with_a_link_in_it_cannot_be_sealed(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    (run.path / "agent/link").symlink_to("/etc/passwd")
    with pytest.raises(InfraFault, match="agent/link"):
        seal(run)


def test_an_edited_grading_breaks_the_one_after_it(run: RunFolder) -> None:
    for verdict in ("pass", "fail"):
        append_grading(run, {"verdict": verdict})
    first = run.file("gradings/0001.json")
    first.write_bytes(first.read_bytes().replace(b"pass", b"fail"))
    assert places(run) == ["gradings/0002.json"]


def test_a_removed_first_grading_is_found(run: RunFolder) -> None:
    for verdict in ("pass", "fail"):
        append_grading(run, {"verdict": verdict})
    run.file("gradings/0001.json").unlink()
    assert places(run) == ["gradings/0002.json"]


def test_a_grading_of_another_run_is_found(run: RunFolder, tmp_path: Path) -> None:
    other = make_sealed_run(tmp_path, "20260307T120000001Z-d-noop-abcdef")
    append_grading(other, {"verdict": "pass"}).rename(run.file("gradings/0001.json"))
    [item] = check_seal(run)
    assert "another seal" in item.why


def write_keys(folder: Path, name: str) -> tuple[Path, Path]:
    key = Ed25519PrivateKey.generate()
    private, public = folder / f"{name}.pem", folder / f"{name}.pub"
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    public.write_bytes(
        key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
    return private, public


def test_a_signed_seal_holds_for_its_key_and_for_no_other(tmp_path: Path) -> None:
    private, public = write_keys(tmp_path, "mine")
    _, other = write_keys(tmp_path, "other")
    run = make_run(tmp_path / "runs")
    assert seal(run, private).signed
    assert check_seal(run) == []
    assert check_seal(run, public) == []
    assert [item.why for item in check_seal(run, other)] == ["bad signature"]


def test_an_unsigned_seal_does_not_hold_where_a_signature_is_asked_for(
    run: RunFolder, tmp_path: Path
) -> None:
    _, public = write_keys(tmp_path, "mine")
    assert [item.why for item in check_seal(run, public)] == ["not signed"]


def test_a_seal_made_again_by_somebody_else_does_not_hold(tmp_path: Path) -> None:
    private, public = write_keys(tmp_path, "mine")
    forger, _ = write_keys(tmp_path, "forger")
    run = make_run(tmp_path / "runs")
    seal(run, private)
    run.write_json("checks/unit/outcome.json", {"outcome": "fail"})
    seal(run, forger)
    assert check_seal(run) == []
    assert check_seal(run, public) != []


def test_a_key_that_cannot_be_used_is_the_operators_mistake(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("no key")
    run = make_run(tmp_path / "runs")
    with pytest.raises(OperatorFault):
        seal(run, tmp_path / "key")
    assert run.state == "incomplete"
