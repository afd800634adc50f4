"""A loaded contract -> what its author should look at twice.

Faults stop a contract from loading; a warning is something that is probably a mistake, or a hole.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from steelyard.contract.briefing import TEMPLATE
from steelyard.contract.catalogue import GraderEntry, LintWarning
from steelyard.contract.contract import Contract
from steelyard.contract.execution_spec import ScriptSpec
from steelyard.contract.parse.yaml_source import Source, YamlPath, dotted_path
from steelyard.contract.scaffold import templates
from steelyard.errors import Problem
from steelyard.filesystem.tree import printable

ROUNDING = 1e-9
MARKED_LINE_CHARS = 16  # shorter lines ("return x") are in too many texts to mean anything

ONLY_JUDGED = "only a judge grades the answer, so every run is ungraded unless a model key is set"
ALWAYS_TRUE = frozenset({"true", "/bin/true", ":", "exit 0"})
SAYS_NOTHING = frozenset({"true", "/bin/true", ":", "echo", "printf"})  # whatever happened before
PASSES_ON = frozenset(
    {"tee", "cat", "head", "tail", "sed", "sort", "tr", "cut", "less", "more", "ts", "uniq"}
)


def warnings(contract: Contract, source: Source) -> list[Problem]:
    """What to look at twice, apart from the graders' own doubts."""
    return [
        Problem(source.where(place), dotted_path(place), message, fix)
        for place, message, fix in _warnings(contract)
    ]


def warning_problem(entry: GraderEntry, place: YamlPath, warning: LintWarning, source: Source) -> Problem:
    """A grader's warning about its own options, at the place where the option is written."""
    if entry.name == dotted_path(place):  # the policy's own grader: the place is the option
        return Problem(source.where(place), dotted_path(place), warning.message)
    option = (int(part) if part.isdecimal() else part for part in re.findall(r"[^.\[\]]+", warning.option))
    return Problem(source.where((*place, *option)), f"{dotted_path(place)}.{warning.option}", warning.message)


def _warnings(contract: Contract) -> Iterator[tuple[YamlPath, str, str]]:
    yield from _references(contract)
    if contract.spec.repository is not None and not any(
        entry.kind == "file" for entry in contract.snapshot.entries.values()
    ):
        source = next(key for key in ("git", "archive", "tree") if getattr(contract.spec.repository, key))
        yield (
            ("repository", source),
            "the repository has no file: the agent starts in an empty folder",
            "put the repository there, unless the task starts from nothing",
        )
    for place, check in _checks_with_places(contract):
        spec = check.execution
        if spec is None or isinstance(spec, ScriptSpec):
            continue
        if spec.command.strip() in ALWAYS_TRUE:
            yield (
                place,
                f"{check.name} always passes, so it checks nothing",
                "write the real command",
            )
        if warning := _deaf(spec.command):
            yield (*place, spec.option), warning, "end with the command whose exit code counts"
    yield from _exposed_checks(contract)
    yield from _templates(contract)
    yield from _out_of_reach(contract)
    yield from _frozen_but_generated(contract)
    for submodule in contract.snapshot.submodules:
        if not submodule.materialised:
            where = ("repository", "submodules")
            yield where, f"the submodule {printable(submodule.path)} is left empty", "map it to a repository"
    tree = contract.spec.repository.tree if contract.spec.repository else None
    for name in contract.files:
        if tree is not None and _below(name, tree):
            yield ("repository", "tree"), f"{printable(name)} is used for grading, and agents can read it", ""


def _references(contract: Contract) -> Iterator[tuple[YamlPath, str, str]]:
    if contract.spec.workspace == "none" and not contract.checks:
        yield ("workspace",), ONLY_JUDGED, "a `verifier` check needs no model"
    elif contract.spec.oracle.reference is None and all(step.reference is None for step in contract.steps):
        yield (
            ("steps",) if contract.steps else ("oracle",),
            "no reference solution, so solvability is unproven",
            "reference: reference.patch",
        )
    patches = (contract.reference, *(step.reference for step in contract.steps))
    added = [one.read_text(errors="replace") for one in patches if isinstance(one, Path)]
    for place, message in _messages(contract):
        if any(_leaks(message, patch) for patch in added):
            yield place, "contains lines of the reference", ""


def _messages(contract: Contract) -> Iterator[tuple[YamlPath, str]]:
    """Every message that an agent gets, and where it is written."""
    if contract.steps:
        yield from ((("steps", number), step.brief) for number, step in enumerate(contract.steps))
        return
    yield ("brief" if contract.spec.brief_file is None else "brief_file",), contract.brief
    yield from ((("turns", number), text) for number, text in enumerate(contract.spec.turns))


