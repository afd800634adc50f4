"""The order of a study: drawn from its seed, balanced, and the same each time."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path

import pytest

from steelyard.errors import OperatorFault
from steelyard.plan.forecast import Cap, Earlier, History, forecast
from steelyard.plan.order import Slot, draw_order, order_csv, read_order
from steelyard.plan.study_plan import Order, PlannedAgent, PlannedContract, StudyPlan, read_plan
from steelyard.plan.trial import PROTOCOL_SEED
from steelyard.report.studies.text import forecast_lines


def plan(contracts: int = 12, agents: int = 3, **keys: object) -> StudyPlan:
    return StudyPlan(
        name="night",
        agents=tuple(
            PlannedAgent(agent=f"a{n}", name=f"a{n}", role="agent", identity="0" * 64) for n in range(agents)
        ),
        contracts=tuple(
            PlannedContract(
                id=f"c{n}", digest=f"{n:064x}", stratum="even" if n % 2 == 0 else "odd", path=f"c{n}"
            )
            for n in range(contracts)
        ),
        **{"repeats": 2, **keys},  # type: ignore[arg-type]
    )


def test_each_trial_is_planned_once() -> None:
    counts = Counter((one.task, one.agent, one.repeat) for one in draw_order(plan()))
    assert (len(counts), set(counts.values())) == (12 * 3 * 2, {1})


def test_the_order_depends_on_the_seed_alone() -> None:
    assert draw_order(plan()) == draw_order(plan())
    assert draw_order(plan()) != draw_order(plan(seed=7))


def test_agents_take_turns() -> None:
    """Each agent is first on a third of the contracts of a repeat."""
    main = [one for one in draw_order(plan()) if one.stage == "main"]
    assert Counter(one.agent for one in main[::3]) == {"a0": 4, "a1": 4, "a2": 4}


def test_a_shakedown_has_contracts_of_each_stratum() -> None:
    early = {(one.stratum, one.task) for one in draw_order(plan()) if one.stage == "shakedown"}
    assert sorted(stratum for stratum, _ in early) == ["even", "odd"]


def test_honeypots_are_no_part_of_the_shakedown() -> None:
    pots = plan().model_copy(
        update={
            "contracts": (
                *plan().contracts,
                PlannedContract(id="pot", digest="f" * 64, stratum="honeypot", path="p"),
            )
        }
    )
    assert {one.stage for one in draw_order(pots) if one.task == "pot"} == {"pilot", "main"}


def test_further_repeats_of_noop_are_mixed_in() -> None:
    agents = (
        *plan().agents,
        PlannedAgent(agent="noop", name="noop", role="baseline", identity="0" * 64, extra_repeats=3),
    )
    counts = Counter(one.agent for one in draw_order(plan().model_copy(update={"agents": agents})))
    assert (counts["a0"], counts["noop"]) == (24, 60)


def test_the_csv_is_read_back_as_it_was_written() -> None:
    slots = draw_order(plan())
    data = order_csv(slots)
    order = Order(file="x.csv", sha256=hashlib.sha256(data).hexdigest())
    assert read_order(data, plan().model_copy(update={"order": order})) == slots


def test_an_edited_csv_is_refused() -> None:
    order = Order(file="x.csv", sha256="0" * 64)
    with pytest.raises(OperatorFault, match="was edited"):
        read_order(order_csv(draw_order(plan())), plan().model_copy(update={"order": order}))


def test_another_seed_is_a_deviation() -> None:
    assert plan().deviations() == []
    assert plan(seed=1337).deviations() == [{"what": "seed", "planned": PROTOCOL_SEED, "observed": 1337}]


def test_a_plan_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    written = plan().model_copy(update={"digest": plan().computed_digest()})
    (tmp_path / "study.yaml").write_text(written.to_yaml())
    assert read_plan(tmp_path / "study.yaml") == written


def test_moving_contracts_changes_no_digest() -> None:
    moved = tuple(one.model_copy(update={"path": f"/elsewhere/{one.id}"}) for one in plan().contracts)
    assert plan().model_copy(update={"contracts": moved}).computed_digest() == plan().computed_digest()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a: [", "is not YAML"),
        ("schema: other", "is not a study"),
        ("schema: steelyard.study/1\nname: x\nsurprise: 1\n", "surprise|agents"),
        ("schema: steelyard.study/1\nname: ../x\nagents: []\ncontracts: []\n", "name"),
    ],
)
def test_a_file_that_is_no_plan_is_refused(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "study.yaml").write_text(text)
    with pytest.raises(OperatorFault, match=why):
        read_plan(tmp_path / "study.yaml")


def test_a_forecast_has_an_interval_around_what_earlier_runs_took() -> None:
    slots = [Slot("main", "c0", "all", "a0", repeat) for repeat in range(1, 101)]
    history = History({("a0", "c0"): [Earlier(1.0, 3600.0), Earlier(3.0, 7200.0)]})
    shown = forecast(slots, history, {("a0", "c0"): Cap(5.0, 9000.0)}, jobs=10, seed=1)
    usd = shown["usd"]
    assert 190 < usd["expected"] < 210
    assert usd["low"] < usd["expected"] < usd["high"] < usd["most"] == 500.0
    assert 13 < shown["hours"]["expected"] < 17


def test_without_earlier_runs_only_the_caps_are_known() -> None:
    slots = [Slot("main", "c0", "all", "a0", 1)]
    shown = forecast(slots, History(), {("a0", "c0"): Cap(5.0, 3600.0)}, jobs=1, seed=1)
    assert shown["usd"] == {"expected": None, "low": None, "high": None, "most": 5.0}


def test_a_study_of_which_only_the_baseline_is_known_has_no_expectation() -> None:
    """A baseline costs nothing, which says nothing about the agent."""
    slots = [Slot("main", "c0", "all", name, 1) for name in ("noop", "a0")]
    caps = {("noop", "c0"): Cap(0.0, 3600.0), ("a0", "c0"): Cap(5.0, 3600.0)}
    shown = forecast(slots, History({("noop", "c0"): [Earlier(None, 1.0)]}), caps, jobs=1, seed=1)
    assert (shown["usd"]["expected"], shown["usd"]["most"], shown["hours"]["expected"]) == (None, 5.0, None)
    assert shown["known"] == {"usd": 1, "hours": 1}
    cost = next(text for text in forecast_lines(shown) if text.startswith("cost"))
    assert cost == "cost       not known (1 trial has no earlier run to go by); at most 5.00 USD"


def test_an_agent_that_reaches_no_model_costs_nothing() -> None:
    slots = [Slot("main", "c0", "all", "noop", 1)]
    shown = forecast(slots, History(), {("noop", "c0"): Cap(0.0, 3600.0)}, jobs=1, seed=1)
    assert shown["usd"]["high"] == 0.0
