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

# Tests try these cases in containers too, the others in bubblewrap sandboxes only; `make attacks SANDBOX=docker` and
# CONTAINERS=all try every case. What stops the other cases is the same code whatever the sandbox: it decides which
# files of a change reach the bench, or it runs inside the tests' process. Here the container backend takes part.
_FAMILIES_IN_CONTAINERS = "CDEFG"  # what an agent leaves in its sandbox, and what it reaches from there
_IDS_IN_CONTAINERS = frozenset(
    {
        *("A01", "H01", "T01", "X02", "K01", "K41"),  # one of each other family, and honest work
        *("A16", "A19", "A29"),  # changes outside the snapshot: the virtual environment, HOME
        *("B02", "B05", "B06", "B20"),  # ends, replaces, forks or patches the tests' process
        *("B38", "B39", "B41", "B42", "B43", "B44"),  # other processes of the sandbox, and its descriptors
        *("B48", "B49", "B50", "B51", "B52"),  # limits of the sandbox: output, memory, processes, disk, time
        *("B53", "B63", "B65"),  # files between two runs, and the socket of the supervisor
        *("N01", "N13", "N19", "N20", "N25"),  # the same in node
        *("K22", "K23", "K26", "K27", "K30"),  # honest trees and processes that a capture must survive
    }
)


def is_tried_in_containers(case: Case) -> bool:
    return case.family in _FAMILIES_IN_CONTAINERS or case.id in _IDS_IN_CONTAINERS
