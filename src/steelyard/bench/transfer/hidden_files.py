"""What a grader hides from agents -> data to write over the change, last of all."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from steelyard.bench.execution_spec import BenchSpec, SuiteSpec
from steelyard.contract.catalogue import ContractFile, Material
from steelyard.contract.contract import Contract
from steelyard.contract.patches import unified_diff
from steelyard.sandboxes.base import FileOverlay


def hidden_files(contract: Contract, spec: BenchSpec, scratch: Path | None = None) -> tuple[FileOverlay, ...]:
    """The injected files, every file of the injected folders, and the files as a test patch leaves them.

    What is injected stands above what is patched. `scratch` holds the patched files; without it there are none.
    """
    injected = [
        one
        for src, dest in spec.injected
        for one in files_as_overlays(
            {
                f"{dest}{name.removeprefix(src)}": file
                for name, file in contract.files.items()
                if name == src or name.startswith(f"{src}/")
            }
        )
    ]
    places = {one.path for one in injected}
    return (*(one for one in _patched(contract, spec, scratch) if one.path not in places), *injected)


def files_as_overlays(files: Mapping[str, ContractFile]) -> tuple[FileOverlay, ...]:
    """Files of a contract as they are, links as links, to write into a folder."""
    return tuple(
        FileOverlay(name, "symlink", target=os.readlink(file.path))  # noqa: PTH115  # Path would tidy the bytes
        if file.mode == "link"
        else FileOverlay(name, "file", mode=file.mode, source=file.path)
        for name, file in files.items()
    )


def patched_files(patch: str, material: Material) -> dict[str, unified_diff.PatchedFile]:
    """Path -> what a test patch of the contract leaves there; raises ValueError if the patch does not apply."""
    return unified_diff.apply_unified(
        material.files[patch].path.read_bytes(),
        material.baseline,
        lambda path: (material.tree / path).read_bytes(),
    )


def _patched(contract: Contract, spec: BenchSpec, scratch: Path | None) -> list[FileOverlay]:
    if scratch is None or not isinstance(spec, SuiteSpec) or not spec.patch:
        return []
    snapshot = contract.snapshot
    after = patched_files(spec.patch, Material(snapshot.tree, snapshot.entries, contract.files))
    overlays = []
    for number, (path, patched) in enumerate(sorted(after.items())):
        source = scratch / f"patched-{number}"
        if patched.content is None:
            overlays.append(FileOverlay(path, "gone"))
            continue
        source.write_bytes(patched.content)
        overlays.append(FileOverlay(path, "file", mode=patched.mode, source=source))
    return overlays
