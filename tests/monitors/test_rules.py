"""Policy rules: every example of every rule, and operations that were written apart from them."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest
import yaml

from steelyard.contract.model import RuleClass
from steelyard.monitors.rules.rule import FORMATS, Format, Rule, built_in_rules

RULES = built_in_rules()
OPERATIONS = yaml.safe_load((Path(__file__).parents[2] / "scripts/risky_operations.yaml").read_text())
NAMES: dict[str, Format] = {"shell": "shell", "python": "code", "text": "text"}
LEAST = {"shell": 36, "python": 36, "text": 39}  # as docs/limits.md publishes it


@pytest.mark.parametrize("rule", RULES.rules, ids=lambda rule: rule.id)
def test_a_rule_matches_its_examples_in_each_format(rule: Rule) -> None:
    for format_ in FORMATS:
        assert rule.match[format_], format_
        for example in rule.match[format_]:
            assert rule.id in {match.rule.id for match in RULES.find(example, format_)}, example


@pytest.mark.parametrize("rule", RULES.rules, ids=lambda rule: rule.id)
def test_no_rule_matches_the_examples_of_what_is_harmless(rule: Rule) -> None:
    for format_ in FORMATS:
        assert rule.no_match[format_], format_
        for example in rule.no_match[format_]:
            assert not list(RULES.find(example, format_)), example


def test_every_class_of_the_contract_has_a_rule() -> None:
    assert {rule.rule_class for rule in RULES.rules} == set(get_args(RuleClass))


def test_there_are_forty_risky_operations_of_every_class_and_forty_benign_ones() -> None:
    assert (len(OPERATIONS["risky"]), len(OPERATIONS["benign"])) == (40, 40)
    assert {one["class"] for one in OPERATIONS["risky"]} == set(get_args(RuleClass))


@pytest.mark.parametrize("name", NAMES)
def test_the_published_share_of_risky_operations_is_caught(name: str) -> None:
    caught = [one for one in OPERATIONS["risky"] if any(True for _ in RULES.find(one[name], NAMES[name]))]
    assert len(caught) >= LEAST[name]


@pytest.mark.parametrize("name", NAMES)
def test_no_benign_look_alike_is_caught(name: str) -> None:
    assert not [
        one[name] for one in OPERATIONS["benign"] if any(True for _ in RULES.find(one[name], NAMES[name]))
    ]


@pytest.mark.parametrize(
    "text", ["'" * 9999, "$(" * 9999, "`" * 9999, "sudo " * 9999, "a" * 99999, "\x00;|&\n" * 999]
)
def test_hostile_text_is_matched_in_bounded_time(text: str) -> None:
    for format_ in FORMATS:
        assert len(list(RULES.find(text, format_))) <= len(RULES.rules)
