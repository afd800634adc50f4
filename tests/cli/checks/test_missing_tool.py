"""Exit 127, as a shell says it of a command that is not there: whose fault that is, and found before anything is spent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from authoring import FIX, Author, Steelyard

ABSENT = "steelyard-has-no-such-tool"
NESTED = f"sh -c {ABSENT}"  # not visible before it runs
REPORTING = "absent/phpunit tests"  # one that is told to write a report


@pytest.fixture
def tried(
    author: Author, steelyard: Steelyard, script: Callable[[str], str]
) -> Callable[..., dict[str, Any]]:
    def run(
        check: dict[str, Any], agent: str = FIX, reference: str | None = "reference.patch"
    ) -> dict[str, Any]:
        oracle = {"checks": [{"id": "c", "timeout_s": 60, **check}], "reference": reference}
        line: dict[str, Any] = steelyard(
            "run", author.write(oracle=oracle), "--agent", script(agent), "--json"
        ).line
        return line

    return run


@pytest.mark.parametrize(
    "check", [{"cmd": NESTED}, {"type": "tests", "cmd": NESTED}, {"type": "tests", "cmd": REPORTING}]
)
def test_a_tool_that_the_reference_lacks_too_is_the_contracts_fault(
    check: dict[str, Any], tried: Callable[..., dict[str, Any]]
) -> None:
    line = tried(check)
    assert (line["acceptance"], line["verdict"], line["reward"]) == ("acceptance_error", "error", None)
    assert "also with the reference" in line["grades"][1]["why"]


@pytest.mark.parametrize(
    ("second", "verdict", "outcomes"),
    [
        # `make` says 2 where its compiler is missing, whatever the change is
        (f"sh -c '{ABSENT} || exit 2'", "error", ["error", "error"]),
        # what the reference does and the change does not is the change's failure
        ("sh check.sh", "fail", ["error", "fail"]),
    ],
)
def test_on_a_bench_that_lacks_a_tool_only_what_the_reference_can_do_counts_as_failed(
    author: Author, steelyard: Steelyard, second: str, verdict: str, outcomes: list[str]
) -> None:
    checks = [{"id": one, "cmd": cmd, "timeout_s": 60} for one, cmd in (("a", NESTED), ("b", second))]
    line = steelyard(
        "run",
        author.write(oracle={"checks": checks, "reference": "reference.patch"}),
        "--agent",
        "noop",
        "--json",
    ).line
    assert line["verdict"] == verdict
    assert [one["outcome"] for one in line["grades"] if one["name"] in "ab"] == outcomes


@pytest.mark.parametrize("check", [{"cmd": "sh add.sh 2 3"}, {"type": "tests", "cmd": "sh add.sh"}])
def test_a_change_that_says_127_itself_has_failed(
    check: dict[str, Any], tried: Callable[..., dict[str, Any]]
) -> None:
    line = tried(check, agent="echo exit 127 > add.sh\n")
    assert (line["acceptance"], line["grades"][1]["outcome"]) == ("failure", "fail")


def test_without_a_reference_no_change_is_excused(tried: Callable[..., dict[str, Any]]) -> None:
    assert tried({"cmd": NESTED}, reference=None)["acceptance"] == "failure"


@pytest.mark.parametrize(
    "check",
    [
        {"cmd": "pyhton3 -m unittest"},
        {"cmd": "cd . && A=1 pyhton3 x"},
        {"type": "tests", "cmd": "pyhton3 -m unittest"},
    ],
)
def test_a_program_that_no_change_could_bring_is_found_before_any_trial(
    check: dict[str, Any], author: Author, steelyard: Steelyard
) -> None:
    contract = author.write(oracle={"checks": [{"id": "c", **check}]})
    result = steelyard("run", contract, "--agent", "command:touch started", "--json")
    assert (result.code, result.line["fault"], result.line["run"]) == (2, "contract", None)
    assert "oracle.checks[0].cmd: `pyhton3` is not on the bench" in result.err


@pytest.mark.parametrize(
    ("keys", "agent"),
    [
        (
            {"cmd": "./made-by-the-work"},
            "printf '#!/bin/sh\\n' > made-by-the-work; chmod +x made-by-the-work\n",
        ),
        (
            {"cmd": "made-up", "path": True},
            "mkdir bin; printf '#!/bin/sh\\n' > bin/made-up; chmod +x bin/made-up\n",
        ),
    ],
)
def test_a_program_that_the_work_may_bring_is_not_missed(
    keys: dict[str, Any], agent: str, author: Author, steelyard: Steelyard, script: Callable[[str], str]
) -> None:
    environment = {"disk_mb": 64, "env": {"PATH": "/workspace/bin:/usr/bin:/bin"} if keys.get("path") else {}}
    contract = author.write(environment=environment, oracle={"checks": [{"id": "c", "cmd": keys["cmd"]}]})
    result = steelyard("run", contract, "--agent", "noop", "--agent", script(agent), "--json")
    assert [(line["verdict"], line["reward"]) for line in result.lines] == [("fail", 0.0), ("pass", 1.0)]


@pytest.mark.parametrize(
    "agent", ["command:claud -p {brief}", "command:cd . && claud x", "command:/opt/claud"]
)
def test_an_agent_that_is_not_in_the_sandbox_costs_its_own_trials_only(
    agent: str, author: Author, steelyard: Steelyard
) -> None:
    result = steelyard("run", author.write(), "--agent", "noop", "--agent", agent, "--json")
    assert result.code == 2
    assert [(line["agent"][:4], line["fault"], line["verdict"]) for line in result.lines] == [
        ("noop", None, "fail"),
        ("comm", "operator", "invalid"),
    ]
    assert "claud` is not in the sandbox of sum" in result.err


@pytest.mark.parametrize("text", ["#!/bin/bash\r\ntrue\r\n", "true\r\n", "#!/usr/bin/env bash\r\n"])
def test_a_script_with_windows_line_ends_is_refused(
    text: str, author: Author, steelyard: Steelyard, tmp_path: Path
) -> None:
    path = tmp_path / "agent.sh"
    path.write_bytes(text.encode())
    result = steelyard("run", author.write(), "--agent", f"script:{path}")
    assert (result.code, "Windows line endings" in result.err) == (2, True)


def test_a_script_whose_interpreter_is_not_there_is_refused(
    author: Author, steelyard: Steelyard, script: Callable[[str], str]
) -> None:
    result = steelyard("run", author.write(), "--agent", script("#!/usr/bin/env pyhton3\n"))
    assert (result.code, "`pyhton3` is not in the sandbox" in result.err) == (2, True)


def test_a_verifier_or_hidden_script_with_windows_line_ends_is_the_authors_mistake(
    author: Author, steelyard: Steelyard
) -> None:
    contract = author.write(
        {"tests/test.sh": "x\n", "hidden/h.sh": "x\n"},
        oracle={
            "checks": [
                {"id": "v", "type": "verifier", "script": "tests/test.sh"},
                {"id": "h", "cmd": "sh h.sh", "inject": ["hidden/h.sh"]},
            ]
        },
    )
    for name in ("tests/test.sh", "hidden/h.sh"):
        (contract / name).write_bytes(b"echo\r\n")
    result = steelyard("check", contract)
    assert (result.code, result.out.count("Windows line endings")) == (2, 2)


def test_an_agent_that_says_127_itself_has_failed(author: Author, steelyard: Steelyard) -> None:
    line = steelyard("run", author.write(), "--agent", "command:exit 127", "--json").line
    assert (line["termination"], line["verdict"], line["reward"]) == ("agent_crash", "fail", 0.0)


def test_a_tool_that_the_reference_brings_is_the_works_own(tried: Callable[..., dict[str, Any]]) -> None:
    """The reference mends add.sh; a change that removes it ends with 127 where the reference does not."""
    line = tried(
        {"cmd": "chmod +x add.sh && ./add.sh 1 2"}, agent="rm add.sh; printf '#!/gone\\n' > add.sh\n"
    )
    assert line["acceptance"] == "failure"


def test_a_reference_that_stalled_neither_excuses_nor_accuses_and_is_not_remembered(
    author: Author, steelyard: Steelyard, script: Callable[[str], str], tmp_path: Path
) -> None:
    """What a stalled machine says of the reference is no truth to be kept: the run counts for nothing."""
    files = {"repo/main.sh": '[ "$(sh add.sh 2 3)" = 5 ] && sleep 3000\n'}
    contract = author.write(files, oracle={
        "checks": [{"id": "c", "cmd": "sh main.sh", "timeout_s": 3}], "reference": "reference.patch",
    })  # fmt: skip
    own = {"STEELYARD_CACHE": str(tmp_path / "own")}
    result = steelyard("run", contract, "--agent", script("echo exit 127 > main.sh\n"), "--json", env=own)
    assert result.code == 3
    assert {line["status"] for line in result.lines} == {"invalid"}
    assert "with the reference it timed out" in result.lines[-1]["reason"]
    assert not list(tmp_path.glob("own/missing/*"))


def test_a_misspelt_program_after_pythonpath_is_found_before_any_trial(
    author: Author, steelyard: Steelyard
) -> None:
    check = {"id": "c", "type": "tests", "cmd": "PYTHONPATH=src pyhton3 -m unittest"}
    result = steelyard("run", author.write(oracle={"checks": [check]}), "--agent", "noop", "--json")
    assert (result.code, result.line["fault"]) == (2, "contract")
    assert "`pyhton3` is not on the bench" in result.err


def test_check_finds_a_toolchain_that_this_machine_lacks(author: Author, steelyard: Steelyard) -> None:
    environment = {"toolchains": {"python": "3.99"}, "memory_mb": {"guaranteed": 64, "limit": 512}}
    result = steelyard("check", author.write(environment=environment), "--reference", "--json")
    (problem,) = result.line["problems"]
    assert (result.code, result.line["ok"], problem["severity"]) == (3, False, "error")
    assert problem["field"] == "environment.toolchains.python"
    assert problem["message"].startswith("python 3.99 is not on this machine; found: ")
    assert problem["fix"]
    assert result.line["tried"] == []
