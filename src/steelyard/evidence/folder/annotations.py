"""What people say of a sealed run -> `annotations/0001.json`, `0002.json` ...: appended, never rewritten.

    {"schema": "steelyard.annotation/1", "kind": "annotation", "annotation": {"reviewer_id": "ada", ...}, "minutes": 12.5,
     "grading": {"number": 1, "verdict": "fail", "reward": 0.0}, "settles": [],
     "number": 1, "seal": "<digest of the seal>", "previous": "", "head": "annotations-head.json", "digest": "<64 hex>"}

The records are chained like gradings. A damaged annotation never changes the verdict of a run: gradings do not read it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from steelyard.deferred.named_tuple import NamedTuple
from steelyard.errors import DAMAGED
from steelyard.evidence.folder import signature as signatures
from steelyard.evidence.folder.canonical import canonical, has_its_digest
from steelyard.evidence.folder.folder import ANNOTATIONS, ANNOTATIONS_HEAD, SEAL, RunFolder
from steelyard.evidence.folder.gradings import Fault, is_leftover
from steelyard.evidence.folder.numbered import NUMBERED, Series, append_record, numbered_files
from steelyard.filesystem.plain_file import read_plain
from steelyard.filesystem.tree import printable

SCHEMA = "steelyard.annotation/1"
HEAD_SCHEMA = "steelyard.annotations_head/1"
SERIES = Series(ANNOTATIONS, ANNOTATIONS_HEAD, HEAD_SCHEMA)


class ReadAnnotations(NamedTuple):
    """The records that hold together, in order, and what is wrong with the first that does not."""

    records: list[dict[str, Any]]
    faults: list[Fault]


def append_annotation(folder: RunFolder, data: Mapping[str, Any], signer: Path | None = None) -> Path:
    return append_record(folder, SERIES, {"schema": SCHEMA, **data}, signer)


def reviewed_minutes(folder: RunFolder) -> float | None:
    """What reviewers say that they spent on a run; None where no one said."""
    found = [one.get("minutes") for one in read_annotations(folder).records]
    minutes = [one for one in found if isinstance(one, int | float)]
    return sum(minutes) if minutes else None


def read_annotations(folder: RunFolder) -> ReadAnnotations:
    """Reading never fails: `faults` says what was altered, removed or does not belong there."""
    strangers = list(_strangers(folder))
    if not strangers and not folder.file(ANNOTATIONS_HEAD).exists() and not numbered_files(folder, SERIES):
        return ReadAnnotations([], [])
    records: list[dict[str, Any]] = []
    digests: list[str] = []
    try:
        seal = str(folder.read_json(SEAL)["digest"])
    except DAMAGED:
        return ReadAnnotations([], [Fault(SEAL, "it cannot be read")])
    for number, path in enumerate(numbered_files(folder, SERIES), start=1):
        previous = digests[-1] if digests else ""
        try:
            raw = read_plain(path)
            record = orjson.loads(raw)
            wrong = _wrong(record, path.name, number, seal, previous)
        except DAMAGED:
            record, wrong = {}, "altered: it is not an annotation"
        if wrong:
            return ReadAnnotations(records, [*strangers, Fault(f"{ANNOTATIONS}/{path.name}", wrong)])
        records.append(record)
        digests.append(hashlib.sha256(raw).hexdigest())
    return ReadAnnotations(records, [*strangers, *_head_faults(folder, seal, digests)])


def _wrong(record: Mapping[str, Any], name: str, number: int, seal: str, previous: str) -> str:
    if name != f"{number:04d}.json" or record["number"] != number:
        return f"annotation {number} is missing"
    if record["seal"] != seal:
        return "it annotates another seal"
    if record["previous"] != previous:
        return "it does not continue the annotation before it"
    if record["schema"] != SCHEMA or not has_its_digest(record):
        return "altered: its content does not match its digest"
    signature = record.get("signature")
    return (
        "bad signature"
        if signature and not signatures.signature_holds(canonical(record), signature, None)
        else ""
    )


def _head_faults(folder: RunFolder, seal: str, digests: list[str]) -> Iterator[Fault]:
    try:
        head = folder.read_json(ANNOTATIONS_HEAD)
        count, last = head["count"], head["last"]
        if head["schema"] != HEAD_SCHEMA or head["seal"] != seal or not has_its_digest(head) or count < 1:
            raise ValueError
    except FileNotFoundError:
        if len(digests) > 1:  # of one alone: the process was killed before it wrote the head
            yield Fault(ANNOTATIONS_HEAD, "missing")
        return
    except DAMAGED:
        yield Fault(ANNOTATIONS_HEAD, "altered: it is not a head of annotations")
        return
    if len(digests) < count:
        yield Fault(ANNOTATIONS_HEAD, f"it counts {count} annotations, but {len(digests)} are here")
    elif digests[count - 1] != last or len(digests) > count + 1:
        yield Fault(ANNOTATIONS_HEAD, "it does not match the annotations")


def _strangers(folder: RunFolder) -> Iterator[Fault]:
    root = folder.file(ANNOTATIONS)
    if root.is_symlink() or (root.exists() and not root.is_dir()):
        yield Fault(ANNOTATIONS, "not a folder, but a link or a file")
        return
    for path in sorted(root.iterdir()) if root.is_dir() else ():
        if not NUMBERED.fullmatch(path.name) and not is_leftover(path):
            yield Fault(f"{ANNOTATIONS}/{printable(path.name)}", "it is not an annotation")
