"""Exit 127, as a shell says it of a command that is not there: whose fault that is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from authoring import FIX, Author, Steelyard

ABSENT = "steelyard-has-no-such-tool"
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
    "check", [{"cmd": ABSENT}, {"type": "tests", "cmd": ABSENT}, {"type": "tests", "cmd": REPORTING}]
)
def test_a_tool_that_the_reference_lacks_too_is_the_contracts_fault(
    check: dict[str, Any], tried: Callable[..., dict[str, Any]]
) -> None:
    line = tried(check)
    assert (line["acceptance"], line["verdict"]) == ("acceptance_error", "fail")
    assert "and so with the reference" in line["grades"][1]["why"]


@pytest.mark.parametrize("check", [{"cmd": "sh check.sh"}, {"type": "tests", "cmd": "sh check.sh"}])
def test_a_change_that_says_127_itself_has_failed(
    check: dict[str, Any], tried: Callable[..., dict[str, Any]]
) -> None:
    line = tried(check, agent="echo exit 127 > check.sh\n")
    assert (line["acceptance"], line["grades"][1]["outcome"]) == ("failure", "fail")


def test_without_a_reference_nobody_is_excused(tried: Callable[..., dict[str, Any]]) -> None:
    assert tried({"cmd": ABSENT}, reference=None)["acceptance"] == "failure"


def test_a_tool_that_the_reference_brings_is_the_works_own(tried: Callable[..., dict[str, Any]]) -> None:
    """The reference mends add.sh; a change that removes it ends with 127 where the reference does not."""
    line = tried(
        {"cmd": "chmod +x add.sh && ./add.sh 1 2"}, agent="rm add.sh; printf '#!/gone\\n' > add.sh\n"
    )
    assert line["acceptance"] == "failure"


def test_a_reference_that_stalled_excuses_and_accuses_nobody_and_is_not_remembered(
    author: Author, steelyard: Steelyard, script: Callable[[str], str], tmp_path: Path
) -> None:
    """What a stalled machine says of the reference is no truth to be kept: the run counts for nothing."""
    files = {"repo/check.sh": '[ "$(sh add.sh 2 3)" = 5 ] && sleep 3000\n'}
    contract = author.write(files, oracle={
        "checks": [{"id": "c", "cmd": "sh check.sh", "timeout_s": 3}], "reference": "reference.patch",
    })  # fmt: skip
    own = {"STEELYARD_CACHE": str(tmp_path / "own")}
    said = steelyard("run", contract, "--agent", script("echo exit 127 > check.sh\n"), "--json", env=own)
    assert said.code == 3
    assert {line["status"] for line in said.lines} == {"invalid"}
    assert "with the reference it did not end in time" in said.lines[-1]["reason"]
    assert not list(tmp_path.glob("own/missing/*"))
