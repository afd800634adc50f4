"""All cases, in the order of their ids."""

from __future__ import annotations

import os

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

# `make attacks` tries every case in every mode, SANDBOX=docker in containers. Tests try every case with a twin in
# bubblewrap sandboxes. In containers they try the cases in which the container backend takes part. What stops the other cases
# decides on the host which files of a change reach the bench, or runs inside the tests' process, and is the same code in every
# sandbox: so it is for families C, E, H, T and X. CONTAINERS=all tries them all.
_IN_CONTAINERS = frozenset(
    {
        *("A16", "A29"),  # changes outside the snapshot: the virtual environment, HOME
        *("B02", "B05"),  # ends and replaces the tests' process
        *("B39", "B42", "B44"),  # other processes of the sandbox, and its descriptors
        *("B48", "B49", "B50", "B51", "B52"),  # limits of the sandbox: output, memory, processes, disk, time
        *("B53", "B65"),  # files between two runs, and the socket of the supervisor
        *("D01", "F04", "F07", "G01"),  # what is left in a sandbox, and what is in its reach
        "N01",  # the same in node
        *("K01", "K23", "K26"),  # honest work, and honest trees and processes that a capture must survive
    }
)
# Of those with a split: its candidate and its tests are in two containers, whatever the case does in one of them.
_SPLIT_IN_CONTAINERS = frozenset({"B44", "B52", "N01", "K01"})
# With a split there is no test runner in the process that an attack has: what it patches, rebinds or raises there ends in
# the same way. So tests try the attacks that reach for other processes, descriptors, files and limits of the sandbox, and
# one or two of each other kind; honest work whose files reach the bench as they do with a twin is tried with a twin alone.
# CASES=all tries them all with a split, and `make attacks` does.
_IN_SPLIT = frozenset(
    {
        *("B02", "B03", "B05", "B06", "B20", "B33"),  # ends, forks and patches its own process
        *(
            "B12",
            "B15",
            "B29",
            "B45",
            "B47",
            "B56",
            "B57",
            "B61",
            "B64",
        ),  # answers and exceptions that are no data
        *(
            "B38",
            "B39",
            "B40",
            "B41",
            "B42",
            "B43",
            "B44",
        ),  # other processes of the sandbox, and its descriptors
        *("B46", "B48", "B49", "B50", "B51", "B52", "B53", "B65"),  # limits, files between two runs, sockets
        *("N01", "N03", "N05", "N10", "N13", "N15", "N19", "N23", "N25"),
        *("X01", "X02", "X03", "X04"),
    }
)
_NOT_IN_SPLIT = frozenset(
    {
        *("K02", "K03", "K04", "K05", "K06", "K07", "K08", "K13", "K14", "K16", "K17", "K21", "K22", "K23"),
        *("K24", "K25", "K26", "K27", "K28", "K29", "K30", "K31", "K33", "K42"),
    }
)


def is_tried_in_containers(case: Case, *, is_split: bool = False) -> bool:
    return case.id in (_SPLIT_IN_CONTAINERS if is_split else _IN_CONTAINERS)


def is_tried_in_split(case: Case) -> bool:
    if os.environ.get("CASES") == "all":
        return True
    return case.id in _IN_SPLIT if case.family != "K" else case.id not in _NOT_IN_SPLIT
