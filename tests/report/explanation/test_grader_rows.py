"""One row for each check and grader of a contract."""

from __future__ import annotations

from pathlib import Path

from authoring import Author, Steelyard
from steelyard.contract.load import load_contract
from steelyard.graders.catalogue import installed_catalogue
from steelyard.report.explanation.grader_rows import GraderRow, grader_rows

GRADERS = [
    {"type": "max_files_changed", "limit": 3},
    {"type": "file_exists", "path": "add.sh", "name": "there", "required": False},
    {"type": "forbid_paths", "patterns": ["ci/**", "a b"], "weight": 2, "required": False},
]


def rows(folder: Path) -> dict[str, GraderRow]:
    contract = load_contract(Author(folder).write(graders=GRADERS), installed_catalogue())
    return {one.name: one for one in grader_rows(contract)}


def test_a_row_has_the_role_and_the_options_that_were_given(tmp_path: Path) -> None:
    found = rows(tmp_path)
    assert list(found) == ["adds", "max_files_changed", "there", "forbid_paths"]
    assert (found["adds"].role, found["adds"].options_text) == (
        "required",
        "cmd: sh check.sh, timeout_s: 60.0",
    )
    assert found["max_files_changed"].options == {"limit": 3}
    assert found["forbid_paths"].role == "weighted"
    assert found["forbid_paths"].options_text == "patterns: [ci/**, a b]"


def test_a_role_that_is_not_that_of_the_type_is_marked(tmp_path: Path) -> None:
    found = rows(tmp_path)
    assert found["there"].role_text == "advisory (set)"
    assert found["max_files_changed"].role_text == "required"


def test_check_lists_graders_and_intent(author: Author, steelyard: Steelyard) -> None:
    intent = {"modules": ["add.sh"], "behaviour": "adds"}
    folder = author.write(graders=GRADERS, metadata={"intent": intent})
    result = steelyard("check", folder, "--graders")
    assert result.code == 0, result.out
    assert "max_files_changed" in result.out
    assert "modules: add.sh" in result.out
    line = steelyard("check", folder, "--json").line
    assert [one["name"] for one in line["graders"]][:1] == ["adds"]
    assert line["intent"]["behaviour"] == "adds"
