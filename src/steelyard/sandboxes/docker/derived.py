"""An image and the layers of a sandbox -> the image that its containers start from, made once.

    /run/steelyard/init     process 1
    /workspace              the layers, owned by the agent
    /home/agent             the home layers
    WORKDIR -> /workspace   if the contract has another name for it
    /etc/passwd, group      an `agent` with id 1000, if that id is free

Of a sandbox whose scope is the system there is only init: everything else is the image's.

Made by putting a tar into a container that never runs, and committing it. Nothing that is written into a sandbox is ever in
an image: hidden files exist in one container only, and go with it.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import io
import json
import os
import stat
import tarfile
import tempfile
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from steelyard.errors import ContractFault, InfraFault, Problem
from steelyard.filesystem.owner import owner_tag
from steelyard.sandboxes.base import HOME, ROOT_HOME, WORKSPACE, FileOverlay, SandboxSpec
from steelyard.sandboxes.copy_layers import visible
from steelyard.sandboxes.docker.api import Engine, EngineRefusal, Query
from steelyard.sandboxes.init.binary import init_binary

DERIVED = "localhost/steelyard-derived"  # of no registry: Podman would ask one for a bare name
DERIVED_LABEL = "steelyard.derived"
OWNER_LABEL = "steelyard.owner"
INIT = "/run/steelyard/init"
AGENT_ID = 1000
FORMAT = "steelyard.derived/2"

_making = threading.Lock()


def derived_tag(spec: SandboxSpec) -> str:
    """The name of the image: everything that is in it, digested."""
    material = [
        FORMAT,
        spec.image,
        spec.workdir,
        spec.scope,
        _init_digest(),
        spec.key or [_tree_digest(layer) for layer in visible(list(spec.layers))],
        [] if spec.key else [_tree_digest(layer) for layer in visible(list(spec.home_layers))],
    ]
    return f"{DERIVED}:{hashlib.sha256(json.dumps(material).encode()).hexdigest()[:40]}"


def derive(engine: Engine, spec: SandboxSpec, tag: str) -> None:
    """Make the image of that tag. Another process may make the same one; either will do."""
    with _making:
        if _exists(engine, tag):
            return
        labels = {OWNER_LABEL: owner_tag()}
        body = {"Image": spec.image, "Cmd": ["none"], "Labels": labels, "HostConfig": {"NetworkMode": "none"}}
        made = str(engine.call("POST", "/containers/create", body)["Id"])
        try:
            for place in {WORKSPACE, spec.workdir or WORKSPACE} if spec.scope == "workspace" else ():
                _check_empty(engine, made, spec.image, place)
            with tempfile.TemporaryFile() as tar:
                _write(engine, made, spec, tar)
                engine.call("PUT", f"/containers/{made}/archive", tar, {"path": "/"}, timeout_s=1800)
            label = {"Labels": {DERIVED_LABEL: tag.partition(":")[2], OWNER_LABEL: ""}}
            name: Query = {"container": made, "repo": DERIVED, "tag": tag.partition(":")[2], "pause": 0}
            engine.call("POST", "/commit", label, name, timeout_s=1800)
        finally:
            with suppress(InfraFault):
                engine.call("DELETE", f"/containers/{made}", None, {"force": 1, "v": 1})


def _exists(engine: Engine, tag: str) -> bool:
    try:
        engine.call("GET", f"/images/{tag}/json")
    except EngineRefusal as refused:
        if refused.status == 404:
            return False
        raise
    return True


def _check_empty(engine: Engine, container: str, image: str, place: str) -> None:
    """What an image has where the workspace goes would be in no snapshot, and yet on the bench, or lost."""
    found = _stat(engine, container, place)
    if found is None:
        return
    with archive(engine, container, f"{place}/.") as tar:
        is_empty = sum(1 for _ in zip(tar, range(2), strict=False)) < 2
    if not is_empty or found.get("linkTarget"):
        message = f"the image {image[:19]} already has files in {place}"
        fix = "put them elsewhere, or into the repository"
        raise ContractFault(Problem("contract.yaml", "environment.image", message, fix))


def _stat(engine: Engine, container: str, path: str) -> dict[str, Any] | None:
    try:
        with engine.opened("HEAD", f"/containers/{container}/archive", None, {"path": path}) as answer:
            encoded = answer.headers.get("X-Docker-Container-Path-Stat", "")
    except EngineRefusal as refused:
        if refused.status == 404:
            return None
        raise
    return dict(json.loads(base64.b64decode(encoded)))


@contextmanager
def archive(engine: Engine, container: str, path: str) -> Iterator[tarfile.TarFile]:
    """What a container has at a path, as the engine's tar, while it comes in."""
    url, query = f"/containers/{container}/archive", {"path": path}
    with (
        engine.opened("GET", url, None, query, timeout_s=1800) as answer,
        tarfile.open(fileobj=answer, mode="r|", errors="surrogateescape") as tar,
    ):
        yield tar


