"""An attacker with write access to a run folder alters reviews of people, or removes a verdict.

Annotations lie outside the seal, because they come later. They are chained to each other and to the seal, and nothing that
grades a run reads them: an attack on them can be found, and cannot change the verdict.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest
from sealed_run import make_grading, make_sealed_run

from steelyard import review
from steelyard.cli.main import main
from steelyard.errors import OperatorFault
from steelyard.evidence.evidence import load_evidence
from steelyard.evidence.folder.folder import RunFolder
from steelyard.evidence.folder.gradings import append_grading
from steelyard.study.verify_record import record_breaks


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    run = make_sealed_run(tmp_path / "runs")
    append_grading(run, make_grading())
    for name, judgment in (("ada", "fail"), ("bob", "fail")):
        review.annotate(run, result(name, judgment))
    return run


def result(name: str, judgment: Any, **more: Any) -> review.Annotation:
    return review.Annotation(reviewer_id=name, timestamp=datetime.now(UTC), judgment=judgment, **more)


def rewrite(folder: RunFolder, name: str, **members: Any) -> None:
    data = orjson.loads(folder.read_bytes(name))
    folder.file(name).write_bytes(orjson.dumps({**data, **members}))


def swap(folder: RunFolder) -> None:
    one, two = (folder.file(f"annotations/000{number}.json") for number in (1, 2))
    first, second = one.read_bytes(), two.read_bytes()
    one.write_bytes(second)
    two.write_bytes(first)


def link(folder: RunFolder) -> None:
    path = folder.file("annotations")
    path.rename(folder.path.parent / "elsewhere")
    path.symlink_to(folder.path.parent / "elsewhere")


ATTACKS = {
    "a judgment is rewritten": lambda folder: rewrite(
        folder, "annotations/0001.json", annotation={"reviewer_id": "ada", "judgment": "pass"}
    ),
    "minutes are rewritten": lambda folder: rewrite(folder, "annotations/0002.json", minutes=9000),
    "the first annotation is removed": lambda folder: folder.file("annotations/0001.json").unlink(),
    "the last annotation is removed": lambda folder: folder.file("annotations/0002.json").unlink(),
    "two annotations change places": swap,
    "the head counts less": lambda folder: rewrite(folder, "annotations-head.json", count=1),
    "the head is removed": lambda folder: folder.file("annotations-head.json").unlink(),
    "a stranger lies among them": lambda folder: folder.file("annotations/notes.txt").write_text("x"),
    "the folder is a link": link,
}


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS.keys())
def test_an_attack_on_annotations_is_found_and_the_verdict_holds(folder: RunFolder, attack: Any) -> None:
    attack(folder)
    with pytest.raises(OperatorFault, match="annotations"):
        review.annotations(folder)
    assert record_breaks(folder)
    assert load_evidence(folder).broken is None


def test_escape_sequences_of_a_reviewer_are_not_printed(
    folder: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    review.annotate(folder, result("eve\x1b[2J", "pass", notes="\x1b]0;owned\x07", categories=["a\nb"]))
    assert main(["review", str(folder.path), "--list"]) == 0
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert len(printed.splitlines()) == 4
