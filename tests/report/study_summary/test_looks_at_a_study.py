# mypy: disable-error-code="arg-type, operator, union-attr"
"""A comparison before the end of a study: what it is made of, and what the registered rule allows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from study_lines import line, results

from steelyard.errors import OperatorFault
from steelyard.plan.study_plan import PlannedAgent, PlannedContract, StudyPlan
from steelyard.report.study_summary.read_results import ResultSet, plan_of
from steelyard.report.study_summary.render.comparison import equivalence_words
from steelyard.report.study_summary.summarise import summarise_study
from steelyard.report.study_summary.two_agents import (
    TwoAgents,
    compare_named,
    compare_sets,
    equivalent_within,
    gate_of,
)
from steelyard.stats.design.sequential import LookRule
from steelyard.study.protocol.folder import StudyFolder

POCOCK, ANYTIME = LookRule("pocock", 3, 3), LookRule("anytime", 1, 3)


def trials(repeats: int, contracts: int = 30, extra: int = 0, second: str = "pass") -> list[dict[str, Any]]:
    """`two` solves what `one` does, of the first repeats; of the next one so many contracts, which `second` says of."""
    found = []
    for number in range(contracts):
        for repeat in range(1, repeats + (number < extra) + 1):
            verdict = "pass" if number % 2 else "fail"
            of_second = second if repeat > repeats else verdict
            for agent, outcome in (("one", verdict), ("two", of_second)):
                trial = f"{agent}-{number}-{repeat}"
                found.append(line(outcome, agent, f"c{number}", repeat=repeat, trial=trial, run=trial))
    return found


def unfinished(lines: list[dict[str, Any]], rule: LookRule | None, **more: Any) -> ResultSet:
    return results(*lines, planned_trials=30 * 2 * 3, look_rule=rule, **more)


def two(lines: list[dict[str, Any]], rule: LookRule, **more: Any) -> TwoAgents:
    return compare_named(unfinished(lines, rule, **more), "one", "two", anyway=False)


def test_trials_after_the_last_look_are_not_compared() -> None:
    """Otherwise each further trial would be one more look at the same level: 8 to 9 of 100 equal studies would differ."""
    at_look, after = two(trials(1), POCOCK), two(trials(1, extra=20), POCOCK)
    assert after.comparison.difference == at_look.comparison.difference
    assert after.comparison.flips == ()
    assert "first 1 of 3 repeats" in after.provisional[0]


def test_a_report_compares_what_compare_does() -> None:
    made = summarise_study(unfinished(trials(1, extra=20), POCOCK))
    assert made.comparisons[0].difference == two(trials(1), POCOCK).comparison.difference
    assert any("first 1 of 3 repeats" in one for one in made.provisional)
    assert made.agents[0].trials == 50  # rates are of all trials


def test_a_complete_study_is_at_its_last_look_although_a_trial_is_missing() -> None:
    lines = trials(3)[:-2]
    found = two(lines, POCOCK, has_ended=True, is_complete=True).comparison
    assert found.difference.level == pytest.approx(two(trials(3), POCOCK).comparison.difference.level)
    assert found.difference.n == len(lines)


def test_at_any_time_the_sentence_names_the_contracts_that_the_interval_is_of() -> None:
    found = two(trials(2, extra=12), ANYTIME).comparison
    assert (found.contracts, found.difference.clusters) == (12, 12)
    assert "12 contracts, 3 repeats" in found.sentence


def test_no_test_is_shown_that_holds_at_one_look_only() -> None:
    found = two(trials(2, extra=12), ANYTIME).comparison
    assert (found.p, found.mcnemar_p, found.log_rank_p, found.bootstrap.value) == (None, None, None, None)


def test_one_of_several_comparisons_at_any_time_says_that_nothing_adjusts_for_them() -> None:
    lines = trials(3, contracts=60)
    third = [
        {
            **each,
            "agent": "three",
            "run": f"3-{each['run']}",
            "trial": f"3-{each['trial']}",
            "verdict": "pass",
        }
        for each in lines
        if each["agent"] == "one"
    ]
    made = summarise_study(results(*lines, *third, planned_trials=60 * 3 * 4, look_rule=ANYTIME))
    decided = [one for one in made.comparisons if one.is_decided]
    assert len(decided) == 2
    assert all("by itself only: it is one of 3 comparisons" in one.sentence for one in decided)


def test_two_folders_of_studies_are_compared_by_the_registered_rule() -> None:
    sides = [
        unfinished([one for one in trials(2, extra=12) if one["agent"] == name], ANYTIME)
        for name in ("one", "two")
    ]
    found = compare_sets(*sides, agent=None, anyway=False).comparison
    assert found.difference.method.startswith("anytime")
    cut = compare_sets(
        unfinished([one for one in trials(2, extra=12) if one["agent"] == "one"], POCOCK, has_ended=True),
        results(*[one for one in trials(3) if one["agent"] == "two"]),
        agent=None,
        anyway=False,
    ).comparison
    assert cut.difference.level > 0.95


def test_a_gate_at_a_look_is_decided_by_the_interval_of_that_look() -> None:
    """A test at 5% beside it would be one more chance at each look."""
    found = two(trials(1), POCOCK)
    gate = gate_of(found, 0.10)  # the interval without variation ends at 13 points, the test excludes 10
    assert (gate.failed, gate.test.p) == (True, None)
    assert "the interval begins at -" in gate.why
    assert not gate_of(found, 0.20).failed
    usual = compare_named(results(*trials(1)), "one", "two", anyway=False)
    assert not gate_of(usual, 0.10).failed


def test_equivalence_at_a_look_is_decided_by_the_interval_of_that_look() -> None:
    found = two(trials(1), POCOCK)
    assert "not shown (interval" in equivalence_words(equivalent_within(found, 0.10).equivalence)
    assert ": shown (interval" in equivalence_words(equivalent_within(found, 0.20).equivalence)


def planned(tmp_path: Path) -> tuple[StudyFolder, dict[str, str]]:
    plan = StudyPlan(
        name="pilot",
        repeats=3,
        agents=(PlannedAgent(agent="one", name="one", role="agent", identity="a" * 64),),
        contracts=(PlannedContract(id="one", digest="b" * 64, stratum="s", path="one"),),
    )
    folder = StudyFolder.of(tmp_path, plan)
    folder.begin(plan)
    return folder, {"digest": plan.identity, "name": "pilot"}


def test_runs_beside_an_unfinished_study_do_not_make_it_comparable(tmp_path: Path) -> None:
    """One run that is of no study would otherwise lift the refusal."""
    folder, study = planned(tmp_path)
    lines = [line("pass", "one", study=study), line("pass", "two")]
    mixed = results(*lines, **plan_of(tmp_path, lines))
    with pytest.raises(OperatorFault, match='of the study "pilot", which has not ended'):
        compare_named(mixed, "one", "two", anyway=False)
    assert summarise_study(mixed).comparisons == ()
    folder.add("end", how="complete", why="")
    ended = results(*lines, **plan_of(tmp_path, lines))
    assert compare_named(ended, "one", "two", anyway=False).comparison.contracts == 1


def test_other_agents_of_a_folder_with_an_unfinished_study_are_compared(tmp_path: Path) -> None:
    _, study = planned(tmp_path)
    lines = [line("pass", "other", study=study), line("pass", "one"), line("pass", "two")]
    mixed = results(*lines, **plan_of(tmp_path, lines))
    assert compare_named(mixed, "one", "two", anyway=False).comparison.contracts == 1


def test_a_look_is_not_reached_while_a_trial_of_its_repeats_is_under_way() -> None:
    """With many runs at a time a third of all trials may have ended before the first repeat has, and slow ones would be missing."""
    lines = [one for one in trials(1, extra=4) if one["trial"] not in {"two-7-1", "two-9-1"}]
    assert len(lines) > 60
    assert two(lines, POCOCK).comparison.contracts == 28
    with pytest.raises(OperatorFault, match="some of the repeats that the first look is about are under way"):
        two(lines, POCOCK, trials_of_a_repeat=60)
    found = two(trials(1, extra=4), POCOCK, trials_of_a_repeat=60)
    assert found.comparison.difference == two(trials(1), POCOCK).comparison.difference


def test_a_second_look_that_is_not_complete_is_the_first_one() -> None:
    lines = [one for one in trials(2, extra=4) if one["trial"] != "one-3-2"]
    found = two(lines, POCOCK, trials_of_a_repeat=60).comparison.difference
    assert found == two(trials(1), POCOCK).comparison.difference


def test_one_look_at_the_end_is_a_usual_comparison() -> None:
    found = two(trials(3), LookRule("obrien_fleming", 1, 3), has_ended=True, is_complete=True)
    assert (found.comparison.difference.level, found.is_look) == (0.95, False)


def test_trials_of_a_contract_that_was_taken_out_are_in_no_rate(tmp_path: Path) -> None:
    """The study itself leaves them out where it decides whether to go on."""
    folder, study = planned(tmp_path)
    folder.add("removal", contract="bad", reason="its check reads the clock")
    folder.add("end", how="complete", why="")
    lines = [line("pass", name, "good", study=study) for name in ("one", "two")]
    lines += [line("fail", name, "bad", study=study) for name in ("one", "two")]
    found = results(*lines, **plan_of(tmp_path, lines))
    made = summarise_study(found)
    assert (made.trials, made.runs, made.agents[0].success.value) == (2, 4, 1.0)
    assert made.removed[0].words.startswith(
        "bad was taken out of the study (its check reads the clock): its 2 trials"
    )
    assert compare_named(found, "one", "two", anyway=False).comparison.contracts == 1
    sides = [replace(found.filtered({name}), source=name) for name in ("one", "two")]
    assert compare_sets(*sides, agent=None, anyway=False).comparison.contracts == 1
    beside = [*lines, line("pass", "one", "other")]  # of no study
    assert summarise_study(results(*beside, **plan_of(tmp_path, beside))).trials == 3
