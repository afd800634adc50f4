# mypy: disable-error-code="operator, arg-type, misc, union-attr"
"""Which runs count: retries, stopped and repeated runs, honeypots; and what must not change a number."""

from __future__ import annotations

import io
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from study_lines import line, results, study, summary

from steelyard.errors import OperatorFault
from steelyard.report.html.study_report import study_html
from steelyard.report.study_summary.render.markdown import study_markdown
from steelyard.report.study_summary.render.terminal import print_study
from steelyard.report.study_summary.trial_record import trials_of
from steelyard.report.study_summary.two_agents import compare_named
from steelyard.stats.passk import pass_at_k, pass_hat_k

PLACE = {"digest": "d" * 8, "name": "s", "stage": "main"}
TRAP = {**PLACE, "stratum": "honeypot"}
VERDICTS = st.sampled_from(["pass", "fail", "error", "invalid", "ungraded"])
TABLES = st.dictionaries(
    st.tuples(st.sampled_from(["one", "two"]), st.sampled_from(["a", "b", "c", "d"])),
    st.lists(VERDICTS, min_size=1, max_size=4),
    min_size=1,
)


def lines_of(table: dict[tuple[str, str], list[str]]) -> list[dict[str, Any]]:
    """Every trial with a time and a cost of its own; an invalid first attempt at every third."""
    found: list[dict[str, Any]] = []
    for (agent, contract), verdicts in table.items():
        for repeat, verdict in enumerate(verdicts, 1):
            trial = f"{agent}-{contract}-{repeat}"
            number = len(found) + 1
            more = {"cost": {"usd": number / 7}, "durations": {"wall_s": number * 1.1, "working_s": number}}
            if number % 3 == 0:
                found.append(line("invalid", agent, contract, trial=trial, run=f"1-{trial}", **more))
            attempt = 2 if number % 3 == 0 else 1
            found.append(line(verdict, agent, contract, trial=trial, attempt=attempt, run=trial, **more))
    return found


def numbers(*lines: dict[str, Any]) -> Any:
    """A summary as JSON, without what follows the order of time, and without the last digits of a sum."""
    made = summary(*lines).to_json()
    for name in ("burn", "run_ids", "source"):
        del made[name]
    del made["disclosures"]["discoveries"]
    made["agents"].sort(key=lambda one: one["agent"])
    made["repeat_variation"]["agents"].sort(key=lambda one: one["agent"])
    made["pareto"]["points"].sort(key=lambda one: one["agent"])
    made["disclosures"]["precision"].sort(key=lambda one: (one["agent"], one["contracts"]))
    for comparison in made["comparisons"]:
        for flip in comparison["flips"]:
            flip["first_runs"].sort()
            flip["second_runs"].sort()
    return _rounded(made)


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


@settings(max_examples=15)
@given(TABLES, st.integers(0, 1000))
def test_the_order_of_records_changes_no_number(table: dict[tuple[str, str], list[str]], seed: int) -> None:
    lines = lines_of(table)
    shuffled = random.Random(seed).sample(lines, len(lines))
    assert numbers(*lines) == numbers(*shuffled)


@settings(max_examples=15)
@given(TABLES, st.sampled_from(["one", "two"]), st.sampled_from(["a", "new"]))
def test_an_invalid_run_changes_no_estimate_of_what_was_decided(
    table: dict[tuple[str, str], list[str]], agent: str, contract: str
) -> None:
    lines = lines_of(table)
    before, after = summary(*lines), summary(*lines, line("invalid", agent, contract, run="late"))
    for one in before.agents:
        two = next(each for each in after.agents if each.agent == one.agent)
        assert (one.success, one.pass_k, one.icc) == (two.success, two.pass_k, two.icc)
        assert one.time_to_success == two.time_to_success
    compared = {(one.first, one.second): one for one in after.comparisons}
    for pair in before.comparisons:
        again = compared[pair.first, pair.second]
        assert (pair.difference, pair.p) == (again.difference, again.p)


@settings(max_examples=15)
@given(TABLES)
def test_an_agent_does_not_differ_from_its_copy(table: dict[tuple[str, str], list[str]]) -> None:
    lines = [each for each in lines_of(table) if each["agent"] == "one"]
    copies = [{**each, "agent": "copy", "trial": f"copy {each['trial']}"} for each in lines]
    if not lines:
        return
    (found,) = summary(*lines, *copies).comparisons
    assert (found.flips, found.conclusion) == ((), "undecided")
    if found.difference.value is not None:
        assert (found.difference.value, found.p) == (0, 1)
        assert found.difference.low < 0 < found.difference.high


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=6), st.integers(1, 12))
def test_a_k_above_the_trials_of_every_contract_gives_words(tables: list[tuple[int, int]], k: int) -> None:
    clusters = [(won, won + lost) for won, lost in tables]
    for found in (pass_at_k(clusters, k), pass_hat_k(clusters, k)):
        assert (found.value is None) == (not any(trials >= k for _, trials in clusters))
        assert (found.value is None) == bool(found.why)


