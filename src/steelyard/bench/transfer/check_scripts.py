"""A changed script that a `command` check starts -> whether the bench has the baseline's script instead.

    cmd: sh tests/run.sh        a change could write `exit 0` into tests/run.sh,
    tests/run.sh: . ./lib.sh    or into a script that this script starts

A script that lies where checks lie (`tests/`, `ci/`) or is called like one (`check.sh`) decides about the work. It
comes from the baseline, unless the reference changes it or the brief names it: then it is work, and a finding says that
it is carried. The same holds without a reference, where nothing is known about it.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path

from steelyard.bench.execution_spec import CommandSpec, bench_spec
from steelyard.bench.transfer.names.shadowing import is_named
from steelyard.bench.transfer.oracle.data import OracleData
from steelyard.bench.transfer.shell_scripts import is_shell_script, started_scripts
from steelyard.contract.contract import Contract
from steelyard.deferred.data_class import dataclass
from steelyard.deferred.pattern import deferred_pattern
from steelyard.evidence.change.change import ChangeEntry
from steelyard.evidence.finding import Finding
from steelyard.filesystem.tree import Entry, is_within, shown

CHANGED = "check_script_changed"
CARRIED = "check_script_from_change"
MAX_SCRIPT_BYTES = 1 << 20
MAX_DEPTH = 4  # of scripts that start scripts
# `latest.py` and `checkout.py` are programs.
_CHECKS = deferred_pattern(
    r"(^|/)(tests?|specs?|t|checks?|\.?ci|\.github|hack)/"
    r"|(^|/)[^/]*((?<!la)(?<!con)(?<!fas)test|check(?!out|sum|point)|verify|validate)[^/]*$"
)
_BASELINE = "check `{}` starts this script; the bench uses the baseline's file. `runner_files` can allow it"
_CARRIED = "check `{}` starts this script, so the change may decide about itself; kept on the bench"


@dataclass(frozen=True)
class CheckScripts:
    """Asked of every entry of a change."""

    contract: Contract
    data: OracleData

    def left_behind(self, entry: ChangeEntry) -> Finding | None:
        for path in entry.paths:
            if self.keeps(path):
                return Finding(CHANGED, "warning", shown(path), _BASELINE.format(self._started[path]))
        return None

    def carried_finding(self, entry: ChangeEntry) -> Finding | None:
        """Of a script that is carried."""
        for path in entry.paths:
            if path in self._started:
                return Finding(CARRIED, "warning", shown(path), _CARRIED.format(self._started[path]))
        return None

    def keeps(self, path: str) -> bool:
        """Whether the bench keeps this script of the baseline, whatever the change makes of it."""
        return path in self._started and self.contract.reference is not None and not self._is_work(path)

    def _is_work(self, path: str) -> bool:
        return path in self.data.referenced() or is_named(path, self.data.brief)

    @cached_property
    def _started(self) -> dict[str, str]:
        """Path of a script of the snapshot -> the first check that starts it."""
        tree = self.contract.snapshot.tree
        found: dict[str, str] = {}
        for entry in self.contract.checks:
            spec = None if entry.execution is None else bench_spec(entry)
            if isinstance(spec, CommandSpec):
                hidden = [place for _, place in spec.injected]
                for path in _all_started(spec.command, self.data.baseline, tree):
                    is_hidden = any(is_within(path, place) for place in hidden)
                    if _CHECKS.search(path) and not is_hidden:
                        found.setdefault(path, entry.name)
        return found


def _all_started(command: str, baseline: Mapping[str, Entry], tree: Path) -> Iterator[str]:
    """The programs of the snapshot that a command starts, those that its shell scripts start, and so on."""
    texts: list[tuple[str, str | None]] = [(command, None)]
    seen: set[str] = set()
    for _ in range(MAX_DEPTH):
        found = {path for text, folder in texts for path in started_scripts(text, baseline, folder)} - seen
        texts = [
            (_text(tree / path), posixpath.dirname(path))
            for path in found
            if is_shell_script(path, tree / path)
        ]
        yield from sorted(found)
        seen |= found


def _text(path: Path) -> str:
    try:
        return "" if path.stat().st_size > MAX_SCRIPT_BYTES else path.read_text(errors="replace")
    except OSError:  # a damaged cache: the sandbox that is started next reports it
        return ""
