"""Evidence -> Grade: what every grader looks like.

A grader is a frozen dataclass. Its fields are its options in `contract.yaml`, checked when the contract is
loaded; its class variables are the defaults of its type; `grade` looks at a `Case` and decides. Its docstring
is its page in the documentation: what must hold, `Why:`, `Example:`, `Fooled by:`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Annotated, Any

from steelyard.bench import final_tree as final_trees
from steelyard.bench.execution_spec import BenchSpec
from steelyard.bench.outcome import Outcome
from steelyard.contract.catalogue import ContractFile, GraderEntry, GraderType
from steelyard.contract.model import NonEmpty
from steelyard.deferred.data_class import dataclass
from steelyard.deferred.model import ConfigDict, Field
from steelyard.errors import GraderFault
from steelyard.evidence.change.change import Change
from steelyard.evidence.folder.blobs import Blobs
from steelyard.evidence.trace.summary import Summary
from steelyard.filesystem.tree import Entry
from steelyard.graders.grade import Grade
from steelyard.sandboxes.base import WORKSPACE

Patterns = Annotated[tuple[NonEmpty, ...], Field(min_length=1)]
TimeoutS = Annotated[float, Field(ge=1, le=3600)]


@dataclass(frozen=True, slots=True)
class Case:
    """What a grader may look at: data only, never the agent's tree and never a process."""

    name: str  # of the entry being graded
    change: Change
    blobs: Blobs
    final_tree: Callable[[], final_trees.FinalTree]  # made only for a grader that asks
    outcome: Outcome | None = None  # of this entry, when its type executes
    outcomes: Mapping[str, Outcome] | None = None  # of every check
    patch_refused: str = ""  # why a patch handed to us does not apply
    baseline: Mapping[str, Entry] = field(default_factory=dict)
    baseline_tree: Path = Path("/nonexistent")  # where its contents are
    files: Mapping[str, ContractFile] = field(default_factory=dict)  # of the contract
    brief: str = ""
    trace: Summary = field(default_factory=Summary)
    root: str = WORKSPACE  # where the tree lies in a sandbox; "" of a whole system
    keys: Mapping[str, str] = field(default_factory=dict, repr=False)  # of models that may be asked
    earlier: Mapping[str, Any] = field(default_factory=dict)  # this entry's grade before, as JSON
    grades: Mapping[str, Grade] = field(default_factory=dict)  # of the graders that this one names


class Grader(GraderType):
    """A grader type that can be graded; a subclass is a frozen dataclass of options."""

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    def execution(self) -> BenchSpec | None:
        return None

    def grade(self, case: Case) -> Grade:
        raise NotImplementedError


def grader_of(entry: GraderEntry) -> Grader:
    """The grader of an entry; raises GraderFault for a type that only a contract knows."""
    if isinstance(entry.grader, Grader):
        return entry.grader
    raise GraderFault(f"the type {entry.type} is no subclass of Grader")
