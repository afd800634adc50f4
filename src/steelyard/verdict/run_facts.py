"""What a verdict needs to know of a run beside its grades: plain values, collected from the sealed evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from steelyard.deferred.data_class import dataclass
from steelyard.deferred.named_tuple import NamedTuple


class ChangeSize(NamedTuple):
    """How large a change is. Lines that git cannot show are counted as one for each 80 bytes."""

    files: int
    lines: int


class ShortEvent(NamedTuple):
    """One event of the trace, as far as failure modes look at it."""

    seq: int
    type: str
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RunFacts:
    """The defaults are those of a run of which nothing more is known."""

    size: ChangeSize | None = None
    changed: int | None = None  # changed files; None: there is no workspace
    missing_artefacts: tuple[str, ...] = ()  # what q_trace needs and the record does not have
    budget_left: float | None = None  # of the cap that is nearest to used up, 0..1
    changed_paths: tuple[str, ...] = ()  # bounded
    events: Sequence[ShortEvent] = ()
    added_imports: Mapping[str, str] = field(default_factory=dict)  # module -> "path:line" in the change
    layers: Mapping[str, str] = field(default_factory=dict)  # check id -> unit | integration | e2e
