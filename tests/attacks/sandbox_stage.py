"""A line of shell or a Python program, run by an agent in a small real sandbox -> what came of it."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from steelyard.contract.owner import run_uid
from steelyard.sandboxes.base import Box, Command, Death, Facts, Finished, Limits
from steelyard.sandboxes.bubblewrap import BubblewrapBackend
from steelyard.sandboxes.bubblewrapped import BubblewrapSandbox

SMALL = Limits(cpu=1, memory_mb=128, guaranteed_mb=64, disk_mb=16, tmp_mb=4, processes=48)


@dataclass
class Stage:
    """One sandbox around a throw-away workspace with one file, `readme`."""

    limits: Limits = SMALL
    toolchains: tuple[Path, ...] = ()
    sandbox: BubblewrapSandbox = field(init=False)

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory()
        readme = Path(self._folder.name, "readme")
        readme.write_text("hello\n")
        if os.geteuid() == 0:
            for path in (readme.parent, readme):
                os.chown(path, run_uid(), run_uid())
        box = Box(layers=(Path(self._folder.name),), limits=self.limits, toolchains=self.toolchains)
        self.sandbox = BubblewrapBackend().start(box)
        return self

    def __exit__(self, *exc: object) -> None:
        self.sandbox.close()
        self._folder.cleanup()

    @property
    def facts(self) -> Facts:
        return self.sandbox.facts

    def sh(self, line: str, timeout_s: float = 60) -> Finished:
        return self.sandbox.run(Command(("/bin/sh", "-c", line), timeout_s=timeout_s))

    def python(self, code: str, timeout_s: float = 60) -> Finished:
        return self.sandbox.run(Command(("/usr/bin/python3", "-I", "-c", code), timeout_s=timeout_s))

    def stop(self) -> Death:
        return self.sandbox.stop()


def said(done: Finished) -> str:
    """Everything it printed, and how it ended, in one line for an assertion."""
    return f"{done.stdout.text}{done.stderr.text}[{done.exit_code}]"
