"""`inject`: hidden files that exist on the bench only, laid over the change last."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import ConfigDict

from steelyard.contract.catalogue import Doubt
from steelyard.contract.model import NonEmpty
from steelyard.graders.paths import PathInside


@dataclass(frozen=True)
class Inject:
    """One hidden file or folder, and where it goes."""

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    src: NonEmpty
    dest: PathInside


Injects = tuple[NonEmpty | Inject, ...]


def injected(inject: Injects) -> tuple[tuple[str, str], ...]:
    """(source in the contract, destination in the tree); a bare path goes to the root under its base name."""
    return tuple(
        (item, item.rsplit("/", 1)[-1]) if isinstance(item, str) else (item.src, item.dest) for item in inject
    )


def inject_doubts(inject: Injects) -> tuple[Doubt, ...]:
    places = [dest for _, dest in injected(inject)]
    twice = next((place for place in places if places.count(place) > 1), None)
    return () if twice is None else (Doubt("inject", f"two files go to {twice!r}", fatal=True),)
