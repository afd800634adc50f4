"""A contract, loaded: frozen, checked, with its snapshot taken and its digest known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path, PurePosixPath
from typing import Any

from steelyard.contract.catalogue import ContractFile, GraderEntry
from steelyard.contract.model import ContractSpec, Ready, ScriptReference
from steelyard.contract.snapshot.snapshot import Snapshot
from steelyard.deferred.data_class import dataclass


@dataclass(frozen=True, slots=True)
class Step:
    """One part of a sequence over one workspace: what is asked in it, and when it is enough to go on."""

    name: str
    brief: str
    min_reward: float
    wall_s: float | None
    reference: Path | ScriptReference | None
    checks: tuple[GraderEntry, ...]
    # What comes with it, by names in the agent's folder
    files: Mapping[str, ContractFile] = field(default_factory=dict)
    ready: Ready | None = None


@dataclass(frozen=True, slots=True)
class Contract:
    """What is asked. Its digest is its identity and its version."""

    spec: ContractSpec
    folder: Path
    brief: str  # of a contract with steps: the briefs of all steps
    checks: tuple[GraderEntry, ...]  # those of every step, too
    graders: tuple[GraderEntry, ...]
    files: Mapping[str, ContractFile]  # contract-relative name -> file; everything a verdict depends on
    snapshot: Snapshot
    digest: str
    steps: tuple[Step, ...] = ()
    # `contract.yaml`, with its suite
    written: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def messages(self) -> tuple[str, ...]:
        """Every message that an agent gets, in order."""
        return tuple(step.brief for step in self.steps) or (self.brief, *self.spec.turns)

    @property
    def id(self) -> str:
        return self.spec.id

    @property
    def reference(self) -> Path | None:
        """The solution, where it is a patch."""
        name = self.spec.oracle.reference
        return self.files[name].path if isinstance(name, str) else None

    @property
    def compliance(self) -> Path | None:
        """The work that should have been refused, where the author wrote it down."""
        name = self.spec.oracle.compliance
        return None if name is None else self.files[name].path

    @property
    def reference_script(self) -> ScriptReference | None:
        """The solution, where it is a script."""
        found = self.spec.oracle.reference
        return found if isinstance(found, ScriptReference) else None

    def files_beside(self, script: str) -> dict[str, ContractFile]:
        """The files of the folder that a script is in, by their names there; of the top folder only itself."""
        folder = str(PurePosixPath(script).parent)
        if folder == ".":
            return {script: self.files[script]}
        return {
            name.removeprefix(f"{folder}/"): file
            for name, file in self.files.items()
            if name.startswith(f"{folder}/")
        }
