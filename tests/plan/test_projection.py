"""The projected cost of a plan: a table and a curve for budgeting, labelled as a plan."""

from __future__ import annotations

import csv
import io
import xml.etree.ElementTree as ET

from steelyard.plan.forecast import Earlier, History
from steelyard.plan.order import Slot
from steelyard.plan.projection import COLUMNS, POINTS, project, projection_csv, projection_inputs
from steelyard.report.studies.projection import projection_svg

BOUND = {"models": 5.0, "execution": 1.0, "judge": 0.5, "overhead": 0.25, "people": 0.0}
BOUNDS = {("mine", "a"): BOUND, ("other", "a"): BOUND, ("noop", "a"): dict.fromkeys(BOUND, 0.0)}


def slots(*agents: str) -> list[Slot]:
    return [Slot("pilot", "a", "all", agent, number) for number, agent in enumerate(agents, 1)]


def history(**costs: list[float]) -> History:
    return History({(agent, "a"): [Earlier(usd, 1.0) for usd in each] for agent, each in costs.items()})


def test_the_most_is_the_sum_of_the_bounds_and_of_their_parts() -> None:
    last = project(slots("mine", "mine"), History(), BOUNDS, seed=1)[-1]
    assert (last.most, last.parts) == (13.5, (10.0, 2.0, 1.0, 0.5))


def test_what_is_expected_grows_with_each_trial() -> None:
    points = project(slots("mine", "mine", "mine"), history(mine=[0.5]), BOUNDS, seed=1)
    assert [one.expected for one in points] == [0.5, 1.0, 1.5]


def test_an_interval_encloses_what_is_expected() -> None:
    last = project(slots(*["mine"] * 20), history(mine=[0.1, 0.9]), BOUNDS, seed=1)[-1]
    assert last.low is not None
    assert last.high is not None
    assert last.low < (last.expected or 0) < last.high < last.most


def test_after_a_trial_of_which_nothing_is_known_nothing_is_expected() -> None:
    points = project(slots("mine", "other", "mine"), history(mine=[0.5]), BOUNDS, seed=1)
    assert [one.expected for one in points] == [0.5, None, None]


def test_a_trial_that_can_cost_nothing_needs_no_earlier_run() -> None:
    assert project(slots("noop"), History(), BOUNDS, seed=1)[-1].expected == 0.0


def test_the_same_plan_has_the_same_projection() -> None:
    first, second = (
        project(slots(*["mine"] * 9), history(mine=[0.1, 0.9]), BOUNDS, seed=20260307) for _ in range(2)
    )
    assert first == second


def test_a_large_plan_has_few_rows_and_its_last_trial() -> None:
    points = project(slots(*["mine"] * 1234), history(mine=[0.5]), BOUNDS, seed=1)
    assert len(points) <= POINTS + 2
    assert points[-1].trials == 1234


def test_each_row_of_the_table_says_that_it_is_a_plan() -> None:
    points = project(slots("mine", "other"), history(mine=[0.5]), BOUNDS, seed=1)
    rows = list(csv.DictReader(io.StringIO(projection_csv(points).decode())))
    assert tuple(rows[0]) == COLUMNS
    assert [one["kind"] for one in rows] == ["plan", "plan"]
    assert [one["expected_usd"] for one in rows] == ["0.5", ""]


def test_the_inputs_name_prices_seed_and_assumptions() -> None:
    inputs = projection_inputs("d" * 64, 7, {"sha256": "x"}, history(mine=[0.5, 0.6]))
    assert (inputs["kind"], inputs["seed"], inputs["earlier_runs"]) == ("plan", 7, {"mine on a": 2})
    assert inputs["assumptions"]


def test_the_curve_is_a_drawing_of_its_own_and_says_what_it_is() -> None:
    points = project(slots("mine", "mine"), history(mine=[0.5]), BOUNDS, seed=1)
    drawn = projection_svg(points, "night <&>", 20.0)
    words = " ".join(ET.fromstring(drawn).itertext())  # noqa: S314  # our own
    assert "a plan, no result" in words
    assert "B_total" in words
