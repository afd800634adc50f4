"""Verifiers of a contract -> the ways by which files of the work under test would get into them.

python3 -m json.tool answer.json     looks for `json` in the workspace first: an answer that is a program
PYTHONPATH: src                      so does every Python that the script starts

Only what the words tell; a warning, since the author may know better.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from steelyard.contract.contract import Contract
from steelyard.contract.execution_spec import ScriptSpec
from steelyard.errors import Problem
from steelyard.filesystem.tree import is_within
from steelyard.sandbox_paths import WORKSPACE

MAX_BYTES = 1 << 20
LEADING = {"PATH": "programs", "PYTHONPATH": "modules"}
_PYTHON = re.compile(r"(?:^|[\s;&|(`])(?:\S*/)?python3?(?:\.\d+)?((?:\s+-[^\s-]\S*)*)(?=\s|$)[ \t]*(\S*)")
_ELSEWHERE = re.compile(rf"^\s*cd\s+(?!{WORKSPACE})/".encode(), re.MULTILINE)


def exposed_verifiers(contract: Contract) -> list[Problem]:
    specs = [entry.execution for entry in (*contract.checks, *contract.graders)]
    scripts = {spec.script for spec in specs if isinstance(spec, ScriptSpec)}
    where = str(contract.folder / "contract.yaml")
    found = [*_variables(contract, where)] if scripts else []
    for script in sorted(scripts):
        for name, file in contract.files_beside(script).items():
            if (
                name.endswith((".sh", ".bash"))
                and file.mode != "link"
                and file.path.stat().st_size <= MAX_BYTES
            ):
                found += _lines(file.path.read_bytes(), str(file.path))
    return found


def _variables(contract: Contract, where: str) -> Iterator[Problem]:
    roots = {WORKSPACE, contract.spec.environment.workdir or WORKSPACE}
    for name, what in LEADING.items():
        parts = contract.spec.environment.env.get(name, "/").split(":")
        if any(not part.startswith("/") or any(is_within(part, root) for root in roots) for part in parts):
            message = f"points into the workspace, so a verifier may load {what} written by the candidate"
            yield Problem(where, f"environment.env.{name}", message, "set it only where it is needed")


def _lines(text: bytes, where: str) -> Iterator[Problem]:
    if _ELSEWHERE.search(text):
        return
    for number, line in enumerate(text.decode(errors="replace").splitlines(), 1):
        for options, rest in () if line.lstrip().startswith("#") else _PYTHON.findall(line):
            words = options.split()
            isolated = any(re.match(r"-\w*[IP]", word) for word in words)
            from_here = (
                any(re.match(r"-\w*[mc]", word) for word in words)
                or rest in {"-", "<<"}
                or rest.startswith("<<")
            )
            if from_here and not isolated:
                message = "searches the workspace for modules first, so a module of the candidate can replace a library"
                yield Problem(f"{where}:{number}", "", message, "python3 -I, or cd / before it")
