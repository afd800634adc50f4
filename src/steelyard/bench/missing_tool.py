"""A check that ended as a shell does where a command is missing -> whose fault that is.

Exit 127 may be the candidate's doing: it removed a script, or says 127 itself. It may be the contract's: the bench has no
such tool. Only a trusted tree distinguishes them: where the reference ends like this too, every change
will, and the check is an error. Without a reference this cannot be known, and the check has failed. A run of the reference that did not end
normally tells nothing: it is this machine's fault, the run counts for nothing, and the answer is not kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import orjson

from steelyard.bench.twin import trusted
from steelyard.environment.prepare import Environment
from steelyard.errors import AgentFault, InfraFault
from steelyard.sandboxes.base import CommandResult, ExitStats, FileOverlay

NOT_FOUND = 127
MISSING = f"exit {NOT_FOUND}, also with the reference: the check starts a command that is not on the bench"
FORMAT = "steelyard.missing/1"
EndOn = Callable[
    [tuple[FileOverlay, ...]], tuple[CommandResult, ExitStats]
]  # a change -> how the check's command ends on it


def is_missing_for_all(environment: Environment, check: str, end_on: EndOn) -> bool:
    """Asked once for a check of a contract; the answer is kept in the cache. Raises InfraFault when there is none."""

    def build(folder: Path) -> None:
        with environment.cache.temporary() as scratch:
            reference = trusted.reference_change(environment, scratch)
            code = None if reference is None else _exit(check, end_on, reference)
        (folder / "exit.json").write_bytes(orjson.dumps(code))

    kept = environment.cache.build("missing", _key(environment, check), build)
    return bool(orjson.loads((kept / "exit.json").read_bytes()) == NOT_FOUND)


def _exit(check: str, end_on: EndOn, reference: tuple[FileOverlay, ...]) -> int | None:
    try:
        finished, exit_stats = end_on(reference)
    except AgentFault:  # of the reference's tree, not of the candidate's
        return None
    if how := trusted.how_badly_ended(finished, exit_stats):
        raise InfraFault(f"the check {check} ended with exit {NOT_FOUND}, and with the reference it {how}")
    return finished.exit_code


def _key(environment: Environment, check: str) -> str:
    material = [
        FORMAT,
        *environment.identity,
        check,
    ]
    return hashlib.sha256(orjson.dumps(material)).hexdigest()
