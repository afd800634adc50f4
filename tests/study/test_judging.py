"""When models are asked for their opinion, and when they are not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from fake_study import FakeStudy

from steelyard.contract.contract import Contract
from steelyard.plan.trial import Trial
from steelyard.study.judging import Judging, known_opinions

Make = Callable[..., Contract]


def test_without_keys_nothing_is_judged(fake_study: FakeStudy, contract: Make) -> None:
    (result,) = fake_study.engine().run([Trial(contract(), "noop")])
    assert Judging({}).judge(result.record.contract, result.record.evidence, ()) is None


def test_a_contract_that_counts_on_a_judge_learns_why_there_is_none(
    fake_study: FakeStudy, contract: Make
) -> None:
    (result,) = fake_study.engine().run([Trial(contract(judge={}), "noop")])
    judgement = Judging({}).judge(result.record.contract, result.record.evidence, ())
    assert judgement is not None
    assert (judgement.verdict, "KEY" in judgement.why) == ("N/A", True)


def test_a_run_without_opinions_has_none_to_use_again(fake_study: FakeStudy, contract: Make) -> None:
    (result,) = fake_study.engine().run([Trial(contract(), "noop")])
    assert known_opinions(result.record.evidence.folder) == {}


@pytest.mark.parametrize("text", ["{}", "not JSON", '{"verdict": []}'])
def test_a_damaged_grading_has_no_opinions(fake_study: FakeStudy, contract: Make, text: str) -> None:
    (result,) = fake_study.engine().run([Trial(contract(), "noop")])
    result.record.evidence.folder.file("gradings/0001.json").write_text(text)
    assert known_opinions(result.record.evidence.folder) == {}
