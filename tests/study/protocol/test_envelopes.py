"""Envelopes: what is reserved and spent never exceeds a budget."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import NamedTuple, cast

import pytest

from steelyard.plan.study_plan import Envelopes
from steelyard.plan.trial import Trial
from steelyard.study.protocol.envelopes import EnvelopeGate, micro


class FakeContract(NamedTuple):
    digest: str


class FakeTrial(NamedTuple):
    id: str
    contract: FakeContract


def trial(number: int, contract: str = "c") -> Trial:
    return cast("Trial", FakeTrial(f"t{number}", FakeContract(contract)))


def gate(cap: float = 1.0, **envelopes: float) -> EnvelopeGate:
    return EnvelopeGate(Envelopes(**envelopes), lambda _: cap)


def go() -> bool:
    return False


def test_a_run_that_never_fits_is_withheld() -> None:
    assert gate(cap=2.0, total_usd=1.0).enter(trial(1), go).startswith("B_total")


def test_what_a_run_did_not_spend_is_released() -> None:
    gated = gate(total_usd=1.5)
    assert gated.enter(trial(1), go) == ""
    gated.leave(trial(1), 0.25)
    assert (gated.enter(trial(2), go), gated.spent_usd) == ("", 0.25)


def test_a_run_of_unknown_cost_is_charged_its_cap() -> None:
    gated = gate(total_usd=1.5)
    gated.enter(trial(1), go)
    gated.leave(trial(1), None)
    assert (gated.spent_usd, gated.enter(trial(2), go).startswith("B_total")) == (1.0, True)


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
    gated.leave(trial(1), 0.0)
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
    gated = EnvelopeGate(Envelopes(total_usd=limit), cap_of)
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
                gated.leave(trial(number), costs[number])

    threads = [threading.Thread(target=work) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert max(over) <= limit
    assert (gated.spent_usd <= limit, gated.reserved_usd) == (True, 0.0)


def test_amounts_are_rounded_up() -> None:
    assert (micro(0.1), micro(0.0000001), micro(0.0)) == (100_000, 1, 0)
