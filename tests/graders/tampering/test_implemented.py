"""`implemented`: honest work is never refused, however small; a non-attempt always is."""

from __future__ import annotations

from pathlib import Path

import pytest
from cases import case, change, link
from changes import edited
from hypothesis import given, settings
from hypothesis import strategies as st
from written import HONEST, JS, NOTHING, PY, REAL_PY, Edit

from steelyard.graders.base import Case
from steelyard.graders.syntax.substance import real_change, substance
from steelyard.graders.tampering.implemented import Implemented
from steelyard.grammars import BY_ENDING, parse

LANGUAGES = {"py": PY, "js": JS}


def of(store: Path, edit: Edit) -> Case:
    before = {} if edit.old is None else {edit.path: edit.old}
    return edited(store, before, {edit.path: edit.new})


@pytest.mark.parametrize("name", HONEST)
def test_work_however_small_is_not_refused(name: str, tmp_path: Path) -> None:
    grade = Implemented().grade(of(tmp_path, HONEST[name]))
    assert (grade.outcome, grade.score) == ("pass", 1.0), grade.why


@pytest.mark.parametrize("name", NOTHING)
def test_a_change_that_writes_no_code_is_refused(name: str, tmp_path: Path) -> None:
    grade = Implemented().grade(of(tmp_path, NOTHING[name]))
    assert (grade.outcome, grade.score) == ("fail", 0.0), grade.why


def test_no_change_at_all_is_refused() -> None:
    assert Implemented().grade(case({})).why == "no source file was changed"


def test_a_deleted_file_is_not_an_implementation(tmp_path: Path) -> None:
    assert Implemented().grade(edited(tmp_path, {"a.py": REAL_PY}, {})).outcome == "fail"


def test_a_renamed_file_is_not_an_implementation(tmp_path: Path) -> None:
    moved = edited(tmp_path, {"a.py": REAL_PY}, {"b.py": REAL_PY}, {"b.py": "a.py"})
    assert Implemented().grade(moved).outcome == "fail"


def test_a_symlink_is_not_an_implementation() -> None:
    assert Implemented().grade(case(change({"a.py": (None, link("b.py"))}))).outcome == "fail"


def test_one_file_with_code_is_enough(tmp_path: Path) -> None:
    both = edited(tmp_path, {}, {"stub.py": PY, "work.py": REAL_PY, "README.md": "x"})
    grade = Implemented().grade(both)
    assert (grade.outcome, "work.py" in grade.why) == ("pass", True)


def test_files_limits_what_is_looked_at(tmp_path: Path) -> None:
    both = edited(tmp_path, {}, {"stub.py": PY, "work.py": REAL_PY})
    assert Implemented(files=("stub.py",)).grade(both).outcome == "fail"
    assert Implemented(files=("w*.py",)).grade(both).outcome == "pass"


def test_files_may_name_what_is_not_source_by_itself(tmp_path: Path) -> None:
    written = edited(tmp_path, {"ci.yml": "a: 1\n"}, {"ci.yml": "a: 2\n"})
    assert Implemented().grade(written).outcome == "fail"
    assert Implemented(files=("ci.yml",)).grade(written).outcome == "pass"


def test_code_in_a_folder_called_test_that_has_no_tests_is_code(tmp_path: Path) -> None:
    work = edited(tmp_path, {}, {"django/test/client.py": REAL_PY})
    assert Implemented().grade(work).outcome == "pass"


def test_a_file_that_was_not_read_as_syntax_is_named(tmp_path: Path) -> None:
    assert "compared line by line: add.sh" in Implemented().grade(of(tmp_path, HONEST["shell: a line"])).why


def test_a_huge_file_is_compared_by_lines(tmp_path: Path) -> None:
    huge = REAL_PY + "x = 1\n" * 50_000
    grade = Implemented().grade(edited(tmp_path, {"a.py": huge}, {"a.py": huge + "y = 2\n"}))
    assert (grade.outcome, "line by line" in grade.why) == ("pass", True)


DEEP = {
    "brackets.py": f"x = {'(' * 20_000}1{')' * 20_000}\n",
    "blocks.js": f"{'{' * 20_000}f();{'}' * 20_000}\n",
    "Classes.java": f"{'class A{' * 10_000}int x = 1;{'}' * 10_000}\n",
    "arrows.js": f"{'x = () => {' * 10_000}f();{'}' * 10_000}\n",
    "calls.py": f"{'f(' * 20_000}{')' * 20_000}\n",
}


@pytest.mark.parametrize("name", DEEP)
def test_deep_nesting_does_not_end_the_grader(name: str, tmp_path: Path) -> None:
    assert Implemented().grade(edited(tmp_path, {}, {name: DEEP[name]})).outcome == "pass"


def test_the_name_of_what_was_written_is_safe_to_print(tmp_path: Path) -> None:
    grade = Implemented().grade(edited(tmp_path, {}, {"a\x1b[31m.py": REAL_PY}))
    assert "\x1b" not in grade.why


CODE = st.text(alphabet="abx=+-*()[]{}:,.#'\"\\\n\t \x00é;/<>!&|rtun0", max_size=120)


@settings(max_examples=200)
@given(ending=st.sampled_from(sorted(BY_ENDING)), old=CODE, new=CODE)
def test_no_text_breaks_the_comparison(ending: str, old: str, new: str) -> None:
    trees = [parse(text.encode(), BY_ENDING[ending]) for text in (old, new)]
    pieces = [substance(tree.root_node, BY_ENDING[ending]) for tree in trees if tree is not None]
    if len(pieces) == 2:
        real_change(*pieces)
    for one in pieces:
        assert real_change(one, one) is None


@settings(max_examples=50)
@given(
    comments=st.lists(st.tuples(st.sampled_from(REAL_PY.splitlines()), st.integers(0, 15)), max_size=5),
)
def test_comments_anywhere_are_never_code(
    comments: list[tuple[str, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    lines = REAL_PY.splitlines()
    for comment, place in comments:
        lines.insert(place, f"# {comment}")
    made = edited(tmp_path_factory.mktemp("b"), {"a.py": REAL_PY}, {"a.py": "\n".join(lines) + "\n"})
    assert Implemented().grade(made).outcome == "fail"
