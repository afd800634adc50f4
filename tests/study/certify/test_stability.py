"""Repeats of the same work: how many gave the same, and which tests did not."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from steelyard.study.certify.stability import CheckFacts, check_facts, stability

FACTS = st.builds(
    CheckFacts,
    st.sampled_from(["pass", "fail", "error"]),
    st.sampled_from([None, 0.5, 1.0]),
    st.frozensets(st.tuples(st.sampled_from("abc"), st.sampled_from(["passed", "failed"])), max_size=4),
    st.just(1.0),
    st.just(60.0),
)


def facts(outcome: str, **tests: str) -> CheckFacts:
    return CheckFacts(outcome, None, frozenset(tests.items()), 1.0, 60.0)


def test_results_that_are_all_the_same_are_stable() -> None:
    found = stability([[facts("pass", a="passed")] * 3, [facts("fail", a="failed")] * 2])
    assert found == (5, 5, ())


def test_a_test_that_changes_is_named_though_the_check_fails_each_time() -> None:
    repeats = [facts("fail", a="failed", b="passed"), facts("fail", a="failed", b="failed")]
    assert stability([repeats]) == (1, 2, ("b",))


def test_a_reward_that_changes_is_a_result_that_changes() -> None:
    repeats = [facts("fail")._replace(score=score) for score in (0.2, 0.2, 0.3)]
    assert stability([repeats]) == (2, 3, ())


def test_a_test_that_is_missing_once_is_unstable() -> None:
    assert stability([[facts("pass", a="passed"), facts("pass")]]).unstable == ("a",)


@given(st.lists(st.lists(FACTS, max_size=5), max_size=3))
def test_the_order_of_repeats_does_not_matter(groups: list[list[CheckFacts]]) -> None:
    assert stability(groups) == stability([list(reversed(one)) for one in groups])


@given(st.lists(st.lists(FACTS, max_size=5), max_size=3))
def test_everything_is_the_same_exactly_if_no_group_has_two_results(groups: list[list[CheckFacts]]) -> None:
    found = stability(groups)
    assert found.same <= found.total == sum(map(len, groups))
    assert (found.same == found.total) == all(len({one[:3] for one in group}) <= 1 for group in groups)


def test_a_check_that_did_not_start_says_nothing() -> None:
    ran = {
        "outcome": "pass",
        "started": True,
        "observed_s": 0.5,
        "ceiling_s": 60.0,
        "score": 0.5,
        "failing": ["x"],
    }
    found = check_facts({"ran": ran, "not": {**ran, "started": False}})
    assert found == {"ran": CheckFacts("pass", 0.5, frozenset({("x", "failed")}), 0.5, 60.0)}
