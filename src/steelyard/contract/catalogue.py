"""What the loader must know of a grader type, without importing the graders.

A grader type is a frozen dataclass: its fields are the options of its YAML entry, checked at load. The keys
that every entry may carry (`type, name|id, required, weight, gate, under, ...`) are not its fields; they end
up in the `GraderEntry` around it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field
from pathlib import Path
from typing import Any, ClassVar

from steelyard.contract.execution_spec import ExecutionSpec
from steelyard.contract.model import Layer, Under
from steelyard.deferred.data_class import dataclass
from steelyard.deferred.named_tuple import NamedTuple
from steelyard.filesystem.tree import Entry

POLICY_NAME = "policy.allowed_paths"  # the grader that `policy.allowed_paths` stands for


class LintWarning(NamedTuple):
    """What an option says against the snapshot: an author's mistake, or only suspicious."""

    option: str  # "paths[1]"
    message: str
    fatal: bool


class GraderType:
    """What a contract knows of a grader; a subclass is a frozen dataclass of options, with the defaults of its type."""

    TYPE: ClassVar[str]
    UNDER: ClassVar[Under] = "safety"
    REQUIRED: ClassVar[bool] = True
    WEIGHT: ClassVar[float] = 0.0
    EXECUTES: ClassVar[bool] = False  # runs code on the bench, so it may be a check of the oracle
    GATE: ClassVar[bool] = False
    PASS_THRESHOLD: ClassVar[float] = 1.0
    UNDIGESTED: ClassVar[frozenset[str]] = frozenset()  # options that change no verdict
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]  # of each subclass

    def execution(self) -> ExecutionSpec | None:
        """What the bench runs; None exactly if the type does not execute."""
        return None

    def contract_files(self) -> tuple[str, ...]:
        """Contract-relative files and folders that the options name; their bytes are in the digest."""
        return ()

    def graders_named(self) -> tuple[str, ...]:
        """Other checks and graders of the contract whose grades this one combines."""
        return ()

    def lint_warnings(self, baseline: Mapping[str, Entry]) -> tuple[LintWarning, ...]:
        """Options that make no sense against this snapshot."""
        del baseline
        return ()

    def file_warnings(self, material: Material) -> tuple[LintWarning, ...]:
        """Options that make no sense once the files that they name are read."""
        del material
        return ()


@dataclass(frozen=True, slots=True)
class ContractFile:
    """A file of the contract's folder that can change a verdict."""

    path: Path  # where it is now
    mode: str
    sha256: str


class Material(NamedTuple):
    """What a contract brings: the snapshot and its own files, by name."""

    tree: Path
    baseline: Mapping[str, Entry]
    files: Mapping[str, ContractFile]


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The grader types that exist, and the names of those that are planned."""

    types: Mapping[str, type[GraderType]]
    planned: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class GraderEntry:
    """One check of the oracle or one grader, with its defaults resolved."""

    name: str
    type: str
    grader: GraderType  # an instance of the catalogue's type
    under: Under
    required: bool
    weight: float
    gate: bool = False
    pass_threshold: float = 1.0
    is_check: bool = False
    mandatory: bool = True
    layer: Layer | None = None
    executes: bool = False
    step: str | None = None  # of which step it is a check

    @property
    def options_files(self) -> tuple[str, ...]:
        return self.grader.contract_files()

    @property
    def execution(self) -> ExecutionSpec | None:
        return self.grader.execution()
