"""Layers, topmost first -> one writable copy, where no overlay can be had.

A layer that was itself kept from such a copy is complete: it has a file `complete` beside it, and nothing
below it shows. (An overlay's layer needs none: there the kernel knows what was deleted.)
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from steelyard.sandboxes.write_files import Owner

COMPLETE = "complete"


def copy_layers(layers: list[Path], destination: Path, owner: Owner | None) -> None:
    """Copy the layers into an existing folder, the lowest first."""
    for layer in reversed(visible(layers)):
        shutil.copytree(layer, destination, symlinks=True, dirs_exist_ok=True)
    if owner is not None and layers:
        for parent, folders, files in os.walk(destination):
            for name in (".", *folders, *files):
                os.chown(Path(parent, name), owner.uid, owner.gid, follow_symlinks=False)


def visible(layers: list[Path]) -> list[Path]:
    """The layers down to the first complete one."""
    shown = []
    for layer in layers:
        shown.append(layer)
        if (layer.parent / COMPLETE).exists():
            break
    return shown
