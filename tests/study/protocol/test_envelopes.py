"""Envelopes: what is reserved and spent never exceeds a budget."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import NamedTuple, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.evidence.run_use import RunUse
from steelyard.plan.study_plan import Envelopes
from steelyard.plan.trial import Trial
from steelyard.study.protocol.charges import Charges, CostSplit, micro
from steelyard.study.protocol.envelopes import EnvelopeGate


class FakeContract(NamedTuple):
    digest: str


class FakeTrial(NamedTuple):
    id: str
    contract: FakeContract


def trial(number: int, contract: str = "c") -> Trial:
    return cast("Trial", FakeTrial(f"t{number}", FakeContract(contract)))


class FixedBounds(Charges):
    """The bound of each run is what a function says; all of it is for models."""

    def __init__(self, cap_of: Callable[[Trial], float]) -> None:
        super().__init__()
        self._cap_of = cap_of

    def most(self, trial: Trial) -> CostSplit:
        return CostSplit(models=micro(self._cap_of(trial)))


def gate(cap: float = 1.0, **envelopes: float) -> EnvelopeGate:
    return EnvelopeGate(Envelopes(**envelopes), FixedBounds(lambda _: cap))


def go() -> bool:
    return False


def test_a_run_that_never_fits_is_withheld() -> None:
    assert gate(cap=2.0, total_usd=1.0).enter(trial(1), go).startswith("B_total")


def test_what_a_run_did_not_spend_is_released() -> None:
    gated = gate(total_usd=1.5)
    assert gated.enter(trial(1), go) == ""
    gated.leave(trial(1), RunUse(models=0.25))
    assert (gated.enter(trial(2), go), gated.spent_usd) == ("", 0.25)


def test_a_run_of_unknown_cost_is_charged_its_cap() -> None:
    gated = gate(total_usd=1.5)
    gated.enter(trial(1), go)
    gated.leave(trial(1), None)
    assert (gated.spent_usd, gated.enter(trial(2), go).startswith("B_total")) == (1.0, True)


def test_a_run_that_was_not_tried_is_charged_nothing() -> None:
    gated = gate(total_usd=1.0)
    gated.enter(trial(1), go)
    gated.cancel(trial(1))
    assert (gated.spent_usd, gated.reserved_usd, gated.enter(trial(2), go)) == (0.0, 0.0, "")


def test_the_envelope_of_one_contract_leaves_others_alone() -> None:
    gated = gate(task_usd=1.0)
    gated.enter(trial(1, "a"), go)
    gated.leave(trial(1, "a"), None)
    assert gated.enter(trial(2, "a"), go).startswith("B_task")
    assert gated.enter(trial(3, "b"), go) == ""


def test_a_run_waits_for_what_others_may_not_need() -> None:
    gated = gate(total_usd=1.0)
    gated.enter(trial(1), go)
    entered: list[str] = []
    thread = threading.Thread(target=lambda: entered.append(gated.enter(trial(2), go)))
    thread.start()
    gated.leave(trial(1), RunUse(models=0.0))
    thread.join()
    assert entered == [""]


def test_a_waiting_run_ends_with_its_study() -> None:
    gated = gate(total_usd=1.0)
    gated.enter(trial(1), go)
    stop = threading.Event()
    entered: list[str] = []
    thread = threading.Thread(target=lambda: entered.append(gated.enter(trial(2), stop.is_set)))
    thread.start()
    stop.set()
    thread.join()
    assert entered == ["the study was stopped"]


@pytest.mark.parametrize("seed", range(5))
def test_parallel_runs_never_overshoot(seed: int) -> None:
    draw = random.Random(seed)
    limit, caps = 10.0, [draw.uniform(0.1, 3.0) for _ in range(60)]
    costs = [draw.uniform(0.0, cap) for cap in caps]
    cap_of: Callable[[Trial], float] = lambda one: caps[int(one.id[1:])]  # noqa: E731  # one line
    gated = EnvelopeGate(Envelopes(total_usd=limit), FixedBounds(cap_of))
    over: list[float] = []
    numbers = iter(range(len(caps)))
    lock = threading.Lock()

    def work() -> None:
        while True:
            with lock:
                number = next(numbers, None)
            if number is None:
                return
            if not gated.enter(trial(number), go):
                over.append(gated.spent_usd + gated.reserved_usd)
                gated.leave(trial(number), RunUse(models=costs[number]))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert max(over) <= limit
    assert (gated.spent_usd <= limit, gated.reserved_usd) == (True, 0.0)


def test_amounts_are_rounded_up() -> None:
    assert (micro(0.1), micro(0.0000001), micro(0.0)) == (100_000, 1, 0)


def test_the_whole_cost_of_a_run_is_charged_by_item() -> None:
    gated = gate(total_usd=10.0)
    gated.enter(trial(1), go)
    gated.leave(trial(1), RunUse(models=0.5, judge=0.1, execution=0.2, overhead=0.05))
    assert gated.spent == CostSplit(micro(0.5), micro(0.2), micro(0.1), micro(0.05), 0)


def test_minutes_of_people_that_are_recorded_later_leave_less_for_runs() -> None:
    gated = gate(total_usd=2.0)
    gated.enter(trial(1), go)
    gated.leave(trial(1), RunUse(models=0.5))
    gated.charge_people("c", "run-1", 1.0)
    assert gated.enter(trial(2), go).startswith("B_total")


def test_minutes_that_are_recorded_again_replace_those_of_the_same_run() -> None:
    gated = gate(total_usd=2.0)
    for usd in (0.25, 0.5):
        gated.charge_people("c", "run-1", usd)
    assert gated.spent_usd == 0.5


def test_what_is_kept_back_for_reviews_is_not_given_to_runs() -> None:
    gated = gate(total_usd=2.0, review_usd=1.5)
    assert gated.enter(trial(1), go).startswith("B_total")


def test_reviews_use_what_was_kept_back_for_them_first() -> None:
    gated = gate(total_usd=2.0, review_usd=1.0)
    gated.charge_people("c", "run-0", 0.75)
    assert gated.enter(trial(1), go) == ""


def test_a_run_that_cost_more_than_was_reserved_is_charged_what_it_cost() -> None:
    gated = gate(total_usd=10.0)
    gated.enter(trial(1), go)
    gated.leave(trial(1), RunUse(models=1.5))
    assert (gated.spent_usd, gated.overrun_usd) == (1.5, 0.5)


def test_the_message_says_what_a_run_may_cost() -> None:
    why = gate(cap=2.0, total_usd=1.0).enter(trial(1), go)
    assert (
        why == "B_total has no room for another run, which may cost 2 USD: 0 of 1 USD are spent or kept back"
    )


CENTS = st.integers(0, 300)


class Step(NamedTuple):
    """Start a run, end one with a part of its bound (or with an unknown cost), record minutes, or kill and resume."""

    kind: str
    contract: str
    cents: int


STEPS = st.lists(
    st.builds(
        Step,
        st.sampled_from(["start", "start", "end", "unknown", "people", "kill"]),
        st.sampled_from("ab"),
        CENTS,
    ),
    max_size=60,
)


@given(STEPS, st.integers(1, 1000), CENTS)
def test_no_interleaving_of_runs_reviews_and_kills_exceeds_an_envelope(
    steps: list[Step], total: int, kept: int
) -> None:
    """What runs cost and reserve is within B_total and B_task; with reviews too, while they take what was kept back."""
    ledger = Ledger(Envelopes(total_usd=total / 100, task_usd=total / 150, review_usd=kept / 100))
    for step in steps:
        ledger.take(step)
        spent = ledger.gate.spent
        runs = spent._replace(people=0).total + ledger.gate.reserved.total
        assert runs <= micro(total / 100)
        if spent.people <= micro(kept / 100):
            assert runs + spent.people <= micro(total / 100) or not runs
        assert max(ledger.of_contract("a"), ledger.of_contract("b")) <= micro(total / 150)
    assert ledger.gate.overrun_usd == 0


class Ledger:
    """A study as its run folders have it: what ended, what was killed, what people recorded."""

    def __init__(self, envelopes: Envelopes) -> None:
        self._envelopes = envelopes
        self._caps: dict[str, float] = {}
        self._running: list[Trial] = []
        self._ended: list[tuple[Trial, RunUse | None]] = []
        self._people: dict[str, float] = {}
        self.gate = self._opened()

    def _opened(self) -> EnvelopeGate:
        return EnvelopeGate(self._envelopes, FixedBounds(lambda one: self._caps[one.id]))

    def of_contract(self, contract: str) -> int:
        """What the runs of a contract cost and may cost, counted anew."""
        charges = FixedBounds(lambda one: self._caps[one.id])
        ended = [charges.of(one, use).total for one, use in self._ended if one.contract.digest == contract]
        running = [charges.most(one).total for one in self._running if one.contract.digest == contract]
        return sum(ended) + sum(running)

    def take(self, step: Step) -> None:
        if step.kind == "start":
            one = trial(len(self._caps), step.contract)
            self._caps[one.id] = step.cents / 100
            if not self.gate.admit(one).why:
                self._running.append(one)
        elif step.kind in {"end", "unknown"} and self._running:
            one = self._running.pop(step.cents % len(self._running))
            part = self._caps[one.id] * step.cents / 300 / 2
            use = None if step.kind == "unknown" else RunUse(models=part, execution=part)
            self.gate.leave(one, use)
            self._ended.append((one, use))
        elif step.kind == "people" and self._ended:
            one, _ = self._ended[step.cents % len(self._ended)]
            self._people[one.id] = step.cents / 100
            self.gate.charge_people(one.contract.digest, one.id, step.cents / 100)
        elif step.kind == "kill":
            self._resume()

    def _resume(self) -> None:
        """A killed controller: the runs under way have no record, and are charged what they may have cost."""
        self._ended += [(one, None) for one in self._running]
        self._running = []
        self.gate = self._opened()
        charges = FixedBounds(lambda one: self._caps[one.id])
        for one, use in self._ended:
            self.gate.charge(one.contract.digest, charges.of(one, use))
        for run, usd in self._people.items():
            digest = next(one.contract.digest for one, _ in self._ended if one.id == run)
            self.gate.charge_people(digest, run, usd)
