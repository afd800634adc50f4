"""A suite shares graders, judge, policy and budget with its contracts."""

from __future__ import annotations

import pytest
from contract_folders import Writer


def share(writer: Writer, text: str) -> None:
    (writer.folder.parent / "suite.yaml").write_text(text)


def test_the_suites_keys_are_defaults_and_the_contracts_own_win(writer: Writer) -> None:
    writer.write(budget={"wall_s": 60})
    share(writer, "budget: {wall_s: 5, tokens: 7}\npolicy: {allowed_paths: [a*]}\n")
    contract = writer.load()
    assert (contract.spec.budget.wall_s, contract.spec.budget.tokens) == (60, 7)
    assert [grader.name for grader in contract.graders] == ["policy.allowed_paths"]


def test_the_suites_graders_come_first(writer: Writer) -> None:
    writer.write(graders=[{"type": "implemented", "name": "own"}])
    share(writer, "graders: [{type: implemented, name: shared}]\n")
    assert [grader.name for grader in writer.load().graders] == ["shared", "own"]


def test_a_suite_can_turn_judging_off_and_a_contract_can_turn_it_on_again(writer: Writer) -> None:
    writer.write()
    share(writer, "judge: off\n")
    assert writer.load().spec.judge is False
    writer.write(judge={})
    assert writer.load().spec.judge


def test_the_suites_judge_is_every_contracts_unless_it_says_otherwise(writer: Writer) -> None:
    writer.write(judge={"max_diff_bytes": 5})
    alone = writer.load()
    share(writer, "judge: {models: [gpt-1, gpt-2]}\n")
    shared = writer.load()
    assert shared.spec.judge
    assert (shared.spec.judge.models, shared.spec.judge.max_diff_bytes) == (("gpt-1", "gpt-2"), 5)
    assert shared.digest != alone.digest
    writer.write(judge=None)
    assert writer.load().spec.judge is None


def test_a_mistake_has_the_place_of_the_file_that_it_is_in(writer: Writer) -> None:
    writer.write(graders=[{"type": "implemented", "count": -1}])
    share(writer, "graders:\n  - {type: nope}\n")
    own, shared = writer.problems()
    assert own.where.startswith(str(writer.folder / "contract.yaml"))
    assert own.field == "graders[1].count"
    assert shared.where.endswith("suite.yaml:2:6")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("grader: []\n", "grader: unknown key (did you mean graders?)"),
        ("id: x\n", "id: unknown key (graders, judge, policy, budget)"),
        ("graders: {}\n", "graders: expected a list"),
        ("budget: 5\n", "budget: expected a mapping"),
        ("judge: [x]\n", "judge: expected a mapping"),
    ],
)
def test_what_a_suite_cannot_share_is_refused(writer: Writer, text: str, message: str) -> None:
    writer.write()
    share(writer, text)
    assert message in str(writer.problem())


def test_a_suite_that_is_not_yaml_is_refused(writer: Writer) -> None:
    writer.write()
    share(writer, "graders: [\n")
    assert "suite.yaml" in writer.problem().where
