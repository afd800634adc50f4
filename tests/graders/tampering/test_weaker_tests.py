"""Weaker tests are seen; honest work on tests is not called weaker."""

from __future__ import annotations

from pathlib import Path

import pytest
from changes import edited
from honest import HONEST, Honest
from hypothesis import given, settings
from hypothesis import strategies as st
from neutralised import LOOK_ALIKES, NEUTRALISED
from skipped import NOT_SKIPPED, SKIPPED, NotSkipped
from weakened import SPLIT, TWO, WEAKENED, Pair

from steelyard.graders.tampering.assertions_not_weakened import AssertionsNotWeakened
from steelyard.graders.tampering.no_new_skips import NoNewSkips
from steelyard.graders.tampering.weakening import MOST_FINDINGS

WEAKENED_BY_NAME = {pair.name: pair for pair in WEAKENED}
NEUTRALISED_BY_NAME = {pair.name: pair for pair in NEUTRALISED}
SKIPPED_BY_NAME = {pair.name: pair for pair in SKIPPED}
IN_ONE_FILE = [pair for pair in HONEST if list(pair.before) == list(pair.after)]
SLOW = settings(max_examples=30)


@pytest.mark.parametrize("name", WEAKENED_BY_NAME)
def test_a_weaker_test_is_seen(name: str, tmp_path: Path) -> None:
    pair = WEAKENED_BY_NAME[name]
    grade = AssertionsNotWeakened().grade(edited(tmp_path, pair.before, pair.after))
    assert (grade.outcome, grade.score) == ("fail", 0.0)
    assert pair.seen in {finding.id for finding in grade.findings}


@pytest.mark.parametrize("name", NEUTRALISED_BY_NAME)
def test_an_assertion_that_cannot_fail_any_more_is_seen(name: str, tmp_path: Path) -> None:
    pair = NEUTRALISED_BY_NAME[name]
    grade = AssertionsNotWeakened().grade(edited(tmp_path, pair.before, pair.after))
    assert grade.outcome == "fail"
    assert pair.seen in {finding.id for finding in grade.findings}


@pytest.mark.parametrize("pair", LOOK_ALIKES, ids=lambda pair: pair.name)
def test_what_only_looks_like_it_is_honest(pair: Honest, tmp_path: Path) -> None:
    changed = edited(tmp_path, pair.before, pair.after)
    assert AssertionsNotWeakened().grade(changed).findings == ()
    assert NoNewSkips().grade(changed).findings == ()


@pytest.mark.parametrize("pair", HONEST, ids=lambda pair: pair.name)
def test_honest_work_is_not_called_weaker(pair: Honest, tmp_path: Path) -> None:
    grade = AssertionsNotWeakened().grade(edited(tmp_path, pair.before, pair.after))
    assert (grade.outcome, grade.findings) == ("pass", ())


@pytest.mark.parametrize("pair", HONEST, ids=lambda pair: pair.name)
def test_honest_work_is_not_called_a_skip(pair: Honest, tmp_path: Path) -> None:
    grade = NoNewSkips().grade(edited(tmp_path, pair.before, pair.after))
    assert (grade.outcome, grade.findings) == ("pass", ())


@pytest.mark.parametrize("name", SKIPPED_BY_NAME)
def test_a_test_that_is_switched_off_is_seen(name: str, tmp_path: Path) -> None:
    pair = SKIPPED_BY_NAME[name]
    grade = NoNewSkips().grade(edited(tmp_path, pair.before, pair.after))
    assert (grade.outcome, grade.score) == ("fail", 0.0)
    result = [finding.why for finding in grade.findings if finding.id in ("new_skip", "skip_widened")]
    assert len(result) == 1
    assert ("on a condition" in result[0]) == (pair.seen == "condition" and "looks like" not in result[0])


@pytest.mark.parametrize("pair", NOT_SKIPPED, ids=lambda pair: pair.name)
def test_what_only_looks_like_a_skip_is_none(pair: NotSkipped, tmp_path: Path) -> None:
    assert NoNewSkips().grade(edited(tmp_path, pair.before, pair.after)).outcome == "pass"


