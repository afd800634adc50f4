"""Which run of a trial is its result, and what becomes of a trial without one."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from steelyard.contract.contract import Contract
from steelyard.plan.order import draw_order
from steelyard.plan.trial import Trial
from steelyard.store.entry import ALTERED, INTERRUPTED, NOT_GRADED, PAUSED, RUNNING, Entry
from steelyard.study.protocol.charges import Charges
from steelyard.study.protocol.make_plan import Wish, make_plan
from steelyard.study.protocol.progress import KeptRun, Progress, TrialRuns, is_final, run_key
from steelyard.study.protocol.run_study import planned_trials

ATTEMPTS = 2


@pytest.fixture
def runs(contract: Callable[..., Contract]) -> Callable[..., TrialRuns]:
    made = contract()

    def of(*entries: Entry) -> TrialRuns:
        runs = TrialRuns(Trial(made, "noop"))
        for one in entries:
            runs.add(run_key(one.run), KeptRun.of(one))
        return runs

    return of


def entry(run: str, state: str, termination: str = "completed") -> Entry:
    return Entry(run, state, termination=termination)


@pytest.mark.parametrize("state", ["pass", "fail", "error"])
@pytest.mark.parametrize("termination", ["completed", "agent_crash", "wall_time"])
def test_a_graded_run_is_final_however_its_agent_ended(state: str, termination: str) -> None:
    assert is_final(entry("a", state, termination))


@pytest.mark.parametrize("state", [RUNNING, PAUSED, INTERRUPTED, NOT_GRADED, ALTERED])
def test_a_run_without_a_grading_that_can_be_believed_is_not_final(state: str) -> None:
    assert not is_final(entry("a", state))


@pytest.mark.parametrize("termination", ["operator", "infrastructure"])
def test_a_run_that_the_operator_or_the_machine_ended_is_not_final(termination: str) -> None:
    assert not is_final(entry("a", "invalid", termination))


def test_the_first_final_run_counts_and_no_later_one(runs: Callable[..., TrialRuns]) -> None:
    made = runs(
        entry("20260307T120000000Z-a", "invalid", "infrastructure"),
        entry("20260307T120001000Z-b", "fail"),
        entry("20260307T120002000Z-c", "pass"),
    )
    assert made.final is not None
    assert made.final.state == "fail"


@pytest.mark.parametrize(
    ("entries", "fate"),
    [
        ([], "waiting"),
        ([entry("a", INTERRUPTED)], "waiting"),
        ([entry("a", "invalid", "infrastructure")], "waiting"),
        ([entry("a", "invalid", "infrastructure"), entry("b", "invalid", "infrastructure")], "invalid"),
        ([entry("a", "invalid", "operator"), entry("b", "invalid", "operator")], "waiting"),
        ([entry("a", RUNNING)], "running"),
        ([entry("a", INTERRUPTED), entry("b", PAUSED)], "running"),
        (
            [
                entry("a", "invalid", "infrastructure"),
                entry("b", "invalid", "infrastructure"),
                entry("c", "pass"),
            ],
            "finished",
        ),
    ],
)
def test_the_fate_of_a_trial_follows_from_its_runs(
    entries: list[Entry], fate: str, runs: Callable[..., TrialRuns]
) -> None:
    assert runs(*entries).fate(ATTEMPTS) == fate


@pytest.fixture
def progress(contract: Callable[..., Contract]) -> Progress:
    made = contract()
    plan = make_plan(Wish("small", [(made, made.folder)], ["mine=command:true"], repeats=2)).named("x.csv")
    return Progress(plan, planned_trials(plan, draw_order(plan), {made.id: made}), Charges())


def test_trials_that_ended_alike_share_what_is_kept_of_them(progress: Progress) -> None:
    for name, trial in enumerate(progress.trials):
        progress.add(Entry(f"run-{name}", "pass", trial=trial, termination="completed", tags=("slow",)))
    assert len({id(one._kept) for one in progress.trials.values()}) == 1  # what takes the memory


def test_runs_that_cost_differently_share_the_rest(progress: Progress) -> None:
    costs = [None, 0.0, *(0.25 * at for at in range(1, len(progress.trials) - 1))]
    for (name, trial), cost in zip(enumerate(progress.trials), costs, strict=True):
        progress.add(Entry(f"run-{name}", "pass", trial=trial, termination="completed", cost_usd=cost))
    assert [one.entries[0].cost_usd for one in progress.trials.values()] == costs
    assert [run.cost_usd for _, run in progress.finished] == costs
    assert len({id(one._kept) for one in progress.trials.values()}) == 1  # as above


def test_a_run_that_is_read_again_replaces_what_was_kept_of_it(progress: Progress) -> None:
    trial = next(iter(progress.trials))
    for run, state in (("20260307T120001000Z-b", "fail"), ("20260307T120000000Z-a", RUNNING)):
        progress.add(Entry(run, state, trial=trial, termination="completed"))
    progress.add(Entry("20260307T120000000Z-a", "pass", trial=trial, termination="completed"))
    assert [one.state for one in progress.trials[trial].entries] == ["pass", "fail"]


def test_keys_of_runs_are_in_the_order_of_their_times() -> None:
    names = [
        "20260307T120000123Z-widgets-noop-ffffff",
        "20260307T120000124Z-widgets-noop-000000",
        "20270101T000000000Z-a-b-000000",
    ]
    assert sorted(names, key=run_key) == names
    assert len({run_key(name) for name in [*names, names[0].replace("f", "e"), "odd"]}) == 5
