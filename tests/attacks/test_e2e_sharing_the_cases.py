"""A script that checks the work shares something with it: the cases that it reads, or the folder of its headers.

Only the exit code of such a check is believed, and nothing on the bench can tell who read a line. So the author is warned, and a reader of the
result sees a finding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from authoring import Author, Steelyard

LOOP = 'while read a b; do\n    [ "$(sh run.sh $a{input})" = "$b" ] || exit 1\ndone < tests/cases\n'
TAKES_ALL = "echo 'cat > /dev/null; echo 4' > run.sh"  # right for the first case only
CASES = "2 4\n3 6\n"


@pytest.fixture
def checked(author: Author, steelyard: Steelyard, script: Callable[[str], str]) -> Callable[..., Any]:
    def run(agent: str, files: dict[str, str], cmd: str) -> tuple[str, Any]:
        inject = [{"src": f"hidden/{name}", "dest": f"tests/{name}"} for name in files]
        check = {"id": "hidden", "type": "command", "cmd": cmd, "inject": inject}
        hidden = {f"hidden/{name}": text for name, text in files.items()}
        folder = author.write(hidden, oracle={"checks": [check]})
        warned = steelyard("check", folder)
        line = steelyard("run", folder, "--agent", script(agent), "--json").line
        return " ".join((warned.out + warned.err).split()), line

    return run


def test_work_that_reads_the_cases_of_the_loop_that_tries_it_is_warned_of(
    checked: Callable[..., Any],
) -> None:
    """The work empties its standard input, which is the list of the cases. With an input of its own it cannot."""
    warned, _ = checked(TAKES_ALL, {"run.sh": LOOP.format(input=""), "cases": CASES}, "sh tests/run.sh")
    assert "shares its standard input" in warned
    warned, line = checked(
        TAKES_ALL, {"run.sh": LOOP.format(input=" </dev/null"), "cases": CASES}, "sh tests/run.sh"
    )
    assert "shares its standard input" not in warned
    assert line["verdict"] == "fail"


def test_a_header_of_the_change_with_the_name_of_one_of_the_system_is_a_finding(
    checked: Callable[..., Any],
) -> None:
    """`#include <assert.h>` of the test finds `src/assert.h` first, in which an assertion does nothing."""
    _, line = checked(
        "mkdir -p src; echo '#define assert(x) ((void)0)' > src/assert.h",
        {"check.sh": "exit 0\n"},
        "sh tests/check.sh",
    )
    assert [(one["id"], one["where"]) for one in line["findings"]] == [("may_replace_header", "src/assert.h")]
