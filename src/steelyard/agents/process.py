"""Agents that are one process in the sandbox: a script of the operator, or any command line."""

from __future__ import annotations

import hashlib
import os
import shlex
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar

from steelyard.agents.base import (
    BareAgent,
    EachTurnAlone,
    Ending,
    Session,
    StageRole,
    Turn,
    Workplace,
    ending_of,
)
from steelyard.bench.absent_tools import first_program
from steelyard.bench.transfer.hidden_files import files_as_overlays
from steelyard.contract.contract import Contract
from steelyard.contract.lint import line_ends
from steelyard.contract.model import ScriptReference
from steelyard.contract.parse.host_variables import with_host_values
from steelyard.deferred.data_class import dataclass
from steelyard.deferred.pattern import deferred_pattern
from steelyard.errors import OperatorFault
from steelyard.sandboxes.base import Mount

SOLUTION = "/solution"
PLACEHOLDERS = ("brief", "brief_file", "workspace", "contract", "repeat", "seed", "turn", "step")
_PLACEHOLDER = deferred_pattern(r"(?<!\$)\{([a-z_]+)\}")  # `${home}` is the shell's


class ProcessAgent(BareAgent, ABC):
    """Started again for each message."""

    in_sandbox: ClassVar[bool] = True
    stage_role: ClassVar[StageRole] = "asks"

    def open(self, workplace: Workplace) -> Session:
        del workplace
        return EachTurnAlone(self.work)

    @abstractmethod
    def work(self, turn: Turn) -> Ending:
        """Work on one message until done."""


@dataclass(frozen=True)
class Script(ProcessAgent):
    """Runs a script of the operator's: bash, or whatever its first line says."""

    path: Path

    def __post_init__(self) -> None:
        if not self.path.is_file():
            home = "; the shell leaves ~ as it is behind a colon: write $HOME" * str(self.path).startswith(
                "~"
            )
            raise OperatorFault(f"agent script {self.path} is not a file{home}")
        if line_ends.ends_in_crlf(self._first_line):
            raise OperatorFault(f"agent script {self.path} {line_ends.CRLF}")

    @property
    def _first_line(self) -> bytes:
        with self.path.open("rb") as file:
            return file.readline(4096)

    def programs(self) -> tuple[str, ...]:
        first = self._first_line.decode(errors="replace")
        return line_ends.interpreters(first) if first.startswith("#!") else ("/bin/bash",)

    @property
    def name(self) -> str:
        return f"script:{self.path.name}"

    def parameters(self) -> Mapping[str, Any]:
        return {"script": {"sha256": hashlib.sha256(self.path.read_bytes()).hexdigest()}}

    def work(self, turn: Turn) -> Ending:
        content = self.path.read_bytes()
        turn.put("brief.md", turn.brief.encode(errors="replace"))
        script = turn.put("script", content)
        return ending_of(turn.run((script,) if content.startswith(b"#!") else ("/bin/bash", script)))


@dataclass(frozen=True)
class Solution(ProcessAgent):
    """The contract's own solution, where it is a script: its folder is at /solution, in this sandbox only."""

    contract: Contract
    reference: ScriptReference
    name: str = "reference"
    stage_role: ClassVar[StageRole] = "exempt"

    def parameters(self) -> Mapping[str, Any]:
        return {"script": {"sha256": self.contract.files[self.reference.script].sha256}}

    def extra_mounts(self) -> tuple[Mount, ...]:
        return (
            Mount(
                SOLUTION, files_as_overlays(self.contract.files_beside(self.reference.script)), read_only=True
            ),
        )

    def work(self, turn: Turn) -> Ending:
        if turn.number > 1:
            return Ending("completed", "the reference did everything in the first turn")
        script = self.contract.files[self.reference.script]
        path = f"{SOLUTION}/{PurePosixPath(self.reference.script).name}"
        is_started = script.mode == "755" and script.path.read_bytes().startswith(b"#!")
        names = self.contract.spec.environment.host_variables
        own = with_host_values(self.reference.env, names)
        with_variables = replace(turn, env={**turn.env, **own})
        return ending_of(with_variables.run((path,) if is_started else ("/bin/bash", path)))


@dataclass(frozen=True)
class CommandLine(ProcessAgent):
    """Runs any command line with the words in braces filled in, those of `PLACEHOLDERS`: `{brief_file}`, `{turn}`."""

    line: str

    def __post_init__(self) -> None:
        if not self.line.strip():
            raise OperatorFault("agent command needs a command line: --agent 'command:my-agent {brief_file}'")
        try:
            shlex.split(self.line)
        except ValueError as error:
            raise OperatorFault(f"agent command {self.line!r}: {error}") from error
        unknown = [name for name in _PLACEHOLDER.findall(self.line) if name not in PLACEHOLDERS]
        if unknown:
            known = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
            raise OperatorFault(
                f"agent command has no placeholder {{{unknown[0]}}}; there are {known} "
                f"(for braces of the shell's own, write {{ {unknown[0]} }})"
            )

    @property
    def name(self) -> str:
        """The first word, and enough of the line's digest to tell two lines apart."""
        word = shlex.split(self.line)[0].rsplit("/", 1)[-1]
        return f"command:{word}#{hashlib.sha256(os.fsencode(self.line)).hexdigest()[:6]}"

    def parameters(self) -> Mapping[str, Any]:
        return {"command": self.line, "sha256": hashlib.sha256(os.fsencode(self.line)).hexdigest()}

    def programs(self) -> tuple[str, ...]:
        name = first_program(self.line)
        return (name,) if name else ()

    def work(self, turn: Turn) -> Ending:
        brief_file = turn.put("brief.md", turn.brief.encode(errors="replace"))
        line = self.line
        values = {**turn.placeholders, "brief": turn.brief, "brief_file": brief_file}
        for name, value in values.items():
            line = line.replace(f"{{{name}}}", shlex.quote(value))
        return ending_of(turn.run(("/bin/sh", "-c", line)))
