# mypy: disable-error-code="arg-type, attr-defined, operator, union-attr"
"""One comparison of two agents: what is refused, and what a gate makes of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from study_lines import context, line, results, study

from steelyard.errors import OperatorFault
from steelyard.plan.study_plan import PlannedAgent, PlannedContract, StudyPlan
from steelyard.report.study_summary.read_results import ResultSet, plan_of, read_results
from steelyard.report.study_summary.render.comparison import equivalence_words, which_decides
from steelyard.report.study_summary.run_context import RunContext, context_of
from steelyard.report.study_summary.summarise import summarise_study
from steelyard.report.study_summary.two_agents import compare_named, compare_sets, equivalent_within, gate_of
from steelyard.stats.design.sequential import LookRule
from steelyard.study.protocol.folder import StudyFolder


def compared(*lines: dict[str, object], anyway: bool = False, **more: object) -> object:
    return compare_named(results(*lines, **more), "one", "two", anyway=anyway)


def test_a_gate_without_margin_fails_only_where_a_regression_is_shown() -> None:
    assert gate_of(compared(*study(0.8, 0.2)), None).failed
    assert not gate_of(compared(*study(0.5, 0.5)), None).failed


def test_a_gate_with_a_margin_fails_unless_the_loss_is_excluded() -> None:
    few = compared(*study(0.5, 0.5, contracts=8))
    assert gate_of(few, 0.05).failed
    assert not gate_of(compared(*study(0.4, 0.8)), 0.05).failed


def test_equivalence_is_claimed_only_where_both_sides_of_the_margin_are_excluded() -> None:
    alike = compared(*study(0.5, 0.5, contracts=60, repeats=10))
    assert equivalence_words(equivalent_within(alike, 0.3).equivalence).startswith(
        "equivalent within 30 points: shown (TOST"
    )
    assert "not shown" in equivalence_words(equivalent_within(alike, 0.01).equivalence)
    one = compared(line("pass", "one"), line("pass", "two"))
    assert "not tested" in equivalence_words(equivalent_within(one, 0.1).equivalence)


def test_conditions_that_differ_are_refused_before_any_number() -> None:
    other = RunContext(conditions={"budget": "b2", "graders": "g1"}, agent_version="v1")
    lines = [line("pass", "one"), line("pass", "two")]
    with pytest.raises(OperatorFault, match="budget: b1 and b2"):
        compared(*lines, contexts=[context(), other])
    made = compared(*lines, contexts=[context(), other], anyway=True)
    assert made.anyway


def test_an_unfinished_study_without_a_rule_is_not_compared() -> None:
    lines = tuple(study(0.2, 0.8))
    unfinished = ResultSet("pilot", lines, (None,) * len(lines), planned_trials=1000)
    with pytest.raises(OperatorFault, match="180 of 1000 planned trials are finished"):
        compare_named(unfinished, "one", "two", anyway=False)
    made = summarise_study(unfinished)
    assert made.comparisons == ()
    assert "180 of 1000 planned trials" in made.provisional[0]
    allowed = ResultSet(
        "pilot", lines, (None,) * len(lines), planned_trials=1000, look_rule=LookRule("pocock", 10, 3)
    )
    early = compare_named(allowed, "one", "two", anyway=False).comparison
    usual = compare_named(results(*lines), "one", "two", anyway=False).comparison
    assert early.conclusion == "better"
    assert early.difference.level > 0.98
    assert early.difference.high - early.difference.low > usual.difference.high - usual.difference.low
    assert "one of several looks" in early.sentence
    with pytest.raises(OperatorFault, match="the first of 2 registered looks is after 500"):
        compare_named(replace(allowed, look_rule=LookRule("pocock", 2, 3)), "one", "two", anyway=False)


def test_the_plan_of_an_unfinished_study_says_how_many_trials_are_missing(tmp_path: Path) -> None:
    plan = StudyPlan(
        name="pilot",
        repeats=3,
        agents=(PlannedAgent(agent="mine", name="mine", role="agent", identity="a" * 64),),
        contracts=(PlannedContract(id="one", digest="b" * 64, stratum="s", path="one"),),
    )
    folder = StudyFolder.of(tmp_path, plan)
    folder.begin(plan)
    lines = [line("pass", study={"digest": plan.identity, "name": "pilot"})]
    found = plan_of(tmp_path, lines)
    assert (found["planned_trials"], found["look_rule"], found["has_ended"]) == (3, None, False)
    assert found["plan_note"] == "1 of 3 planned trials have a result; the study has not ended"
    folder.add("deviation", deviation="stage", stage="main", unmet=["power"])
    folder.add("end", how="stopped", why="budget")
    ended = plan_of(tmp_path, lines)
    assert ended["has_ended"]
    assert ended["plan_note"].endswith("the study ended: stopped (budget)")
    made = summarise_study(ResultSet("pilot", tuple(lines), (None,), **ended))
    assert [(one.what, one.observed) for one in made.deviations] == [
        ("stage main", "begun with --force-stage; not met: power")
    ]
    assert made.provisional[0] == ended["plan_note"]
    folder.add("end", how="complete", why="")
    assert not plan_of(tmp_path, lines)["plan_note"]
    assert plan_of(tmp_path, [*lines, line("pass")])["open_studies"] == {}


def test_a_comparison_says_which_interval_decides() -> None:
    clear = which_decides(compared(*study(0.2, 0.8)).comparison)
    assert clear.startswith("the first interval alone decides (hierarchical paired difference")
    assert "otherwise" not in clear
    nothing = compared(line("invalid", "one"), line("pass", "two")).comparison
    assert which_decides(nothing).startswith("nothing decides: the agents share no contract")


def test_a_check_that_would_conclude_otherwise_is_named() -> None:
    made = compared(*study(0.2, 0.8)).comparison
    other = replace(made, bootstrap=replace(made.bootstrap, low=-0.1), p=0.2)
    assert which_decides(other).endswith(
        "the bootstrap and the permutation test would conclude otherwise: the result is close"
    )


@pytest.mark.parametrize(("contracts", "failed"), [(8, True), (28, True), (29, False)])
def test_a_gate_without_variation_needs_so_many_contracts_that_a_loss_would_show(
    contracts: int, *, failed: bool
) -> None:
    """0.9^29 is below 5%, 0.9^28 is not."""
    same = [line("pass", agent, f"c{number}") for number in range(contracts) for agent in ("one", "two")]
    gate = gate_of(compared(*same), 0.1)
    assert gate.failed is failed, gate


def test_the_gate_of_one_contract_names_the_end_of_the_interval() -> None:
    gate = gate_of(compared(line("pass", "one"), line("pass", "two")), 0.05)
    assert (gate.failed, "not excluded: the interval begins at -100 points" in gate.why) == (True, True), gate


def test_a_file_without_results_is_refused_in_words() -> None:
    with pytest.raises(OperatorFault, match="no result to compare"):
        compare_sets(results(), results(line("pass")), agent=None, anyway=False)


def test_a_study_that_is_held_or_partial_has_not_ended(tmp_path: Path) -> None:
    plan = StudyPlan(
        name="pilot",
        repeats=2,
        agents=(
            PlannedAgent(agent="mine", name="mine", role="agent", identity="a" * 64),
            PlannedAgent(agent="reference", name="reference", role="baseline", identity="b" * 64),
        ),
        contracts=(
            PlannedContract(id="one", digest="b" * 64, stratum="s", path="one"),
            PlannedContract(id="two", digest="c" * 64, stratum="s", path="two", has_reference=False),
        ),
    )
    folder = StudyFolder.of(tmp_path, plan)
    folder.begin(plan)
    lines = [line("pass", study={"digest": plan.identity, "name": "pilot"})]
    for how, words in (
        ("held", "the study is held (power)"),
        ("partial", "the study is not complete (power)"),
    ):
        folder.add("end", how=how, why="power")
        found = plan_of(tmp_path, lines)
        assert (found["has_ended"], found["planned_trials"]) == (False, 6)
        assert found["plan_note"] == f"1 of 6 planned trials have a result; {words}"


def half_undecided(second: str = "error") -> list[dict[str, object]]:
    """Both solve 60 contracts; of 40 more, `two` has no decision."""
    return [
        line(second if agent == "two" and number >= 60 else "pass", agent, f"c{number}")
        for number in range(100)
        for agent in ("one", "two")
    ]


@pytest.mark.parametrize("undecided", ["error", "invalid"])
def test_a_gate_with_a_margin_fails_where_undecided_trials_could_hide_the_loss(undecided: str) -> None:
    """Errors would otherwise be a way through the gate, as long as not every trial has one."""
    gate = gate_of(compared(*half_undecided(undecided)), 0.05)
    assert gate.failed
    assert gate.why.endswith("among decided trials, but not if 40 undecided trials count against two")


def test_a_gate_without_margin_says_that_undecided_trials_could_show_a_regression() -> None:
    gate = gate_of(compared(*half_undecided()), None)
    assert (gate.failed, "fragile" in gate.why) == (False, True)
    assert "fragile" not in gate_of(compared(*study(0.5, 0.5)), None).why


def test_undecided_trials_of_contracts_that_are_not_shared_are_not_counted() -> None:
    made = compared(*study(0.2, 0.8), line("error", "two", "other")).comparison
    assert (made.undecided, made.is_fragile) == (0, False)


def test_equivalence_that_undecided_trials_could_change_is_called_fragile() -> None:
    lines = study(0.5, 0.5, contracts=200, repeats=4)
    decided = equivalent_within(compared(*lines), 0.1).equivalence
    assert (decided.holds(), decided.why) == (True, "")
    lines += [line("error", "two", f"c{number}", repeat=9) for number in range(200)]
    fragile = equivalent_within(compared(*lines), 0.1).equivalence
    assert "shown (TOST" in equivalence_words(fragile)
    assert equivalence_words(fragile).endswith("; fragile: 200 undecided trials could change this")


def test_one_folder_on_both_sides_is_refused() -> None:
    """Otherwise its trials would count twice, as repeats of both sides."""
    found = results(*study(0.2, 0.8))
    with pytest.raises(OperatorFault, match="lines is on both sides"):
        compare_sets(found, found, agent="one", anyway=False)


def test_a_run_that_a_file_lists_twice_counts_once(tmp_path: Path) -> None:
    lines = [line("pass", "one", f"c{number}", run=f"r{number}", trial=f"t{number}") for number in range(4)]
    file = tmp_path / "lines.jsonl"
    file.write_bytes(b"".join(orjson.dumps(one) + b"\n" for one in (*lines, *lines)))
    made = summarise_study(read_results(file))
    assert (made.trials, made.agents[0].success.n) == (4, 4)
    assert any("4 lines are of runs that are listed again" in note for note in made.notes)


def network(*reached: str) -> RunContext:
    return context_of({"environment": {"network": list(reached) or "none"}, "agent": {}}, {})


def test_the_gateway_to_its_models_keeps_no_agent_from_a_comparison() -> None:
    """A real client is compared with a script, and with a client of another maker's models."""
    lines = [line("pass", "one"), line("pass", "two")]
    client = replace(network("model gateway (anthropic)"), agent_version="v1")
    for other in (network(), network("model gateway (openai)")):
        assert not compared(*lines, contexts=[client, replace(other, agent_version="v1")]).anyway


def test_hosts_that_begin_alike_are_two_conditions() -> None:
    lines = [line("pass", "one"), line("pass", "two")]
    sides = [network("host.internal.example:8080"), network("host.internal.example:9090")]
    with pytest.raises(
        OperatorFault, match=r"network: host\.internal\.example:8080 and host\.internal\.example:9090"
    ):
        compared(*lines, contexts=sides)


def test_restricted_means_of_two_agents_are_of_the_same_span() -> None:
    """As in `report`: the mean of an agent that was tried for longer would be larger for that alone."""
    lines = [
        line("pass" if number % 2 else "fail", agent, f"c{number}", durations={"working_s": seconds})
        for number in range(10)
        for agent, seconds in (("one", 5.0 + number), ("two", 50.0 + number))
    ]
    made = compared(*lines)
    spans = [each.time_to_success.restricted_mean.assumptions[0] for each in (made.first, made.second)]
    assert spans == ["times are counted up to 14 s"] * 2
