"""Agents without a process: they do nothing, or hand over a change as data."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from steelyard.agents.base import Delivery, Ending, Session
from steelyard.bench.apply_patch import apply_patch
from steelyard.bench.ground import Ground
from steelyard.contract.tree import shown
from steelyard.errors import ContractFault, OperatorFault, Problem
from steelyard.evidence.blobs import Blobs
from steelyard.evidence.importer import import_folder
from steelyard.sandboxes.base import Place


class DataAgent:
    """Nothing of it runs."""

    in_sandbox: ClassVar[bool] = False

    def parameters(self) -> Mapping[str, Any]:
        return {}

    def places(self) -> tuple[Place, ...]:
        return ()

    def deliver(self, ground: Ground, blobs: Blobs) -> Delivery | None:
        del ground, blobs
        return None

    def work(self, session: Session) -> Ending:
        del session
        return Ending("completed", "no process")


@dataclass(frozen=True)
class Noop(DataAgent):
    """Does nothing: a contract that it passes asks for nothing."""

    name: str = "noop"


@dataclass(frozen=True)
class Patch(DataAgent):
    """Hands over a patch file; one that does not apply fails the patch gate."""

    path: Path

    @property
    def name(self) -> str:
        return f"patch:{shown(self.path.name)}"

    def parameters(self) -> Mapping[str, Any]:
        return {"patch": {"sha256": hashlib.sha256(_content(self.path)).hexdigest()}}

    def deliver(self, ground: Ground, blobs: Blobs) -> Delivery:
        applied = apply_patch(ground, _content(self.path), blobs)
        return Delivery(applied.change, applied)


@dataclass(frozen=True)
class Reference(DataAgent):
    """The contract's own solution, a patch: what every sound contract must pass. A script is a `Solution`."""

    name: str = "reference"

    def deliver(self, ground: Ground, blobs: Blobs) -> Delivery:
        reference = ground.contract.reference
        if reference is None:
            raise ContractFault(
                Problem(str(ground.contract.folder), "oracle.reference", "there is no reference to try")
            )
        delivery = Patch(reference).deliver(ground, blobs)
        if delivery.applied is not None and delivery.applied.refused:
            raise ContractFault(
                Problem(str(reference), "oracle.reference", f"does not apply: {delivery.applied.refused}")
            )
        return delivery


@dataclass(frozen=True)
class Tree(DataAgent):
    """Hands over a whole folder; what differs from the snapshot is its change."""

    path: Path
    name: str = "tree"

    def deliver(self, ground: Ground, blobs: Blobs) -> Delivery:
        if not self.path.is_dir():
            raise OperatorFault(f"{self.path} is not a folder")
        snapshot = ground.contract.snapshot
        change = import_folder(
            self.path,
            baseline=snapshot.tree,
            baseline_root=snapshot.root,
            blobs=blobs,
            generated=ground.contract.spec.generated,
        )
        return Delivery(change)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise OperatorFault(f"{path}: {error.strerror}") from error
