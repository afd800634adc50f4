"""Real packages, each broken in one place -> contracts whose oracle is the package's own suite.

    the tree        the source distribution, with one line made wrong
    the reference   the line as it was
    mutants         work that mends that line and breaks another

Ids come from two runs in a sandbox: what passes as released is expected, what the broken line fails is fail_to_pass.
Downloads need pip and an index; where there is none, `NoIndex` has the reason. pip asks each release for its metadata, for which it
would install the release's build tools first: `BACKEND` answers in their place with the metadata that the release contains.
"""

from __future__ import annotations

import difflib
import functools
import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from corpus.tasks import pytest_archive

from steelyard import api
from steelyard.contract.contract import Contract
from steelyard.environment.prepare import prepare_environment
from steelyard.sandboxes.base import Command

DOWNLOAD_S = 240
BACKENDS = ("setuptools/build_meta.py", "flit_core/buildapi.py")  # of the releases below
BACKEND = """
import email, pathlib, sys

__legacy__ = sys.modules[__name__]


def get_requires_for_build_wheel(settings=None):
    return []


def prepare_metadata_for_build_wheel(folder, settings=None):
    text = pathlib.Path("PKG-INFO").read_text()
    fields = email.message_from_string(text)
    made = pathlib.Path(folder, fields["Name"].replace("-", "_") + "-" + fields["Version"] + ".dist-info")
    made.mkdir()
    (made / "METADATA").write_text(text)
    return made.name
"""
PYTHON = ".venv/bin/python"


class Edit(NamedTuple):
    file: str
    right: str
    wrong: str


@dataclass(frozen=True)
class Project:
    """One release and what is done to it."""

    name: str
    version: str
    what: str  # why it is here
    bug: Edit
    mutants: tuple[Edit, ...]
    arguments: str  # of the runner
    runner: str = "pytest -q -p no:cacheprovider"
    pythonpath: str = ""
    ours: str = ""  # what ids begin with: doctests that a suite loads have names that no command takes

    @property
    def command(self) -> str:
        path = f"PYTHONPATH={self.pythonpath} " if self.pythonpath else ""
        return f"{path}{PYTHON} -m {self.runner} {self.arguments}"


PROJECTS = (
    Project(
        "inflection",
        "0.5.1",
        "one module, its tests beside it, hundreds of parameters",
        Edit("inflection/__init__.py", "number % 100 in (11, 12, 13)", "number % 100 in (11, 12)"),
        (
            Edit("inflection/__init__.py", '.get(number % 10, "th")', '.get(number % 10, "st")'),
            Edit("inflection/__init__.py", "return word.lower()", "return word"),
        ),
        "test_inflection.py",
    ),
    Project(
        "markupsafe",
        "3.0.4",
        "src layout; a conftest with an autouse fixture that swaps the implementation",
        Edit("src/markupsafe/_native.py", '.replace("<", "&lt;")', '.replace("<", "<")'),
        (
            Edit("src/markupsafe/__init__.py", "end += 3", "end += 2"),
            Edit("src/markupsafe/__init__.py", "return unescape(str(self))", "return str(self)"),
        ),
        "tests/test_escape.py tests/test_markupsafe.py",
        pythonpath="src",
    ),
    Project(
        "toolz",
        "1.2.0",
        "tests are inside the package that is tested",
        Edit("toolz/itertoolz.py", "islice(seq, 0, None, n)", "islice(seq, 1, None, n)"),
        (
            Edit("toolz/itertoolz.py", "islice(seq, n, None)", "islice(seq, n + 1, None)"),
            Edit("toolz/dicttoolz.py", "remaining.difference_update(keys)", "remaining.update(keys)"),
        ),
        "toolz/tests/test_itertoolz.py toolz/tests/test_dicttoolz.py",
    ),
    Project(
        "more-itertools",
        "11.2.1",
        "unittest, with subtests",
        Edit("more_itertools/recipes.py", "max(0, size - n)", "max(1, size - n)"),
        (
            Edit("more_itertools/recipes.py", "return sum(map(mul, vec1, vec2))", "return sum(vec1)"),
            Edit(
                "more_itertools/recipes.py",
                "islice(iterable, n, None), def",
                "islice(iterable, n + 1, None), def",
            ),
        ),
        " ".join(
            f"tests.test_recipes.{name}Tests"  # the others look for primes for half a minute
            for name in (
                "Take",
                "Tabulate",
                "Tail",
                "Nth",
                "AllEqual",
                "Dotproduct",
                "Flatten",
                "Grouper",
                "Powerset",
            )
        ),
        runner="unittest",
        ours="tests.",
    ),
    Project(
        "boltons",
        "26.2.0",
        "a conftest with a hook that decides what is collected; tests are a package",
        Edit("boltons/mathutils.py", "return options[i - 1]", "return options[i]"),
        (Edit("boltons/mathutils.py", "if i == len(options):", "if i == 0:"),),
        "tests/test_strutils.py tests/test_setutils.py tests/test_mathutils.py",
    ),
)


class NoIndex(Exception):
    """There is no package index here, or not this release on it."""


