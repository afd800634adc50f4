"""A touchstone case -> a contract: its graders one to one, its threshold, its weights and gates.

    case.yaml                         contract.yaml
    task.prompt, instruction_files    brief.md
    source.path | repo + commit       repository.tree (a copy) | repository.git (a local clone)
    environment, setup.run            setup
    graders that run something        oracle.checks, with `mandatory: false`: only the score decides
    the other graders                 graders
    expect.pass_threshold             pass_threshold

`matrix` names agents, which are no part of a contract: `steelyard run --agent ...`.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from steelyard.contract.model import Fraction, NonEmpty, Variable
from steelyard.contract.parse.yaml_source import Source, read_yaml
from steelyard.importers.reading import (
    UnsupportedKey,
    existing_file,
    fault,
    plain_name,
    read_model,
    read_text,
)
from steelyard.importers.repositories import repository_of
from steelyard.importers.strict import Strict
from steelyard.importers.task import BRIEF, REPO, FileCopy, Options, Task, brief_of, checked_id
from steelyard.importers.touchstone.graders import Graders, convert_graders

FILE = "case.yaml"
GIT = frozenset({".git"})

_SETUP = ("setup", "stub")
UNSUPPORTED = (
    UnsupportedKey(("task", "system_prompt"), "a contract cannot set an agent's system prompt"),
    UnsupportedKey(("task", "turns"), "several turns are not supported yet"),
    UnsupportedKey(
        ("source", "subdir"), "a part of a repository is not supported yet", fix="make it a repository"
    ),
    UnsupportedKey(
        ("fixtures",), "a repository of fixtures is not supported yet", fix="copy its files into the case"
    ),
    UnsupportedKey(
        ("artifacts",), "skills, commands, plugins and MCP servers are the agent's, not the contract's"
    ),
    UnsupportedKey(("container",), "containers of touchstone are not supported yet"),
    UnsupportedKey(_SETUP, "functions are not blanked here", fix="blank them in the source"),
    UnsupportedKey(("observe", "interaction"), "answering an agent's questions is not supported yet"),
    UnsupportedKey(
        ("environment", "requirement_files"), "is not supported yet", fix="list them in requirements"
    ),
)


class CaseTask(Strict):
    prompt: NonEmpty
    system_prompt: str | None = None
    instruction_files: tuple[NonEmpty, ...] = ()
    turns: tuple[str, ...] = ()


class CaseSource(Strict):
    path: NonEmpty | None = None
    repo: NonEmpty | None = None
    commit: NonEmpty | None = None
    subdir: str | None = None
    isolation: Literal["auto", "copy", "clone", "worktree"] = "auto"

    @model_validator(mode="after")
    def _one_origin(self) -> CaseSource:
        if (self.path is None) == (self.repo is None):
            raise ValueError("say exactly one of path, repo")
        if self.repo is not None and self.commit is None:
            raise ValueError("repo needs a commit")
        return self


class CaseEnvironment(Strict):
    kind: Literal["pip-venv", "uv", "command"] = "pip-venv"
    venv: bool = True
    system_site_packages: bool = False
    requirements: tuple[NonEmpty, ...] = ()
    requirement_files: tuple[str, ...] = ()
    install: Literal["none", "editable"] = "none"
    pip_args: tuple[NonEmpty, ...] = ()
    commands: tuple[NonEmpty, ...] = ()
    env: dict[Variable, str] = Field(default_factory=dict)
    timeout_s: Annotated[int, Field(ge=1, le=3600)] = 900  # setup has an hour here


class CaseSetup(Strict):
    stub: tuple[dict[str, Any], ...] = ()
    run: tuple[NonEmpty, ...] = ()


class Observe(Strict):
    tracing: bool = False
    interaction: dict[str, Any] | None = None


class Expect(Strict):
    pass_threshold: Fraction = 1.0


class Case(Strict):
    id: NonEmpty
    description: str = ""
    task: CaseTask
    source: CaseSource | None = None
    fixtures: dict[str, Any] | None = None
    artifacts: dict[str, Any] | None = None
    matrix: dict[str, Any] | None = None
    environment: CaseEnvironment | None = None
    container: dict[str, Any] | None = None
    setup: CaseSetup | None = None
    observe: Observe | None = None
    graders: Annotated[tuple[dict[str, Any], ...], Field(min_length=1)]
    expect: Expect = Expect()
    availability: Literal["required", "optional"] = "required"


def convert(folder: Path, options: Options) -> Task:
    source = read_yaml(folder / FILE)
    case = read_model(source, Case, UNSUPPORTED)
    name = checked_id(case.id, source.where(("id",)), "id")
    graders = convert_graders(source, case.graders, folder)
    repository, copied = _repository(case, source, folder, options)
    environment = {**options.environment().get("environment", {}), **_variables(case)}
    contract: dict[str, Any] = {
        "id": name,
        "brief_file": BRIEF,
        "repository": repository,
        **({"environment": environment} if environment else {}),
        **options.setup(*_setup(case), network="host" if _fetches(case) else None),
        "build": "none",
        "oracle": {"checks": graders.checks},
        "graders": graders.graders,
        "pass_threshold": case.expect.pass_threshold,
        "metadata": {"touchstone": {"description": case.description}},
    }
    files = {BRIEF: brief_of(_brief(case, source, folder), source.where(("task", "prompt")), "task.prompt")}
    return Task(
        name, "a touchstone case", contract, files, {**copied, **graders.copied}, tuple(_notes(case, graders))
    )


def _brief(case: Case, source: Source, folder: Path) -> str:
    """The prompt with its files below it, as touchstone puts it together."""
    parts = [case.task.prompt]
    for number, file in enumerate(case.task.instruction_files):
        place = ("task", "instruction_files", number)
        name = plain_name(file, source.where(place), "task.instruction_files")
        parts.append(f"## {name.rsplit('/', 1)[-1]}\n{read_text(folder, name)}")
    return "\n\n".join(parts)


def _repository(
    case: Case, source: Source, folder: Path, options: Options
) -> tuple[dict[str, Any], dict[str, FileCopy]]:
    if case.source is None:
        return {"tree": REPO}, {}
    if case.source.repo is not None:
        where = source.where(("source", "repo"))
        return repository_of(case.source.repo, str(case.source.commit), options, where), {}
    where, field = source.where(("source", "path")), "source.path"
    path = existing_file(folder, str(case.source.path), where, field)
    if not path.is_dir():
        raise fault(where, field, f"{case.source.path} is not a folder")
    return {"tree": REPO}, {REPO: FileCopy(path, folder, GIT)}


def _variables(case: Case) -> dict[str, Any]:
    return {"env": case.environment.env} if case.environment and case.environment.env else {}


def _fetches(case: Case) -> bool:
    return any("pip install" in command for command in _setup(case)) or bool(
        case.environment and case.environment.commands
    )


def _setup(case: Case) -> list[str]:
    return [*_installs(case.environment), *(case.setup.run if case.setup else ())]


def _installs(wanted: CaseEnvironment | None) -> Iterator[str]:
    """Into HOME: setup has one of its own, and a throw-away virtual environment would hide the interpreter."""
    if wanted is None:
        return
    what = [*map(shlex.quote, wanted.requirements), *(["-e ."] if wanted.install == "editable" else [])]
    if what and wanted.venv:
        extra = [*map(shlex.quote, wanted.pip_args)]
        yield " ".join(["PIP_BREAK_SYSTEM_PACKAGES=1 python3 -m pip install --user --quiet", *extra, *what])
    yield from wanted.commands


def _notes(case: Case, graders: Graders) -> Iterator[str]:
    yield from graders.notes
    if case.matrix:
        yield "its matrix names agents; here `steelyard run --agent ...` does"
    if case.source is None:
        yield "it starts from nothing"
