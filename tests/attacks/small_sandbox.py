"""Files of a small tree -> a real sandbox around it, of either kind.

tree = planted(folder, {"test_x.py": "..."})
with small_sandbox("docker", tree) as sandbox: ...
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from containers import in_image

from steelyard.filesystem.owner import run_uid
from steelyard.sandboxes.base import FileOverlay, Limits, Sandbox, SandboxSpec
from steelyard.sandboxes.catalogue import backend

SMALL = Limits(cpu=2, memory_mb=512, guaranteed_mb=64, disk_mb=64, tmp_mb=16, processes=64)


def planted(folder: Path, files: Mapping[str, str], mode: int = 0o644) -> Path:
    """The folder with these files in it, owned by the user that runs commands."""
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
    if os.geteuid() == 0:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, run_uid(), run_uid(), follow_symlinks=False)
    return folder


def small_sandbox(  # noqa: PLR0913  # what a box is made of
    kind: str,
    tree: Path,
    *,
    home: tuple[Path, ...] = (),
    overlays: tuple[FileOverlay, ...] = (),
    limits: Limits = SMALL,
    env: Mapping[str, str] | None = None,
) -> Sandbox:
    """Skips the test where there are to be containers and no engine answers."""
    layers = (tree,)
    if kind == "docker":  # a tree in the image would be an image for every test
        layers, overlays = (planted(tree.parent / "nothing", {}),), (*_as_data(tree), *overlays)
    sandbox_spec = SandboxSpec(layers, home, overlays=overlays, limits=limits, env=env or {})
    return backend(kind).start(in_image(sandbox_spec) if kind == "docker" else sandbox_spec)


def _as_data(tree: Path) -> Iterator[FileOverlay]:
    for path in sorted(tree.rglob("*")):
        name, mode = str(path.relative_to(tree)), f"{stat.S_IMODE(path.lstat().st_mode):o}"
        if path.is_dir():
            yield FileOverlay(name, "dir", mode)
        else:
            yield FileOverlay(name, "file", mode, source=path)
