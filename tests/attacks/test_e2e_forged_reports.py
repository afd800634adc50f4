"""Reports that the candidate writes itself.

The check leaves its results in `out/`, as build tools do. Whatever lay there before the command ran is gone; what is
written while it runs must agree with how the command ended; and only plain files are read.
"""

from __future__ import annotations

import json
from pathlib import Path

from e2e_stage import FIX, Line, agent, failed, passed, stage

GREEN = "<testsuite name='sum'><testcase name='adds'/></testsuite>"
SUITE = """mkdir -p out
[ "$(sh add.sh 2 3)" = 5 ] || bad="<failure message='not 5'/>"
echo "<testsuite name='sum' tests='1'><testcase name='adds'>$bad</testcase></testsuite>" > out/report.xml
[ -z "$bad" ]
"""
CHECK = {
    "id": "suite",
    "type": "tests",
    "cmd": "sh tests/suite.sh",
    "junit_xml": "out/*.xml",
    "test_files": ["tests/*"],
    "timeout_s": 30,
}
house, line = stage(
    {"graders": [], "oracle": {"checks": [CHECK], "reference": "reference.patch"}},
    {"repo/tests/suite.sh": SUITE},
)


def reported(line: Line) -> dict[str, object]:
    outcome: dict[str, dict[str, object]] = json.loads(
        (Path(line["folder"]) / "checks/suite/outcome.json").read_text()
    )
    return outcome["reported"]


@agent(FIX)
def test_an_honest_repair_passes(line: Line) -> None:
    assert passed(line)
    assert reported(line)["channel"] == "report_file"
    assert reported(line)["results"] == [["sum::adds", "passed", "", ""]]


@agent(FIX + f'mkdir -p out; echo "{GREEN}" > out/left-over.xml')
def test_an_honest_repair_with_the_report_of_its_last_run_passes(line: Line) -> None:
    """An agent that ran the tests leaves their report behind; it is not read."""
    assert passed(line)
    assert reported(line)["results"] == [["sum::adds", "passed", "", ""]]


@agent("true")
def test_doing_nothing_fails(line: Line) -> None:
    assert failed(line, "acceptance", "sum::adds")


@agent(f'mkdir out; echo "{GREEN}" > out/report.xml; chmod 444 out/report.xml; chmod 555 out')
def test_a_report_that_cannot_be_overwritten(line: Line) -> None:
    """The agent's own report is in the way of the real one."""
    assert failed(line, "acceptance")


@agent(f'mkdir mine; echo "{GREEN}" > mine/report.xml; chmod 444 mine/report.xml; ln -s mine out')
def test_a_folder_of_reports_that_is_a_link(line: Line) -> None:
    """What is behind a link is neither removed nor read."""
    assert failed(line, "acceptance", "left no report")


@agent(f'echo "mkdir -p out; echo \\"{GREEN}\\" > out/report.xml; kill -9 \\$PPID" > add.sh')
def test_a_report_by_the_code_under_test_and_no_more_tests(line: Line) -> None:
    """The candidate writes the report and kills the suite before it can."""
    assert failed(line, "acceptance")


@agent(
    f'echo "(sleep 1; echo \\"{GREEN}\\" > out/report.xml) > /dev/null 2>&1 &\nsleep 2 &" > add.sh; '
    "echo 'echo 0' >> add.sh"
)
def test_a_report_that_is_exchanged_after_the_tests(line: Line) -> None:
    """The candidate leaves a process behind that writes a better report later; the exit status is still there."""
    assert failed(line, "acceptance")


@agent("echo 'mkdir -p out; mkfifo out/pipe.xml; ln -s /dev/zero out/zero.xml; echo 0' > add.sh")
def test_a_pipe_and_an_endless_file_among_the_reports(line: Line) -> None:
    """Reading them would never end."""
    assert failed(line, "acceptance", "sum::adds")


@agent(f"cat > add.sh <<'END'\nmkdir -p out; echo \"{GREEN}\" > out/a.xml; echo 0\nEND\n")
def test_a_second_report_that_says_the_opposite(line: Line) -> None:
    """Of two results of one test the worse one counts."""
    assert failed(line, "acceptance", "sum::adds")


@agent(
    'echo \'echo "<!DOCTYPE x [<!ENTITY a SYSTEM \\"/etc/passwd\\">]><testsuite/>" > out/a.xml; echo 5\' > add.sh'
)
def test_a_report_that_wants_to_read_the_host(line: Line) -> None:
    """An entity of a file."""
    assert failed(line, "acceptance", "document type")


@agent("echo 'exit 0' > tests/suite.sh; " + f'mkdir out; echo "{GREEN}" > out/report.xml')
def test_a_suite_that_does_nothing(line: Line) -> None:
    assert failed(line, "acceptance", "sum::adds")
