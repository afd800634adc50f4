"""`files`: bytes that must be there, patterns that must be somewhere, and texts that fight the search."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from cases import case, change, link
from changes import edited
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.bench.final_tree import FinalTree
from steelyard.contract.catalogue import ContractFile, GraderEntry
from steelyard.contract.load import load_contract
from steelyard.errors import ContractFault, GraderFault
from steelyard.filesystem.cache import Cache
from steelyard.filesystem.tree import Entry
from steelyard.graders.base import Case
from steelyard.graders.catalogue import CATALOGUE
from steelyard.graders.files.contents import Files
from steelyard.graders.files.search import search


def expecting(
    folder: Path, texts: Mapping[str, str], links: Mapping[str, str] | None = None
) -> dict[str, ContractFile]:
    found = {}
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        found[f"expected/{name}"] = ContractFile(path, "644", hashlib.sha256(text.encode()).hexdigest())
    for name, target in (links or {}).items():
        (folder / name).symlink_to(target)
        found[f"expected/{name}"] = ContractFile(folder / name, "link", "")
    return found


def tree(tmp_path: Path, before: Mapping[str, str], after: Mapping[str, str]) -> Case:
    """A case whose baseline is on disk, as in a run."""
    made = edited(tmp_path / "blobs", before, after)
    baseline = {}
    for name, text in before.items():
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        baseline[name] = Entry("file", "644", len(text), hashlib.sha256(text.encode()).hexdigest())
    return replace(
        made,
        baseline=baseline,
        baseline_tree=tmp_path / "tree",
        final_tree=lambda: FinalTree(baseline, [made.change]),
    )


EXPECTED = {"a.txt": "a\n", "sub/b.txt": "b\n"}
TREES: list[tuple[dict[str, str], float, str]] = [
    ({"a.txt": "a\n", "sub/b.txt": "b\n"}, 1.0, "2 of 2 hold"),
    ({"a.txt": "a\n", "sub/b.txt": "b\n", "c.txt": "more"}, 1.0, "2 of 2 hold"),
    ({"a.txt": "a\n", "sub/b.txt": "b"}, 0.5, "different: sub/b.txt"),
    ({"a.txt": "a\r\n"}, 0.0, "different: a.txt, sub/b.txt"),
    ({}, 0.0, "0 of 2 hold"),
]


@pytest.mark.parametrize(("after", "score", "why"), TREES)
def test_expected_files_are_compared_byte_for_byte(
    after: dict[str, str], score: float, why: str, tmp_path: Path
) -> None:
    made = replace(tree(tmp_path, {}, after), files=expecting(tmp_path / "e", EXPECTED))
    grade = Files(expect_dir="expected").grade(made)
    assert (grade.score, grade.outcome) == (score, "pass" if score == 1 else "fail")
    assert why in grade.why


def test_a_file_of_the_baseline_counts_as_it_is_in_the_end(tmp_path: Path) -> None:
    grader, files = Files(expect_dir="expected/"), expecting(tmp_path / "e", {"a.txt": "a\n"})
    kept = replace(tree(tmp_path / "1", {"a.txt": "a\n"}, {"a.txt": "a\n"}), files=files)
    gone = replace(tree(tmp_path / "2", {"a.txt": "a\n"}, {}), files=files)
    assert (grader.grade(kept).score, grader.grade(gone).score) == (1.0, 0.0)


def test_modes_do_not_matter(tmp_path: Path) -> None:
    files = expecting(tmp_path, {"a.txt": "a\n"})
    executable = Entry("file", "755", 2, hashlib.sha256(b"a\n").hexdigest())
    made = replace(case(change({"a.txt": (None, executable)})), files=files)
    assert Files(expect_dir="expected").grade(made).score == 1.0


def test_a_link_to_the_right_bytes_is_not_the_file(tmp_path: Path) -> None:
    right = Entry("file", "644", 2, hashlib.sha256(b"a\n").hexdigest())
    made = replace(
        case(change({"a.txt": (None, link("b.txt")), "b.txt": (None, right)})),
        files=expecting(tmp_path, {"a.txt": "a\n"}),
    )
    assert Files(expect_dir="expected").grade(made).score == 0.0


def test_a_folder_behind_a_link_is_not_looked_into(tmp_path: Path) -> None:
    right = Entry("file", "644", 2, hashlib.sha256(b"b\n").hexdigest())
    made = replace(
        case(change({"sub": (None, link("real")), "real/b.txt": (None, right)})),
        files=expecting(tmp_path, {"sub/b.txt": "b\n"}),
    )
    assert Files(expect_dir="expected").grade(made).score == 0.0


@pytest.mark.parametrize(("target", "score"), [("a.txt", 1.0), ("b.txt", 0.0), ("/etc/passwd", 0.0)])
def test_an_expected_link_is_compared_with_a_link(target: str, score: float, tmp_path: Path) -> None:
    files = expecting(tmp_path, {}, {"to_a": "a.txt"})
    made = replace(case(change({"to_a": (None, link(target))})), files=files)
    assert Files(expect_dir="expected").grade(made).score == score


BEFORE = {"old.py": "def retry():\n    pass\n", "gone.py": "backoff = 1\n", "bin.dat": "retry\0word"}
AFTER = {"old.py": BEFORE["old.py"], "new.py": "x = 1\nlimit = 3\n", "bin.dat": BEFORE["bin.dat"]}
PATTERNS: list[tuple[tuple[str, ...], float, str]] = [
    (("retry",), 1.0, "1 of 1 hold"),
    (("limit",), 1.0, "1 of 1 hold"),
    (("^limit = \\d$",), 1.0, "1 of 1 hold"),
    (("x = 1\\nlimit",), 1.0, "1 of 1 hold"),
    (("backoff",), 0.0, "nowhere: backoff"),
    (("word",), 0.0, "nowhere: word"),  # binary
    (("retry", "nothing", "limit"), 2 / 3, "2 of 3 hold; nowhere: nothing"),
]


@pytest.mark.parametrize(("patterns", "score", "why"), PATTERNS)
def test_a_pattern_is_searched_in_the_tree_as_it_is_in_the_end(
    patterns: tuple[str, ...], score: float, why: str, tmp_path: Path
) -> None:
    grade = Files(patterns=patterns).grade(tree(tmp_path, BEFORE, AFTER))
    assert grade.score == score
    assert why in grade.why


def test_both_kinds_of_check_share_the_credit(tmp_path: Path) -> None:
    made = replace(tree(tmp_path, BEFORE, AFTER), files=expecting(tmp_path / "e", EXPECTED))
    assert Files(expect_dir="expected", patterns=("retry", "limit")).grade(made).score == 0.5


def test_a_link_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("word\n")
    made = case(change({"a": (None, link(str(tmp_path / "secret")))}))
    assert Files(patterns=("word",)).grade(made).score == 0.0


def test_text_on_which_a_pattern_never_ends_counts_as_not_matching_and_is_named(tmp_path: Path) -> None:
    made = tree(tmp_path, {}, {"evil.txt": "a" * 50 + "!", "good.txt": "aab\n"})
    grade = Files(patterns=("^(a+)+b$",)).grade(made)
    assert grade.score == 1.0
    assert [(one.id, one.where) for one in grade.findings] == [("slow_to_search", "evil.txt")]


def test_a_search_that_does_not_end_is_an_error_and_ends(tmp_path: Path) -> None:
    (tmp_path / "evil").write_text("a" * 50 + "!")
    with pytest.raises(GraderFault, match="timed out"):
        search(["^(a+)+b$"], [tmp_path / "evil"] * 5, total_s=3)


def test_a_tree_too_large_to_search_is_not_said_to_lack_anything(tmp_path: Path) -> None:
    made = tree(tmp_path, {"a.txt": "x\n"}, {"a.txt": "x\n"})
    (tmp_path / "tree" / "a.txt").unlink()
    with pytest.raises(GraderFault, match="too large"):
        Files(patterns=("word",)).grade(made)


def test_names_of_any_bytes_are_searched(tmp_path: Path) -> None:
    (tmp_path / "\udcff").write_text("word\n")
    assert search(["word"], [tmp_path / "\udcff"]).found[0].line == 1


@settings(max_examples=20)
@given(
    texts=st.lists(st.binary(max_size=60), max_size=4), word=st.text(alphabet="ab\n", min_size=1, max_size=3)
)
def test_a_plain_word_is_found_iff_some_text_has_it(
    texts: list[bytes], word: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("t")
    for number, text in enumerate(texts):
        (folder / str(number)).write_bytes(text)
    files = [folder / str(number) for number in range(len(texts))]
    there = any(word in text.decode("utf-8", "replace") for text in texts if b"\0" not in text)
    assert (0 in search([word], files).found) == there


def loaded(tmp_path: Path, **keys: Any) -> GraderEntry:
    folder = tmp_path / "demo"
    for name in ("repo/a.py", "expected/a.py", "expected_file"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x = 1\n")
    (folder / "empty").mkdir()
    contract = {
        "id": "demo",
        "brief": "Mend it.",
        "repository": {"tree": "repo"},
        "build": "none",
        "oracle": {"checks": [{"id": "accept", "cmd": "true"}]},
        "graders": [{"type": "files", **keys}],
    }
    (folder / "contract.yaml").write_text(yaml.safe_dump(contract))
    return load_contract(folder, CATALOGUE, Cache(tmp_path / "cache")).graders[0]


def test_files_weighs_1_and_is_not_required_by_default(tmp_path: Path) -> None:
    entry = loaded(tmp_path, expect_dir="./expected", patterns=["x"])
    assert (entry.under, entry.required, entry.weight, entry.executes) == ("acceptance", False, 1.0, False)
    assert entry.pass_threshold == 1.0


MISTAKES: list[tuple[dict[str, Any], str, str]] = [
    ({}, "graders[0]", "checks nothing"),
    ({"patterns": []}, "graders[0]", "checks nothing"),
    ({"patterns": ["("]}, "graders[0].patterns[0]", "not a regular expression"),
    ({"patterns": [""]}, "graders[0].patterns[0]", "must not be empty"),
    ({"patterns": "x"}, "graders[0].patterns", "a list"),
    ({"expect_dir": "absent"}, "graders[0].expect_dir", "does not exist"),
    ({"expect_dir": "empty"}, "graders[0].expect_dir", "empty folder"),
    ({"expect_dir": "expected_file"}, "graders[0].expect_dir", "is a file, not a folder"),
    ({"expect_dir": "../x"}, "graders[0].expect_dir", "must not lead out"),
]


@pytest.mark.parametrize(("keys", "field", "result"), MISTAKES)
def test_a_mistake_is_reported_before_anything_runs(
    keys: dict[str, Any], field: str, result: str, tmp_path: Path
) -> None:
    with pytest.raises(ContractFault) as caught:
        loaded(tmp_path, **keys)
    (problem,) = caught.value.problems
    assert (problem.field, result in problem.message) == (field, True), problem
