"""A graded run: what is written beside the sealed evidence, and what a further grading may change."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from fake_study import FakeStudy

from steelyard.contract.contract import Contract
from steelyard.errors import OperatorFault
from steelyard.evidence.evidence import load_evidence
from steelyard.evidence.folder.canonical import canonical
from steelyard.evidence.folder.folder import RunFolder
from steelyard.plan.trial import Trial
from steelyard.sandboxes.fake import Answer
from steelyard.study.record import Record, bound_report, grade_evidence
from steelyard.study.regrade import Regrader, contract_digest, refuse_to_regrade
from steelyard.study.verify_record import record_breaks

Make = Callable[..., Contract]


@pytest.fixture
def record(fake_study: FakeStudy, contract: Make) -> Record:
    (result,) = fake_study.engine().run([Trial(contract(), "noop")])
    return result.record


def names(record: Record) -> list[str]:
    return sorted(path.name for path in record.evidence.folder.file("gradings").glob("*.json"))


def test_the_first_grading_is_the_result_of_record(record: Record) -> None:
    folder = record.evidence.folder
    assert (record.number, names(record)) == (1, ["0001.json"])
    assert folder.read_json("report.json")["verdict"] == "pass"
    assert record_breaks(folder) == []


def test_a_second_grading_leaves_the_report_as_it_is(record: Record) -> None:
    report = record.evidence.folder.read_bytes("report.json")
    again = grade_evidence(record.contract, load_evidence(record.evidence.folder))
    assert (again.number, names(record)) == (2, ["0001.json", "0002.json"])
    assert record.evidence.folder.read_bytes("report.json") == report
    assert record_breaks(record.evidence.folder) == []


def test_a_report_that_was_altered_is_a_break(record: Record) -> None:
    path = record.evidence.folder.file("report.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), "verdict": "fail"}))
    assert [str(one) for one in record_breaks(record.evidence.folder)] == [
        "report.json: altered: its `verdict` differs from the record"
    ]


def of_another_commit(
    folder: RunFolder, edit: Callable[[dict[str, Any]], Any], *, is_bound: bool = False
) -> None:
    """The report in another shape, and a grading that names it, or none, as gradings did before."""
    edit_report(folder, edit)
    named = {"report": bound_report(folder.read_json("report.json"))} if is_bound else {}
    grading = folder.read_json("gradings/0001.json")
    del grading["report"]
    rewrite(folder, "gradings/0001.json", {**grading, **named})
    last = hashlib.sha256(folder.read_bytes("gradings/0001.json")).hexdigest()
    rewrite(folder, "gradings-head.json", {**folder.read_json("gradings-head.json"), "last": last})


def rewrite(folder: RunFolder, name: str, data: dict[str, Any]) -> None:
    data["digest"] = hashlib.sha256(canonical(data)).hexdigest()
    folder.file(name).write_bytes(orjson.dumps(data))


def edit_report(folder: RunFolder, edit: Callable[[dict[str, Any]], Any]) -> None:
    report = folder.read_json("report.json")
    edit(report)
    folder.file("report.json").write_bytes(orjson.dumps(report))


def less(report: dict[str, Any]) -> None:
    """Without what later commits added, at the top and further down; with something that they dropped."""
    del report["causes"], report["decisions"], report["cost"]["claimed"], report["termination"]["event"]
    report["tokens"] = None


def test_a_report_of_another_commit_with_fewer_members_is_not_altered(record: Record) -> None:
    of_another_commit(record.evidence.folder, less)
    assert record_breaks(record.evidence.folder) == []


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (lambda report: report.update(verdict="fail"), "its `verdict` differs from the record"),
        (lambda report: report["cost"].update(usd=9.0), "its `cost` differs from the record"),
        (lambda report: report["changed_files"].append("x"), "its `changed_files` differs from the record"),
        (lambda report: report.pop("durations"), "its `durations` is missing"),
    ],
)
def test_an_altered_report_of_another_commit_is_named(
    record: Record, edit: Callable[[dict[str, Any]], Any], why: str
) -> None:
    def altered(report: dict[str, Any]) -> None:
        less(report)
        edit(report)

    of_another_commit(record.evidence.folder, altered)
    assert [str(one) for one in record_breaks(record.evidence.folder)] == [f"report.json: altered: {why}"]


@pytest.mark.parametrize(
    ("edit", "name"),
    [
        (lambda report: report["cost"].pop("usd"), "cost"),
        (lambda report: report.pop("causes"), "causes"),
        (lambda report: report.update(more=1), "more"),
    ],
)
def test_a_report_that_its_grading_names_may_lose_and_gain_nothing(
    record: Record, edit: Callable[[dict[str, Any]], Any], name: str
) -> None:
    edit_report(record.evidence.folder, edit)
    assert [str(one) for one in record_breaks(record.evidence.folder)] == [
        f"report.json: altered: its `{name}` differs from the record"
    ]


def test_a_report_of_a_later_version_is_held_against_the_digest_in_its_grading(record: Record) -> None:
    folder = record.evidence.folder

    def later(report: dict[str, Any]) -> None:
        report.update(schema="steelyard.report/9", verdict=None, mood="good")

    of_another_commit(folder, later, is_bound=True)
    assert record_breaks(folder) == []
    edit_report(folder, lambda report: report.update(mood="bad"))
    assert [str(one) for one in record_breaks(folder)] == [
        "report.json: altered: it is not the report that grading 1 names"
    ]


def test_a_missing_manifest_accuses_no_grading(record: Record) -> None:
    record.evidence.folder.file("manifest.json").unlink()
    assert [str(one) for one in record_breaks(record.evidence.folder)] == ["manifest.json: missing"]


def test_the_manifest_has_the_trial(record: Record) -> None:
    manifest = record.evidence.manifest
    assert manifest["trial"] == {
        "id": Trial(record.contract, "noop").id,
        "repeat": 1,
        "attempt": 1,
        "retries": [],
    }


def test_a_grading_by_another_contract_counts_for_nothing(record: Record, contract: Make) -> None:
    other = grade_evidence(contract("other"), load_evidence(record.evidence.folder))
    assert (other.verdict.verdict, other.verdict.status) == ("invalid", "invalid")
    assert "the run has contract digest" in other.verdict.reason


def test_regrading_by_another_contract_is_refused(record: Record, contract: Make) -> None:
    with pytest.raises(OperatorFault, match="has contract digest"):
        refuse_to_regrade(contract("other"), record.evidence, None)


def test_regrading_an_altered_run_is_refused(record: Record) -> None:
    record.evidence.folder.file("checks/adds/outcome.json").write_text('{"outcome": "pass"}')
    with pytest.raises(OperatorFault, match=r"was altered: checks/adds/outcome\.json"):
        refuse_to_regrade(record.contract, load_evidence(record.evidence.folder), None)


def test_regrading_a_signed_run_needs_its_key(fake_study: FakeStudy, contract: Make, tmp_path: Path) -> None:
    key = tmp_path / "key.pem"
    form = Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
    key.write_bytes(Ed25519PrivateKey.generate().private_bytes(*form))
    fake_study.signer = key
    (result,) = fake_study.engine().run([Trial(contract(), "noop")])
    refuse_to_regrade(result.record.contract, result.record.evidence, key)
    with pytest.raises(OperatorFault, match="is signed"):
        refuse_to_regrade(result.record.contract, result.record.evidence, None)


def test_a_run_that_was_never_graded_gets_its_report_by_a_regrade(record: Record) -> None:
    folder = record.evidence.folder
    shutil.rmtree(folder.file("gradings"))
    folder.file("gradings").mkdir()
    for name in ("gradings-head.json", "report.json"):
        folder.file(name).unlink()
    again = Regrader().regrade(record.contract, load_evidence(folder))
    assert (again.number, folder.read_json("report.json")["verdict"]) == (1, "pass")


def test_the_digest_of_a_run_is_that_of_its_contract(record: Record) -> None:
    assert contract_digest(record.evidence) == record.contract.digest


def test_a_failed_check_is_a_failed_run(fake_study: FakeStudy, contract: Make) -> None:
    fake_study.script = lambda _: Answer(exit_code=3)
    (result,) = fake_study.engine().run([Trial(contract(), "noop")])
    assert result.record.evidence.folder.read_json("report.json")["checks"] == {"adds": "fail"}
