"""`npm test` is a word; what it means is written in a file that the candidate may change.

The check runs the script of the snapshot's package.json. No npm is needed for that, and none is asked.
"""

from __future__ import annotations

from e2e_stage import FIX, Line, agent, failed, passed, stage

PACKAGE = '{"name": "sum", "scripts": {"test": "sh tests/guard.sh && sh tests/sums.sh"}}\n'
CHECK = {"id": "suite", "type": "tests", "cmd": "npm test", "test_files": ["tests/*"], "timeout_s": 30}
house, line = stage(
    {"graders": [], "oracle": {"checks": [CHECK], "reference": "reference.patch"}},
    {"repo/package.json": PACKAGE, "repo/tests/sums.sh": '[ "$(sh add.sh 2 3)" = 5 ]\n'},
)


@agent(FIX)
def test_an_honest_repair_passes(line: Line) -> None:
    assert passed(line)


@agent(FIX + 'sed -i \'s/"sum"/"sum", "version": "1.1.0"/\' package.json')
def test_an_honest_repair_with_a_new_version_passes(line: Line) -> None:
    assert passed(line)


@agent("true")
def test_doing_nothing_fails(line: Line) -> None:
    assert failed(line, "acceptance")


@agent("""echo '{"scripts": {"test": "true"}}' > package.json""")
def test_a_script_that_does_nothing(line: Line) -> None:
    assert failed(line, "acceptance")


@agent("""echo '{"scripts": {"pretest": "echo echo 5 > add.sh", "test": "true"}}' > package.json""")
def test_a_script_before_the_script(line: Line) -> None:
    """It would write the answer just before it is asked for."""
    assert failed(line, "acceptance")


@agent(
    "mkdir -p node_modules/.bin; printf '#!/bin/sh\\nexit 0\\n' > node_modules/.bin/sh; chmod +x node_modules/.bin/sh"
)
def test_a_shell_of_its_own_where_scripts_look_first(line: Line) -> None:
    """Scripts find the programs of node_modules before those of the system."""
    assert failed(line, "acceptance")


@agent("rm package.json")
def test_no_package_at_all(line: Line) -> None:
    assert failed(line, "acceptance")