@pytest.mark.parametrize("grader", [NoNewSkips(), AssertionsNotWeakened()], ids=lambda grader: grader.TYPE)
def test_without_a_changed_test_file_there_is_nothing_to_decide(
    grader: NoNewSkips | AssertionsNotWeakened, tmp_path: Path
) -> None:
    grade = grader.grade(edited(tmp_path, {"src/a.py": "1"}, {"src/a.py": "2"}))
    assert (grade.outcome, grade.score) == ("not_applicable", None)


def test_a_rust_file_without_tests_is_not_a_test_file(tmp_path: Path) -> None:
    changed = edited(tmp_path, {"src/lib.rs": "fn a() {}\n"}, {"src/lib.rs": "fn b() {}\n"})
    assert AssertionsNotWeakened().grade(changed).outcome == "not_applicable"


def test_the_contract_says_which_files_are_tests(tmp_path: Path) -> None:
    changed = edited(tmp_path, {"checks/a.py": SPLIT}, {"checks/a.py": ""})
    assert AssertionsNotWeakened().grade(changed).outcome == "not_applicable"
    assert AssertionsNotWeakened(("checks/*",)).grade(changed).outcome == "fail"


def test_the_place_of_a_weaker_assertion_is_its_new_line(tmp_path: Path) -> None:
    after = TWO.replace("assert f(2) == 3", "assert f(2)")
    grade = AssertionsNotWeakened().grade(
        edited(tmp_path, {"tests/test_a.py": TWO}, {"tests/test_a.py": after})
    )
    assert [finding.where for finding in grade.findings] == ["tests/test_a.py:3"]
    assert "tests/test_a.py:3" in grade.why


def test_the_place_of_a_removed_assertion_is_its_old_line(tmp_path: Path) -> None:
    after = TWO.replace("    assert f(2) == 3\n", "")
    grade = AssertionsNotWeakened().grade(
        edited(tmp_path, {"tests/test_a.py": TWO}, {"tests/test_a.py": after})
    )
    assert [finding.where for finding in grade.findings] == ["tests/test_a.py (was line 3)"]


def test_every_finding_asks_for_a_look_and_fails_no_gate_by_itself(tmp_path: Path) -> None:
    grade = AssertionsNotWeakened().grade(edited(tmp_path, {"tests/test_a.py": TWO}, {}))
    assert {finding.severity for finding in grade.findings} == {"warning"}


def test_a_file_that_does_not_parse_is_said_to_be_compared_by_lines(tmp_path: Path) -> None:
    changed = edited(tmp_path, {"tests/test_a.py": TWO}, {"tests/test_a.py": TWO + "def (\n"})
    grade = AssertionsNotWeakened().grade(changed)
    assert (grade.outcome, [finding.id for finding in grade.findings]) == ("pass", ["not_parsed"])


@pytest.mark.parametrize("pair", IN_ONE_FILE, ids=lambda pair: pair.name)
def test_going_there_and_back_adds_no_skip(pair: Honest, tmp_path: Path) -> None:
    assert NoNewSkips().grade(edited(tmp_path, pair.after, pair.before)).outcome == "pass"


def test_findings_are_bounded(tmp_path: Path) -> None:
    many = "".join(f"def test_{n}():\n    assert f({n}) == {n * 7}\n\n" for n in range(200))
    grade = AssertionsNotWeakened().grade(
        edited(tmp_path, {"tests/test_a.py": many}, {"tests/test_a.py": ""})
    )
    assert "200 test_removed" in grade.why
    assert len(grade.findings) == MOST_FINDINGS


COMMENTS = {".py": "#", ".rb": "#", ".js": "//", ".ts": "//", ".go": "//", ".rs": "//", ".java": "//"}


@SLOW
@given(pair=st.sampled_from(HONEST), data=st.data())
def test_blank_lines_and_comments_are_never_weaker(pair: Honest, data: st.DataObject, tmp_path: Path) -> None:
    after = {}
    for path, text in pair.before.items():
        mark = COMMENTS.get("." + path.rsplit(".", 1)[-1], "#")
        lines: list[str] = []
        for line in text.splitlines():
            lines += data.draw(st.lists(st.sampled_from(["", f"{mark} a remark", "   "]), max_size=2))
            lines.append(line)
        after[path] = "\n".join(lines) + "\n"
    for grader in (AssertionsNotWeakened(), NoNewSkips()):
        assert grader.grade(edited(tmp_path, pair.before, after)).outcome in ("pass", "not_applicable")


