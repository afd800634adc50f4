"""A check that ended as a shell does where a command is missing -> whose fault that is.

Exit 127 may be the candidate's doing: it removed a script, or says 127 itself. It may be the contract's: the bench has no
such tool. Only a tree that nobody need suspect tells them apart: where the reference ends like this too, everybody
will, and the check is an error. Without a reference nobody knows, and it has failed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import orjson

from steelyard.bench.ground import Ground
from steelyard.bench.twin.trusted import reference_change
from steelyard.errors import AgentFault
from steelyard.sandboxes.base import Laid

NOT_FOUND = 127
MISSING = f"exit {NOT_FOUND}, and so with the reference: a command is not there on the bench"
FORMAT = "steelyard.missing/1"
ExitOn = Callable[[tuple[Laid, ...]], int | None]  # a change -> how the check's command ends on it


def is_missing_for_all(ground: Ground, check: str, exit_on: ExitOn) -> bool:
    """Asked once for a check of a contract; the answer is kept in the cache."""

    def build(folder: Path) -> None:
        with ground.cache.temporary() as scratch:
            reference = reference_change(ground, scratch)
            code = None if reference is None else _exit(exit_on, reference)
        (folder / "exit.json").write_bytes(orjson.dumps(code))

    kept = ground.cache.build("missing", _key(ground, check), build)
    return bool(orjson.loads((kept / "exit.json").read_bytes()) == NOT_FOUND)


def _exit(exit_on: ExitOn, reference: tuple[Laid, ...]) -> int | None:
    try:
        return exit_on(reference)
    except AgentFault:  # of the reference's tree, not of the candidate's
        return None


def _key(ground: Ground, check: str) -> str:
    material = [
        FORMAT,
        *ground.identity,
        check,
    ]
    return hashlib.sha256(orjson.dumps(material)).hexdigest()