def _write(engine: Engine, container: str, spec: SandboxSpec, into: BinaryIO) -> None:
    with new_tar(into) as tar:
        for folder in _missing_parents(engine, container, spec):
            new_folder(tar, folder, 0)
        new_folder(tar, "run/steelyard", 0)
        _add_bytes(tar, INIT.lstrip("/"), init_binary().read_bytes(), 0o555)
        if spec.scope == "system":
            return
        for account, line in (("passwd", f"agent:x:1000:1000::{HOME}:/bin/sh"), ("group", "agent:x:1000:")):
            _add_account(engine, container, tar, f"etc/{account}", line)
        for place, layers in ((WORKSPACE, spec.layers), (HOME, spec.home_layers)):
            new_folder(tar, place.lstrip("/"), AGENT_ID)
            for layer in reversed(visible(list(layers))):
                add_tree(tar, layer, place.lstrip("/"), AGENT_ID)
        if spec.workdir not in {"", WORKSPACE}:
            link = _entry(spec.workdir.lstrip("/"), 0, 0o777)
            link.type, link.linkname = tarfile.SYMTYPE, WORKSPACE
            tar.addfile(link)


def _missing_parents(engine: Engine, container: str, spec: SandboxSpec) -> Iterator[str]:
    """Folders that an engine would make with a mode of its own choosing."""
    own = (
        (f"{ROOT_HOME}/x", f"{spec.workdir}/x")
        if spec.scope == "system"
        else (HOME, spec.workdir or WORKSPACE)
    )
    above = {str(parent) for place in (INIT, *own) for parent in Path(place).parents}
    for folder in sorted(above - {"/", "/run/steelyard"}):
        if _stat(engine, container, folder) is None:
            yield folder.lstrip("/")


def _add_account(engine: Engine, container: str, tar: tarfile.TarFile, path: str, line: str) -> None:
    """Programs look up who they are; an image that has a user with that id keeps its own name for it."""
    text = _read(engine, container, f"/{path}")
    taken = any(row.split(":")[2:3] == [str(AGENT_ID)] for row in text.splitlines())
    if not taken:
        whole = f"{text.rstrip()}\n{line}\n".lstrip()
        _add_bytes(tar, path, whole.encode(errors="surrogateescape"), 0o644)


def _read(engine: Engine, container: str, path: str) -> str:
    try:
        with archive(engine, container, path) as tar:
            first = tar.next()
            file = tar.extractfile(first) if first is not None and first.isreg() else None
            return file.read(1 << 20).decode(errors="surrogateescape") if file else ""
    except EngineRefusal as refused:
        if refused.status == 404:
            return ""
        raise


def new_tar(into: BinaryIO) -> tarfile.TarFile:
    """GNU: names of any bytes as they are; in pax headers engines expect UTF-8."""
    return tarfile.open(
        fileobj=into, mode="w", format=tarfile.GNU_FORMAT, encoding="utf-8", errors="surrogateescape"
    )


def add_tree(tar: tarfile.TarFile, folder: Path, place: str, owner: int, roots: Collection[str] = ()) -> None:
    """Everything below a folder, as it is, but owned by `owner`, and the files `roots` by root; what is no file, folder or
    link is left out.
    """
    pending = [(folder, place)]
    while pending:
        here, name = pending.pop()
        with os.scandir(here) as found:
            entries = sorted(found, key=lambda entry: entry.name)
        for entry in entries:
            status = entry.stat(follow_symlinks=False)
            path = f"{name}/{entry.name}"
            piece = _entry(path, 0 if path in roots else owner, stat.S_IMODE(status.st_mode) & 0o777)
            piece.mtime = int(status.st_mtime)
            if entry.is_dir(follow_symlinks=False):
                piece.type = tarfile.DIRTYPE
                tar.addfile(piece)
                pending.append((here / entry.name, piece.name))
            elif entry.is_symlink():
                piece.type, piece.linkname = tarfile.SYMTYPE, os.readlink(entry.path)  # noqa: PTH115  # as it is
                tar.addfile(piece)
            elif entry.is_file(follow_symlinks=False):
                piece.size = status.st_size
                with open(entry.path, "rb") as content:  # noqa: PTH123  # a path with any bytes
                    tar.addfile(piece, content)


def add_file(tar: tarfile.TarFile, piece: FileOverlay) -> None:
    """One file of the host's, for root."""
    if piece.source is not None:
        _add_bytes(tar, piece.path, piece.source.read_bytes(), 0o644)


def _entry(name: str, owner: int, mode: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.uid = entry.gid = owner
    entry.mode = mode
    return entry


def new_folder(tar: tarfile.TarFile, name: str, owner: int) -> None:
    folder = _entry(name, owner, 0o755)
    folder.type = tarfile.DIRTYPE
    tar.addfile(folder)


def _add_bytes(tar: tarfile.TarFile, name: str, data: bytes, mode: int) -> None:
    file = _entry(name, 0, mode)
    file.size = len(data)
    tar.addfile(file, io.BytesIO(data))


@functools.cache
def _init_digest() -> str:
    return hashlib.sha256(init_binary().read_bytes()).hexdigest()


def _tree_digest(folder: Path) -> str:
    """The content of a layer that came without a key."""
    digest = hashlib.sha256()
    for parent, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted([*folders, *files]):
            path = Path(parent, name)
            status = path.lstat()
            parts = [os.fsencode(path.relative_to(folder)), b"%o" % status.st_mode]
            if stat.S_ISLNK(status.st_mode):
                parts.append(os.fsencode(os.readlink(path)))  # noqa: PTH115  # Path would tidy the bytes
            elif stat.S_ISREG(status.st_mode):
                parts.append(hashlib.sha256(path.read_bytes()).digest())
            digest.update(b"".join(len(part).to_bytes(8, "big") + part for part in parts))
    return digest.hexdigest()
