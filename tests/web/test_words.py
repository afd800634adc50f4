"""Values of records as the words and elements of pages."""

from __future__ import annotations

import re

import pytest

from steelyard.web.overview import Counts
from steelyard.web.run.diff import finding_line
from steelyard.web.words import sentence


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("plain", "plain"),
        ("run `make test` first", "run <code>make test</code> first"),
        ("`a` and `b`", "<code>a</code> and <code>b</code>"),
        ("one ` alone", "one ` alone"),
        ("`a` and ` alone", "<code>a</code> and ` alone"),
        ("`<b>`", "<code>&lt;b&gt;</code>"),
    ],
)
def test_text_between_backticks_is_code(text: str, html: str) -> None:
    assert str(sentence(text, 100)) == html


def test_a_long_sentence_is_cut_inside_code_too() -> None:
    assert str(sentence("see `abcdef` there", 8)) == "see `ab…"


def test_what_a_finding_says_to_type_is_code() -> None:
    finding = {"id": "weak", "severity": "warning", "where": "checks/unit", "why": "hide them with `inject`"}
    assert "hide them with <code>inject</code>" in finding_line(finding)


def test_costs_that_are_not_known_are_counted_beside_the_sum() -> None:
    counts = Counts()
    counts.add({"state": "pass", "runs": 3, "cost_usd": 1.5, "wall_s": 1.0, "costs": 2})
    assert re.sub(r"<[^>]+>", " ", str(counts.cost)).split() == ["$1.50", "1", "not", "known"]
    counts = Counts()
    counts.add({"state": "pass", "runs": 3, "cost_usd": None, "wall_s": 1.0, "costs": 0})
    assert "$" not in str(counts.cost)
