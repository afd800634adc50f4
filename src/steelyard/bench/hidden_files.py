"""What a grader hides from agents -> data to lay over the change, last of all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from steelyard.contract.catalogue import Material
from steelyard.contract.contract import Contract
from steelyard.sandboxes.base import Laid


def hidden_files(contract: Contract, options: Any, scratch: Path | None = None) -> tuple[Laid, ...]:
    """The injected files, every file of the injected folders, and the files as a test patch leaves them.

    What is injected stands above what is patched. `scratch` holds the patched ones; a type without
    a `patch` needs none.
    """
    injected = [
        Laid(f"{dest}{name.removeprefix(src)}", "file", mode=file.mode, source=file.path)
        for src, dest in options.injected
        for name, file in contract.files.items()
        if name == src or name.startswith(f"{src}/")
    ]
    places = {one.path for one in injected}
    return (*(one for one in _patched(contract, options, scratch) if one.path not in places), *injected)


def _patched(contract: Contract, options: Any, scratch: Path | None) -> list[Laid]:
    if scratch is None or not getattr(options, "patch", None):
        return []
    snapshot = contract.snapshot
    after = options.patched(Material(snapshot.tree, snapshot.entries, contract.files))
    laid = []
    for number, (path, patched) in enumerate(sorted(after.items())):
        source = scratch / f"patched-{number}"
        if patched.content is None:
            laid.append(Laid(path, "gone"))
            continue
        source.write_bytes(patched.content)
        laid.append(Laid(path, "file", mode=patched.mode, source=source))
    return laid
