"""A plan's forecast as it is printed."""

from __future__ import annotations

from steelyard.report.studies.text import forecast_lines, status_lines

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


def test_a_status_names_one_run_and_no_limit_as_such() -> None:
    state = {
        "name": "night",
        "digest": "d" * 64,
        "state": "complete",
        "why": "",
        "agents": [],
        "trials": dict.fromkeys(
            ("planned", "finished", "running", "invalid", "error", "waiting", "passed"), 1
        ),
        "spent_usd": 2.0,
        "spent": {"models": 2.0},
        "spent_on_other_versions_usd": 1.0,
        "left_usd": None,
        "budget": {"total_usd": None},
        "runs_of_other_versions": 1,
        "runs_over_budget": 1,
        "faults": [],
        "deviations": [],
        "removed": {},
    }
    lines = list(status_lines(state))
    assert "spent 2.00 USD, without a limit" in lines
    assert "of that 1.00 USD for 1 run of removed or changed contracts" in lines
    assert "1 run cost more than B_run: minutes of people, or a run that was paused" in lines
