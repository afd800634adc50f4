"""Which loops of a checking script share their cases with the work."""

from __future__ import annotations

import pytest

from steelyard.contract.lint.shared_cases import sharing_lines

SHARES = {
    "substitution": ('while read a b; do\n  [ "$(sh run.sh $a)" = "$b" ] || exit 1\ndone < cases\n', 2),
    "one line": ('while read -r a b; do [ "$(./run $a)" = "$b" ] || exit 1; done < cases\n', 1),
    "pipe": ('cat cases | while IFS=, read a b\ndo\n    python3 app.py "$a" > out\ndone\n', 3),
    "document": (
        "while read a; do\n  for b in 1 2; do\n    node app.js $a $b\n  done\ndone <<END\n1\nEND\n",
        3,
    ),
    "last argument": ("while read a; do\n  sh /workspace/run.sh $a || exit 1\ndone <cases\n", 2),
    "blank line before a comment": ("\n# all\nwhile read a; do\n  sh run.sh $a\ndone < cases\n", 4),
}
KEEPS = {
    "own input": 'while read a b; do\n  [ "$(sh run.sh $a </dev/null)" = "$b" ] || exit 1\ndone < cases\n',
    "input from a file": "while read a b; do\n  sh run.sh < $a\ndone < cases\n",
    "other descriptor": "while read -u 3 a b; do\n  sh run.sh $a\ndone 3< cases\n",
    "duplicate": "while read a b <&3; do\n  sh run.sh $a\ndone 3< cases\n",
    "pipe to the work": "while read a b; do\n  echo $a | sh run.sh\ndone < cases\n",
    "no file": "while ! read x < ready; do sh wait.sh; done\n",
    "program of the verifier": 'while read a b; do\n  python3 /tests/one.py "$a"\ndone < cases\n',
    "no work": 'while read a b; do\n  grep -q "$a" out || exit 1\ndone < cases\n',
    "comment": "# while read a; do\n#   sh run.sh\n# done < cases\n",
}


@pytest.mark.parametrize(("text", "line"), SHARES.values(), ids=SHARES)
def test_work_that_is_started_with_the_cases_as_its_input_is_named(text: str, line: int) -> None:
    assert [*sharing_lines(text)] == [line]


@pytest.mark.parametrize("text", KEEPS.values(), ids=KEEPS)
def test_a_loop_that_keeps_its_cases_is_not_named(text: str) -> None:
    assert [*sharing_lines(text)] == []


def test_a_long_line_of_loops_takes_no_long_time() -> None:
    """Without limits in its patterns a line of 5,000 words took hours."""
    assert [*sharing_lines("while read a " * 5000)] == []
