"""Files that come with a step: written into the agent's tree before it, and onto the bench as long as they are as they came.

    unchanged                     no change of the agent's; on the bench from the contract
    changed                       a change against the file that came
    removed                       removed, and on no bench
    old file put back             no change: the bench has the old file

The unchanged ones are listed in `step_files.json` beside `change.json`, since the change does not show them.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase

from steelyard.bench.transfer.hidden_files import files_as_overlays
from steelyard.contract.catalogue import ContractFile
from steelyard.contract.contract import Contract, Step
from steelyard.deferred.named_tuple import NamedTuple
from steelyard.environment.prepare import Environment
from steelyard.evidence.change.change import Change, ChangeEntry
from steelyard.evidence.folder.blobs import Blobs
from steelyard.filesystem.tree import Entry
from steelyard.sandboxes.base import FileOverlay

StepFiles = Mapping[str, ContractFile]  # by the path in the tree that is captured


class StepChange(NamedTuple):
    """The agent's part of a change, and the step files that it left as they came."""

    change: Change
    kept: frozenset[str]


def step_files_of(environment: Environment, steps: Collection[Step]) -> StepFiles:
    """Of several steps the last word counts."""
    below = _folder(environment)
    return {f"{below}{name}": file for step in steps for name, file in step.files.items()}


def _folder(environment: Environment) -> str:
    """Where the agent works, below what is captured: of a whole system that is a folder of it."""
    if environment.contract.spec.environment.scope != "system":
        return ""
    place = environment.sandbox_spec().workdir.strip("/")
    return f"{place}/" if place else ""


def part(
    change: Change, step_files: StepFiles, contract: Contract, blobs: Blobs, *, was_laid: bool
) -> StepChange:
    """`was_laid`: whether the agent had them. An agent that hands over data never saw them, and so has removed none."""
    if not step_files:
        return StepChange(change, frozenset())
    for one in step_files.values():
        if one.mode != "link":
            blobs.put_bytes(one.path.read_bytes())
    entries: list[ChangeEntry] = []
    kept: set[str] = set()
    seen: set[str] = set()
    for entry in _unfold(change, step_files):
        file = step_files.get(entry.path)
        if file is None:
            entries.append(entry)
            continue
        seen.add(entry.path)
        old = _entry(file)
        if entry.new == old:
            kept.add(entry.path)
        else:
            entries.append(replace(entry, old=old))
    for path in sorted(step_files.keys() - seen):
        if not was_laid or any(fnmatchcase(path, pattern) for pattern in contract.spec.generated):
            kept.add(path)
        elif contract.spec.environment.scope != "system" and path not in contract.snapshot.entries:
            entries.append(ChangeEntry(path, _entry(step_files[path]), None))
    ordered = sorted(entries, key=lambda one: os.fsencode(one.path))
    return StepChange(replace(change, entries=tuple(ordered)), frozenset(kept))


def _unfold(change: Change, step_files: StepFiles) -> Iterator[ChangeEntry]:
    """A file with the same bytes as one that came is no rename of it."""
    for entry in change.entries:
        if entry.renamed_from is not None and not step_files.keys().isdisjoint(entry.paths):
            yield ChangeEntry(entry.renamed_from, entry.old, None)
            yield ChangeEntry(entry.path, None, entry.new)
        else:
            yield entry


def _entry(file: ContractFile) -> Entry:
    if file.mode == "link":
        return Entry("symlink", target=os.readlink(file.path))  # noqa: PTH115  # Path would tidy the bytes
    return Entry("file", file.mode, file.path.stat().st_size, file.sha256)


def overlays_of(step_files: StepFiles, kept: Collection[str]) -> tuple[FileOverlay, ...]:
    return files_as_overlays({path: file for path, file in step_files.items() if path in kept})


def kept_as_change(step_files: StepFiles, kept: Collection[str]) -> Change:
    """Step files as something that a tree can be made of; their bytes are blobs since the capture."""
    entries = (
        ChangeEntry(path, None, _entry(step_files[path])) for path in sorted(kept) if path in step_files
    )
    return Change("", tuple(entries))
