"""A tree and a command -> what the Python runner makes of it, in a real sandbox."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard.bench.command_words import command_words
from steelyard.bench.reported import Reported
from steelyard.bench.runners.base import Ran
from steelyard.bench.runners.catalogue import runner_for
from steelyard.bench.suite import Suite
from steelyard.contract.owner import run_uid
from steelyard.sandboxes.base import Box, Limits
from steelyard.sandboxes.bubblewrap import BubblewrapBackend

SMALL = Limits(cpu=2, memory_mb=512, guaranteed_mb=64, disk_mb=32, tmp_mb=16, processes=64)
Run = Callable[..., Ran]


class PythonBench:
    def __init__(self, folder: Path, home: Path) -> None:
        self.folder, self.home = folder, home

    def __call__(self, files: Mapping[str, str], command: str = "python3 -m pytest -q", **fields: Any) -> Ran:
        tree = self._tree(files)
        env, argv, cwd = command_words(command)
        suite = replace(Suite(command, argv, env, cwd, timeout_s=60), **fields)
        with BubblewrapBackend().start(Box((tree,), (self.home,), limits=SMALL)) as sandbox:
            return runner_for(suite).run(sandbox, suite)

    def _tree(self, files: Mapping[str, str]) -> Path:
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        if os.geteuid() == 0:
            for path in (self.folder, *self.folder.rglob("*")):
                os.chown(path, run_uid(), run_uid(), follow_symlinks=False)
        return self.folder


def outcomes(reported: Reported) -> dict[str, str]:
    """Outcomes by the last part of an id."""
    return {one.id.rsplit("::", 1)[-1].rsplit(".", 1)[-1]: one.outcome for one in reported.results}


def is_a_pass(reported: Reported) -> bool:
    """What any grader would call one: something passed, and nothing speaks against it."""
    bad = [one for one in reported.results if one.outcome in {"failed", "error"}]
    return bool(reported.passed) and not bad and not reported.problems and not reported.tampering
