"""Other caps, weights and thresholds: what sealed evidence can say of them, and what it cannot."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from study_lines import context, line, results

from steelyard.errors import OperatorFault
from steelyard.report.study_summary.counterfactual import Counterfactual, Rescoring, rescore
from steelyard.report.study_summary.render.tables import sections
from steelyard.report.study_summary.run_context import RunContext
from steelyard.report.study_summary.summarise import summarise_study


def rescored(
    *lines: dict[str, Any], contexts: list[RunContext | None] | None = None, **rules: Any
) -> Counterfactual:
    return rescore(results(*lines, contexts=contexts), Rescoring(**rules))


def graded(verdict: str, **scores: float) -> dict[str, Any]:
    grades = [
        {
            "name": name,
            "outcome": "pass" if score == 1 else "fail",
            "score": score,
            "weight": 1.0,
            "required": False,
        }
        for name, score in scores.items()
    ]
    gates = {"patch": "pass", "acceptance": "pass" if verdict == "pass" else "fail"}
    return line(verdict, grades=grades, gates=gates)


def test_a_tighter_cap_fails_runs_that_used_more() -> None:
    made = rescored(
        line("pass", contract="a"), line("pass", contract="b", cost={"usd": 3.0}), caps={"cost_usd": 1.0}
    )
    assert made.agents[0].primary.value == 1.0
    assert made.agents[0].counterfactual.value == 0.5
    (changed,) = made.changed
    assert (changed.before, changed.after, changed.why) == ("pass", "fail", "cost_usd 3 is above 1")


def test_trials_that_change_are_those_that_count() -> None:
    """Neither honeypots nor attempts that were repeated."""
    spoiled = line("pass", trial="t", attempt=1, run="first", cost={"usd": 3.0})
    again = line("pass", trial="t", attempt=2, run="second", cost={"usd": 3.0})
    trap = line("pass", contract="trap", run="trap", cost={"usd": 3.0}, study={"stratum": "honeypot"})
    made = rescored(spoiled, again, trap, caps={"cost_usd": 1.0})
    assert [one.run for one in made.changed] == ["second"]
    with pytest.raises(OperatorFault, match="honeypots alone"):
        rescored(trap, caps={"cost_usd": 1.0})


@pytest.mark.parametrize("order", [("wall_s", "cost_usd"), ("cost_usd", "wall_s")])
def test_one_cap_that_would_have_stopped_a_run_decides_whatever_another_leaves_open(
    order: tuple[str, str],
) -> None:
    stopped = line("fail", termination="wall_time", cost={"usd": 3.0}, durations={"working_s": 60.0})
    caps = {"wall_s": 120.0, "cost_usd": 1.0}
    made = rescored(
        stopped, contexts=[context(caps={"wall_s": 60.0})], caps={name: caps[name] for name in order}
    )
    assert (made.agents[0].undecided, made.agents[0].counterfactual.value) == (0, 0.0)


def test_trials_of_contracts_that_were_taken_out_alone_are_not_called_honeypots() -> None:
    study = {"digest": "d", "name": "s"}
    found = replace(results(line("pass", study=study)), removed={("d", "a"): "its tests fail"})
    with pytest.raises(OperatorFault, match="taken out of the study alone"):
        rescore(found, Rescoring(caps={"cost_usd": 1.0}))


def test_a_looser_cap_leaves_a_stopped_run_undecided() -> None:
    stopped = line("fail", termination="wall_time", durations={"wall_s": 70.0, "working_s": 60.0})
    made = rescored(stopped, contexts=[context(caps={"wall_s": 60.0})], caps={"wall_s": 120.0})
    assert (made.agents[0].undecided, made.agents[0].counterfactual.value) == (1, None)


def test_a_run_that_a_grader_disqualifies_fails_under_any_weights() -> None:
    """Broken `pass_to_pass` tests fail a run whatever its score is."""
    made = graded("fail", hidden=0.0, docs=1.0)
    made["grades"][0]["disqualifies"] = True
    assert rescored(made, weights={"docs": 9.0}, threshold=0.1).changed == ()


def test_a_gate_has_no_share_of_the_score() -> None:
    made = graded("fail", docs=0.5, gate=1.0)
    made["grades"][1] |= {"gate": True, "required": True}
    (changed,) = rescored(made, threshold=0.4).changed
    assert changed.why == "score 0.5 against 0.4"


def test_a_use_that_is_not_known_leaves_a_run_undecided() -> None:
    made = rescored(line("pass"), caps={"tokens": 1000})
    assert made.changed[0].why == "tokens is not known"
    known = rescored(line("pass"), contexts=[context(tokens_in=800, tokens_out=300)], caps={"tokens": 1000})
    assert known.changed[0].after == "fail"


def test_other_weights_change_the_score_and_nothing_else() -> None:
    lines = [graded("fail", style=0.5, tests=1.0)]
    made = rescored(*lines, contexts=[context(pass_threshold=0.9)], weights={"style": 0.0})
    assert [(one.before, one.after) for one in made.changed] == [("fail", "pass")]
    assert rescored(*lines, threshold=0.7).changed[0].why == "score 0.75 against 0.7"
    assert lines[0]["verdict"] == "fail"


def test_weights_without_a_recorded_threshold_ask_for_one() -> None:
    with pytest.raises(OperatorFault, match="--threshold"):
        rescored(graded("fail", style=0.5), weights={"style": 2.0})


def test_a_failed_gate_or_required_grade_decides_as_before() -> None:
    unsafe = graded("fail", style=1.0)
    unsafe["gates"]["safety"] = "fail"
    required = graded("fail", style=0.0)
    required["grades"][0]["required"] = True
    assert rescored(unsafe, required, threshold=0.0).changed == ()


def test_undecided_trials_stay_undecided() -> None:
    assert rescored(line("error"), line("invalid"), caps={"cost_usd": 1.0}).changed == ()


def test_counterfactual_numbers_are_labelled() -> None:
    made = rescored(line("pass"), caps={"cost_usd": 1.0}).to_json()
    assert made["schema"] == "steelyard.counterfactual/1"
    assert made["label"].startswith("COUNTERFACTUAL")


@pytest.mark.parametrize(
    ("rules", "word"),
    [
        ({}, "name what would be other: --cap"),
        ({"caps": {"sleep": 1.0}}, "no cap sleep"),
        ({"caps": {"wall_s": float("nan")}}, "above 0"),
        ({"weights": {"style": -1.0}}, "not negative"),
        ({"weights": {"nothing": 1.0}}, "no result has a grader nothing"),
        ({"threshold": 2.0}, "between 0 and 1"),
    ],
)
def test_rules_that_cannot_be_are_refused_in_words(rules: dict[str, Any], word: str) -> None:
    with pytest.raises(OperatorFault, match=word):
        rescored(line("pass"), **rules)


def qualified(agent: str, contract: str, minimal: float, trace: float | None) -> dict[str, Any]:
    dimensions: dict[str, dict[str, Any]] = {
        "minimal": {"weight": 0.5, "score": minimal},
        "trace": {"weight": 0.5, "score": trace},
    }
    known = [one["score"] for one in dimensions.values() if one["score"] is not None]
    return line("pass", agent, contract, quality={"score": sum(known) / len(known), "dimensions": dimensions})


def test_other_weights_of_quality_leave_verdicts_alone() -> None:
    lines = [qualified("x", "a", 1.0, 0.5), qualified("x", "b", 0.5, None)]
    made = rescored(*lines, quality_weights={"minimal": 1.0, "trace": 3.0})
    assert made.changed == ()
    assert made.agents[0].quality is not None
    assert made.agents[0].counterfactual_quality is not None
    assert made.agents[0].quality.value == pytest.approx((0.75 + 0.5) / 2)
    assert made.agents[0].counterfactual_quality.value == pytest.approx((0.625 + 0.5) / 2)
    assert made.to_json()["label"].startswith("COUNTERFACTUAL")


def test_a_dimension_that_no_result_has_is_refused() -> None:
    with pytest.raises(
        OperatorFault, match="no result has a dimension of quality beauty; recorded: minimal, trace"
    ):
        rescored(qualified("x", "a", 1.0, 0.5), quality_weights={"beauty": 1.0})


def test_a_report_says_whether_the_order_of_agents_depends_on_the_weights() -> None:
    lines = [qualified("x", "a", 1.0, 0.2), qualified("y", "a", 0.4, 0.6)]
    made = summarise_study(results(*lines))
    sensitivity = {one.agent: [each.quality.value for each in one.weight_sensitivity] for one in made.agents}
    assert sensitivity == {"x": [1.0, 0.2], "y": [0.4, 0.6]}
    assert "the order of agents by quality depends on the weights (minimal: x, y; trace: y, x)" in made.notes
    assert any(one.title.startswith("Quality by its weights") for one in sections(made))
    same = summarise_study(results(qualified("x", "a", 1.0, 0.6), qualified("y", "a", 0.4, 0.2)))
    assert any("is the same whichever dimension" in note for note in same.notes)
