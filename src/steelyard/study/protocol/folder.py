"""The folder of a study, beside its runs: the plan as it was at the first run, and a log of what was decided.

    <runs>/studies/<16 digits of the digest>/
      plan.json        the plan, frozen at the first run
      log.jsonl        {"at": "2026-03-07T12:00:00Z", "what": "stage", "stage": "pilot", "when": "entry", "met": true, ...}
      controller.lock  held by the process that runs the study

The results are in the run folders, never here.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from steelyard.errors import OperatorFault
from steelyard.evidence.folder.folder import write_atomic
from steelyard.filesystem.plain_file import read_plain
from steelyard.plan.study_plan import StudyPlan

STUDIES, PLAN, LOG, LOCK = "studies", "plan.json", "log.jsonl", "controller.lock"
DIGITS = 16


class StudyFolder:
    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def of(cls, runs: Path, plan: StudyPlan) -> StudyFolder:
        return cls(runs / STUDIES / plan.identity[:DIGITS])

    @property
    def is_begun(self) -> bool:
        return (self.path / PLAN).is_file()

    def begin(self, plan: StudyPlan) -> None:
        """Freeze the plan; a study that has begun keeps the plan that it began with."""
        self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not self.is_begun:
            data = plan.model_dump(mode="json", by_alias=True)
            write_atomic(self.path / PLAN, orjson.dumps(data, option=orjson.OPT_INDENT_2), durable=True)

    def plan(self) -> StudyPlan:
        return StudyPlan.model_validate_json(read_plain(self.path / PLAN))

    def add(self, what: str, **data: Any) -> dict[str, Any]:
        """Append one line to the log; it is on disk when this returns."""
        at = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        entry = {"at": at, "what": what, **data}
        fd = os.open(self.path / LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.write(fd, orjson.dumps(entry) + b"\n")
            os.fsync(fd)
        finally:
            os.close(fd)
        return entry

    def log(self) -> list[dict[str, Any]]:
        """Every line that is whole: a process that was killed may leave half a line."""
        try:
            lines = read_plain(self.path / LOG).splitlines()
        except FileNotFoundError:
            return []
        found = []
        for line in lines:
            try:
                entry = orjson.loads(line)
            except ValueError:
                continue
            if isinstance(entry, dict):
                found.append(entry)
        return found

    def removed(self) -> dict[str, str]:
        """Contracts that were taken out of the study, and why."""
        return {
            str(one["contract"]): str(one["reason"]) for one in self.log() if one.get("what") == "removal"
        }

    @property
    def is_running(self) -> bool:
        """Whether a live process on this machine runs the study."""
        try:
            fd = os.open(self.path / LOCK, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(fd)
        return False

    @contextmanager
    def hold(self) -> Iterator[None]:
        """One controller at a time; the kernel drops the lock with the process that holds it."""
        self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        fd = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise OperatorFault(
                    "this study is being run by another process; `steelyard study status` shows its progress"
                ) from None
            yield
        finally:
            os.close(fd)


def find_studies(runs: Path) -> list[StudyFolder]:
    root = runs / STUDIES
    if not root.is_dir():
        return []
    folders = (StudyFolder(path) for path in sorted(root.iterdir()) if path.is_dir())
    return [one for one in folders if one.is_begun]
