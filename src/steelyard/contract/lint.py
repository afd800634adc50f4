"""A loaded contract -> what its author should look at twice.

Faults stop a contract from loading; a warning is something that is probably a mistake, or a hole.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from steelyard.contract.catalogue import Doubt, GraderEntry
from steelyard.contract.contract import Contract
from steelyard.contract.tree import shown
from steelyard.contract.yaml_source import Place, Source, dotted
from steelyard.errors import Problem

MARKED_LINE_CHARS = 16  # shorter lines ("return x") are in too many texts to mean anything

ALWAYS_TRUE = frozenset({"true", "/bin/true", ":", "exit 0"})


def warnings(contract: Contract, source: Source) -> list[Problem]:
    """What to look at twice, apart from the graders' own doubts."""
    return [
        Problem(source.where(place), dotted(place), message, fix)
        for place, message, fix in _warnings(contract)
    ]


def doubt_problem(entry: GraderEntry, place: Place, doubt: Doubt, source: Source) -> Problem:
    """A grader's doubt about its own options, put where the option is written."""
    option = doubt.option.partition("[")[0]
    if entry.name == dotted(place):  # the policy's own grader: the place is the option
        return Problem(source.where(place), dotted(place), doubt.message)
    return Problem(source.where((*place, option)), f"{dotted(place)}.{doubt.option}", doubt.message)


def _warnings(contract: Contract) -> Iterator[tuple[Place, str, str]]:
    yield from _references(contract)
    for place, check in _placed(contract):
        if getattr(check.grader, "cmd", "").strip() in ALWAYS_TRUE:
            yield (
                place,
                f"{check.name} always passes, so it asks for nothing",
                "say the real command",
            )
    yield from _exposed_checks(contract)
    yield from _frozen_but_generated(contract)
    for submodule in contract.snapshot.submodules:
        if not submodule.materialised:
            place_ = ("repository", "submodules")
            yield place_, f"the submodule {shown(submodule.path)} is left empty", "map it to a repository"
    tree = contract.spec.repository.tree if contract.spec.repository else None
    for name in contract.files:
        if tree is not None and _below(name, tree):
            yield ("repository", "tree"), f"{shown(name)} is a file of the graders, and agents see it", ""


def _references(contract: Contract) -> Iterator[tuple[Place, str, str]]:
    if contract.spec.oracle.reference is None and all(step.reference is None for step in contract.steps):
        yield (
            ("steps",) if contract.steps else ("oracle",),
            "no reference, so nobody knows that the task can be done",
            "reference: reference.patch",
        )
    place = "brief" if contract.spec.brief_file is None else "brief_file"
    briefs: list[tuple[Place, str]] = [
        (("steps", number), step.brief) for number, step in enumerate(contract.steps)
    ]
    patches = (contract.reference, *(step.reference for step in contract.steps))
    added = [one.read_text(errors="replace") for one in patches if isinstance(one, Path)]
    for at, brief in briefs or [((place,), contract.brief)]:
        if any(_leaks(brief, patch) for patch in added):
            yield at, "contains lines of the reference", ""


def _placed(contract: Contract) -> list[tuple[Place, GraderEntry]]:
    """Every check, and where it is written."""
    if not contract.steps:
        return [(("oracle", "checks", number), check) for number, check in enumerate(contract.checks)]
    return [
        (("steps", at, "checks", number), check)
        for at, step in enumerate(contract.steps)
        for number, check in enumerate(step.checks)
    ]


def _exposed_checks(contract: Contract) -> Iterator[tuple[Place, str, str]]:
    """Python puts the folder of a script, or the current one, first on its path: what a change plants is found there."""
    for place, check in _placed(contract):
        words = getattr(check.grader, "cmd", "").split()
        is_python = any(word.rsplit("/", 1)[-1].startswith("python") for word in words)
        isolated = any(word.startswith(("-I", "-P")) for word in words)
        has_hidden = bool(getattr(check.grader, "injected", None))
        # What looks at each test starts Python its own way.
        if check.type == "command" and is_python and has_hidden and not isolated:
            yield place, "a module planted beside the hidden file can stand in for a library", "python3 -I"


def _frozen_but_generated(contract: Contract) -> Iterator[tuple[Place, str, str]]:
    for number, grader in enumerate(contract.spec.graders):
        for path in grader.get("paths", ()) if isinstance(grader.get("paths"), list | tuple) else ():
            if any(fnmatchcase(str(path), pattern) for pattern in contract.spec.generated):
                place = ("graders", number, "paths")
                yield (
                    place,
                    f"{path} matches `generated`, so no change to it is ever seen",
                    "narrow `generated`",
                )


def _leaks(brief: str, patch: str) -> bool:
    """Whether a line that the reference adds stands in the brief."""
    added = (
        line[1:].strip() for line in patch.splitlines() if line.startswith("+") and not line.startswith("+++")
    )
    return any(line in brief for line in added if len(line) >= MARKED_LINE_CHARS)


def _below(name: str, folder: str) -> bool:
    parts, top = ([part for part in text.split("/") if part not in {"", "."}] for text in (name, folder))
    return parts[: len(top)] == top
