"""The graders of a touchstone case -> checks and graders of a contract.

{type: pytest, weight: 4.0, inject: ["./hidden/test_x.py"]}
    -> checks:  {id: pytest, type: pytest, mandatory: false, weight: 4.0, cmd: "... test_x.py", inject: [hidden/test_x.py]}

Defaults that differ are written out: timeouts, the command of `pytest`, `implemented` as no gate.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from steelyard.contract.parse.explain import suggestion
from steelyard.contract.parse.yaml_source import Source, YamlPath, dotted_path
from steelyard.errors import ContractFault, Problem
from steelyard.importers.reading import existing_file, fault, plain_name
from steelyard.importers.task import FileCopy

COMMON = frozenset({"type", "weight", "gate", "pass_threshold"})
_RUBRIC_FILE = re.compile(r"[\w.\-/]+\.(md|markdown|txt|rst)")  # what is none is the rubric itself
_TESTS = frozenset({"cmd", "inject", "junit_xml", "timeout_s"})


class Kind(NamedTuple):
    keys: frozenset[str]
    runs: bool = False
    timeout_s: int = 0


KINDS = {
    "command": Kind(frozenset({"cmd", "expect_exit", "timeout_s"}), runs=True, timeout_s=300),
    "files": Kind(frozenset({"expect_dir", "patterns"})),
    "tests": Kind(_TESTS, runs=True, timeout_s=300),
    "pytest": Kind(_TESTS, runs=True, timeout_s=300),
    "swebench": Kind(
        frozenset({"inject", "fail_to_pass", "pass_to_pass", "cmd_prefix", "timeout_s"}),
        runs=True,
        timeout_s=600,
    ),
    "implemented": Kind(frozenset({"files"})),
    "trace": Kind(
        frozenset({"require_tools", "require_no_denied", "max_tool_calls", "max_tokens", "max_cost_usd"})
    ),
    "efficiency": Kind(frozenset({"target_cost_usd", "target_tokens", "target_tool_calls"})),
    "model_judge": Kind(frozenset({"rubric", "model", "models"})),
}
NOT_YET = {
    "tool_correctness": "tool calls are not scored here yet",
}
# A contract has a check; where nothing is to be run, one that asks for nothing and counts for nothing.
NOTHING_RUNS: dict[str, Any] = {"id": "nothing", "cmd": "true", "mandatory": False, "weight": 0}


@dataclass
class Graders:
    """What the graders of one case come to."""

    source: Source
    folder: Path
    checks: list[dict[str, Any]] = field(default_factory=list)
    graders: list[dict[str, Any]] = field(default_factory=list)
    copied: dict[str, FileCopy] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def bring(self, name: Any, place: YamlPath) -> str:
        """A file or folder that a grader names, taken along under its own name."""
        where, field = self.source.where(place), dotted_path(place)
        if not isinstance(name, str):
            raise fault(where, field, "expected the name of a file")
        path, plain = existing_file(self.folder, name, where, field), plain_name(name, where, field)
        if plain.split("/")[0] in {"repo", "contract.yaml", "brief.md"}:
            raise fault(
                where, field, f"{plain} is a name of the contract's own", "put it below another folder"
            )
        self.copied[plain] = FileCopy(path, self.folder)
        return plain


def convert_graders(source: Source, graders: Sequence[dict[str, Any]], folder: Path) -> Graders:
    found, problems = Graders(source, folder), []
    for number, raw in enumerate(graders):
        try:
            _convert(found, ("graders", number), raw)
        except ContractFault as wrong:
            problems += wrong.problems
    if problems:
        raise ContractFault(problems)
    if not found.checks:
        found.checks.append(dict(NOTHING_RUNS))
        found.notes.append("none of its graders runs anything")
    return found


def _convert(found: Graders, place: YamlPath, raw: dict[str, Any]) -> None:
    kind = _kind(found.source, place, raw)
    type_ = str(raw["type"])
    entry: dict[str, Any] = {"type": type_, **_counting(raw)}
    if kind.runs:
        entry = {"id": _unused(type_, found.checks), **entry, "mandatory": False}
    if kind.timeout_s:
        entry["timeout_s"] = kind.timeout_s
    entry |= {key: value for key, value in raw.items() if key in kind.keys}
    if "inject" in entry:
        entry["inject"] = _injects(found, (*place, "inject"), entry["inject"])
    if "expect_dir" in entry:
        entry["expect_dir"] = found.bring(entry["expect_dir"], (*place, "expect_dir"))
    if "rubric" in entry and _RUBRIC_FILE.fullmatch(str(entry["rubric"])):
        entry["rubric"] = found.bring(entry["rubric"], (*place, "rubric"))
    if "junit_xml" in entry:
        entry["junit_xml"] = _report(found.source, (*place, "junit_xml"), entry["junit_xml"])
    if type_ == "pytest" and "cmd" not in entry and entry.get("inject"):
        entry["cmd"] = _pytest(entry["inject"])
    (found.checks if kind.runs else found.graders).append(entry)


def _kind(source: Source, place: YamlPath, raw: dict[str, Any]) -> Kind:
    """The kind of a grader, once every key of it is known to be one."""
    type_, where = raw.get("type"), source.where((*place, "type"))
    field = dotted_path((*place, "type"))
    if not isinstance(type_, str):
        raise fault(where, field, "is missing" if type_ is None else "expected text")
    if type_ in NOT_YET:
        raise fault(where, field, f"{type_} is not supported: {NOT_YET[type_]}")
    if type_ not in KINDS:
        raise fault(where, field, f"unknown grader {type_!r}", suggestion(type_, [*KINDS, *NOT_YET]))
    known = COMMON | KINDS[type_].keys
    strange = [
        Problem(
            source.where((*place, key)),
            dotted_path((*place, key)),
            f"not supported for {type_}",
            suggestion(key, known),
        )
        for key in raw
        if key not in known
    ]
    if strange:
        raise ContractFault(strange)
    return KINDS[type_]


def _counting(raw: dict[str, Any]) -> dict[str, Any]:
    """A gate adds no credit there either, whatever weight stands beside it."""
    if raw.get("gate") is True:
        return {"gate": True}
    own_default = {"gate": False} if raw["type"] == "implemented" else {}
    given = {key: value for key, value in raw.items() if key in {"pass_threshold", "gate"}}
    return {"weight": raw.get("weight", 1.0), **own_default, **given}


def _unused(name: str, checks: list[dict[str, Any]]) -> str:
    count = sum(check["type"] == name for check in checks)
    return f"{name}-{count + 1}" if count else name


def _injects(found: Graders, place: YamlPath, items: Any) -> list[Any]:
    if not isinstance(items, list):
        raise fault(found.source.where(place), dotted_path(place), "expected a list")
    return [_inject(found, (*place, number), item) for number, item in enumerate(items)]


def _inject(found: Graders, place: YamlPath, item: Any) -> Any:
    if not isinstance(item, dict):
        return found.bring(item, place)
    if set(item) != {"src", "dest"}:
        raise fault(found.source.where(place), dotted_path(place), "expected src and dest, and nothing else")
    return {"src": found.bring(item["src"], (*place, "src")), "dest": item["dest"]}


def _report(source: Source, place: YamlPath, value: Any) -> Any:
    if not isinstance(value, list):
        return value
    if len(value) != 1:
        raise fault(
            source.where(place), dotted_path(place), "several reports are not supported yet", "one pattern"
        )
    return value[0]


def _pytest(inject: list[Any]) -> str:
    """Only the hidden tests, as touchstone has it."""
    names = [item["dest"] if isinstance(item, dict) else item.rsplit("/", 1)[-1] for item in inject]
    return " ".join(["python3 -m pytest -q -p no:cacheprovider", *map(shlex.quote, map(str, names))])
