"""Any command that leaves report files in the tree, at the pattern that the contract names.

JUnit XML or CTRF JSON, distinguished by how the file begins. Whatever lay there before the command ran is removed first,
so that a report which is part of the change is never read.
"""

from __future__ import annotations

from typing import ClassVar

from steelyard.bench.reports.ctrf import parse_ctrf
from steelyard.bench.reports.junit import parse_junit
from steelyard.bench.runners.base import RunnerResult
from steelyard.bench.runners.reporting import ReportCommand, ReportRunner, run_and_read
from steelyard.bench.suite.reported import Result
from steelyard.bench.suite.suite import Suite
from steelyard.sandboxes.base import Sandbox


class JunitFiles:
    NAME = "junit"
    makes: ClassVar[tuple[tuple[str, str], ...]] = ()

    def claims(self, suite: Suite) -> bool:
        return bool(suite.report)

    def run(self, sandbox: Sandbox, suite: Suite) -> RunnerResult:
        asked = ReportCommand(suite.command, patterns=(suite.report.removeprefix("./") or "*.xml",))
        tool = ReportRunner(self.NAME, lambda *_: asked, parse_report)
        return run_and_read(tool, sandbox, suite, asked, "")


def parse_report(data: bytes) -> list[Result]:
    return parse_ctrf(data) if data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") else parse_junit(data)
