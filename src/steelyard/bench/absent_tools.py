"""Programs that a contract's checks and an agent start -> those that are missing, before any trial starts.

    cmd: "pyhton3 -m unittest"      no change can put `pyhton3` on the bench: every trial would end with exit 127

Only what is certain: the first program of a command, by name, looked for with the bench's own PATH. A path into the
workspace may be the work itself, and so may a program on a PATH that leads there or in a whole system.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import assert_never

import orjson

from steelyard.bench import missing_tool
from steelyard.bench.execution_spec import BenchSpec, CommandSpec, SuiteSpec, VerifierSpec, bench_spec
from steelyard.bench.runners import catalogue
from steelyard.bench.suite import suite_of_spec
from steelyard.bench.transfer import path_hijacks
from steelyard.deferred.pattern import deferred_pattern
from steelyard.environment.prepare import Environment
from steelyard.errors import ContractFault, InfraFault, Problem
from steelyard.sandboxes.base import Command

FORMAT = "steelyard.tools/1"
LOOK_S = 20.0
_LOOK = 'for name do command -v -- "$name" >/dev/null 2>&1 || printf "%s\\0" "$name"; done; exit 0'
# What may stand before the first program and changes nothing about which one it is.
_BEFORE = r"(?:(?:cd|export|set)\s+[\w./=:+-]+\s*(?:&&|;)\s*)*(?:\w+=[\w./:+-]*\s+)*"
_FIRST = deferred_pattern(rf"\s*(?P<before>{_BEFORE})(?P<name>[\w./+-]+)(?=\s|$|[;|&<>])")


def first_program(line: str) -> str:
    """The first program that a command line starts; nothing where only a shell could tell."""
    found = _FIRST.match(line)
    if found is None or re.search(r"\bPATH=", found["before"]):  # PYTHONPATH says nothing about programs
        return ""
    is_elsewhere = "cd " in found["before"] and "/" in found["name"] and not found["name"].startswith("/")
    return "" if is_elsewhere else found["name"]


def _look_for(environment: Environment, names: Sequence[str]) -> list[str] | None:
    """Those of the names that are no program in a fresh sandbox of the environment; None if the sandbox does not answer."""
    try:
        with environment.backend.start(environment.sandbox_spec()) as sandbox:
            done = sandbox.run(Command(("/bin/sh", "-c", _LOOK, "look", *names), timeout_s=LOOK_S))
    except InfraFault:
        return None
    if done.exit_code != 0:
        return None
    absent = (done.stdout.head + done.stdout.tail).decode(errors="surrogateescape").split("\0")
    return [name for name in names if name in absent]


def refuse_absent_tools(environment: Environment) -> None:
    """Raises ContractFault for a check whose program is not on the bench. What was found once is not looked for again."""
    named = dict(_programs(environment))
    if not named:
        return
    missing = absent_programs(environment, sorted(set(named.values())))
    if missing:
        wrong = [_problem(environment, place, name) for place, name in named.items() if name in missing]
        raise ContractFault(wrong)


def absent_programs(environment: Environment, names: Sequence[str]) -> list[str]:
    """Those of the names that are no program in a sandbox of the environment. Names that were all found are not looked for again.

    A sandbox that does not start is reported by the run, which keeps a record of it: here no name is absent then.
    """

    def build(folder: Path) -> None:
        missing = _look_for(environment, names)
        if missing is None or missing:
            raise _NotFound(missing or [])
        (folder / "found.json").write_bytes(orjson.dumps(names))

    material = [FORMAT, *environment.identity, names]
    try:
        environment.cache.build("tools", hashlib.sha256(orjson.dumps(material)).hexdigest(), build)
    except _NotFound as found:
        return found.names
    return []


class _NotFound(Exception):
    """Nothing is kept of a search that did not find every name: a program may be installed later, a sandbox may answer later."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(names)
        self.names = names


def _problem(environment: Environment, place: str, name: str) -> Problem:
    where = str(environment.contract.folder / "contract.yaml")
    fix = "correct the name, install it in `setup`, or name its toolchain"
    return Problem(where, place, f"`{name}` is not on the bench, so no change could pass", fix)


def _programs(environment: Environment) -> Iterator[tuple[str, str]]:
    """Field -> the program, of each check and grader whose command runs as it is written."""
    contract = environment.contract
    path = environment.path_variable(contract.spec.environment.env)
    leads_in = bool(path) and any(path_hijacks.is_in_tree(folder) for folder in path.split(":"))
    if leads_in or contract.spec.environment.scope == "system" or contract.spec.bench == "live":
        return
    for number, entry in enumerate(contract.checks):
        spec = bench_spec(entry)
        name = _program(spec)
        if name and "/" not in name:
            where = f"oracle.checks[{number}]" if entry.step is None else entry.name
            yield f"{where}.{spec.option}", name
    for number, entry in enumerate(contract.graders):
        if not entry.executes or not (entry.required or entry.weight > 0):
            continue
        spec = bench_spec(entry)
        name = _program(spec)
        if name and "/" not in name:
            yield f"graders[{number}].{spec.option}", name


def _program(spec: BenchSpec) -> str:
    match spec:
        case CommandSpec():
            return "" if spec.expect_exit == missing_tool.NOT_FOUND else first_program(spec.command)
        case SuiteSpec():
            # A runner of the bench starts the tests in its own way.
            by_code = catalogue.runner_for(suite_of_spec.suite_of(spec), spec.runner).NAME == "exit_code"
            return first_program(spec.command) if by_code else ""
        case VerifierSpec():
            return ""
        case _:
            assert_never(spec)