def test_a_trial_that_was_stopped_and_run_again_counts_once() -> None:
    """A resumed study begins to count attempts again."""
    stopped = line("invalid", trial="t1", attempt=1, run="1", termination="operator")
    made = summary(stopped, line("pass", trial="t1", attempt=1, run="2"))
    (agent,) = made.agents
    assert (made.trials, agent.runs_attempted, agent.invalid_attempts.count) == (1, 2, 1)
    assert (agent.success.n, agent.bounds.undecided) == (1, 0)
    assert not any("more than once" in note for note in made.notes)


def test_a_trial_that_the_machine_spoiled_in_two_sessions_is_one_invalid_trial() -> None:
    spoiled = {"termination": "infrastructure", "trial": "t1", "attempt": 1}
    made = summary(line("invalid", run="1", **spoiled), line("invalid", run="2", **spoiled), line("pass"))
    (agent,) = made.agents
    assert (agent.trials, agent.runs_attempted) == (2, 3)


def test_a_clock_that_went_back_between_two_attempts_changes_nothing() -> None:
    """The name of a run begins with its time, so the second attempt is listed first."""
    second = line("pass", trial="t1", attempt=2, run="20260101-b")
    first = line("invalid", trial="t1", attempt=1, run="20260102-a")
    trials = trials_of(results(second, first))
    assert [one.run for one in trials.records] == ["20260101-b"]
    assert trials.repeated == 0


def test_a_trial_that_was_run_again_although_it_had_a_result_has_ended_once() -> None:
    """Two results of one trial are no second trial of the plan: they do not complete a study, nor reach a look."""
    runs = [
        line("pass", trial="t1", attempt=1),
        line("fail", trial="t1", attempt=1),
        line("pass", trial="t2"),
    ]
    found = trials_of(results(*runs))
    assert (len(found.records), found.ended) == (3, 2)


def test_a_trial_that_the_operator_stopped_has_not_ended() -> None:
    lines = [line("pass", trial="t1"), line("invalid", trial="t2", termination="operator", agent="y")]
    with pytest.raises(OperatorFault, match="1 of 2 planned trials are finished"):
        compare_named(results(*lines, planned_trials=2), "x", "y", anyway=False)


def honest_and_cheat() -> list[dict[str, Any]]:
    """Two agents that solve the same half of 8 contracts; one of them also passes both honeypots."""
    lines = [
        line("pass" if number % 2 else "fail", agent, f"c{number}", study={**PLACE, "stratum": "all"})
        for number in range(8)
        for agent in ("cheat", "honest")
    ]
    return lines + [
        line(verdict, agent, f"trap{number}", study=TRAP, cost={"usd": 9.0})
        for number in range(2)
        for agent, verdict in (("cheat", "pass"), ("honest", "fail"))
    ]


def test_passing_a_honeypot_makes_no_agent_better() -> None:
    made = summary(*honest_and_cheat())
    assert [(one.agent, one.success.value, one.contracts) for one in made.agents] == [
        ("cheat", 0.5, 8),
        ("honest", 0.5, 8),
    ]
    (found,) = made.comparisons
    assert (found.difference.value, found.flips, found.contracts) == (0, (), 8)
    assert [(one.name, one.count, one.of) for one in made.honeypots] == [("cheat", 2, 2), ("honest", 0, 2)]
    assert [point.cost.value for point in made.pareto.points] == [0.5, 0.5]
    assert "4 trials of honeypots are in no rate and in no comparison" in made.notes
    assert made.disclosures.cost_by_phase["inference"]["usd"] == 16 * 0.5 + 4 * 9  # money is spent on all


def test_every_kind_of_report_names_the_agents_that_passed_honeypots() -> None:
    made = summary(*honest_and_cheat())
    console = Console(width=160, file=io.StringIO(), color_system=None, highlight=False)
    print_study(console, made)
    for text in (console.file.getvalue(), study_markdown(made), study_html(made)):  # type: ignore[attr-defined]
        assert "cannot be satisfied" in text
        assert "2 of 2" in text
    assert "Honeypots" not in study_markdown(summary(*study(0.2, 0.8)))


def test_honeypots_alone_give_words() -> None:
    traps = [line("fail", "x", "t", study=TRAP), line("fail", "y", "u", study={**PLACE, "stratum": "all"})]
    with pytest.raises(OperatorFault, match="honeypots alone"):
        summary(traps[0])
    with pytest.raises(OperatorFault, match="x has trials of honeypots alone"):
        compare_named(results(*traps), "x", "y", anyway=False)
