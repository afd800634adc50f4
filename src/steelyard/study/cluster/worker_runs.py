"""The runs of a cluster's workers -> the folder of runs of the controller.

    SharedRuns    every machine writes to that folder: nothing moves
    CopiedRuns    workers send their runs to a store, in parts while they are under way and whole at their end

What a run was is decided by its folder: a run that was sealed and graded counts, also if its worker was lost afterwards. A run that
was lost before is shown as `interrupted`, with what had arrived of it.
"""

from __future__ import annotations

import os
from collections.abc import Container
from functools import partial
from pathlib import Path
from typing import Protocol

from steelyard.errors import DAMAGED, InfraFault
from steelyard.evidence.folder.folder import MANIFEST, REPORT, RunFolder, names_contract
from steelyard.evidence.folder.gradings import grading_files
from steelyard.evidence.run_use import RunUse, use_of_cost
from steelyard.plan.trial import Trial
from steelyard.store.blobs import fetch_run, is_complete, sweep_fetches
from steelyard.store.live_copy import LiveCopies, LiveCopy, forget_parts
from steelyard.store.live_part import LIVE, lost_name
from steelyard.store.place import StoreFolder, Unreachable, open_place, try_patiently
from steelyard.study.cluster.worker import Answer, CopyTo

_STUDY_DIGITS = 16


class WorkerRuns(Protocol):
    """How the runs of workers reach the controller."""

    def expect(self, trial: Trial, attempt: int) -> CopyTo | None:
        """Before a task starts: where its worker copies the run."""

    def receive(self, to: CopyTo | None, answer: Answer) -> None:
        """The worker has answered. Raises InfraFault if the copy of a run that it names is damaged, Unreachable if the store is away."""

    def find_sealed(self, to: CopyTo | None, trial: Trial, attempt: int) -> str | None:
        """The worker was lost: its run, if that was sealed and graded before."""

    def close(self) -> None:
        """No more runs are expected."""


class SharedRuns:
    def __init__(self, out: Path) -> None:
        self._out = out
        self._before = frozenset(_names(out))

    def expect(self, trial: Trial, attempt: int) -> None:
        del trial, attempt

    def receive(self, to: CopyTo | None, answer: Answer) -> None:
        del to, answer

    def find_sealed(self, to: CopyTo | None, trial: Trial, attempt: int) -> str | None:
        del to
        return sealed_run(self._out, trial, attempt, self._before)

    def close(self) -> None:
        return


class CopiedRuns:
    def __init__(self, url: str, out: Path) -> None:
        self._url, self._out = url, out
        self._place = open_place(url)
        self._copies = LiveCopies(self._place, out)
        self._copies.start()

    def close(self) -> None:
        self._copies.close()

    def expect(self, trial: Trial, attempt: int) -> CopyTo:
        study = "none" if trial.place is None else _study_folder(trial.place.digest)
        key = f"{study}/{trial.id}-{attempt}-{os.urandom(4).hex()}"
        self._copies.expect(key)
        return CopyTo(self._url, key)

    def receive(self, to: CopyTo | None, answer: Answer) -> None:
        assert to is not None
        copy = self._copies.take(to.key)
        copy.end()
        try:
            for run in answer.runs:
                try_patiently(partial(fetch_run, self._url, run, self._out))
            if not answer.is_tried:
                copy.discard()
            if answer.runs or not answer.is_tried:
                forget_parts(self._place, to.key)
        finally:
            copy.release()

    def find_sealed(self, to: CopyTo | None, trial: Trial, attempt: int) -> str | None:
        assert to is not None
        copy = self._copies.take(to.key)
        try:
            run = _read_whole(self._place, copy, to.key, self._out)
        finally:
            copy.release()
        return run if run is not None and _is_of(RunFolder(self._out / run), trial, attempt) else None


def worker_runs(blobs: str | None, out: Path) -> WorkerRuns:
    return SharedRuns(out) if blobs is None else CopiedRuns(blobs, out)


def recover_runs(blobs: str, out: Path, study: str) -> None:
    """Runs that a controller which was killed has not received: sealed ones whole, of the others what they sent."""
    place, folder = open_place(blobs), _study_folder(study)
    sweep_fetches(out)
    for name in try_patiently(lambda: place.list(f"{LIVE}/{folder}")):
        key = f"{folder}/{name}"
        if not try_patiently(partial(place.exists, lost_name(key))):
            copy = LiveCopy(place, key, out)
            try:
                _read_whole(place, copy, key, out)
            finally:
                copy.release()


def _read_whole(place: StoreFolder, copy: LiveCopy, key: str, out: Path) -> str | None:
    """All parts of a run that has ended, and the sealed run if its worker got that far. Raises InfraFault if the store stays unreachable.

    Not knowing is no loss: another attempt might be the second result of its trial. A loss is written down for the same reason: a
    worker that was cut off, and not dead, may deliver its run later.
    """
    try_patiently(copy.read_all)
    copy.end()
    run = copy.run
    try:
        if run is not None and try_patiently(partial(is_complete, place, run)):
            try_patiently(partial(fetch_run, place.url, run, out))
            forget_parts(place, key)
            return run
    except Unreachable:
        raise
    except InfraFault:  # a copy that is damaged, or contradicts what was sent, is no result
        pass
    try_patiently(partial(place.write, lost_name(key), b""))
    return None


def _study_folder(digest: str) -> str:
    return digest[:_STUDY_DIGITS]


def sealed_run(out: Path, trial: Trial, attempt: int, before: Container[str]) -> str | None:
    """The run of an attempt that was sealed and graded; `before` has earlier runs, which may have the same number of attempt.

    No time decides: the clock of a worker may be wrong.
    """
    for name in sorted(_names(out)):
        if name not in before and names_contract(name, trial.contract.id):
            folder = RunFolder(out / name)
            if _is_of(folder, trial, attempt) and folder.state == "sealed" and grading_files(folder):
                return name
    return None


def recorded_use(folder: RunFolder) -> RunUse | None:
    """What the report of a run says that it cost."""
    try:
        return use_of_cost(folder.read_json(REPORT)["cost"])
    except DAMAGED:
        return None


def _names(out: Path) -> list[str]:
    return [path.name for path in out.iterdir()] if out.is_dir() else []


def _is_of(folder: RunFolder, trial: Trial, attempt: int) -> bool:
    try:
        recorded = folder.read_json(MANIFEST)["trial"]
        return bool(recorded["id"] == trial.id and recorded["attempt"] == attempt)
    except DAMAGED:
        return False