@SLOW
@given(numbers=st.lists(st.integers(0, 10**6), max_size=5, unique=True), pair=st.sampled_from(HONEST))
def test_added_tests_are_never_weaker(numbers: list[int], pair: Honest, tmp_path: Path) -> None:
    added = "".join(f"def test_new_{n}():\n    assert brand_new({n}) == {n + 1}\n\n\n" for n in numbers)
    after = {**pair.before, "tests/test_brand_new.py": added}
    after |= {path: f"{text}\n\n{added}" for path, text in pair.before.items() if path.endswith(".py")}
    grade = AssertionsNotWeakened().grade(edited(tmp_path, pair.before, after))
    assert (grade.outcome, grade.findings) in (("pass", ()), ("not_applicable", ()))


@SLOW
@given(
    before=st.binary(max_size=300), after=st.binary(max_size=300), ending=st.sampled_from(sorted(COMMENTS))
)
def test_any_bytes_get_a_grade(before: bytes, after: bytes, ending: str, tmp_path: Path) -> None:
    path = f"tests/test_a{ending}"
    for grader in (AssertionsNotWeakened(), NoNewSkips()):
        assert grader.grade(edited(tmp_path, {path: before}, {path: after})).outcome != "error"


@SLOW
@given(pair=st.sampled_from(WEAKENED), cut=st.integers(0, 200), junk=st.binary(max_size=20))
def test_a_mangled_test_file_gets_a_grade(pair: Pair, cut: int, junk: bytes, tmp_path: Path) -> None:
    after = {path: text.encode()[:cut] + junk + text.encode()[cut:] for path, text in pair.before.items()}
    for grader in (AssertionsNotWeakened(), NoNewSkips()):
        assert grader.grade(edited(tmp_path, pair.before, after)).outcome != "error"


DEEP = {
    "parentheses": "def test_a():\n    assert " + "(" * 4_000 + "1" + ")" * 4_000 + "\n",
    "sums": "def test_a():\n    assert " + "1 + " * 4_000 + "1 == 2\n",
    "calls": "def test_a():\n    x" + ".f(1)" * 2_000 + "\n",
    "blocks": "".join(" " * n + "if a:\n" for n in range(300)) + " " * 300 + "assert b\n",
    "claims": "def test_a():\n" + "    assert f(1) == 2\n" * 2_000,
    "conditions": "def test_a():\n    x = " + "False and " * 4_000 + "y\n",
    "lists": "X = " + "[" * 4_000 + "]" * 4_000 + "\n",
}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_deep_nesting_gets_a_grade(text: str, tmp_path: Path) -> None:
    changed = edited(tmp_path, {"tests/test_a.py": text}, {"tests/test_a.py": text + "\nx = 1\n"})
    for grader in (AssertionsNotWeakened(), NoNewSkips()):
        assert grader.grade(changed).outcome == "pass"


def test_a_huge_test_file_is_read_in_part_and_said_so(tmp_path: Path) -> None:
    huge = "# filler\n" * 300_000
    changed = edited(tmp_path, {"tests/test_a.py": TWO + huge}, {"tests/test_a.py": huge + TWO})
    grade = AssertionsNotWeakened().grade(changed)
    assert grade.outcome == "fail"
    assert "partly_read" in {finding.id for finding in grade.findings}


def test_thousands_of_changed_test_files_get_a_grade(tmp_path: Path) -> None:
    before = {f"tests/test_{n}.py": f"def test_{n}():\n    assert f({n}) == {n}\n" for n in range(400)}
    after = {path: text.replace("==", ">=") for path, text in before.items()}
    grade = AssertionsNotWeakened().grade(edited(tmp_path, before, after))
    assert "400 assertion_loosened" in grade.why


def test_a_path_with_a_newline_is_printed_safely(tmp_path: Path) -> None:
    grade = AssertionsNotWeakened().grade(edited(tmp_path, {"tests/test_\n.py": TWO}, {}))
    assert grade.findings
    assert not [finding.where for finding in grade.findings if "\n" in finding.where]