@functools.cache
def release(project: Project, folder: Path) -> Mapping[str, bytes]:
    """Path -> content of the source distribution, without its top folder."""
    asked = f"{project.name}=={project.version}"
    command = [
        *(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"),
        *("--no-build-isolation", "--use-pep517", "--no-binary", project.name),
    ]
    for name in BACKENDS:
        (folder / "backends" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "backends" / name).write_text(BACKEND)
        (folder / "backends" / name).with_name("__init__.py").touch()  # found before an installed package
    try:
        done = subprocess.run(
            [*command, "--dest", str(folder), asked],
            capture_output=True,
            text=True,
            check=False,
            timeout=DOWNLOAD_S,
            env={**os.environ, "PYTHONPATH": str(folder / "backends")},
        )
    except subprocess.TimeoutExpired as late:
        raise NoIndex(f"pip download {asked} took longer than {DOWNLOAD_S} s") from late
    found = next(folder.glob(f"{project.name.replace('-', '_')}-{project.version}.tar.gz"), None)
    if found is None:
        raise NoIndex(f"pip download {asked}: {done.stderr.strip()[-300:]}")
    with tarfile.open(found) as archive:
        files = [one for one in archive.getmembers() if one.isfile()]
        return {
            one.name.partition("/")[2]: (archive.extractfile(one) or io.BytesIO()).read()
            for one in files
            if ".egg-info/" not in one.name  # what an installation leaves, not what an author writes
        }


@dataclass(frozen=True)
class Shop:
    """Where a project's contracts are written."""

    project: Project
    root: Path

    @functools.cached_property
    def released(self) -> Mapping[str, bytes]:
        self.root.mkdir(parents=True, exist_ok=True)
        return release(self.project, self.root)

    def contract(self, name: str, mode: str, check: Mapping[str, Any]) -> Contract:
        folder = self.root / name
        broken = {**self.released, self.project.bug.file: self._edited(self.project.bug)}
        for path, content in {**broken, "tools.tar": pytest_archive()}.items():
            place = folder / "repo" / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        (folder / "reference.patch").write_text(self._patch(broken, self.released))
        (folder / "contract.yaml").write_text(yaml.safe_dump(self._keys(mode, check), sort_keys=False))
        return api.load_contract(folder)

    def mutant(self, edit: Edit) -> Path:
        """A patch that mends the bug and breaks another line."""
        broken = {**self.released, self.project.bug.file: self._edited(self.project.bug)}
        path = self.root / f"{edit.file.replace('/', '-')}-{self.project.mutants.index(edit)}.patch"
        path.write_text(self._patch(broken, {**self.released, edit.file: self._edited(edit)}))
        return path

    def ids(self) -> tuple[list[str], list[str]]:
        """fail_to_pass and pass_to_pass, as the suite itself says."""
        plain = self.contract("plain", "in_process", {"type": "tests", "cmd": self.project.command})
        right, wrong = (
            _passed(api.run_trial(plain, who, out=self.root / "runs")) for who in ("reference", "noop")
        )
        asked = [one for one in right if one.startswith(self.project.ours)]
        return [one for one in asked if one not in wrong], [one for one in asked if one in wrong]

    def bare_s(self, contract: Contract) -> float:
        """How long the suite takes in a sandbox without anybody watching it."""
        environment = prepare_environment(contract)
        with environment.backend.start(environment.sandbox_spec()) as sandbox:
            return sandbox.run(Command(("/bin/sh", "-c", self.project.command), timeout_s=120)).wall_ns / 1e9

    def _keys(self, mode: str, check: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "id": f"{self.project.name}-{mode.replace('_', '-')}",
            "brief": f"A line of {self.project.bug.file} is wrong. Mend it.",
            "repository": {"tree": "repo"},
            "environment": {
                "toolchains": {"python": "3"},
                "memory_mb": {"guaranteed": 128, "limit": 1024},
                "disk_mb": 96,
                "processes": 96,
            },
            "setup": [
                "python3 -m venv --without-pip .venv",
                "tar -xf tools.tar -C .venv/lib/python3*/site-packages",
                "python3 -m compileall -q .venv/lib",
            ],
            "build": "none",
            "oracle": {
                "checks": [{"id": "suite", "timeout_s": 120, **check}],
                "mode": mode,
                "reference": "reference.patch",
            },
            "budget": {"wall_s": 300, "headroom": {"wall_s": 200}},
        }

    def _edited(self, edit: Edit) -> bytes:
        text = self.released[edit.file].decode()
        assert text.count(edit.right) >= 1, f"{edit.file} of {self.project.name} has no {edit.right!r}"
        return text.replace(edit.right, edit.wrong, 1).encode()

    def _patch(self, old: Mapping[str, bytes], new: Mapping[str, bytes]) -> str:
        changed = sorted(path for path in new if new[path] != old[path])
        return "".join(_diff(path, old[path].decode(), new[path].decode()) for path in changed)


def _diff(path: str, old: str, new: str) -> str:
    lines = difflib.unified_diff(
        old.splitlines(keepends=True), new.splitlines(keepends=True), f"a/{path}", f"b/{path}"
    )
    return f"diff --git a/{path} b/{path}\n" + "".join(lines)


def _passed(line: Mapping[str, Any]) -> list[str]:
    outcome = json.loads((Path(line["folder"]) / "checks/suite/outcome.json").read_text())
    return [name for name, how, *_ in outcome["reported"]["results"] if how == "passed"]


def asked(project: Project, ids: tuple[list[str], list[str]]) -> dict[str, Any]:
    """The check: `swebench`, or `tests` where its command would run whole modules instead of some classes."""
    if project.runner == "unittest":
        return {"type": "tests", "cmd": project.command, "ids": [*ids[0], *ids[1]]}
    prefix, _, _ = project.command.rpartition(f" {project.arguments}")
    return {"type": "swebench", "cmd_prefix": prefix, "fail_to_pass": ids[0], "pass_to_pass": ids[1]}
