r"""A `SandboxSpec` and what this machine can do -> the order that the launcher carries out, and its JSON.

The order crosses a process boundary, so it holds plain values only. Paths may be any bytes: lone surrogates
survive JSON as \udcXX.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from steelyard.sandboxes.file_overlay import FileOverlay

if TYPE_CHECKING:
    from steelyard.sandboxes.base import SandboxSpec

START, LOCK, UNLOCK = b"start", b"lock", b"unlock"  # what the controller asks of the launcher


class Order(NamedTuple):
    layers: list[str]
    home_layers: list[str]
    overlays: list[dict[str, Any]]
    extra_mounts: list[dict[str, Any]]
    toolchains: list[str]
    links: dict[str, str]
    workdir: str  # another name for the workspace, or nothing
    host_files: dict[str, str]
    share_network: bool
    hosts: dict[str, str]  # allowed hosts: name -> address on the loopback device
    materialise: str  # overlay | copy
    uppers: str | None  # a folder on disk for the uppers; None: the sized tmpfs
    keep: bool  # the uppers become a layer: no redirects in them
    disk_bytes: int
    tmp_bytes: int
    rlimits: list[str]
    memory_bytes: int  # of the control group: processes and every tmpfs together
    processes: int
    cpu: float
    run_uid: int
    run_gid: int
    is_watched: bool = False  # init refuses system calls and reports them

    def to_json(self) -> bytes:
        return json.dumps(self._asdict()).encode()

    @classmethod
    def from_json(cls, data: bytes) -> Order:
        return cls(**json.loads(data))

    def pieces(self) -> list[FileOverlay]:
        return pieces(self.overlays)


def pieces(overlays: list[dict[str, Any]]) -> list[FileOverlay]:
    return [
        FileOverlay(**{**piece, "source": None if piece["source"] is None else Path(piece["source"])})
        for piece in overlays
    ]


def places_as_data(spec: SandboxSpec) -> list[dict[str, Any]]:
    return [
        {"path": mount.path, "files": overlays_as_data(mount.overlays), "read_only": mount.read_only}
        for mount in spec.extra_mounts
    ]


def overlays_as_data(overlays: tuple[FileOverlay, ...]) -> list[dict[str, Any]]:
    return [
        {
            "path": piece.path,
            "kind": piece.kind,
            "mode": piece.mode,
            "source": None if piece.source is None else str(piece.source),
            "target": piece.target,
        }
        for piece in overlays
    ]
