# mypy: disable-error-code="operator, arg-type, misc, union-attr, comparison-overlap"
"""Result lines -> the summary of a study: rates by category, pairs, bounds, cost, disclosures."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from study_lines import context, line, study, summary

from steelyard.errors import OperatorFault
from steelyard.report.html.study_report import study_html
from steelyard.report.study_summary.read_results import read_results
from steelyard.report.study_summary.render.brief import by_decision
from steelyard.report.study_summary.run_context import RunContext
from steelyard.report.study_summary.summarise import summarise_study
from steelyard.stats.clusters import Cluster, rate_over_contracts
from steelyard.stats.proportion import wilson_rate


def test_categories_are_over_scorable_trials_and_invalid_over_all() -> None:
    (agent,) = summary(
        *(line(verdict) for verdict in ("pass", "fail", "error", "ungraded", "invalid"))
    ).agents
    found = {one.name: (one.count, one.of) for one in agent.categories}
    assert found == {
        "success": (1, 4),
        "failure": (1, 4),
        "acceptance_error": (1, 4),
        "ungraded": (1, 4),
        "invalid": (1, 5),
    }
    assert (agent.success.value, agent.success.n) == (0.5, 2)
    assert (agent.within_budget.value, agent.within_budget.n) == (0.25, 4)
    assert (agent.bounds.worst.value, agent.bounds.best.value) == (0.2, 0.8)


def test_the_success_rate_has_contracts_as_clusters() -> None:
    lines = [line("pass", contract="a")] * 3 + [line("fail", contract="b")] * 3
    (agent,) = summary(*lines).agents
    assert agent.success == rate_over_contracts([Cluster(3, 3), Cluster(0, 3)])


def test_of_several_attempts_at_a_trial_the_last_counts_and_all_are_attempted() -> None:
    made = summary(
        line("invalid", trial="t1", attempt=1), line("pass", trial="t1", attempt=2), line("fail", trial="t2")
    )
    (agent,) = made.agents
    assert (agent.trials, agent.runs_attempted) == (2, 3)
    assert (agent.invalid_attempts.count, agent.invalid_attempts.of) == (1, 3)
    assert agent.bounds.undecided == 0


def test_a_trial_that_was_run_again_without_need_is_one_more_repeat_and_is_named() -> None:
    made = summary(line("pass", trial="t1", attempt=1), line("fail", trial="t1", attempt=1))
    assert made.trials == 2
    assert any("run more than once" in note for note in made.notes)


def test_a_clear_difference_is_stated_in_one_sentence() -> None:
    (found,) = summary(*study(0.2, 0.8)).comparisons
    assert found.conclusion == "better"
    assert found.p < 0.001
    assert found.sentence.startswith("two solves more than one: +")
    assert "30 contracts, 3 repeats" in found.sentence


def test_an_unclear_difference_says_how_many_more_trials_would_decide() -> None:
    (found,) = summary(*study(0.45, 0.6, contracts=15, seed=3)).comparisons
    assert found.conclusion == "undecided"
    assert "cannot tell two from one yet" in found.sentence
    assert "more trials" in found.sentence
    assert found.more_contracts > 0


def test_undecided_trials_that_could_change_the_conclusion_make_it_fragile() -> None:
    lines = study(0.3, 0.6, contracts=20)
    (before,) = summary(*lines).comparisons
    assert (before.conclusion, before.is_fragile) == ("better", False)
    more = [line("error", "two", f"c{number}") for number in range(20) for _ in range(3)]
    (after,) = summary(*lines, *more).comparisons
    assert after.is_fragile
    assert "fragile: 60 undecided trials could change this" in after.sentence
    assert after.difference == before.difference


def test_p_values_account_for_each_other() -> None:
    lines = study(0.3, 0.6) + [{**each, "agent": f"{each['agent']}-copy"} for each in study(0.3, 0.6, seed=2)]
    made = summary(*lines)
    assert len(made.comparisons) == 6
    assert all(one.p_holm >= one.p_benjamini_hochberg >= one.p for one in made.comparisons)
    assert "(6)" in made.multiplicity


def test_p_values_are_adjusted_for_the_comparisons_that_have_one() -> None:
    lines = study(0.3, 0.6) + [{**each, "agent": "three"} for each in study(0.3, 0.6, seed=2)[:90]]
    other = RunContext(conditions={"budget": "b2"}, agent_version="v1")
    contexts = [other if each["agent"] == "three" else context() for each in lines]
    made = summary(*lines, contexts=contexts)
    assert [one.p is not None for one in made.comparisons].count(True) == 1
    assert "(1)" in made.multiplicity


def equal_agents() -> list[dict[str, Any]]:
    """Four agents that are alike; by chance the interval of one of the six pairs excludes 0."""
    return [
        {**each, "agent": f"{each['agent']}-{copy}"}
        for copy in range(2)
        for each in study(0.5, 0.5, contracts=20, seed=30 + copy)
    ]


def test_a_lucky_pair_of_many_equal_agents_is_decided_by_itself_only() -> None:
    made = summary(*equal_agents())
    (lucky,) = [one for one in made.comparisons if one.is_decided]
    assert not lucky.is_claimed
    assert "by itself only: it does not hold among 6 comparisons (Holm p = 0.29)" in lucky.sentence
    assert "solves more, by itself only" in study_html(made)


def test_a_pair_that_holds_among_all_comparisons_is_claimed_and_stands_first() -> None:
    better = [
        {**line("pass", "best", f"c{number}"), "repeat": repeat}
        for number in range(20)
        for repeat in range(3)
    ]
    made = summary(*equal_agents(), *better)
    first, *rest = by_decision(made)
    assert first.is_claimed
    assert first.second == "best"
    assert [one.is_claimed for one in rest] == sorted((one.is_claimed for one in rest), reverse=True)
    assert all(("by itself only" in one.sentence) == (one.is_decided and not one.is_claimed) for one in rest)


def test_of_two_agents_no_sentence_speaks_of_other_comparisons() -> None:
    (found,) = summary(*study(0.2, 0.8)).comparisons
    assert (found.family, found.is_claimed) == (1, True)
    assert "by itself" not in found.sentence


def test_agents_that_are_not_comparable_have_no_curve_of_power() -> None:
    lines = study(0.3, 0.6)
    other = RunContext(conditions={"budget": "b2"}, agent_version="v1")
    assert len(summary(*lines).power) == 1
    assert not summary(
        *lines, contexts=[other if each["agent"] == "two" else context() for each in lines]
    ).power


def test_an_invalid_run_changes_no_rate_but_the_invalid_one_and_the_bounds() -> None:
    lines = study(0.3, 0.6)
    before, after = summary(*lines).agents, summary(*lines, line("invalid", "one", "c0")).agents
    one, two = (next(each for each in side if each.agent == "one") for side in (before, after))
    assert one.success == two.success
    assert one.gates == two.gates
    assert two.bounds.worst.value < one.bounds.worst.value


def test_an_agent_that_is_duplicated_does_not_differ_from_its_copy() -> None:
    lines = [each for each in study(0.5, 0.5) if each["agent"] == "one"]
    (found,) = summary(*lines, *({**each, "agent": "copy"} for each in lines)).comparisons
    assert (found.difference.value, found.p, found.flips) == (0.0, 1.0, ())
    assert found.conclusion == "undecided"


def test_a_contract_that_one_agent_lacks_is_named_and_no_pair() -> None:
    (found,) = summary(line("pass", "x", "a"), line("fail", "y", "a"), line("pass", "x", "b")).comparisons
    assert (found.first, found.second) == ("y", "x")
    assert (found.contracts, found.only_first, found.only_second) == (1, (), ("b",))


def test_agents_without_a_shared_contract_cannot_be_distinguished() -> None:
    (found,) = summary(line("pass", "x", "a"), line("fail", "y", "b")).comparisons
    assert found.difference.value is None
    assert "share no contract" in found.sentence


def test_baselines_are_shown_and_not_compared() -> None:
    made = summary(line("pass", "x"), line("fail", "noop"), line("pass", "reference"))
    assert made.comparisons == ()
    assert [(one.agent, one.is_baseline) for one in made.agents] == [
        ("x", False),
        ("reference", True),
        ("noop", True),
    ]


def test_flips_name_the_runs_of_both_agents() -> None:
    lines = [line("pass", "x", "a", folder="/runs/1"), line("fail", "y", "a", folder="/runs/2")]
    (found,) = summary(*lines).comparisons
    (flip,) = found.flips
    assert (flip.contract, flip.first, flip.second, flip.difference) == ("a", "0 of 1", "1 of 1", 1.0)
    assert (flip.first_runs, flip.second_runs) == (("/runs/2",), ("/runs/1",))


@pytest.mark.parametrize("cost", [None, float("nan"), -1, "free"])
def test_an_unknown_cost_is_counted_and_never_zero(cost: Any) -> None:
    made = summary(line("pass", contract="a"), line("pass", contract="b", cost={"usd": cost}))
    (agent,) = made.agents
    assert (agent.economics.cost_usd.known, agent.economics.cost_usd.unknown) == (1, 1)
    assert agent.economics.cost_per_success.value is None
    assert "not known" in agent.economics.cost_per_success.why
    assert made.pareto.points == ()
    json.dumps(made.to_json(), allow_nan=False)


def test_times_without_success_are_censored() -> None:
    lines = [
        line("pass", contract=name, durations={"wall_s": 9.0, "working_s": seconds})
        for name, seconds in (("a", 1.0), ("b", 2.0))
    ]
    (agent,) = summary(*lines, line("fail", contract="c", durations={"wall_s": 9.0, "working_s": 3.0})).agents
    assert agent.time_to_success.censored == 1
    assert [point[:2] for point in agent.time_to_success.curve] == [
        (1.0, pytest.approx(1 / 3)),
        (2.0, pytest.approx(2 / 3)),
    ]
    assert agent.time_to_success.median.value == 2.0


def test_strata_have_their_own_rates() -> None:
    place = {"digest": "d" * 8, "name": "s", "stage": "1"}
    made = summary(
        line("pass", contract="a", study={**place, "stratum": "python"}),
        line("fail", contract="b", study={**place, "stratum": "c"}),
    )
    (agent,) = made.agents
    assert [(one.name, one.success.value, one.success.n) for one in agent.strata] == [
        ("c", 0.0, 1),
        ("python", 1.0, 1),
    ]
    assert made.study == {"digest": "dddddddd", "name": "s"}


def test_results_of_which_only_some_are_of_a_study_do_not_have_its_name() -> None:
    place = {"digest": "d" * 8, "name": "s", "stage": "1", "stratum": "c"}
    assert summary(line("pass", contract="a", study=place), line("fail", contract="b")).study is None


def test_conditions_that_differ_are_listed() -> None:
    lines = [line("pass", "x"), line("fail", "y")]
    other = RunContext(conditions={"budget": "b2", "graders": "g1"}, agent_version="v2")
    (found,) = summary(*lines, contexts=[context(), other]).comparisons
    assert [(one.what, one.first, one.second) for one in found.differences] == [("budget", "b2", "b1")]
    assert (found.conclusion, found.difference.value, found.p) == ("not comparable", None, None)
    assert "not compared: conditions differ (budget)" in found.sentence
    (same,) = summary(*lines, contexts=[context(), context()]).comparisons
    assert same.differences == ()


def test_contracts_that_a_difference_does_not_name_are_counted() -> None:
    lines = [line("pass", agent, contract=name) for agent in "xy" for name in "abcdefg"]
    other = RunContext(conditions={"budget": "b2", "graders": "g1"}, agent_version="v2")
    (found,) = summary(*lines, contexts=[context()] * 7 + [other] * 7).comparisons
    assert [one.sentence for one in found.differences] == ["budget: b1 and b2 (a, b, c, d, e and 2 more)"]


def judged(model: str, verdict: str = "pass", agent: str = "x", **more: Any) -> dict[str, Any]:
    opinions = [{"model": model}] if model else []
    return line(verdict, agent, judge={"verdict": "PASS", "opinions": opinions} if model else None, **more)


def test_agents_that_different_judges_read_are_not_compared() -> None:
    (found,) = summary(judged("m1"), judged("m2", agent="y")).comparisons
    assert [(one.what, one.first, one.second) for one in found.differences] == [("judge models", "m1", "m2")]
    (found,) = summary(judged("m1"), judged("", agent="y")).comparisons
    assert [(one.what, one.first, one.second) for one in found.differences] == [
        ("judge models", "m1", "none")
    ]


def test_a_run_that_ended_before_it_could_be_judged_is_no_other_judge() -> None:
    lines = [judged("m1"), judged("m1", agent="y"), judged("", "fail", "y", termination="wall_time")]
    (found,) = summary(*lines, contexts=[context()] * 3).comparisons
    assert (found.differences, found.contracts) == ((), 1)


def test_an_agent_of_two_versions_is_listed() -> None:
    lines = [line("pass", "x"), line("pass", "x"), line("fail", "y")]
    other = RunContext(conditions={"budget": "b1", "graders": "g1"}, agent_version="v9")
    (found,) = summary(*lines, contexts=[context(), other, context()]).comparisons
    assert [one.what for one in found.differences] == ["version of x"]


def test_a_contract_in_two_versions_is_no_pair_and_is_listed() -> None:
    lines = [line("pass", "x"), line("pass", "y", contract="a")]
    lines[1]["contract"] = {"id": "a", "digest": "other" * 3}
    made = summary(*lines)
    assert made.comparisons[0].differences[0].what == "contract digest"
    assert list(made.versions) == ["a"]
    assert [(one.version, one.agent, one.success.value) for one in made.version_rates] == [
        ("aaaaaaaa", "x", 1.0),
        ("otherotherot", "y", 1.0),
    ]


def test_deviations_make_a_summary_provisional() -> None:
    limit = {"what": "limit", "limit": "memory", "planned": "64 MiB", "observed": None}
    nothing_drawn = {"what": "framework", "planned": "numpy", "observed": None}
    made = summary(
        line("pass"), line("pass"), contexts=[context(deviations=(limit, nothing_drawn)), context()]
    )
    assert [(one.what, one.runs) for one in made.deviations] == [("framework", 1), ("limit memory", 1)]
    assert len(made.provisional) == 1
    assert summary(line("pass"), contexts=[context(deviations=(nothing_drawn,))]).provisional == ()


def test_a_check_without_its_controls_is_named_as_one() -> None:
    weaker = {"what": "oracle", "check": "unit", "planned": "twin", "observed": "in_process"}
    made = summary(line("pass"), contexts=[context(deviations=(weaker,))])
    assert made.provisional == (
        "check unit was decided by the mode in_process, not by twin, which is harder to fool (1 run)",
    )


def test_a_stage_that_was_forced_twice_is_one_deviation_in_words() -> None:
    """A study that was interrupted and resumed logs the same decision again."""
    forced = {"what": "deviation", "deviation": "stage", "stage": "pilot", "unmet": ["power_adequate"]}
    made = summary(line("pass"), study_deviations=({**forced, "at": "1"}, {**forced, "at": "2"}))
    assert made.provisional == ("stage pilot: begun with --force-stage; not met: power_adequate (1 run)",)


def test_a_change_of_a_study_names_its_kind_once() -> None:
    changed = {"what": "deviation", "deviation": "change", "change": "s.yaml was edited", "at": "1"}
    made = summary(line("pass"), study_deviations=(changed,))
    assert [(one.what, one.observed) for one in made.deviations] == [("study: change", "s.yaml was edited")]


def test_a_seed_that_the_plan_and_its_runs_report_is_one_deviation() -> None:
    seed = {"what": "seed", "planned": 20260307, "observed": 1337}
    made = summary(line("pass"), contexts=[context(deviations=(seed,))], study_deviations=(seed,))
    assert [(one.what, one.runs) for one in made.deviations] == [("seed", 1)]
    assert len(made.provisional) == 1


def test_a_default_cap_that_nothing_enforced_is_a_note_unless_the_plan_has_a_budget() -> None:
    unmet = {"what": "default budget", "planned": ["cost_usd", "tokens"], "observed": None}
    stated = {"what": "budget", "planned": ["tokens"], "observed": None}
    made = summary(line("pass"), contexts=[context(deviations=(unmet,))])
    assert (made.deviations[0].what, made.provisional) == ("default budget", ())
    assert summary(line("pass"), contexts=[context(deviations=(stated,))]).provisional
    assert summary(
        line("pass"), contexts=[context(deviations=(unmet,))], planned_caps=("cost_usd",)
    ).provisional


def test_runs_of_several_seeds_are_provisional() -> None:
    made = summary(line("pass"), line("pass"), contexts=[context(seed=1337), context(seed=20260307)])
    assert any("several protocol seeds: 1337, 20260307" in why for why in made.provisional)


def test_without_labels_the_label_errors_are_not_measured() -> None:
    made = summary(line("pass")).disclosures
    assert made.label_errors == ()
    assert made.label_errors_why.startswith("not measured")


def test_label_errors_are_those_of_people_by_failure_mode() -> None:
    lines = [line("pass"), line("fail"), line("fail")]
    made = summary(*lines, contexts=[context(people="fail"), context(people="pass"), context(people="fail")])
    rows = {one.mode: one for one in made.disclosures.label_errors}
    assert rows["acceptance_failure"].false_positive.value == 1.0
    assert rows["acceptance_failure"].false_negative.value == 0.0
    assert rows["no failure mode"].false_negative.value == 1.0


def test_indeterminate_outcomes_have_a_rate_and_reasons() -> None:
    made = summary(
        line("pass"), line("error"), line("invalid"), line("fail", termination="wall_time")
    ).disclosures
    assert (made.indeterminate.count, made.indeterminate.of) == (3, 4)
    assert {one.name for one in made.indeterminate_by_reason} == {"acceptance_error", "invalid", "resource"}


def test_bounds_of_a_disclosure_are_of_every_indeterminate_trial() -> None:
    """A trial that its budget stopped is a failure in the success rate, and could have been a success."""
    lines = [
        line("pass"),
        line("error"),
        line("invalid"),
        line("fail", termination="wall_time"),
        line("fail"),
    ]
    (row,) = summary(*lines, line("pass", "other")).disclosures.indeterminate_bounds
    assert (row.agent, row.bounds.undecided, row.bounds.trials) == ("x", 3, 5)
    assert (row.bounds.worst.value, row.bounds.best.value) == (0.2, 0.8)


def test_an_agent_of_several_configurations_is_noted() -> None:
    other = replace(context(), agent_version="v2")
    made = summary(line("pass"), line("fail", contract="b"), contexts=[context(), other])
    assert "x ran with 2 configurations: its numbers are of all of them together" in made.notes


def test_the_rate_of_invalid_runs_knows_that_runs_of_one_contract_are_alike() -> None:
    """All five invalid runs are of one of 30 contracts: that says less than five contracts with one each."""
    lines = [
        line("invalid" if number == 0 else "pass", "x", f"c{number}", trial=f"{number}-{repeat}")
        for number in range(30)
        for repeat in range(5)
    ]
    found = summary(*lines).agents[0].invalid_attempts
    assert (found.count, found.of, found.rate.clusters) == (5, 150, 30)
    assert found.rate.high > wilson_rate(5, 150).high


def test_the_curve_of_times_knows_that_runs_of_one_contract_are_alike() -> None:
    """Ten repeats of a contract that all take the same time are not ten times."""
    lines = [
        line("pass", "x", f"c{number}", durations={"working_s": 10.0 + number})
        for number in range(8)
        for _ in range(10)
    ]
    curve = summary(*lines).agents[0].time_to_success.curve
    once = summary(*lines[::10]).agents[0].time_to_success.curve
    assert curve[3][1] == once[3][1] == 0.5
    assert curve[3][3] - curve[3][2] >= once[3][3] - once[3][2]


def test_a_projected_interval_is_not_wider_than_all_rates() -> None:
    made = summary(line("pass"), line("fail", contract="b"))
    assert made.disclosures.precision
    assert all(one.half_width <= 0.5 for one in made.disclosures.precision)


def test_cost_is_itemised_by_phase() -> None:
    made = summary(line("pass"), contexts=[context(tokens_in=5, tokens_out=2, human_minutes=3.0)]).disclosures
    phases = made.cost_by_phase
    assert phases["inference"]["tokens"] == 7
    assert phases["sandbox provisioning"]["seconds"] == pytest.approx(1.0)
    assert phases["human adjudication"]["minutes"] == 3
    assert made.discoveries == ()


def test_tokens_and_reviews_are_taken_from_the_line_where_it_has_them() -> None:
    made = summary(line("pass", usage={"tokens_in": 3, "tokens_out": 4}, review={"decision": "fail"}))
    assert made.disclosures.cost_by_phase["inference"]["tokens"] == 7
    assert made.disclosures.label_errors[0].false_negative.value == 1.0


UNIT = {"category": "unit mismatch", "description": None, "source": "mechanical"}


def test_errors_are_counted_by_category_and_source() -> None:
    """A tag that the taxonomy repeats is counted as a failure mode, and not once more."""
    tag = {"category": "acceptance_failure", "description": None, "source": "mechanical"}
    human = {"category": "acceptance_failure", "description": "by ada", "source": "human"}
    (agent,) = summary(
        line("fail", contract="a", error_taxonomy=[UNIT, tag, UNIT]),
        line("fail", contract="b", error_taxonomy=[UNIT, human]),
    ).agents
    assert [(one.name, one.count, one.of) for one in agent.errors] == [
        ("unit mismatch (mechanical)", 2, 2),
        ("acceptance_failure (human)", 1, 2),
    ]


def test_outputs_that_could_not_be_scored_are_counted() -> None:
    flags = {"output_parseable": False, "schema_valid": True, "verifier_completed": True, "errors": []}
    (agent,) = summary(line("fail", contract="a", validity=flags), line("pass", contract="b")).agents
    assert [(one.name, one.count, one.of) for one in agent.unfit] == [("output does not parse", 1, 2)]


def test_of_very_many_categories_the_most_frequent_are_counted() -> None:
    """Categories come from a verifier, which may quote the candidate."""
    many = [{**UNIT, "category": f"c{number}"} for number in range(1000)]
    (agent,) = summary(
        line("fail", contract="a", error_taxonomy=many),
        line("fail", contract="b", error_taxonomy=[many[-1]]),
    ).agents
    assert len(agent.errors) == 200
    assert agent.errors[0].name == "c999 (mechanical)"


def test_a_failure_mode_is_discovered_once_at_a_cost() -> None:
    made = summary(
        line("pass", contract="a"), line("fail", contract="b"), line("fail", contract="c")
    ).disclosures
    assert [(one.mode, one.trials, one.cost_usd) for one in made.discoveries] == [
        ("acceptance_failure", 2, 1.0)
    ]


@pytest.mark.parametrize(
    "keys",
    [
        {"attempt": "first", "trial": "t"},
        {"attempt": None, "trial": 7},
        {"cost": {"usd": 1e308}, "durations": {"wall_s": float("inf"), "working_s": 1e300}},
        {"tags": "acceptance_failure", "gates": ["patch"], "durations": None, "cost": []},
        {"agent": None, "study": "pilot", "judge": {"opinions": {"model": 1}}, "quality": 3},
        {"tags": [None, {"a": 1}], "gates": {"patch": None}, "termination": 5},
        {"error_taxonomy": [None, 3, {"category": ["x"], "source": "mechanical"}], "validity": "good"},
    ],
)
def test_lines_that_lie_about_their_types_give_numbers_or_words(keys: dict[str, Any]) -> None:
    rows = [
        line("pass", contract="a", **keys),
        line("fail", contract="b", **keys),
        line("pass", contract="a", **keys),
    ]
    json.dumps(summary(*rows).to_json(), allow_nan=False)


def test_nothing_to_summarise_is_a_fault_in_words() -> None:
    with pytest.raises(OperatorFault, match="no result to summarise"):
        summary()


def test_everything_invalid_has_words_and_no_number() -> None:
    made = summary(line("invalid", "x"), line("invalid", "y"))
    assert all(one.success.value is None and one.success.why for one in made.agents)
    assert "cannot tell" in made.comparisons[0].sentence
    json.dumps(made.to_json(), allow_nan=False)


def test_a_file_of_result_lines_is_read(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_text("\n".join(json.dumps(each) for each in study(0.2, 0.8, 3)) + "\n\n")
    made = summarise_study(read_results(path))
    assert (made.trials, made.contracts) == (18, 3)
    assert any("no folder on this machine" in note for note in made.notes)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('{"cost": {"usd": NaN}}', r"`cost\.usd` is no finite number, which JSON does not have"),
        ('{"grades": [{"score": -Infinity}]}', r"`grades\[0\]\.score` is no finite number"),
        ('{"cost": {"usd": NaN}', "not JSON"),
        ("{", "not JSON"),
        ("[]", "not a result line"),
        ('{"schema": "steelyard.result/1"}', "verdict"),
    ],
)
def test_a_line_that_is_no_result_is_named(tmp_path: Path, text: str, word: str) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_text(text)
    with pytest.raises(OperatorFault, match=rf"lines.jsonl:1: .*{word}"):
        read_results(path)


def test_a_study_of_a_file_is_found_by_name_or_digest(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    place = {"digest": "abcdef", "name": "pilot", "stage": "1", "stratum": "s"}
    path.write_text(json.dumps(line("pass", study=place)) + "\n" + json.dumps(line("fail")))
    for name in ("pilot", "abc"):
        assert len(read_results(path, study=name).lines) == 1


def test_the_projected_interval_of_equal_trials_is_that_of_so_many_contracts() -> None:
    """Where all failed the interval shrinks with the number of contracts, not with its root."""
    made = summary(*(line("fail", "x", f"c{at}", repeat=repeat) for at in range(6) for repeat in (1, 2)))
    found = {one.contracts: one.half_width for one in made.disclosures.precision}
    for contracts in (3, 6, 12, 24):
        rate = rate_over_contracts([Cluster(0, 2)] * contracts)
        assert found[contracts] == pytest.approx((rate.high - rate.low) / 2, abs=1e-9)
