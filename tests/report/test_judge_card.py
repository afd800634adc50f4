"""What models said, on a terminal of any width: all of it is there, and nothing of it can pass for ours."""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from shown_results import WIDTHS, printed, result

from steelyard.report.breakdown import breakdown_of
from steelyard.report.judge_card import MOST_LINES, judge_card, judge_word, three_results_of
from steelyard.report.summary import summarise
from steelyard.report.terminal import table_of_judged, table_of_results

SCORES = {"efficiency": 3, "instruction_adherence": 4, "task_completion": 5}


def opinion(**keys: Any) -> dict[str, Any]:
    return {
        "model": "claude-opus-4-8",
        "verdict": "PASS",
        "scores": SCORES,
        "failure_mode": None,
        "reasoning": "It does what was asked.",
        "facts": [],
        "steered": False,
        "reused": False,
        "error": "",
        "at": "2026-03-07T12:00:00+00:00",
        **keys,
    }


def judge(*opinions: dict[str, Any], **keys: Any) -> dict[str, Any]:
    given = opinions or (opinion(),)
    return {"verdict": "PASS", "why": "because", "opinions": [*given], "split": False, "steered": False,
            "agreement": 1.0, "scores": SCORES, "failure_mode": None, **keys}  # fmt: skip


def card(shown: dict[str, Any], width: int = 80, encoding: str = "utf-8") -> str:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="")
    console = Console(width=width, file=file, color_system=None)
    for line in judge_card(shown, console):
        console.print(line)
    file.flush()
    file.seek(0)
    return file.read()


def test_the_card_has_everything_in_the_order_of_the_rubric() -> None:
    fact = {"claim": "tests pass", "supported": False, "evidence": "checks"}
    shown = opinion(verdict="FAIL", failure_mode="false_claim", facts=[fact], reused=True)
    text = card(judge(shown, verdict="FAIL"), 118)
    assert (
        text.splitlines()
        == [
            "judge FAIL",
            "  task completion 5.0  instruction adherence 4.0  efficiency 3.0  (of 5)",
            "  claude-opus-4-8 FAIL false_claim  2026-03-07T12:00:00+00:00  (from an earlier grading)",
            "  | It does what was asked.",
            "  ✗ tests pass (checks)",
        ]
        or len(text.splitlines()) == 6
    )  # one word further at 80 columns


def test_a_judge_that_was_not_asked_says_why() -> None:
    text = card(
        {**judge(), "verdict": "N/A", "opinions": [], "scores": {}, "agreement": None, "why": "no key"}
    )
    assert text.splitlines() == ["judge N/A", "  no key"]


def test_a_jury_shows_each_voice_and_how_many_agree() -> None:
    away = opinion(model="gpt-c", verdict="UNPARSEABLE", scores={}, reasoning="", error="no answer")
    text = card(
        judge(opinion(), opinion(model="gpt-b", verdict="FAIL"), away, split=True, agreement=0.5), 118
    )
    assert "judge PASS split: 1 of 2 agree, 1 does not count" in text
    assert "gpt-b FAIL 5/4/3" in text
    assert "gpt-c UNPARSEABLE" in text
    assert "no answer" in text


def unread(model: str, error: str) -> dict[str, Any]:
    return opinion(model=model, verdict="UNPARSEABLE", scores={}, reasoning="", error=error)


def test_a_reason_that_all_of_a_jury_share_is_said_once() -> None:
    away = "the connection failed: refused"
    jury = judge(unread("claude-a", away), unread("gpt-b", away), verdict="UNPARSEABLE", why=away, scores={})
    text = card({**jury, "agreement": None})
    assert text.count(away) == 1
    assert text.splitlines()[1] == f"  {away}"


def test_reasons_that_differ_stand_beside_whose_they_are() -> None:
    one, other = unread("claude-a", "HTTP 529"), unread("gpt-b", "no key: set OPENAI_API_KEY")
    keys: dict[str, Any] = {"why": "HTTP 529; no key: set OPENAI_API_KEY", "scores": {}, "agreement": None}
    lines = card(judge(one, other, verdict="UNPARSEABLE", **keys)).splitlines()
    assert [line.strip() for line in lines[2::2]] == ["HTTP 529", "no key: set OPENAI_API_KEY"]
    text = card(judge(one, other, opinion(model="gpt-c"), verdict="N/A", **keys))
    assert text.splitlines()[1] == "  1 of 3 answers could be read"
    assert text.count("HTTP 529") == 1


def test_a_steered_judge_is_called_so_in_its_card_too() -> None:
    text = card(judge(opinion(steered=True), verdict="UNPARSEABLE", steered=True, scores={}, agreement=None))
    assert text.splitlines()[0] == "judge UNPARSEABLE steered"


