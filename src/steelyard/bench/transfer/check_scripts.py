"""A changed script that a `command` check starts -> whether the bench has the baseline's script instead.

    cmd: sh tests/run.sh        a change could write `exit 0` into tests/run.sh,
    tests/run.sh: . ./lib.sh    or into a script that this script starts
    [ -f tests/env.sh ] && ...  or into one that is not there yet

A script that lies where checks lie (`tests/`, `ci/`) or is called like one (`check.sh`) decides about the work. So does a file
among the tests that the check names (`diff out tests/expected.txt`) or that its programs import. Such a file comes from the
baseline, unless the reference changes it, the brief names it, or it is a program among the sources (`src/validate.py`): then it is
work, and a finding says that it is carried. The same holds without a reference, where nothing is known about it.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from steelyard.bench.execution_spec import CommandSpec, bench_spec
from steelyard.bench.transfer.named_programs import imported_programs, named_programs
from steelyard.bench.transfer.names.shadowing import is_named
from steelyard.bench.transfer.oracle.data import OracleData
from steelyard.bench.transfer.shell_scripts import (
    commands,
    is_shell_script,
    sourced_scripts,
    started_scripts,
)
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
_OF_CHECKS = deferred_pattern(r"(^|/)(tests?|specs?|t|\.?ci|\.github|hack)/")
_SOURCES = deferred_pattern(r"(^|/)(src|lib|app|pkg|internal|cmd)/")
_MANAGERS = frozenset(["npm", "yarn", "pnpm", "bun"])
_LOADED = (".py", ".js", ".cjs", ".mjs", ".ts")
_BASELINE = (
    "check `{}` starts or reads this file; the bench uses the baseline's file. `runner_files` can allow it"
)
_NEW = "check `{}` would start this script; not on the bench. `runner_files` can allow it"
_CARRIED = "check `{}` starts or reads this file, so the change may decide about itself; kept on the bench"


@dataclass(frozen=True)
class CheckScripts:
    """Asked of every entry of a change."""

    contract: Contract
    data: OracleData

    def left_behind(self, entry: ChangeEntry) -> Finding | None:
        for path in entry.paths:
            if self.keeps(path):
                why = _BASELINE if path in self.data.baseline else _NEW
                return Finding(CHANGED, "warning", shown(path), why.format(self._started[path]))
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
        return (
            path in self.data.referenced() or is_named(path, self.data.brief) or self._is_among_sources(path)
        )

    def _is_among_sources(self, path: str) -> bool:
        is_shell = is_shell_script(path, self.contract.snapshot.tree / path)
        return not is_shell and _SOURCES.search(path) is not None and _OF_CHECKS.search(path) is None

    @cached_property
    def _started(self) -> dict[str, str]:
        """Path of a script -> the first check that starts it, or would."""
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
    """The programs of the snapshot that a command starts, those that its scripts start and load, and so on."""
    programs = {path for path, entry in baseline.items() if entry.kind == "file" and _OF_CHECKS.search(path)}
    found = set[str]()
    for text in (command, *_package_scripts(command, tree)):
        found |= started_scripts(text, baseline) | named_programs(text, "", programs)
    seen: set[str] = set()
    for _ in range(MAX_DEPTH):
        yield from sorted(found)
        seen |= found
        found = {one for path in found for one in _started_by(path, programs, baseline, tree)} - seen


def _started_by(path: str, programs: set[str], baseline: Mapping[str, Entry], tree: Path) -> set[str]:
    if path not in baseline:
        return set()
    if path.endswith(_LOADED):
        return imported_programs(_text(tree / path), path, programs)
    if not is_shell_script(path, tree / path):
        return set()
    text, folder = _text(tree / path), posixpath.dirname(path)
    return (
        started_scripts(text, baseline, folder)
        | named_programs(text, folder, programs)
        | {one for one in sourced_scripts(text, folder) if one not in baseline}
    )


def _package_scripts(command: str, tree: Path) -> Iterator[str]:
    """What `npm run check` is in the snapshot's package.json, whose scripts are those of the bench."""
    named = {word for words in commands(command) if words[0] in _MANAGERS for word in words[1:]}
    if not named:
        return
    with suppress(ValueError, AttributeError):
        for name, text in json.loads(_text(tree / "package.json")).get("scripts", {}).items():
            if name.removeprefix("pre").removeprefix("post") in named and isinstance(text, str):
                yield text


def _text(path: Path) -> str:
    try:
        return "" if path.stat().st_size > MAX_SCRIPT_BYTES else path.read_text(errors="replace")
    except OSError:  # a damaged cache: the sandbox that is started next reports it
        return ""
