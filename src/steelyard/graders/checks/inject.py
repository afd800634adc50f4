"""`inject`: hidden files that exist on the bench only, written over the change last."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

from steelyard.contract.catalogue import LintWarning, Material
from steelyard.contract.model import NonEmpty
from steelyard.deferred.model import ConfigDict
from steelyard.filesystem.tree import is_within
from steelyard.graders.files.paths import PathInside


@dataclass(frozen=True)
class Inject:
    """One hidden file or folder, and where it goes."""

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    src: NonEmpty
    dest: PathInside


Injects = tuple[NonEmpty | Inject, ...]


def injected_files(inject: Injects) -> tuple[tuple[str, str], ...]:
    """(source in the contract, destination in the tree); a bare path goes to the root under its base name."""
    pairs = ((item, None) if isinstance(item, str) else (item.src, item.dest) for item in inject)
    named = ((src.rstrip("/"), dest) for src, dest in pairs)
    return tuple((src, dest or src.rsplit("/", 1)[-1]) for src, dest in named)


def inject_warnings(inject: Injects, material: Material) -> tuple[LintWarning, ...]:
    """Places that two things would go to, and files that would go to the place of a folder."""
    places = [dest for _, dest in injected_files(inject)]
    clash = next((pair for pair in permutations(places, 2) if is_within(*pair)), None)
    if clash is not None:
        inner, outer = clash
        message = f"two files go to {inner!r}" if inner == outer else f"{inner!r} is inside {outer!r}"
        return (LintWarning("inject", message, fatal=True),)
    return tuple(
        LintWarning(
            f"inject[{number}]", f"{dest!r} is a folder of the snapshot, and {src} is a file", fatal=True
        )
        for number, (src, dest) in enumerate(injected_files(inject))
        if src in material.files and any(path.startswith(f"{dest}/") for path in material.baseline)
    )
