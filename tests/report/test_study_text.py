"""A plan's forecast as it is printed."""

from __future__ import annotations

from steelyard.report.studies.text import forecast_lines

UNKNOWN = {"expected": None, "low": None, "high": None, "most": 60.0}
KNOWN = {"expected": 0.0037, "low": 0.003, "high": 0.5, "most": 4.5}
FORECAST = {
    "trials": 9,
    "usd": UNKNOWN,
    "hours": KNOWN,
    "known": {"usd": 0, "hours": 9},
    "jobs": 1,
    "from": "3 earlier runs",
    "power": None,
}


def test_a_forecast_has_times_as_a_clock_shows_them() -> None:
    _, _, time = forecast_lines(FORECAST)
    assert time == "time       about 13s [11s, 30:00], at most 4:30:00 with 1 at a time; from 3 earlier runs"


def test_a_forecast_without_earlier_runs_has_the_most_that_the_caps_allow() -> None:
    _, cost, _ = forecast_lines(FORECAST)
    assert cost == "cost       not known (9 trials have no earlier run to go by); at most 60.00 USD"


def test_a_forecast_says_that_its_most_exceeds_the_budget() -> None:
    lines = list(forecast_lines(FORECAST, 40.0))
    assert lines[2].startswith("note: the most that all trials may cost exceeds B_total (40 USD)")
    assert list(forecast_lines(FORECAST, 60.0)) == list(forecast_lines(FORECAST))
