"""--env FILE: repository and version -> the environment in which the tests of a row ran when it was collected.

    pallets/flask:
      "2.0": {python: "3.9", pins: [Werkzeug==2.0.3], install: [python3 -m venv .venv, .venv/bin/pip install pytest -e .],
              setup_network: host, command: .venv/bin/python -m pytest -q}
      "*": {...}                          # every other version
    "*": {"*": {...}}                     # every other repository

What an entry says stands before the options of the command line; what it leaves out is theirs.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from steelyard.contract.model import NonEmpty, Release
from steelyard.contract.parse.yaml_source import Source, YamlPath, dotted_path, read_yaml
from steelyard.errors import ContractFault, Problem
from steelyard.filesystem.tree import printable
from steelyard.importers.reading import fault, read_model
from steelyard.importers.strict import Strict
from steelyard.importers.task import Options

ANY = "*"
PINS = '"$HOME/pins.txt"'
Seconds = Annotated[float, Field(ge=1, le=86_400)]


class Entry(Strict):
    """The environment of one version of one repository."""

    python: Release | None = None
    image: NonEmpty | None = None
    pins: tuple[NonEmpty, ...] = ()  # requirements that hold for every pip and uv command of `install`
    install: tuple[NonEmpty, ...] = ()
    setup_network: Literal["none", "host"] | None = None
    command: NonEmpty | None = None
    junit_xml: NonEmpty | None = None
    timeout_s: Seconds | None = None


@dataclass(frozen=True, slots=True)
class Environments:
    """The entries of one file."""

    file: str
    entries: Mapping[str, Mapping[str, Entry]]

    def options_for(self, repository: str, version: str, options: Options, where: str) -> Options:
        """The options of one row; raises ContractFault when the file says nothing about it."""
        versions = self.entries.get(repository) or self.entries.get(ANY) or {}
        found = versions.get(version) or versions.get(ANY)
        if found is None:
            label = f"{printable(repository)} {printable(version)}".rstrip()
            raise fault(
                where, "version", f"{self.file} has no entry for {label}", f"add one, or one for {ANY!r}"
            )
        return _with(options, found)


def read_environments(path: Path) -> Environments:
    """Raises ContractFault with every problem of the file."""
    source = read_yaml(path)
    problems: list[Problem] = []
    entries: dict[str, dict[str, Entry]] = {}
    for repository, versions in source.data.items():
        if not isinstance(versions, dict) or not versions:
            message = 'expected a mapping of versions, like `"2.0": {...}` or `"*": {...}`'
            problems.append(Problem(source.where((repository,)), repository, message))
            continue
        for version, data in versions.items():
            try:
                entries.setdefault(repository, {})[version] = _entry(source, (repository, version), data)
            except ContractFault as wrong:
                problems += wrong.problems
    if problems:
        raise ContractFault(problems)
    return Environments(str(path), entries)


def _entry(source: Source, at: YamlPath, data: Any) -> Entry:
    if not isinstance(data, dict):
        raise fault(
            source.where(at), dotted_path(at), 'expected a mapping, like {python: "3.9", command: ...}'
        )
    inner = {place[len(at) :]: where for place, where in source.positions.items() if place[: len(at)] == at}
    entry = read_model(Source(source.file, data, inner), Entry)
    if entry.python and entry.image:
        raise fault(
            source.where((*at, "image")), dotted_path((*at, "image")), "say python or image, not both"
        )
    return entry


def _with(options: Options, entry: Entry) -> Options:
    commands = entry.install or options.install
    return replace(
        options,
        python=None if entry.image else entry.python or options.python,
        image=None if entry.python else entry.image or options.image,
        install=_pin(entry.pins, commands),
        setup_network=entry.setup_network or options.setup_network,
        cmd_prefix=entry.command or options.cmd_prefix,
        junit_xml=entry.junit_xml or options.junit_xml,
        timeout_s=entry.timeout_s or options.timeout_s,
    )


def _pin(pins: tuple[str, ...], commands: tuple[str, ...]) -> tuple[str, ...]:
    """A file of constraints in HOME, which setup keeps, and its name in the environment of each command."""
    if not pins or not commands:
        return commands
    written = f"printf '%s\\n' {' '.join(map(shlex.quote, pins))} > {PINS}"
    named = f"export PIP_CONSTRAINT={PINS} UV_CONSTRAINT={PINS}"
    return (written, *(f"{named}; {command}" for command in commands))
