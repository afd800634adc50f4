"""Files that come with a step: laid into the agent's tree before it, and onto the bench as long as they are as they came.

    brought, and as it came       no change of the agent's; on the bench from the contract
    brought, and changed          a change of what was brought
    brought, and gone             gone, and on no bench
    brought, the old one back     nothing happened: the bench has the old one

What was kept stands in `brought.json` beside `change.json`, since a change alone cannot tell.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import NamedTuple

from steelyard.bench.ground import Ground
from steelyard.bench.hidden_files import laid_files
from steelyard.contract.catalogue import ContractFile
from steelyard.contract.contract import Contract, Step
from steelyard.contract.tree import Entry
from steelyard.evidence.blobs import Blobs
from steelyard.evidence.change import Change, ChangeEntry
from steelyard.sandboxes.base import Laid

Brought = Mapping[str, ContractFile]  # by the path in the tree that is captured


class Parted(NamedTuple):
    """What of a change is the agent's, and which brought files are as they came."""

    change: Change
    kept: frozenset[str]


def brought_by(ground: Ground, steps: Collection[Step]) -> Brought:
    """Of several steps the last word counts."""
    below = _folder(ground)
    return {f"{below}{name}": file for step in steps for name, file in step.files.items()}


def _folder(ground: Ground) -> str:
    """Where the agent works, below what is captured: of a whole system that is a folder of it."""
    if ground.contract.spec.environment.scope != "system":
        return ""
    place = ground.box().workdir.strip("/")
    return f"{place}/" if place else ""


def part(change: Change, brought: Brought, contract: Contract, blobs: Blobs, *, was_laid: bool) -> Parted:
    """`was_laid`: whether the agent had them; who hands over data never saw them, and so has removed none."""
    if not brought:
        return Parted(change, frozenset())
    for one in brought.values():
        if one.mode != "link":
            blobs.put_bytes(one.path.read_bytes())
    entries: list[ChangeEntry] = []
    kept: set[str] = set()
    seen: set[str] = set()
    for entry in _unfolded(change, brought):
        file = brought.get(entry.path)
        if file is None:
            entries.append(entry)
            continue
        seen.add(entry.path)
        old = _entry(file)
        if entry.new == old:
            kept.add(entry.path)
        else:
            entries.append(replace(entry, old=old))
    for path in sorted(brought.keys() - seen):
        if not was_laid or any(fnmatchcase(path, pattern) for pattern in contract.spec.generated):
            kept.add(path)
        elif contract.spec.environment.scope != "system" and path not in contract.snapshot.entries:
            entries.append(ChangeEntry(path, _entry(brought[path]), None))
    ordered = sorted(entries, key=lambda one: os.fsencode(one.path))
    return Parted(replace(change, entries=tuple(ordered)), frozenset(kept))


def _unfolded(change: Change, brought: Brought) -> Iterator[ChangeEntry]:
    """A file with the same bytes as one that came is no rename of it."""
    for entry in change.entries:
        if entry.renamed_from is not None and not brought.keys().isdisjoint(entry.paths):
            yield ChangeEntry(entry.renamed_from, entry.old, None)
            yield ChangeEntry(entry.path, None, entry.new)
        else:
            yield entry


def _entry(file: ContractFile) -> Entry:
    if file.mode == "link":
        return Entry("symlink", target=os.readlink(file.path))  # noqa: PTH115  # Path would tidy the bytes
    return Entry("file", file.mode, file.path.stat().st_size, file.sha256)


def laid_of(brought: Brought, kept: Collection[str]) -> tuple[Laid, ...]:
    return laid_files({path: file for path, file in brought.items() if path in kept})


def kept_as_change(brought: Brought, kept: Collection[str]) -> Change:
    """Brought files as something that a tree can be made of; their bytes are blobs since the capture."""
    entries = (ChangeEntry(path, None, _entry(brought[path])) for path in sorted(kept) if path in brought)
    return Change("", tuple(entries))
