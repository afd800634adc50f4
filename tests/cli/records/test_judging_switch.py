"""Judging is announced before the first request, and can be turned off in four places."""

from __future__ import annotations

import re

import pytest

from authoring import Author, Steelyard
from scripted_judge import judged_by
from steelyard import api
from steelyard.errors import OperatorFault
from steelyard.study.judging import Announcer, judging_by

ANNOUNCED = "are sent to "


def test_the_first_request_is_announced_once_with_host_model_and_switch(
    steelyard: Steelyard, author: Author
) -> None:
    contract = author.write(judge={})
    with judged_by(steelyard) as judged:
        result = judged("run", contract, "--agent", "noop", "--agent", "reference", "--json")
    assert result.err.count(ANNOUNCED) == 1, result.err
    assert re.search(r"are sent to claude[\w.-]* at 127\.0\.0\.1:\d+", result.err), result.err
    for word in ("--no-judge", "STEELYARD_JUDGE=off", "`judge: off`"):
        assert word in result.err


@pytest.mark.parametrize("switch", ["option", "variable", "contract"])
def test_each_switch_turns_judging_off(steelyard: Steelyard, author: Author, switch: str) -> None:
    contract = author.write(**({"judge": False} if switch == "contract" else {}))
    words = ["--no-judge"] if switch == "option" else []
    with judged_by(steelyard) as judged:
        env = {**judged.env, **({"STEELYARD_JUDGE": "off"} if switch == "variable" else {})}
        result = steelyard("run", contract, "--agent", "noop", "--json", *words, env=env)
        assert (result.line["judge"], ANNOUNCED in result.err, judged.questions) == (None, False, [])


def test_the_variable_accepts_on_and_off_only() -> None:
    assert judging_by({"STEELYARD_JUDGE": "off"}, print) is None
    assert judging_by({"STEELYARD_JUDGE": "on"}, print) is not None
    with pytest.raises(OperatorFault, match="STEELYARD_JUDGE"):
        judging_by({"STEELYARD_JUDGE": "of"}, print)


def test_a_line_is_announced_once() -> None:
    lines: list[str] = []
    announce = Announcer(lines.append)
    announce("a")
    announce("a")
    announce("b")
    assert lines == ["a", "b"]


@pytest.mark.parametrize("judge", [True, False])
def test_the_python_api_announces_the_judge_and_has_a_switch(
    steelyard: Steelyard,
    author: Author,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    judge: bool,  # noqa: FBT001  # a parameter of the test
) -> None:
    with judged_by(steelyard) as judged:
        for name, value in judged.env.items():
            monkeypatch.setenv(name, value)
        api.run_trial(
            api.load_contract(author.write()), "noop", out=author.folder.parent / "runs", judge=judge
        )
        asked = bool(judged.questions)
    assert (asked, caplog.text.count("--no-judge")) == (judge, int(judge))
