"""A contract folder -> a `Contract`, or all the mistakes found in it at once.

contract.yaml (+ ../suite.yaml) -> data with positions -> spec, checks, graders, files -> snapshot -> digest
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from steelyard.contract.catalogue import Catalogue, Material
from steelyard.contract.contract import Contract, Step
from steelyard.contract.digest import contract_digest
from steelyard.contract.lint.warnings import warning_problem, warnings
from steelyard.contract.model import ContractSpec
from steelyard.contract.parse import explain as explanation
from steelyard.contract.parse.entries import Entries, resolve_entries
from steelyard.contract.parse.named_files import NamedFiles, files_below, name_files
from steelyard.contract.parse.not_yet import not_yet
from steelyard.contract.parse.scores import score_problems
from steelyard.contract.parse.shapes import shape_problems
from steelyard.contract.parse.yaml_source import Source, dotted_path, read_yaml
from steelyard.contract.snapshot.snapshot import Snapshot, look_at, take_snapshot
from steelyard.contract.suite import with_suite
from steelyard.deferred import model as models
from steelyard.deferred.named_tuple import NamedTuple
from steelyard.deferred.pattern import deferred_pattern
from steelyard.errors import ContractFault, OperatorFault, Problem
from steelyard.filesystem.cache import Cache

FILE = "contract.yaml"
_ADDRESS = deferred_pattern(r"(https?|ssh|git):/+(.*)")


class LoadResult(NamedTuple):
    """A contract that loads, and what its author should look at twice."""

    contract: Contract
    warnings: list[Problem]


def load_contract(path: Path | str, catalogue: Catalogue, cache: Cache | None = None) -> Contract:
    """Load the contract in `path` (its folder or its contract.yaml); raises ContractFault."""
    return examine_contract(path, catalogue, cache).contract


def examine_contract(
    path: Path | str,
    catalogue: Catalogue,
    cache: Cache | None = None,
    *,
    to_run: bool = True,
    snapshot: Snapshot | None = None,
) -> LoadResult:
    """Load the contract and look at it closely; raises ContractFault with every problem.

    One that is not `to_run` leaves nothing in the cache that can be done without; all else about it is the same.
    With a `snapshot`, the repository that the contract names is not looked for.
    """
    file = Path(path) / FILE if Path(path).is_dir() else Path(path)
    folder = file.parent
    source = with_suite(read_yaml(file), folder)
    entries = resolve_entries(source, catalogue)
    named = name_files(source, entries, folder, with_repository=snapshot is None)
    problems = [*not_yet(source), *entries.problems, *named.problems]
    spec = _spec(source, problems)
    problems += [*shape_problems(entries), *_build_problems(entries), *_reward_problems(entries)]
    problems += score_problems(entries)
    if problems or spec is None:
        raise ContractFault(_in_order(problems))
    take = take_snapshot if to_run else look_at
    if snapshot is None:
        snapshot = _snapshot(
            partial(take, spec.repository, folder.absolute(), cache or Cache.default()), source
        )
    lint_warnings = _doubts(entries, Material(snapshot.tree, snapshot.entries, named.files))
    if fatal := [problem for problem, is_fatal in lint_warnings if is_fatal]:
        raise ContractFault(_in_order(fatal))
    steps = _steps(spec, entries, named)
    briefs = [step.brief for step in steps]
    brief = "\n\n".join(briefs) or str(spec.brief if named.brief is None else named.brief)
    digest = contract_digest(spec, briefs or brief, snapshot, [*entries.found.values()], named.files)
    contract = Contract(
        spec,
        folder,
        brief,
        entries.checks,
        entries.graders,
        named.files,
        snapshot,
        digest,
        steps,
        source.data,
    )
    return LoadResult(
        contract, _in_order([*(problem for problem, _ in lint_warnings), *warnings(contract, source)])
    )


def _steps(spec: ContractSpec, entries: Entries, named: NamedFiles) -> tuple[Step, ...]:
    return tuple(
        Step(
            name=step.name,
            brief=named.step_briefs.get(number) or str(step.brief),
            min_reward=step.min_reward,
            wall_s=step.wall_s,
            reference=named.files[step.reference].path if isinstance(step.reference, str) else step.reference,
            checks=tuple(entry for entry in entries.checks if entry.step == step.name),
            files=files_below(str(step.files), named.files) if step.files else {},
            ready=step.ready,
        )
        for number, step in enumerate(spec.steps)
    )


def find_contracts(paths: Iterable[Path | str]) -> list[Path]:
    """The contract folders that `paths` name: contract folders, contract.yaml files, and suite folders."""
    return list(dict.fromkeys(folder for path in paths for folder in _contract_folders(Path(path))))


def _contract_folders(path: Path) -> Iterator[Path]:
    if path.is_file() and path.name == FILE:
        yield path.parent
    elif (path / FILE).is_file():
        yield path
    else:
        below = sorted(file.parent for file in path.glob(f"*/{FILE}"))
        if not below:
            raise OperatorFault(_address_fault(path) or f"{path} {_why_no_contract(path)}")
        yield from below


def _address_fault(path: Path) -> str:
    """What to do with `https://...`; a path has no two slashes in a row."""
    if path.exists() or not (found := _ADDRESS.match(str(path))):
        return ""
    address = f"{found[1]}://{found[2]}"
    return f"{address}: a contract is a folder on this machine; `git clone` or download it, then name its folder here"


def _why_no_contract(path: Path) -> str:
    if path.is_file():
        return f"is no contract; name the folder that has its {FILE}"
    if path.is_dir():
        return "has no contract.yaml, and neither has a folder in it"
    return "is neither a file nor a folder" if path.exists() else "does not exist"


def _spec(source: Source, problems: list[Problem]) -> ContractSpec | None:
    try:
        return ContractSpec.model_validate_json(json.dumps(source.data))
    except models.ValidationError as refused:
        problems += explanation.explain(refused, source, partial(explanation.known_keys, ContractSpec))
        return None


def _build_problems(entries: Entries) -> list[Problem]:
    """A contract builds something or says that there is nothing to build."""
    built = [
        place
        for place, entry in entries.found.items()
        if entry.is_check and entry.under in ("build", "static")
    ]
    if entries.source.data.get("workspace") == "none":
        return []
    none = entries.source.data.get("build") == "none"
    if built and none:
        place, message, fix = built[0], "is a build check, but the contract has `build: none`", ""
    elif not built and not none and entries.checks and not entries.problems:
        place, message = entries.where_checks_are, "no check is `under: build` or `under: static`"
        fix = "add one, or write `build: none` beside `oracle:`"
    else:
        return []
    return [Problem(entries.source.where(place), dotted_path(place), message, fix)]


def _reward_problems(entries: Entries) -> list[Problem]:
    """`reward: verifier` needs exactly one verifier to take it from, in each step if there are steps."""
    if entries.source.data.get("reward") != "verifier" or entries.problems:
        return []
    steps = dict.fromkeys(entry.step for entry in entries.checks)
    if any(step is not None for step in steps):
        return [problem for step in steps for problem in _step_reward_problems(entries, str(step))]
    verifiers = sum(entry.type == "verifier" for entry in entries.found.values())
    if verifiers == 1:
        return []
    message = (
        f"there are {verifiers} verifiers to take the reward from" if verifiers else "there is no verifier"
    )
    return [Problem(entries.source.where(("reward",)), "reward", message, "use exactly one `type: verifier`")]


def _step_reward_problems(entries: Entries, step: str) -> list[Problem]:
    verifiers = sum(entry.type == "verifier" and entry.step == step for entry in entries.checks)
    if verifiers == 1:
        return []
    message = f"step {step} has {verifiers or 'no'} verifiers; its reward needs exactly one"
    return [
        Problem(entries.source.where(("reward",)), "reward", message, "one `type: verifier` in each step")
    ]


def _snapshot(take: Callable[[], Snapshot], source: Source) -> Snapshot:
    try:
        return take()
    except ContractFault as fault:
        raise ContractFault(
            [
                Problem(
                    source.where(tuple(problem.field.split(".", 2))),
                    problem.field,
                    problem.message,
                    problem.fix,
                )
                for problem in fault.problems
            ]
        ) from fault


def _doubts(entries: Entries, material: Material) -> list[tuple[Problem, bool]]:
    return [
        (warning_problem(entry, place, warning, entries.source), warning.fatal)
        for place, entry in entries.found.items()
        for warning in (*entry.grader.lint_warnings(material.baseline), *entry.grader.file_warnings(material))
    ]


def _in_order(problems: Sequence[Problem]) -> list[Problem]:
    """In the order of the file."""

    def position(problem: Problem) -> tuple[str, int, int]:
        file, line, column = (*problem.where.rsplit(":", 2), "", "")[:3]
        return (
            (file, int(line), int(column))
            if line.isdecimal() and column.isdecimal()
            else (problem.where, 0, 0)
        )

    return sorted(dict.fromkeys(problems), key=position)
