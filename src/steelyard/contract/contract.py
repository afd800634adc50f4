"""A contract, loaded: frozen, checked, with its snapshot taken and its digest known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from steelyard.contract.catalogue import ContractFile, GraderEntry
from steelyard.contract.model import ContractSpec
from steelyard.contract.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Contract:
    """What is asked. Its digest is its identity and its version."""

    spec: ContractSpec
    folder: Path
    brief: str
    checks: tuple[GraderEntry, ...]
    graders: tuple[GraderEntry, ...]
    files: Mapping[str, ContractFile]  # contract-relative name -> file; everything a verdict depends on
    snapshot: Snapshot
    digest: str

    @property
    def id(self) -> str:
        return self.spec.id

    @property
    def reference(self) -> Path | None:
        name = self.spec.oracle.reference
        return None if name is None else self.files[name].path