def _checks_with_places(contract: Contract) -> list[tuple[YamlPath, GraderEntry]]:
    """Every check, and where it is written."""
    if not contract.steps:
        return [(("oracle", "checks", number), check) for number, check in enumerate(contract.checks)]
    return [
        (("steps", at, "checks", number), check)
        for at, step in enumerate(contract.steps)
        for number, check in enumerate(step.checks)
    ]


def _deaf(cmd: str) -> str:
    """Why the exit code of a command would say nothing about what it runs, if so."""
    try:
        lexer = shlex.shlex(cmd.strip().replace("\n", " ; "), posix=False, punctuation_chars=True)
        lexer.commenters = ""
        words = [word for word in lexer if word not in {"(", ")", "{", "}"}]
    except ValueError:
        return ""
    places = [place for place, word in enumerate(words) if word in {"|", "||", ";", "&", "&&", "|&"}]
    if not places:
        return ""
    joint, last = words[places[-1]], words[places[-1] + 1 :]
    if joint == "&" and not last:
        return "`&` starts the last command in the background, so its exit code is lost"
    program = last[0].rpartition("/")[2] if last else ""
    if joint in {"|", "|&"} and program in PASSES_ON and "pipefail" not in words:
        return f"the exit code is that of `{program}`, not of what comes before the pipe"
    stops = joint == ";" and re.search(r"\bset -\w*e", cmd)
    if joint in {"||", ";"} and not stops and (program in SAYS_NOTHING or last == ["exit", "0"]):
        return f"`{joint} {' '.join(last)[:40]}` makes the command always succeed"
    return ""


def _exposed_checks(contract: Contract) -> Iterator[tuple[YamlPath, str, str]]:
    """Python puts the folder of a script, or the current one, first on its path: what a change plants is found there."""
    for place, check in _checks_with_places(contract):
        spec = check.execution
        words = spec.command.split() if spec is not None else []
        is_python = any(word.rsplit("/", 1)[-1].startswith("python") for word in words)
        isolated = any(word.startswith(("-I", "-P")) for word in words)
        has_hidden = spec is not None and bool(spec.injected)
        # What looks at each test starts Python its own way.
        if check.type == "command" and is_python and has_hidden and not isolated:
            yield place, "a module placed beside the hidden file can replace a library", "python3 -I"


def _templates(contract: Contract) -> Iterator[tuple[YamlPath, str, str]]:
    """What `init` wrote is there to be filled in."""
    written = templates.QUESTION_BRIEF if contract.spec.workspace == "none" else TEMPLATE
    for place, brief in _messages(contract):
        if brief.strip() == written.strip():
            yield place, "is still the text that `init` wrote", "describe what the agent has to do"
    for place, check in _checks_with_places(contract):
        spec = check.execution
        if check.type == "verifier" and any(
            file.mode != "link" and _holds(file.path, templates.VERIFIER) for file in contract.files.values()
        ):
            yield (
                (*place, "script"),
                "is still the verifier that `init` wrote",
                "write what a right answer must have",
            )
        for number, (source, _) in enumerate(spec.injected if spec is not None else ()):
            file = contract.files.get(source)
            if (
                file is not None
                and file.mode != "link"
                and any(_holds(file.path, text) for text in templates.HIDDEN_TESTS)
            ):
                at = (*place, "inject", number)
                yield (
                    at,
                    f"{printable(source)} is still the test that `init` wrote",
                    "write tests of what must hold",
                )


def _holds(path: Path, text: str) -> bool:
    return path.stat().st_size == len(text) and path.read_text(errors="replace") == text


def _out_of_reach(contract: Contract) -> Iterator[tuple[YamlPath, str, str]]:
    """A check that passes with a part of the credit, in a contract that then fails for want of the rest."""
    needed = contract.spec.pass_threshold
    whole = sum(one.weight for one in (*contract.checks, *contract.graders))
    for place, check in _checks_with_places(contract) if not contract.steps else ():
        score = 1 - check.weight / whole * (1 - check.pass_threshold) if whole else 1.0
        if check.weight and score < needed - ROUNDING:
            message = f"{check.name} passes at {check.pass_threshold:g}, where the score of the run may be only {score:.3g}"
            yield (
                (*place, "pass_threshold"),
                f"{message}; the contract needs {needed:g}",
                f"pass_threshold: {score:.3g} beside `oracle`",
            )


def _frozen_but_generated(contract: Contract) -> Iterator[tuple[YamlPath, str, str]]:
    for number, grader in enumerate(contract.spec.graders):
        for path in grader.get("paths", ()) if isinstance(grader.get("paths"), list | tuple) else ():
            if any(fnmatchcase(str(path), pattern) for pattern in contract.spec.generated):
                place = ("graders", number, "paths")
                yield (
                    place,
                    f"{path} matches `generated`, so changes to it are ignored",
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
