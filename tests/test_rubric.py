"""The rubric scorer that verifier scripts call: what each rule of the rollup makes of the dimensions."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.rubric import STRATEGIES, Dimension, main, parse, score

DIMENSIONS = st.builds(
    Dimension,
    st.floats(-1e6, 1e6),
    st.floats(1e-3, 1e6),
    st.floats(0, 1e6),
)


def test_the_weighted_mean_is_the_default() -> None:
    dimensions = {"drop": Dimension(0.95), "unit": Dimension(3, max_score=5, weight=2)}
    assert score(dimensions).reward == round((0.95 + 0.6 * 2) / 3, 4)


def test_with_min_the_worst_dimension_wins() -> None:
    assert score({"a": Dimension(1), "b": Dimension(0.25)}, "min").reward == 0.25


def test_a_score_beyond_its_maximum_counts_as_full() -> None:
    assert score({"a": Dimension(7, max_score=5)}).reward == 1.0


def test_a_negative_score_counts_as_nothing() -> None:
    assert score({"a": Dimension(-3)}).reward == 0.0


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_weight_of_zero_leaves_the_rollup(strategy: str) -> None:
    dimensions = {"a": Dimension(0.0, weight=0), "b": Dimension(0.5)}
    assert score(dimensions, strategy).reward == 0.5  # type: ignore[arg-type]


def test_a_dimension_that_was_asked_for_and_is_missing_counts_zero() -> None:
    scored = score({"a": Dimension(1)}, asked_for=["a", "b"])
    assert scored.reward == 0.5
    assert scored.details["b"]["evidence"] == "missing"


def test_the_reward_has_four_decimals() -> None:
    assert score({"a": Dimension(1, max_score=3)}).reward == 0.3333


@pytest.mark.parametrize("bad", [True, "1", None, float("nan"), float("inf"), 10**400, 1e300])
def test_what_is_no_finite_number_is_refused(bad: object) -> None:
    with pytest.raises(ValueError, match="score must be a finite number"):
        score({"a": Dimension(bad)})  # type: ignore[arg-type]


def test_nothing_with_a_weight_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing to score"):
        score({"a": Dimension(1, weight=0)})


def test_an_unknown_strategy_is_refused() -> None:
    with pytest.raises(ValueError, match="weighted_mean, min"):
        parse({"strategy": "max", "dimensions": {"a": {"score": 1}}})


def test_what_was_asked_for_is_a_list_of_names() -> None:
    with pytest.raises(ValueError, match="must be a list of names"):
        parse({"asked_for": "unit", "dimensions": {"unit": {"score": 1}}})


def test_an_unknown_key_is_named() -> None:
    with pytest.raises(ValueError, match=r"a\.wieght"):
        parse({"dimensions": {"a": {"score": 1, "wieght": 2}}})


@given(st.dictionaries(st.text(min_size=1), DIMENSIONS, min_size=1), st.sampled_from(STRATEGIES))
def test_a_reward_lies_between_zero_and_one(dimensions: dict[str, Dimension], strategy: str) -> None:
    if any(one.weight > 0 for one in dimensions.values()):
        assert 0 <= score(dimensions, strategy).reward <= 1  # type: ignore[arg-type]


@given(st.dictionaries(st.text(min_size=1), DIMENSIONS, min_size=1))
def test_the_worst_dimension_is_never_above_the_mean(dimensions: dict[str, Dimension]) -> None:
    if any(one.weight > 0 for one in dimensions.values()):
        assert score(dimensions, "min").reward <= score(dimensions).reward + 1e-4


def test_the_command_writes_the_reward_and_the_details(tmp_path: Path) -> None:
    reward, details = tmp_path / "logs/reward.json", tmp_path / "logs/details.json"
    done = subprocess.run(
        [sys.executable, "-m", "steelyard.rubric", "--reward", reward, "--details", details],
        input='{"dimensions": {"a": {"score": 1, "max_score": 4, "evidence": "half right"}}}',
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "0.25\n"
    assert json.loads(reward.read_text()) == {"reward": 0.25}
    assert json.loads(details.read_text())["a"]["evidence"] == "half right"


def test_a_broken_input_writes_nothing_and_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in.json").write_text('{"dimensions": {"a": 1}}')
    assert main([str(tmp_path / "in.json"), "--reward", str(tmp_path / "reward.json")]) == 2
    assert "a: a dimension is an object with a `score`" in capsys.readouterr().err
    assert not (tmp_path / "reward.json").exists()
