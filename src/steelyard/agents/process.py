"""Agents that are one process in the sandbox: a script of ours, or any command line."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from steelyard.agents.base import Ending, Session, ending_of
from steelyard.bench.ground import Ground
from steelyard.errors import OperatorFault
from steelyard.evidence.blobs import Blobs

PLACEHOLDERS = ("brief", "brief_file", "workspace", "contract", "repeat", "seed")
_PLACEHOLDER = re.compile(r"(?<!\$)\{([a-z_]+)\}")  # `${home}` is the shell's


class ProcessAgent:
    in_sandbox: ClassVar[bool] = True

    def deliver(self, ground: Ground, blobs: Blobs) -> None:
        del ground, blobs


@dataclass(frozen=True)
class Script(ProcessAgent):
    """Runs a script of the operator's: bash, or whatever its first line says."""

    path: Path

    def __post_init__(self) -> None:
        if not self.path.is_file():
            raise OperatorFault(f"agent script {self.path} is not a file")

    @property
    def name(self) -> str:
        return f"script:{self.path.name}"

    def parameters(self) -> Mapping[str, Any]:
        return {"script": {"sha256": hashlib.sha256(self.path.read_bytes()).hexdigest()}}

    def work(self, session: Session) -> Ending:
        content = self.path.read_bytes()
        session.put("brief.md", session.brief.encode())
        script = session.put("script", content)
        return ending_of(session.run((script,) if content.startswith(b"#!") else ("/bin/bash", script)))


@dataclass(frozen=True)
class CommandLine(ProcessAgent):
    """Runs any command line; `{brief}`, `{brief_file}`, `{workspace}`, `{contract}`, `{repeat}`, `{seed}` are filled in."""

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
        return {"command": self.line}

    def work(self, session: Session) -> Ending:
        brief_file = session.put("brief.md", session.brief.encode())
        line = self.line
        values = {**session.placeholders, "brief": session.brief, "brief_file": brief_file}
        for name, value in values.items():
            line = line.replace(f"{{{name}}}", shlex.quote(value))
        return ending_of(session.run(("/bin/sh", "-c", line)))
