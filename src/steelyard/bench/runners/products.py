"""What a tool builds or installs by itself, and a change may not contain.

A class file, a fingerprint or a fake runner that a change plants where the tool keeps its own is taken for the tool's
own. Setup may have made such folders, and the snapshot may have some; what the change adds to them stays away.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

from steelyard.bench.runners.base import Runner
from steelyard.sandboxes.base import FileOverlay


def without_products(
    runner: Runner, work: Iterable[FileOverlay], baseline: Container[str]
) -> Iterator[FileOverlay]:
    pieces = list(work)
    changed = {one.path for one in pieces}

    def is_there(path: str) -> bool:
        return path in baseline or path in changed

    def is_product(path: str) -> bool:
        parts = path.split("/")
        return any(
            part == name and (not beside or is_there("/".join([*parts[:place], beside])))
            for place, part in enumerate(parts)
            for name, beside in runner.makes
        )

    return (one for one in pieces if one.path in baseline or not is_product(one.path))
