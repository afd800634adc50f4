"""A finished run folder -> `seal.json`; and a sealed folder -> everything that was altered.

    {"schema": "steelyard.seal/1", "run": "...", "at": "...", "head": "<last event's hash>", "events": 412,
     "files": {"manifest.json": "<sha256>", "blobs/ab12...": "<sha256>", ...}, "digest": "<64 hex>",
     "signature": {"algorithm": "ed25519", "public_key": "...", "value": "..."}}

It covers every file but `gradings/`, `annotations/`, their heads, `report.json` and itself; gradings and annotations bind
themselves. `digest` and `signature` are over the canonical
bytes (RFC 8785) of the rest. Names are percent-encoded, so that any bytes survive.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import orjson

from steelyard.deferred.data_class import dataclass
from steelyard.deferred.named_tuple import NamedTuple
from steelyard.errors import DAMAGED, InfraFault
from steelyard.evidence.folder import signature as signatures
from steelyard.evidence.folder.blobs import hash_stream
from steelyard.evidence.folder.canonical import canonical, canonical_bytes, has_its_digest
from steelyard.evidence.folder.folder import (
    AGENT,
    ANNOTATIONS,
    ANNOTATIONS_HEAD,
    BLOBS,
    CHECKS,
    EVENTS,
    GRADINGS,
    GRADINGS_HEAD,
    MANIFEST,
    REPORT,
    SEAL,
    RunFolder,
    sync_together,
)
from steelyard.evidence.folder.gradings import grading_faults, is_leftover
from steelyard.evidence.trace.chain import ChainBreak, measure_chain, verify_chain
from steelyard.filesystem.cache import sync_file_system
from steelyard.filesystem.plain_file import open_plain, read_plain
from steelyard.filesystem.tree import printable

SCHEMA = "steelyard.seal/1"
FEW_FILES = 32  # up to here an fsync each; beyond, one call for the whole file system
# First parts of names that a seal does not cover
NOT_SEALED = frozenset({GRADINGS, GRADINGS_HEAD, ANNOTATIONS, ANNOTATIONS_HEAD, REPORT, SEAL})
_MAY_BE_EMPTY = {AGENT, ANNOTATIONS, BLOBS, CHECKS, GRADINGS}  # every run begins with them
_MEMBERS = {"schema", "run", "at", "head", "events", "files", "digest"}
_SAFE = "/ !#$&'()*+,-.:;=@[]^_{}~"


@dataclass(frozen=True, slots=True)
class Seal:
    digest: str
    head: str
    events: int
    files: Mapping[str, str]
    signed: bool = False


class Break(NamedTuple):
    """What is wrong with a record, and where."""

    where: str
    why: str

    def __str__(self) -> str:
        return f"{self.where}: {self.why}"


class _FolderEntry(NamedTuple):
    name: str  # percent-encoded, relative to the folder
    path: Path
    regular: bool


def seal(folder: RunFolder, signer: Path | None = None) -> Seal:
    """Write `seal.json`, signed with the ed25519 key in the PEM file `signer`; afterwards only gradings and the report may come."""
    while empty := list(_empty(folder.path)):  # of a check that never came to an outcome
        for name in empty:
            (folder.path / name).rmdir()
    chain = measure_chain(folder.events)
    if isinstance(chain, ChainBreak):
        raise InfraFault(f"{folder.run_id} cannot be sealed: {EVENTS}, {chain}")
    files: dict[str, str] = {}
    sealed = list(_sealed_files(folder.path))
    for found in sealed:
        if not found.regular:
            raise InfraFault(f"{folder.run_id} cannot be sealed: {printable(found.name)} is not a plain file")
        files[found.name] = _sha256(found.path)
    at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    body: dict[str, Any] = {
        "schema": SCHEMA,
        "run": folder.run_id,
        "at": at,
        "head": chain.head,
        "events": chain.length,
        "files": files,
    }
    message = canonical_bytes(body)
    whole: dict[str, Any] = {**body, "digest": hashlib.sha256(message).hexdigest()}
    if signer is not None:
        whole["signature"] = signatures.sign(message, signer)
    _make_durable(folder, [found.path for found in sealed])
    folder.write_json(SEAL, whole, durable=True)
    return Seal(whole["digest"], chain.head, chain.length, files, signed=signer is not None)


def _make_durable(folder: RunFolder, files: list[Path]) -> None:
    """Everything that the seal will speak for is on disk before the seal is."""
    if len(files) > FEW_FILES:
        sync_file_system(folder.path)
        return
    sync_together([*files, *{path.parent for path in files}])


def check_seal(folder: RunFolder, public_key: Path | None = None, *, deep: bool = True) -> list[Break]:
    """Everything that is not as it was sealed; empty when the record holds. Without `deep`, blobs are not hashed."""
    sealed = read_seal(folder, public_key)
    if isinstance(sealed, Break):
        return [sealed]
    chain = verify_chain(folder.events, sealed["head"], sealed["events"])
    events = [Break(EVENTS, str(chain))] if chain else []
    return [
        *_identity_breaks(folder, sealed["run"]),
        *events,
        *_file_breaks(folder, sealed["files"], deep=deep),
        *_empty_folders(folder.path),
        *(Break(*fault) for fault in grading_faults(folder, sealed, public_key)),
    ]


def read_seal(folder: RunFolder, public_key: Path | None = None) -> dict[str, Any] | Break:
    """The seal, if it is one and carries its own digest; or what is wrong with it."""
    try:
        sealed = orjson.loads(read_plain(folder.file(SEAL)))
        wrong = _seal_break(sealed, public_key)
    except FileNotFoundError:
        return Break(SEAL, "incomplete: the run was never sealed")
    except DAMAGED:
        return Break(SEAL, "altered: it is not a seal")
    return Break(SEAL, wrong) if wrong else dict(sealed)


def _seal_break(sealed: Mapping[str, Any], public_key: Path | None) -> str:
    members = set(sealed)
    if not members >= _MEMBERS:
        return "altered: it is not a seal"
    if members - _MEMBERS - {"signature"}:
        return "altered: it has unknown members"
    if (
        sealed["schema"] != SCHEMA
        or not isinstance(sealed["files"], dict)
        or not isinstance(sealed["events"], int)
    ):
        return f"altered: it is not a {SCHEMA}"
    if not has_its_digest(sealed):
        return "altered: its content does not match its digest"
    signature = sealed.get("signature")
    if signature is None:
        return "not signed" if public_key else ""
    return "" if signatures.signature_holds(canonical(sealed), signature, public_key) else "bad signature"


def _identity_breaks(folder: RunFolder, run: object) -> Iterator[Break]:
    """A passing record that was copied to the name of a failing run is whole, and still a lie."""
    if run != folder.path.absolute().name:
        yield Break(SEAL, f"the seal belongs to run {printable(str(run))}")
    try:
        recorded = folder.read_json(MANIFEST).get("run", run)
    except (OSError, ValueError, AttributeError):
        return  # the manifest's own bytes are held against the seal
    if recorded != run:
        yield Break(MANIFEST, f"the manifest belongs to run {printable(str(recorded))}")


def _file_breaks(folder: RunFolder, sealed: Mapping[str, str], *, deep: bool) -> Iterator[Break]:
    unseen = dict(sealed)
    for found in _sealed_files(folder.path):
        digest = unseen.pop(found.name, None)
        if not found.regular:
            yield Break(printable(found.name), "not a plain file, but a link or a device")
        elif digest is None:
            if found.path.parent != folder.path or not is_leftover(found.path):
                yield Break(printable(found.name), "added after the run was sealed")
        elif (
            found.name != EVENTS
            and (deep or not found.name.startswith(f"{BLOBS}/"))
            and digest != _sha256(found.path)
        ):
            yield Break(printable(found.name), "altered: it changed after the run was sealed")
    for name in sorted(unseen):
        yield Break(printable(name), "missing")


def leftovers(folder: RunFolder) -> list[str]:
    """Files of writes that were killed after the seal: of a grading, an annotation, a head, the report."""
    places = (folder.path, folder.file(GRADINGS), folder.file(ANNOTATIONS))
    return sorted(
        printable(str(path.relative_to(folder.path)))
        for place in places
        if place.is_dir()
        for path in place.iterdir()
        if is_leftover(path)
    )


def _empty_folders(root: Path) -> Iterator[Break]:
    """They hold nothing, and no run left them: sealing removes its own."""
    for name in _empty(root):
        yield Break(printable(name), "an empty folder added after the run was sealed")


def _empty(root: Path) -> Iterator[str]:
    pending = [""]
    while pending:
        folder = pending.pop()
        with os.scandir(f"{root}/{folder}") as entries:
            listed = list(entries)
        if not listed and folder not in _MAY_BE_EMPTY:
            yield folder
        pending += [
            f"{folder}/{entry.name}".lstrip("/") for entry in listed if entry.is_dir(follow_symlinks=False)
        ]


def _sealed_files(root: Path) -> Iterator[_FolderEntry]:
    """Every file that a seal covers, in the order of its encoded name; never through a link."""
    names: list[str] = []
    pending = [""]
    while pending:
        folder = pending.pop()
        with os.scandir(f"{root}/{folder}") as entries:
            for entry in entries:
                name = f"{folder}/{entry.name}" if folder else entry.name
                if name not in NOT_SEALED:
                    (pending if entry.is_dir(follow_symlinks=False) else names).append(name)
    for encoded, name in sorted((quote(os.fsencode(name), safe=_SAFE), name) for name in names):
        path = root / name
        yield _FolderEntry(encoded, path, stat.S_ISREG(path.lstat().st_mode))


def _sha256(path: Path) -> str:
    with open_plain(path) as stream:
        return hash_stream(stream.fileno())
