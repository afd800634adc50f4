"""A seal: whatever is altered afterwards is named, and only gradings and the report may come."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sealed_run import make_grading, make_run, make_sealed_run

from steelyard.errors import InfraFault, OperatorFault
from steelyard.evidence.folder.folder import RunFolder
from steelyard.evidence.folder.gradings import append_grading
from steelyard.evidence.folder.seal import check_seal, leftovers, seal
from steelyard.evidence.folder.signature import check_private_key


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return make_sealed_run(tmp_path)


def places(run: RunFolder) -> list[str]:
    return [item.where for item in check_seal(run)]


def reasons(run: RunFolder, public_key: Path | None = None) -> list[str]:
    return [item.why for item in check_seal(run, public_key)]


def edit(
    run: RunFolder, change: Callable[[dict[str, Any]], dict[str, Any]], name: str = "gradings/0001.json"
) -> None:
    run.write_json(name, change(run.read_json(name)))


def with_digest(data: dict[str, Any]) -> dict[str, Any]:
    """`data` with the digest that a careful forger would give it."""
    body = {key: data[key] for key in data if key not in ("digest", "signature")}
    return {**data, "digest": hashlib.sha256(rfc8785.dumps(body)).hexdigest()}


def write_report(run: RunFolder, /, **more: object) -> None:
    report = {"run": run.run_id, "status": "scorable", "acceptance": "success", "checks": {"unit": "pass"}}
    run.write_json("report.json", {**report, **more})


def test_an_untouched_run_holds(run: RunFolder) -> None:
    assert check_seal(run) == []


def test_gradings_and_the_report_may_come_afterwards(run: RunFolder) -> None:
    append_grading(run, make_grading())
    append_grading(run, make_grading())
    write_report(run)
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
    assert str(item).startswith("events.jsonl: line 8: truncated")


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
    for _ in range(2):
        append_grading(run, make_grading())
    edit(run, lambda data: data | {"graders": "other"})
    assert places(run) == ["gradings/0001.json", "gradings/0002.json"]


def test_a_removed_first_grading_is_found(run: RunFolder) -> None:
    for _ in range(2):
        append_grading(run, make_grading())
    run.file("gradings/0001.json").unlink()
    assert places(run) == ["gradings/0002.json"]


def test_a_grading_of_another_run_is_found(run: RunFolder, tmp_path: Path) -> None:
    other = make_sealed_run(tmp_path, "20260307T120000001Z-d-noop-abcdef")
    append_grading(other, make_grading()).rename(run.file("gradings/0001.json"))
    [item] = check_seal(run)
    assert "another seal" in item.why


def passing(data: dict[str, Any]) -> dict[str, Any]:
    return {**data, "verdict": {**data["verdict"], "verdict": "pass"}}


def test_an_edited_verdict_does_not_have_its_digest_and_does_not_follow(tmp_path: Path) -> None:
    run = make_run(tmp_path, outcome="fail")
    seal(run)
    append_grading(run, make_grading("fail"))
    assert check_seal(run) == []
    edit(run, passing)
    assert reasons(run) == [
        "altered: its content does not match its digest",
        "its verdict does not follow from its grades",
    ]


def test_an_edited_verdict_with_a_new_digest_still_does_not_follow_from_its_grades(tmp_path: Path) -> None:
    run = make_run(tmp_path, outcome="fail")
    seal(run)
    append_grading(run, make_grading("fail"))
    edit(run, lambda data: with_digest(passing(data)))
    assert reasons(run) == ["its verdict does not follow from its grades"]


def test_grades_rewritten_to_match_still_contradict_the_sealed_outcomes(tmp_path: Path) -> None:
    run = make_run(tmp_path, outcome="fail")
    seal(run)
    append_grading(run, make_grading("pass"))
    assert reasons(run) == ["it says pass for the check unit, but the sealed outcome is fail"]


def test_a_grading_that_leaves_out_a_failing_check_is_found(tmp_path: Path) -> None:
    run = make_run(tmp_path, outcome="fail")
    seal(run)
    append_grading(run, make_grading("pass", grades=[]))
    assert reasons(run) == ["it says nothing of the check unit, but the sealed outcome is fail"]


def test_a_grading_by_another_contract_is_found_unless_it_calls_the_run_invalid(run: RunFolder) -> None:
    other = {"id": "c", "digest": "d" * 64}
    verdict = {"verdict": "invalid", "status": "invalid", "acceptance": None, "gates": None}
    append_grading(run, make_grading(contract=other, verdict=verdict, grades=[]))
    assert reasons(run) == []
    append_grading(run, make_grading(contract=other))
    assert reasons(run) == ["it used another contract than the run"]


@pytest.mark.parametrize("raw", [b"", b"{", b"null", b"\xff", b"[" * 100_000, b"{}", b'{"a":' * 1000])
def test_a_damaged_grading_is_named_and_not_a_crash(run: RunFolder, raw: bytes) -> None:
    append_grading(run, make_grading()).write_bytes(raw)
    assert places(run) == ["gradings/0001.json"]


def test_a_grading_removed_from_the_end_is_found(run: RunFolder) -> None:
    for _ in range(2):
        append_grading(run, make_grading())
    run.file("gradings/0002.json").unlink()
    assert [str(item) for item in check_seal(run)] == [
        "gradings-head.json: 1 grading was removed: it counts 2, but 1 are here"
    ]


def test_a_grading_rewritten_consistently_is_not_the_one_that_the_head_names(run: RunFolder) -> None:
    append_grading(run, make_grading(score=0.5))
    edit(run, lambda data: with_digest({**data, "score": 1.0}))
    assert reasons(run) == ["the hash of grading 1 does not match"]


@pytest.mark.parametrize("raw", [b"", b"{", b"null", b"{}", b'{"count": 0}'])
def test_a_damaged_head_of_gradings_is_named_and_not_a_crash(run: RunFolder, raw: bytes) -> None:
    append_grading(run, make_grading())
    run.file("gradings-head.json").write_bytes(raw)
    assert places(run) == ["gradings-head.json"]


def test_a_head_that_was_removed_with_a_grading_is_missed(run: RunFolder) -> None:
    for _ in range(3):
        append_grading(run, make_grading())
    run.file("gradings/0003.json").unlink()
    run.file("gradings-head.json").unlink()
    assert [str(item) for item in check_seal(run)] == ["gradings-head.json: missing"]


def test_a_run_killed_between_a_grading_and_its_head_is_whole(run: RunFolder) -> None:
    append_grading(run, make_grading())
    before = run.read_bytes("gradings-head.json")
    append_grading(run, make_grading())
    run.file("gradings-head.json").write_bytes(before)
    assert check_seal(run) == []
    run.file("gradings/0002.json").unlink()
    run.file("gradings-head.json").unlink()
    assert check_seal(run) == []


def test_a_head_by_another_key_than_the_seal_does_not_hold(tmp_path: Path) -> None:
    private, _ = write_keys(tmp_path, "one")
    run = make_run(tmp_path)
    seal(run, private)
    append_grading(run, make_grading(), private)
    edit(run, with_digest, "gradings-head.json")
    assert check_seal(run) == []
    edit(run, lambda data: with_digest({**data, "count": 1, "last": "0" * 64}), "gradings-head.json")
    assert reasons(run)[0] == "bad signature"


@pytest.mark.parametrize("name", ["gradings/notes.txt", "gradings/0001.json.bak", "gradings/.hidden"])
def test_a_file_among_the_gradings_that_is_none_is_named(run: RunFolder, name: str) -> None:
    append_grading(run, make_grading())
    (run.path / name).write_bytes(b"")
    assert [str(item) for item in check_seal(run)] == [f"{name}: it is not a grading"]


def test_a_link_in_the_place_of_the_gradings_is_named(run: RunFolder, tmp_path: Path) -> None:
    run.file("gradings").rename(tmp_path / "elsewhere")
    run.file("gradings").symlink_to(tmp_path / "elsewhere")
    assert places(run) == ["gradings"]


@pytest.mark.parametrize("name", ["empty", "blobs/empty", "checks/other", "gradings/empty"])
def test_an_empty_folder_is_named(run: RunFolder, name: str) -> None:
    (run.path / name).mkdir()
    assert name in places(run)


def test_an_empty_folder_of_a_check_that_never_ended_does_not_stop_the_seal(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    run.check("never-ended")
    seal(run)
    assert check_seal(run) == []


@pytest.mark.parametrize("name", [".tmp-0123456789abcdef", "gradings/.tmp-0123456789abcdef.new"])
def test_what_a_killed_write_left_is_reported_and_breaks_nothing(run: RunFolder, name: str) -> None:
    (run.path / name).write_bytes(b"half of a rep")
    assert (check_seal(run), leftovers(run)) == ([], [name])
    (run.path / name).unlink()
    (run.path / name).symlink_to("/etc/passwd")
    assert places(run) == [name]


def test_gradings_that_were_deleted_are_missed_by_their_report(run: RunFolder) -> None:
    grading = append_grading(run, make_grading())
    write_report(run)
    grading.unlink()
    assert [str(item) for item in check_seal(run)] == [
        "gradings-head.json: 1 grading was removed: it counts 1, but 0 are here",
        "report.json: the grading it is made from is missing",
    ]


@pytest.mark.parametrize(
    "lie",
    [
        {"run": "x"},
        {"status": "invalid"},
        {"acceptance": "failure"},
        {"checks": {"unit": "fail"}},
        {"checks": 1},
    ],
)
def test_an_edited_report_is_found(run: RunFolder, lie: dict[str, object]) -> None:
    append_grading(run, make_grading())
    write_report(run, **lie)
    assert places(run) == ["report.json"]


def test_a_folder_that_was_copied_to_the_name_of_another_run_is_found(run: RunFolder, tmp_path: Path) -> None:
    other = RunFolder(tmp_path / "20260307T120000001Z-d-noop-abcdef")
    shutil.copytree(run.path, other.path)
    [item] = check_seal(other)
    assert str(item) == f"seal.json: the seal belongs to run {run.run_id}"


def test_a_folder_that_was_moved_under_its_own_name_holds(run: RunFolder, tmp_path: Path) -> None:
    other = RunFolder(tmp_path / "elsewhere" / run.run_id)
    shutil.copytree(run.path, other.path)
    assert check_seal(other) == []


def test_a_seal_made_again_around_the_manifest_of_another_run_is_found(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    run.write_json("manifest.json", {"run": "another"})
    seal(run)
    assert [str(item) for item in check_seal(run)] == ["manifest.json: the manifest belongs to run another"]


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


def test_a_signed_grading_that_was_rewritten_consistently_has_a_bad_signature(tmp_path: Path) -> None:
    private, public = write_keys(tmp_path, "mine")
    run = make_run(tmp_path / "runs")
    seal(run, private)
    append_grading(run, make_grading(graders="one"), private)
    assert reasons(run) == reasons(run, public) == []
    edit(run, lambda data: with_digest({**data, "graders": "two"}))
    assert reasons(run) == reasons(run, public) == ["bad signature"]


def test_a_grading_signed_by_another_key_than_the_seal_does_not_hold(tmp_path: Path) -> None:
    private, public = write_keys(tmp_path, "mine")
    forger, _ = write_keys(tmp_path, "forger")
    run = make_run(tmp_path / "runs")
    seal(run, private)
    append_grading(run, make_grading(), forger)
    assert reasons(run) == reasons(run, public) == ["bad signature"]


def test_a_signed_run_has_no_unsigned_gradings(tmp_path: Path) -> None:
    private, public = write_keys(tmp_path, "mine")
    run = make_run(tmp_path / "runs")
    seal(run, private)
    append_grading(run, make_grading())
    assert reasons(run) == reasons(run, public) == ["not signed"]


def test_an_unsigned_seal_does_not_hold_where_a_signature_is_asked_for(
    run: RunFolder, tmp_path: Path
) -> None:
    _, public = write_keys(tmp_path, "mine")
    assert [item.why for item in check_seal(run, public)] == ["not signed"]


def test_a_seal_made_again_by_another_does_not_hold(tmp_path: Path) -> None:
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


def test_a_private_key_that_does_not_exist_is_named_with_the_command_that_makes_one(tmp_path: Path) -> None:
    with pytest.raises(
        OperatorFault, match=r"there is no such file; `openssl genpkey -algorithm ed25519 -out \S*key\.pem`"
    ):
        check_private_key(tmp_path / "key.pem")
