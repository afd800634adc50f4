"""A changed script that a `command` check starts -> whether the bench has the baseline's script instead.

    cmd: sh tests/run.sh        a change could write `exit 0` into tests/run.sh,
    tests/run.sh: . ./lib.sh    or into a script that this script starts
    [ -f tests/env.sh ] && ...  or into one that is not there yet

A script that lies where checks lie (`tests/`, `ci/`) or is called like one (`check.sh`) decides about the work. So does a file
among the tests that the check names (`diff out tests/expected.txt`) or that its programs import. Such a file comes from the
baseline, unless the reference changes it, the brief names it, or it is a program among the sources (`src/validate.py`): then it is
work, and a finding says that it is carried. The same holds without a reference, where nothing is known about it. A new file that
those Python programs would import (`tests/util/__init__.py` beside `tests/util.py`) is treated alike.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from steelyard.bench.execution_spec import CommandSpec, bench_spec
from steelyard.bench.transfer.named_programs import imported_modules, imported_programs, named_programs
from steelyard.bench.transfer.names.shadowing import is_named, module_at, shadows_library
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
from steelyard.filesystem.tree import Entry, is_within, prefixes, printable

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
_NEW = "check `{}` would start or load this file; not on the bench. `runner_files` can allow it"
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
                return Finding(CHANGED, "warning", printable(path), why.format(self._started[path]))
        check = self._check_that_would_load(entry)
        if check and self.contract.reference is not None and not self._is_work(entry.path):
            return Finding(CHANGED, "warning", printable(entry.path), _NEW.format(check))
        return None

    def carried_finding(self, entry: ChangeEntry) -> Finding | None:
        """Of a script that is carried."""
        for path in entry.paths:
            check = self._started.get(path) or (path == entry.path and self._check_that_would_load(entry))
            if check:
                return Finding(CARRIED, "warning", printable(path), _CARRIED.format(check))
        return None

    def keeps(self, path: str) -> bool:
        """Whether the bench keeps this script of the baseline, whatever the change makes of it."""
        return path in self._started and self.contract.reference is not None and not self._is_work(path)

    def _check_that_would_load(self, entry: ChangeEntry) -> str:
        """The check whose Python programs would import a new file of the tests: instead of another file, or at last."""
        path = entry.path
        if path in self.data.baseline or entry.new is None or entry.new.kind == "dir":
            return ""
        module = module_at(path, link=entry.new.kind == "symlink")
        if module is None or not (_OF_CHECKS.search(path) or f"{module}/" in self._folders_of_checks):
            return ""
        known = self._modules
        if module in known:
            return known[module]
        folder, name = posixpath.split(module)
        return known.get(f"{folder}/", "") if shadows_library(name, (), link=True) else ""

    @cached_property
    def _folders_of_checks(self) -> frozenset[str]:
        """Folders, with a slash at the end, whose programs checks start."""
        return frozenset(
            f"{folder}/"
            for path in self._python
            for folder in prefixes(path)[:-1]
            if _OF_CHECKS.search(f"{folder}/")
        )

    @cached_property
    def _python(self) -> dict[str, str]:
        """Python programs of the baseline -> the check that starts or loads them."""
        return {
            path: check
            for path, check in self._started.items()
            if path.endswith(".py") and path in self.data.baseline
        }

    @cached_property
    def _modules(self) -> dict[str, str]:
        """Modules that a check imports or could import -> the check; a folder, with a slash, of which programs are started."""
        found: dict[str, str] = {}
        for path, check in self._python.items():
            folder = posixpath.dirname(path)
            imported = (
                posixpath.join(folder, one)
                for one in imported_modules(_text(self.contract.snapshot.tree / path))
            )
            # `tests/util.py`, and the packages that it is in: `tests/__init__.py` and `tests.py` would be loaded first
            for one in (path.removesuffix(".py"), *prefixes(folder), f"{folder}/", *imported):
                found.setdefault(one, check)
        return found

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
