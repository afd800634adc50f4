"""What an importer makes of one task, and its contract.yaml.

# Imported from a Harbor task.
# Note: it ran as root there; ...
id: hello
brief_file: brief.md
...
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

import yaml

from steelyard.contract.load import FILE
from steelyard.contract.model import NAME_PATTERN
from steelyard.contract.parse.yaml_source import parse_yaml
from steelyard.deferred.data_class import dataclass
from steelyard.errors import ContractFault, Problem
from steelyard.filesystem.tree import printable

BRIEF = "brief.md"
HARBOR_FILE = "task.toml"  # what makes a folder a task of Harbor's
REPO = "repo"
MOST_NAME = 100
_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


@dataclass(frozen=True, slots=True)
class FileCopy:
    """A file or folder of the task's, and where it goes; no link in it may lead out of `root`."""

    source: Path
    root: Path
    leave: frozenset[str] = frozenset()  # names that stay behind, wherever they are


@dataclass(frozen=True, slots=True)
class Task:
    """One task of another format, as the contract that it becomes."""

    id: str
    kind: str  # "a Harbor task"
    contract: Mapping[str, Any]
    files: Mapping[str, bytes]  # written over what is copied
    copied: Mapping[str, FileCopy] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Options:
    """What the operator adds to what tasks say themselves."""

    repos: Path | None = None  # where local clones and bundles are
    python: str | None = None
    image: str | None = None  # instead: what a container is made of
    install: tuple[str, ...] = ()
    setup_network: str | None = None
    cmd_prefix: str | None = None
    ignore: frozenset[str] = frozenset()  # columns that may be left out
    drop_ids: tuple[str, ...] = ()  # of PASS_TO_PASS
    junit_xml: str | None = None
    timeout_s: float | None = None  # of the check; by default the format's own
    submodules: bool = False  # clones of them are in `repos` too
    offline: bool = False
    network: tuple[str, ...] = ()  # allowed hosts for tasks that ask for the whole internet
    sandbox: str | None = None  # bubblewrap: without the image of the task
    take_env: frozenset[str] = frozenset()  # variables of this machine that a task may have
    workdir: str | None = None
    exports: tuple[str, ...] = ()  # of the system, where a task has all of one
    git: Path | None = None
    commit: str | None = None
    tree: Path | None = None
    brief: Path | None = None
    reference: Path | None = None
    id: str | None = None

    def environment(self) -> dict[str, Any]:
        if self.image:
            return {"environment": {"sandbox": "docker", "image": self.image}}
        return {"environment": {"toolchains": {"python": self.python}}} if self.python else {}

    def setup(self, *own: str, network: str | None = None) -> dict[str, Any]:
        """The task's own commands, then the operator's."""
        commands = [*own, *self.install]
        reach = self.setup_network or network
        return {
            **({"setup": commands} if commands else {}),
            **({"setup_network": reach} if commands and reach else {}),
        }


def contract_text(task: Task) -> bytes:
    """The contract.yaml of a task, such that reading it gives back exactly what was meant."""
    comments = [f"Imported from {task.kind}.", *(f"Note: {note}" for note in task.notes)]
    data = yaml.dump(dict(task.contract), Dumper=_DUMPER, sort_keys=False, allow_unicode=True, width=110)
    # A comment ends with its line, whatever the task called its keys.
    text = "".join(f"# {printable(line)}\n" for line in comments) + data
    raw = text.encode("utf-8", "surrogatepass")
    if parse_yaml(raw, FILE).data != task.contract:
        raise ContractFault(Problem(FILE, "", "has values that YAML cannot hold"))
    return raw


def as_name(text: str) -> str:
    """A label -> a name that contracts may have; "" when nothing is left of it."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-._")[:MOST_NAME].rstrip("-._")


def checked_id(text: Any, where: str, field_name: str) -> str:
    if not isinstance(text, str) or not re.fullmatch(NAME_PATTERN, text):
        value = printable(text) if isinstance(text, str) else text
        message = f"{value!r} cannot be the id of a contract"
        raise ContractFault(Problem(where, field_name, message, "letters, digits, `.`, `_` and `-`"))
    return text


def brief_of(text: str, where: str, field_name: str) -> bytes:
    if not text.strip():
        raise ContractFault(Problem(where, field_name, "is empty, so the agent would be asked for nothing"))
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ContractFault(Problem(where, field_name, "has half a character (a lone surrogate)")) from error
