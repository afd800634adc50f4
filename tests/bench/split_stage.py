"""Files of a candidate and of its tests -> what a split oracle says, in two real sandboxes.

ran = split.run({"shop/__init__.py": "def f(x): return x + 1"}, "def test_f(): ...")
outcomes(ran)   {"test_f": "passed"}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from small_sandbox import planted, small_sandbox

from steelyard.bench.runners.base import RunnerResult
from steelyard.bench.runners.catalogue import runner_for
from steelyard.bench.split.run_split import InSandbox, SplitBench, run_split
from steelyard.bench.suite.command_words import command_words
from steelyard.bench.suite.suite import Suite
from steelyard.sandboxes.base import ExitStats, FileOverlay, Sandbox

PYTEST = "python3 -m pytest -q -p no:cacheprovider tests"
UNITTEST = "python3 -m unittest discover -s tests"


@dataclass(frozen=True)
class SplitStage:
    folder: Path
    home: Path  # has pytest
    kind: str = "bubblewrap"

    def run(  # noqa: PLR0913  # what a split is made of
        self,
        baseline: Mapping[str, str],
        hidden: str | Mapping[str, str],
        *,
        change: Mapping[str, str] | None = None,
        command: str = PYTEST,
        named: tuple[str, ...] = (),
        objects: tuple[str, ...] = (),
        timeout_s: float = 60,
    ) -> RunnerResult:
        tests = {"tests/test_hidden.py": hidden} if isinstance(hidden, str) else hidden
        env, argv, cwd = command_words(command)
        suite = Suite(command, argv=argv, env=env, cwd=cwd, timeout_s=timeout_s)
        bench = SplitBench(
            suite,
            runner_for(suite),
            baseline,
            patterns=(),
            named=named,
            objects=objects,
            work=self._laid("change", change or {}),
            hidden=self._laid("hidden", tests),
            in_sandbox=self._in_sandbox(planted(self.folder / "tree", baseline)),
        )
        scratch = self.folder / "scratch"
        scratch.mkdir(exist_ok=True)
        ran, _ = run_split(bench, scratch)
        return ran

    def _in_sandbox(self, tree: Path) -> InSandbox:
        def run(
            overlays: tuple[FileOverlay, ...], use: Callable[[Sandbox], RunnerResult]
        ) -> tuple[RunnerResult, ExitStats]:
            with small_sandbox(self.kind, tree, home=(self.home,), overlays=overlays) as sandbox:
                return use(sandbox), sandbox.stop()

        return run

    def _laid(self, kind: str, files: Mapping[str, str]) -> tuple[FileOverlay, ...]:
        overlays = []
        for number, (name, text) in enumerate(files.items()):
            source = self.folder / f"{kind}-{number}"
            source.write_text(text)
            overlays.append(FileOverlay(name, "file", source=source))
        return tuple(overlays)


def outcomes(ran: RunnerResult) -> dict[str, str]:
    return {one.id.rpartition("::")[2].rpartition(".")[2]: one.outcome for one in ran.reported.results}


def details(ran: RunnerResult) -> str:
    """Everything that was said about why something did not pass."""
    return "\n".join([*(one.detail for one in ran.reported.results), *ran.reported.problems])


def all_passed(ran: RunnerResult) -> bool:
    """What every grader would take for a pass."""
    results = ran.reported.results
    good = bool(results) and all(one.outcome == "passed" for one in results)
    return good and not ran.reported.problems and not ran.reported.tampering
