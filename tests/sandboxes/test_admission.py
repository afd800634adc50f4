"""Who may start when memory is short."""

from __future__ import annotations

import threading

from steelyard.sandboxes.admission import Admission


def in_thread(admission: Admission, size: int, entered: threading.Event) -> threading.Thread:
    def work() -> None:
        ticket = admission.enter(size)
        entered.set()
        admission.leave(ticket)

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_one_that_does_not_fit_waits_for_room() -> None:
    admission, entered = Admission(100), threading.Event()
    ticket = admission.enter(80)
    thread = in_thread(admission, 30, entered)
    assert not entered.wait(0.1)
    admission.leave(ticket)
    thread.join()
    assert entered.is_set()


def test_one_alone_is_always_admitted() -> None:
    admission = Admission(100)
    admission.leave(admission.enter(1000))


def test_a_thread_that_has_one_never_waits_for_its_second() -> None:
    admission = Admission(100)
    tickets = [admission.enter(80), admission.enter(80)]
    for ticket in tickets:
        admission.leave(ticket)


def test_a_big_one_is_not_overtaken_for_ever() -> None:
    admission, big, small = Admission(100), threading.Event(), threading.Event()
    ticket = admission.enter(50)
    first = in_thread(admission, 100, big)
    while not admission._queue:
        pass
    second = in_thread(admission, 10, small)
    assert not small.wait(0.1)
    admission.leave(ticket)
    first.join()
    second.join()
    assert big.is_set()
    assert small.is_set()


def test_leaving_twice_is_harmless() -> None:
    admission = Admission(100)
    ticket = admission.enter(10)
    admission.leave(ticket)
    admission.leave(ticket)
