"""Two runs at once: both begin before either ends, in either order, and trouble goes on to the caller."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from steelyard.bench.twin.side_by_side import side_by_side
from steelyard.errors import InfraFault
from steelyard.sandboxes.admission import Admission
from steelyard.sandboxes.shared_register import Register, SandboxNeed


def test_both_runs_are_under_way_at_the_same_time() -> None:
    meeting = threading.Barrier(2, timeout=600)
    assert side_by_side(lambda: f"a{meeting.wait() * 0}", lambda: f"b{meeting.wait() * 0}") == ("a0", "b0")


def test_either_may_be_begun_first() -> None:
    seen = set()
    for _ in range(60):
        order: list[str] = []
        lock = threading.Lock()

        def note(name: str, order: list[str] = order, lock: threading.Lock = lock) -> None:
            with lock:
                order.append(name)

        side_by_side(lambda note=note: note("a"), lambda note=note: note("b"))  # type: ignore[misc]
        seen.add(order[0])
    assert seen == {"a", "b"}


def test_trouble_of_one_run_is_the_callers() -> None:
    def lost() -> str:
        raise InfraFault("the machine lost it")

    with pytest.raises(InfraFault):
        side_by_side(lambda: "a", lost)


def test_both_are_admitted_where_only_one_fits(tmp_path: Path) -> None:
    """Else the second would wait for the first, and a clock would tell them apart."""
    admission, meeting = Admission(SandboxNeed(100), Register(tmp_path)), threading.Barrier(2, timeout=600)

    def run() -> int:
        ticket = admission.enter(80)
        meeting.wait()
        admission.leave(ticket)
        return ticket

    assert sorted(side_by_side(run, lambda: run())) == [1, 2]  # noqa: PLW0108  # two runs, not one twice
