"""`show --why`: every number with what it follows from; damaged or older records explain what they can."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest

from steelyard.report.explanation.explain import Node, explain_run
from steelyard.report.explanation.schema import explanation_schema
from steelyard.report.explanation.tree import explanation_lines


def grade(name: str, outcome: str = "pass", **more: Any) -> dict[str, Any]:
    score = {"pass": 1.0, "fail": 0.0}.get(outcome)
    return {
        "name": name,
        "type": "command",
        "outcome": outcome,
        "score": score,
        "required": True,
        "weight": 1.0,
        "gate": False,
        "under": "acceptance",
        "check": False,
        "why": "exit 0",
        "pointers": [],
        "output_tail": "",
        "hidden": False,
        "data": {},
        **more,
    }


def grading(grades: list[dict[str, Any]], **verdict: Any) -> dict[str, Any]:
    gates = {name: {"outcome": "pass", "why": ""} for name in ("acceptance", "build", "patch", "safety")}
    decided = {
        "verdict": "pass",
        "status": "scorable",
        "acceptance": "success",
        "reason": "every required check passed",
        "gates": gates,
        "score": 1.0,
        "mean_score": 1.0,
        "reward": 1.0,
        "tags": [],
        "findings": [],
        "judge": None,
        **verdict,
    }
    return {"number": 1, "verdict": decided, "grades": grades, "evaluation": None}


def nodes(node: Node) -> list[Node]:
    return [node, *(one for part in node.parts for one in nodes(part))]


def test_every_grade_has_evidence_and_the_tree_has_its_schema(tmp_path: Path) -> None:
    made = explain_run("r", tmp_path, grading([grade("a"), grade("b", "fail", required=False, weight=0)]))
    jsonschema.validate(made.to_json(), explanation_schema())
    graded = [one for one in nodes(made.tree) if one.what.startswith("grade ")]
    assert [one.what for one in graded] == ["grade a", "grade b"]
    assert all(one.evidence for one in graded)


def test_gates_stand_in_their_order(tmp_path: Path) -> None:
    made = explain_run("r", tmp_path, grading([grade("a")]))
    gates = [one.what for one in nodes(made.tree) if one.what.startswith("gate ")]
    assert gates == ["gate G1 patch", "gate G2 build", "gate G3 acceptance", "gate G4 safety"]


def test_a_score_that_does_not_follow_from_its_grades_is_reported(tmp_path: Path) -> None:
    grades = [grade("a"), grade("b", "fail", required=False)]
    assert explain_run("r", tmp_path, grading(grades, score=0.5, reward=0.5)).consistent
    wrong = explain_run("r", tmp_path, grading(grades, score=0.9, reward=0.9))
    assert not wrong.consistent
    assert "do not follow" in "\n".join(line.plain for line in explanation_lines(wrong))


@pytest.mark.parametrize(
    "broken", [{"disqualifies": True}, {"data": {"pass_to_pass": {"passed": [], "failed": ["t"]}}}]
)
def test_a_weighted_grader_that_disqualifies_explains_a_score_of_0(
    tmp_path: Path, broken: dict[str, Any]
) -> None:
    """Also in a record from before its grades said so."""
    grades = [grade("a"), grade("b", "fail", required=False, **broken)]
    made = explain_run("r", tmp_path, grading(grades, verdict="fail", score=0.0, reward=0.0))
    assert made.consistent
    assert "disqualifies" in next(one.why for one in nodes(made.tree) if one.what == "score")


def test_a_score_of_0_without_a_reason_does_not_follow(tmp_path: Path) -> None:
    grades = [grade("a"), grade("b", required=False)]
    assert not explain_run("r", tmp_path, grading(grades, verdict="fail", score=0.0, reward=0.0)).consistent


def test_the_transcript_of_a_failed_check_is_quoted(tmp_path: Path) -> None:
    failed = grade("lint", "fail", output_tail="one\nTypeError: no\ntwo\n", why="exit 1")
    gates = {"acceptance": {"outcome": "fail", "why": "lint: exit 1"}}
    made = explain_run("r", tmp_path, grading([failed], gates=gates, verdict="fail", score=0.0, reward=0.0))
    gate = next(one for one in nodes(made.tree) if one.what == "gate G3 acceptance")
    assert gate.quote == "TypeError: no"


@pytest.mark.parametrize("show_hidden", [True, False])
def test_the_transcript_of_a_hidden_check_is_quoted_to_the_operator_alone(
    tmp_path: Path, *, show_hidden: bool
) -> None:
    failed = grade("hidden", "fail", output_tail="assert 42 == SECRET", hidden=True)
    made = explain_run("r", tmp_path, grading([failed], verdict="fail"), show_hidden=show_hidden)
    assert ("SECRET" in str(made.to_json())) == show_hidden


def test_a_record_of_an_older_version_is_explained_as_far_as_it_goes(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_bytes(b"{ cut")
    made = explain_run("r", tmp_path, grading([grade("a")]))
    assert made.tree.value == 1.0
    assert made.beside == ()


def test_terminal_escapes_of_an_agent_are_not_printed(tmp_path: Path) -> None:
    evil = grade("a", "fail", why="\x1b[2Jgone\nline")
    made = explain_run("r", tmp_path, grading([evil], verdict="fail"))
    lines = [line.plain for line in explanation_lines(made)]
    assert any("gone" in line for line in lines)
    assert not [line for line in lines if "\x1b" in line or "\n" in line.strip("\n")]


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_an_explanation_fits_a_terminal_and_loses_nothing(tmp_path: Path, width: int) -> None:
    long = grade("a", "fail", why="not passed: tests.test_it.Sums.test_" + "many_words_" * 9)
    made = explain_run("r", tmp_path, grading([long], verdict="fail"))
    fitting = [line.plain for line in explanation_lines(made, width)]
    assert all(len(line) <= width for text in fitting for line in text.split("\n"))
    whole = "".join(line.plain for line in explanation_lines(made))
    assert "".join("".join(fitting).split()) == "".join(whole.split())


def test_the_contract_score_is_explained_term_by_term(tmp_path: Path) -> None:
    scored = {
        "score": 0.4,
        "passed": True,
        "validity": 0.5,
        "parts": {"applies": True, "no_forbidden_file": False},
        "violation": "stray",
        "weights": {"w_ok": 0.8, "w_val": 0.2, "w_viol": 0.5},
    }
    made = explain_run(
        "r", tmp_path, grading([grade("a")], contract_score=scored, reward_rule="contract", reward=0.4)
    )
    terms = {one.what: one.value for one in nodes(made.tree)}
    assert (terms["w_ok"], terms["w_val"], terms["w_viol"], terms["contract_score"]) == (0.8, 0.2, 0.5, 0.4)


def test_a_gate_that_an_alert_failed_points_to_its_event(tmp_path: Path) -> None:
    gates = {"safety": {"outcome": "fail", "why": "alert", "pointers": ["events.jsonl#9"], "quote": ""}}
    passed = grade("scope", under="safety")
    made = explain_run("r", tmp_path, grading([passed], gates=gates, verdict="fail"))
    gate = next(one for one in nodes(made.tree) if one.what == "gate G4 safety")
    assert gate.evidence == ("events.jsonl#9",)
