"""The sentence of a comparison says one thing, and it is what the numbers say."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from study_lines import line

from steelyard.report.study_summary.comparisons import Look, compare_agents
from steelyard.report.study_summary.model import AgentComparison
from steelyard.report.study_summary.read_results import ResultSet
from steelyard.report.study_summary.sentence import points
from steelyard.report.study_summary.trial_record import by_agent, trials_of
from steelyard.stats.estimate import Estimate

HEADS = ("solves more than", "solves less than", "is seen:", "cannot tell")


def compared(
    first: list[str], second: list[str], level: float = 0.95, anytime: int | None = None
) -> AgentComparison:
    """Each text has the trials of one contract: `pfe` is a pass, a failure and an acceptance error."""
    verdicts = {"p": "pass", "f": "fail", "e": "error"}
    lines = [
        line(verdicts[letter], agent, f"c{number}", repeat=repeat, run=f"{agent}-{number}-{repeat}")
        for agent, texts in (("one", first), ("two", second))
        for number, text in enumerate(texts)
        for repeat, letter in enumerate(text)
    ]
    records = trials_of(ResultSet("lines", tuple(lines), (None,) * len(lines))).records
    return compare_agents(by_agent(records), "one", "two", Look(level, anytime))


def check(found: AgentComparison) -> None:
    sentence = found.sentence
    assert sum(head in sentence for head in HEADS) == 1
    difference = found.difference
    assert ("solves more" in sentence) == (found.conclusion == "better")
    assert ("solves less" in sentence) == (found.conclusion == "worse")
    if "is seen:" in sentence:
        assert (found.conclusion, difference.value) == ("undecided", 0)
        assert found.more_contracts is None
        assert "would decide" not in sentence
    if "would decide" in sentence:
        assert difference.value
        assert found.more_contracts is not None
        assert found.more_contracts >= 1
        assert "about 0 more" not in sentence
    assert ("fragile" in sentence) == found.is_fragile
    assert not ("would not change this" in sentence and found.is_fragile)


OUTCOMES = ["".join(letters) for letters in itertools.product("pfe", repeat=2)]


@pytest.mark.parametrize("contracts", [1, 2, 3])
def test_every_small_study_has_one_true_sentence(contracts: int) -> None:
    """All outcomes of two repeats on the first contract; the others are alike."""
    rest = ["pf", "fp", "pp"][: contracts - 1]
    for first, second in itertools.product(OUTCOMES, OUTCOMES):
        check(compared([first, *rest], [second, *reversed(rest)]))


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.sampled_from(OUTCOMES), st.sampled_from(OUTCOMES)), min_size=1, max_size=25),
    st.sampled_from([0.95, 0.9992]),
)
def test_every_study_has_one_true_sentence(pairs: list[tuple[str, str]], level: float) -> None:
    check(compared([one for one, _ in pairs], [two for _, two in pairs], level))


@settings(max_examples=20)
@given(st.lists(st.tuples(st.sampled_from(OUTCOMES), st.sampled_from(OUTCOMES)), min_size=2, max_size=25))
def test_every_look_at_any_time_has_one_true_sentence(pairs: list[tuple[str, str]]) -> None:
    check(compared([one for one, _ in pairs], [two for _, two in pairs], anytime=2))


def test_a_contract_counts_at_any_time_when_both_agents_have_all_repeats_of_it() -> None:
    found = compared(["ff"] * 30 + ["f"], ["pp"] * 30 + ["p"], anytime=2)
    assert found.difference.clusters == 30
    assert found.conclusion == "better"
    assert "(valid at every look)" in found.sentence


def test_equal_agents_are_no_open_question() -> None:
    found = compared(["pf"] * 6, ["fp"] * 6)
    assert found.sentence.startswith("no difference between two and one is seen: +0 points [")
    assert "yet" not in found.sentence


def test_rare_flips_need_more_contracts_than_none() -> None:
    """Few degrees of freedom widen the interval; the number of missing contracts has to know that."""
    found = compared(["ff"] * 20, ["pp", "pp", "pp", "pp"] + ["ff"] * 16)
    assert found.conclusion != "undecided" or (found.more_contracts or 0) >= 1


def test_a_sentence_without_a_number_names_both_agents() -> None:
    records = [line("invalid", "one"), line("pass", "two")]
    made = compare_agents(
        by_agent(trials_of(ResultSet("x", tuple(records), (None, None))).records), "one", "two"
    )
    assert made.sentence == (
        "cannot tell two from one: the agents share no contract with decided trials; 1 trial without a decision"
    )


def test_a_difference_of_nothing_has_no_minus_sign() -> None:
    assert points(Estimate(-1e-16, -0.1, 0.1, "t", 10)) == "+0 points [-10, 10]"


def test_an_end_near_zero_keeps_the_sign_that_decides() -> None:
    assert points(Estimate(0.004, 0.001, 0.007, "t", 10)) == "+0.4 points [0.1, 0.7]"
    assert points(Estimate(0.05, -0.003, 0.1, "t", 10)) == "+5 points [-0.3, 10]"


def test_contracts_of_one_agent_alone_are_said_to_be_left_out() -> None:
    lines = [line("pass", "one", name) for name in "abc"] + [line("fail", "two", name) for name in "ab"]
    lines += [line("error", "two", "c")]
    made = compare_agents(
        by_agent(trials_of(ResultSet("x", tuple(lines), (None,) * 6)).records), "one", "two"
    )
    assert "2 contracts, 1 repeat" in made.sentence
    assert "; without 1 contract that only one agent has decided trials on; " in made.sentence


def test_long_names_leave_room_for_the_numbers() -> None:
    names = ("a" * 300 + "-first", "a" * 300 + "-second")
    lines = [line("pass", name, contract) for name in names for contract in "abc"]
    made = compare_agents(by_agent(trials_of(ResultSet("x", tuple(lines), (None,) * 6)).records), *names)
    assert len(made.sentence) < 300
    assert "-first" in made.sentence
    assert "-second" in made.sentence
