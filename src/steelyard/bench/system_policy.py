"""The ground of a contract whose scope is the system -> what its image has, and so what may be changed in it."""

from __future__ import annotations

import hashlib
import shlex
from functools import cache, partial
from pathlib import Path

from steelyard.bench.ground import Ground
from steelyard.bench.system_change import SYSTEM_BINARIES, SystemPolicy
from steelyard.errors import InfraFault
from steelyard.evidence.blobs import Blobs
from steelyard.sandboxes.base import Command

LOOK_S = 60.0
_LIST = 'for d in "$@"; do ls -1a "/$d" 2>/dev/null; done; :'


def system_policy(ground: Ground, blobs: Blobs) -> SystemPolicy:
    box = ground.box()
    path = {**box.image_env, **box.env}.get("PATH", "")
    folders = [folder.strip("/") for folder in path.split(":") if folder.startswith("/")]
    names = cache(partial(programs, ground, tuple(dict.fromkeys((*SYSTEM_BINARIES, *folders)))))
    return SystemPolicy(
        folders, box.workdir.strip("/"), ground.contract.brief, lambda name: name in names(), blobs
    )


def programs(ground: Ground, folders: tuple[str, ...]) -> frozenset[str]:
    """What the image has in those folders; looked at in a container of it, once."""
    box = ground.box()

    def look(folder: Path) -> None:
        with ground.backend.start(box) as sandbox:
            line = f"set -- {shlex.join(folders)}; {_LIST}"
            done = sandbox.run(
                Command(("/bin/sh", "-c", line), cwd="/", timeout_s=LOOK_S, keep_bytes=8 << 20)
            )
        if done.exit_code != 0:
            raise InfraFault(f"the programs of the image {box.image} could not be listed")
        (folder / "names").write_bytes(done.stdout.head + done.stdout.tail)

    key = hashlib.sha256("\0".join((box.image, *folders)).encode()).hexdigest()
    kept = ground.cache.build("programs", key, look) / "names"
    return frozenset(kept.read_text(errors="surrogateescape").splitlines())
