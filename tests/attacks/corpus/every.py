"""All cases, in the order of their ids."""

from __future__ import annotations

from corpus import configuration, honest, inside, node, others, selective, weakened
from corpus.case import Case

ATTACKS: tuple[Case, ...] = tuple(
    sorted(
        (
            *configuration.CASES,
            *inside.CASES,
            *others.CASES,
            *node.CASES,
            *weakened.CASES,
            *selective.CASES,
        ),
        key=lambda case: case.id,
    )
)
HONEST: tuple[Case, ...] = honest.CASES
