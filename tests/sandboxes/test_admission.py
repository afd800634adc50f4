"""Which sandbox may start when memory or CPUs are short, over all threads and processes of one user.

No test here can hang: whatever should start is waited for in a thread of its own, for at most PATIENCE_S.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from steelyard.errors import InfraFault
from steelyard.sandboxes.admission import ON_WAIT, Admission
from steelyard.sandboxes.shared_register import Register, SandboxNeed, shared_folder

PATIENCE_S = 60  # a limit for a test that fails; one that passes does not take it
HOLDER = """
import sys, time
from pathlib import Path
from steelyard.sandboxes.admission import Admission
from steelyard.sandboxes.shared_register import SandboxNeed, Register
admission = Admission(SandboxNeed(100, 8), Register(Path(sys.argv[1])))
print(admission.enter(int(sys.argv[2])), flush=True)
time.sleep(1000)
"""


class Entering:
    """A thread that enters, and leaves when it is told to."""

    def __init__(self, admission: Admission, size: int, cpus: float = 0.0) -> None:
        self._admission, self._need = admission, (size, cpus)
        self._entered, self._waiting, self._leave = threading.Event(), threading.Event(), threading.Event()
        self.reasons: list[str] = []
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _work(self) -> None:
        ON_WAIT.set(self._note)
        ticket = self._admission.enter(*self._need)
        self._entered.set()
        self._leave.wait(PATIENCE_S)
        self._admission.leave(ticket)

    def _note(self, why: str) -> None:
        self.reasons.append(why)
        self._waiting.set()

    @property
    def waits(self) -> bool:
        return self._waiting.wait(PATIENCE_S) and not self._entered.is_set()

    @property
    def enters(self) -> bool:
        return self._entered.wait(PATIENCE_S)

    def leave(self) -> None:
        self._leave.set()
        self._thread.join(PATIENCE_S)


def make(folder: Path, total: int = 100, cpus: float = 8) -> Admission:
    return Admission(SandboxNeed(total, cpus), Register(folder), poll_s=0.01, quiet_s=0)


@pytest.fixture
def admission(tmp_path: Path) -> Admission:
    return make(tmp_path)


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds 80 of 100."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path), "80"], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "1\n"
        yield process
        process.kill()


def test_one_that_does_not_fit_waits_for_room(admission: Admission) -> None:
    first, second = Entering(admission, 80), None
    assert first.enters
    second = Entering(admission, 30)
    assert second.waits
    first.leave()
    assert second.enters
    second.leave()


def test_one_that_fits_does_not_wait(admission: Admission) -> None:
    both = [Entering(admission, 50), Entering(admission, 50)]
    assert all(one.enters for one in both)


def test_one_alone_is_always_admitted(admission: Admission) -> None:
    assert Entering(admission, 1000, cpus=1000).enters


def test_cpus_are_counted_too(admission: Admission) -> None:
    first = Entering(admission, 1, cpus=6)
    assert first.enters
    second = Entering(admission, 1, cpus=4)
    assert second.waits
    assert second.reasons == [
        "waiting for CPUs: 4 wanted, and 1 running sandbox of this user may take 6 of 8"
    ]
    first.leave()
    assert second.enters


def test_a_wait_for_memory_says_how_much_is_taken(tmp_path: Path) -> None:
    admission = make(tmp_path, total=10 << 30)
    first = Entering(admission, 8 << 30)
    assert first.enters
    second = Entering(admission, 3 << 30)
    assert second.waits
    assert second.reasons == [
        "waiting for memory: 3.0 GiB wanted, and 1 running sandbox of this user may take 8.0 of 10.0 GiB"
    ]


def test_a_thread_that_has_one_never_waits_for_its_second(admission: Admission) -> None:
    entered = threading.Event()

    def work() -> None:
        for _ in range(2):
            admission.enter(80)
        entered.set()

    threading.Thread(target=work, daemon=True).start()
    assert entered.wait(PATIENCE_S)


def test_a_big_one_is_not_overtaken_for_ever(admission: Admission) -> None:
    first = Entering(admission, 50)
    assert first.enters
    big = Entering(admission, 100)
    assert big.waits
    small = Entering(admission, 10)  # would fit beside the first
    assert small.waits
    assert small.reasons == ["1 other sandbox waits before this one"]
    first.leave()
    assert big.enters
    big.leave()
    assert small.enters


def test_leaving_twice_is_harmless(admission: Admission) -> None:
    first = Entering(admission, 100)
    assert first.enters
    first.leave()
    admission.leave(1)
    assert Entering(admission, 100).enters


def test_another_process_of_this_user_is_counted(tmp_path: Path, holder: subprocess.Popen[str]) -> None:
    waiting = Entering(make(tmp_path), 30)
    assert waiting.waits
    holder.terminate()
    assert waiting.enters


def test_what_a_killed_process_held_is_free(tmp_path: Path, holder: subprocess.Popen[str]) -> None:
    holder.kill()
    holder.wait(PATIENCE_S)
    assert Entering(make(tmp_path), 100).enters
    assert len(list((tmp_path / "holding").iterdir())) == 1  # the entry of the dead process is removed


def test_a_killed_process_in_the_queue_delays_no_other(tmp_path: Path, holder: subprocess.Popen[str]) -> None:
    admission = make(tmp_path)
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path), "100"]) as second:
        try:
            while not list((tmp_path / "waiting").iterdir()):
                assert second.poll() is None
            third = Entering(admission, 10)
            assert third.waits
        finally:
            second.kill()
    assert third.enters
    assert holder.poll() is None


def test_a_stopped_process_in_the_queue_delays_no_other(
    tmp_path: Path, holder: subprocess.Popen[str]
) -> None:
    """Ctrl-Z on a command that waits does not hold up every other command."""
    admission = make(tmp_path)
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path), "100"]) as second:
        try:
            while not list((tmp_path / "waiting").iterdir()):
                assert second.poll() is None
            with Register(tmp_path).locked():  # else it might be stopped with the lock in its hand
                os.kill(second.pid, signal.SIGSTOP)
            assert Entering(admission, 10).enters
        finally:
            second.kill()
    assert holder.poll() is None


def test_a_child_does_not_keep_what_its_parent_held(tmp_path: Path) -> None:
    admission = make(tmp_path)
    first = Entering(admission, 100)
    assert first.enters
    with subprocess.Popen(["sleep", "1000"]) as child:
        first.leave()
        assert Entering(admission, 100).enters
        child.kill()


def test_a_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    os.chown(tmp_path, 60700, 60700)
    with pytest.raises(InfraFault, match="it belongs to another user; set STEELYARD_RUNTIME"):
        make(tmp_path).enter(1)


def test_a_link_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(InfraFault, match="cannot use"):
        make(tmp_path / "link").enter(1)


def test_the_folder_is_one_for_each_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STEELYARD_RUNTIME")
    assert str(os.geteuid()) in str(shared_folder())
