"""Agents without a process: they do nothing, or hand over a change as data."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from steelyard.agents.base import BareAgent, Delivery, EachTurnAlone, Ending, Session, Turn, Workplace
from steelyard.bench.apply_patch import apply_patch
from steelyard.deferred.data_class import dataclass
from steelyard.environment.prepare import Environment
from steelyard.errors import ContractFault, OperatorFault, Problem
from steelyard.evidence.change.change import Change, ChangeEntry
from steelyard.evidence.change.importer import import_folder
from steelyard.evidence.folder.blobs import Blobs
from steelyard.filesystem.tree import Entry, printable


class DataAgent(BareAgent):
    """Nothing of it runs."""

    in_sandbox: ClassVar[bool] = False

    def open(self, workplace: Workplace) -> Session:
        del workplace
        return EachTurnAlone(_no_work)


def _no_work(turn: Turn) -> Ending:
    del turn
    return Ending("completed", "no agent ran")


@dataclass(frozen=True)
class Noop(DataAgent):
    """Does nothing: a contract that it passes asks for nothing."""

    name: str = "noop"


@dataclass(frozen=True)
class Patch(DataAgent):
    """Hands over a patch file; one that does not apply fails the patch gate."""

    path: Path

    def __post_init__(self) -> None:
        if self.path.is_dir():
            raise OperatorFault(
                f"{self.path} is a folder and not a patch; tree:{self.path} hands over a folder"
            )
        if not self.path.exists():
            raise OperatorFault(f"{self.path}: there is no such file; `git diff > {self.path}` writes one")

    @property
    def name(self) -> str:
        return f"patch:{printable(self.path.name)}"

    def parameters(self) -> Mapping[str, Any]:
        return {"patch": {"sha256": hashlib.sha256(_content(self.path)).hexdigest()}}

    def deliver(self, environment: Environment, blobs: Blobs) -> Delivery:
        applied = apply_patch(environment, _content(self.path), blobs)
        return Delivery(applied.change, applied)


@dataclass(frozen=True)
class Reference(DataAgent):
    """The contract's own solution, a patch: what every sound contract must pass. A script is a `Solution`."""

    name: str = "reference"
    delivers_by_step: ClassVar[bool] = True

    def deliver(self, environment: Environment, blobs: Blobs) -> Delivery:
        return self.deliver_until(environment, blobs, 1)

    def deliver_until(self, environment: Environment, blobs: Blobs, step: int) -> Delivery:
        """The solution as it is after that many steps: their patches, one upon the other."""
        contract = environment.contract
        steps = [one.reference for one in contract.steps[:step]]
        patches = [one for one in (contract.reference, *steps) if isinstance(one, Path)]
        field = "steps.reference" if any(one.reference for one in contract.steps) else "oracle.reference"
        if not patches and field == "oracle.reference":
            file = "reference.patch" if contract.spec.answer_path is None else "right.txt"
            where, fix = str(contract.folder / "contract.yaml"), f"reference: {file}, below `oracle:`"
            raise ContractFault(Problem(where, field, "the contract has no reference", fix))
        content = b"\n".join(_content(path) for path in patches)
        answer = contract.spec.answer_path
        if answer is not None:
            return Delivery(_answered(answer, content, environment, blobs))
        applied = apply_patch(environment, content, blobs)
        if applied.refused:
            raise ContractFault(Problem(str(patches[-1]), field, f"does not apply: {applied.refused}"))
        return Delivery(applied.change, applied)


@dataclass(frozen=True)
class Tree(DataAgent):
    """Hands over a whole folder; what differs from the snapshot is its change."""

    path: Path
    name: str = "tree"

    def __post_init__(self) -> None:
        if not self.path.is_dir():
            raise OperatorFault(f"{self.path} is not a folder")

    def deliver(self, environment: Environment, blobs: Blobs) -> Delivery:
        snapshot = environment.contract.snapshot
        change = import_folder(
            self.path,
            baseline=snapshot.tree,
            baseline_root=snapshot.root,
            blobs=blobs,
            generated=environment.contract.spec.generated,
        )
        return Delivery(change)


def _answered(path: str, content: bytes, environment: Environment, blobs: Blobs) -> Change:
    """A reference of a contract without a workspace is the right answer itself."""
    stored = blobs.put_bytes(content)
    entry = ChangeEntry(path, None, Entry("file", "644", stored.size, stored.sha256))
    return Change(environment.contract.snapshot.root, (entry,))


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise OperatorFault(f"{path}: {error.strerror}") from error
