"""`power` as a user types it: printed, drawn, stored with its assumptions."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from authoring import Steelyard

FEW = ("--simulate", "500")


def test_power_is_printed_with_what_is_needed_and_what_is_assumed(steelyard: Steelyard) -> None:
    result = steelyard("power", "--rate", "0.5", "--effect", "0.2", "--contracts", "100", *FEW)
    assert result.code == 0, result.err
    assert "by formula" in result.out
    assert "by simulation" in result.out
    assert "contracts for 80% power" in result.out
    assert "WRONG" not in result.out
    assert "assumptions, no results" in result.out


def test_rates_may_be_percentages(steelyard: Steelyard) -> None:
    asked = ("--contracts", "10", "--json", *FEW)
    percents = steelyard(
        "power", "--rate", "50%", "--effect", "10%", "--power", "70%", "--alpha", "1%", *asked
    )
    shares = steelyard(
        "power", "--rate", "0.5", "--effect", "0.1", "--power", "0.7", "--alpha", "0.01", *asked
    )
    assert percents.line == shares.line


def test_a_study_with_too_little_power_exits_with_one(steelyard: Steelyard) -> None:
    assert steelyard("power", "--rate", "0.5", "--effect", "0.05", "--contracts", "10", *FEW).code == 1


def test_the_curve_is_drawn_and_the_calculation_stored(steelyard: Steelyard, tmp_path: Path) -> None:
    drawn, stored = tmp_path / "curve.svg", tmp_path / "power.json"
    result = steelyard("power", "--rate", "0.5", "--svg", drawn, "--out", stored, "--json", *FEW)
    made = json.loads(stored.read_text())
    assert made == result.line
    assert made["schema"] == "steelyard.power/1"
    assert made["kind"] == "assumption"
    assert made["design"]["icc"] == 0.2
    assert all(one["holds"] for one in made["sanity"])
    assert ET.fromstring(drawn.read_text()).tag.endswith("svg")  # noqa: S314  # we wrote it


def test_rate_and_correlation_are_estimated_from_earlier_results(
    steelyard: Steelyard, tmp_path: Path
) -> None:
    pilot = tmp_path / "pilot.jsonl"
    rows = [
        {
            "schema": "steelyard.result/1",
            "verdict": verdict,
            "agent": "mine",
            "contract": {"id": f"c{number}", "digest": f"{number}" * 8},
        }
        for number in range(8)
        for verdict in (("pass", "pass", "fail") if number % 2 else ("fail", "fail", "pass"))
    ]
    pilot.write_text("\n".join(map(json.dumps, rows)))
    made = steelyard("power", "--from", pilot, "--json", *FEW).line
    assert made["design"]["first"] == pytest.approx(0.5)
    assert made["icc"]["n"] == 24
    for one in made["assumptions"][:2]:
        assert "estimated: 0." in one
        assert "] in 24 trials of 8 contracts" in one
    assert made["rate"]["low"] < 0.5 < made["rate"]["high"]
    assert made["cautious_power"] < made["power"]
    assert "the upper end of its interval" in steelyard("power", "--from", pilot, *FEW).out


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ([], "--rate"),
        (["--rate", "50"], "--rate 50: a rate is between 0 and 1, such as 0.5 or 50%"),
        (["--rate", "0.5", "--effect", "10"], "--effect 10: a difference of rates is between -1 and 1"),
        (["--rate", "0.5", "--effect", "60%"], "the rate and their sum are between 0 and 1"),
        (["--rate", "0.5", "--effect", "0"], "is not 0"),
        (["--rate", "0.5", "--contracts", "1"], "at least 2 contracts"),
        (["--rate", "0.5", "--power", "1"], "--power"),
        (["--rate", "0.5", "--out", "/nowhere/at/all"], "cannot be written"),
        (["--from", "nowhere"], "nowhere"),
    ],
)
def test_a_wrong_option_is_reported_in_words(steelyard: Steelyard, words: list[str], why: str) -> None:
    result = steelyard("power", *words, *FEW)
    assert result.code == 2
    assert "Traceback" not in result.err
    assert why in result.err or ".steelyard/runs" in result.err
