"""Any command that prints TAP. The command does not show that: the contract says `runner: tap`."""

from __future__ import annotations

import secrets
from typing import ClassVar

from steelyard.bench.reports.tap import parse_tap
from steelyard.bench.runners.base import RunnerResult
from steelyard.bench.runners.reporting import ReportCommand, ReportRunner, run_and_read
from steelyard.bench.suite.suite import Suite
from steelyard.sandboxes.base import Sandbox


class PrintsTap:
    NAME = "tap"
    makes: ClassVar[tuple[tuple[str, str], ...]] = ()

    def claims(self, suite: Suite) -> bool:
        del suite
        return False

    def run(self, sandbox: Sandbox, suite: Suite) -> RunnerResult:
        asked = ReportCommand(f"{{ {suite.command}\n}}", prints=True)
        tool = ReportRunner(self.NAME, lambda *_: asked, parse_tap)
        folder = f"/tmp/{secrets.token_hex(12)}"  # noqa: S108  # the sandbox's
        return run_and_read(tool, sandbox, suite, asked, folder)