def test_why_of_a_judged_answer_is_the_judges_and_no_gate_has_a_column() -> None:
    note = {"name": "llm_judge", "outcome": "not_applicable", "why": "a note for the judge"}
    keys = {"workspace": "none", "gates": None, "why": None, "grades": [note], "reason": "judge: it is 76127"}
    for width in WIDTHS:
        text = printed(width, result(judge=judge(), **keys))
        assert "judge: it is 76127" in text
        assert "a note" not in text
        assert "P patch applies" not in text
        assert " P B A S " not in text


@given(st.text(max_size=400), st.sampled_from([20, 60, 80, 118]))
def test_no_line_of_a_model_begins_where_ours_do(output: str, width: int) -> None:
    fact = {"claim": output, "supported": True, "evidence": output}
    voices = opinion(reasoning=output, facts=[fact]), opinion(error=output, model=output, reasoning="")
    text = card(judge(*voices, why=output), width)
    assert not any(char < " " and char != "\n" for char in text)
    assert "\u202e" not in text
    lines = text.splitlines()
    assert all(line.startswith("  ") for line in lines[1:] if line.strip() and not line.startswith("judge"))


def test_an_endless_reasoning_is_cut_and_says_so() -> None:
    for output in ("word\n" * 5000, "word " * 50_000, "漢" * 50_000):
        text = card(judge(opinion(reasoning=output)))
        assert len(text.splitlines()) <= MOST_LINES + 5
        assert "and more, in the grading" in text
        assert max(map(cell_len, text.splitlines())) <= 80


def test_an_output_that_is_not_unicode_gets_plain_marks() -> None:
    fact = {"claim": "it works", "supported": True, "evidence": ""}
    assert "  + it works" in card(judge(opinion(facts=[fact])), encoding="ascii")


def test_a_table_has_a_column_for_the_judge_only_where_a_run_was_judged() -> None:
    for width in WIDTHS:
        assert "judge" not in printed(width, result(reward=0.25))
        text = printed(width, result(reward=0.25, judge=judge()), result(reward=0.25, judge=None))
        assert "judge" in text.splitlines()[0]
        assert text.count("PASS") == 1
        assert max(map(len, text.splitlines())) <= width


def test_the_reward_has_a_column_only_where_it_is_another_number() -> None:
    assert "reward" not in printed(118, result(reward=0.25))
    text = printed(118, result(reward=0.5), result(reward=0.25))
    assert "score reward" in text
    assert "0.25   0.50" in text


@pytest.mark.parametrize(
    ("shown", "word"),
    [
        (None, "-"),
        (judge(), "PASS"),
        (judge(verdict="FAIL", split=True), "FAIL split"),
        (judge(verdict="UNPARSEABLE", steered=True), "steered"),
        (judge(verdict="FAIL", steered=True), "FAIL"),
    ],
)
def test_a_judgement_is_one_word_in_a_table(shown: Any, word: str) -> None:
    assert judge_word(shown).plain == word


def test_checks_judge_and_run_stand_side_by_side() -> None:
    assert three_results_of(result(judge=judge())).plain == "checks FAIL  judge PASS  run finished"
    assert three_results_of(result()).plain == "checks FAIL  judge not asked  run finished"


def test_the_rate_of_the_judge_has_its_interval_and_leaves_out_what_it_did_not_say() -> None:
    rows = [
        {**result(), "status": "scorable", "acceptance": "failure", "judge": shown}
        for shown in (judge(), judge(verdict="FAIL"), judge(verdict="UNPARSEABLE"), None)
    ]
    (one,) = summarise(rows)
    assert (one.judged.successes, one.judged.trials) == (1, 2)
    assert table_of_judged([one]) is not None
    assert table_of_judged(summarise(rows[3:])) is None
    assert table_of_results(rows) is not None


def test_dimensions_of_a_rubric_are_lines_and_anything_else_is_what_it_is() -> None:
    parts = {
        "drop": {"score": 0.95, "max_score": 1.0, "weight": 1.0, "evidence": ""},
        "unit": {"score": 3, "max_score": 5, "weight": 2, "evidence": "in\x1b[31m inches"},
        "free": [1, 2],
    }
    lines = [line.plain for line in breakdown_of({"breakdown": parts})]
    assert lines == [
        "\ndimensions",
        "  drop  0.95",
        "  unit  3 of 5 x2  in\\x1b[31m inches",
        "  free  [1, 2]",
    ]
    assert list(breakdown_of({})) == []
    assert len(list(breakdown_of({"breakdown": dict.fromkeys(map(str, range(100)), 1)}))) == 32
