"""What a verifier left on a change -> the same without the reward, if the tested code may have written it.

    written by    verifier      its script, or a program that it started to write it
                  unseen        by no process that init saw
                  others ...    by a process of the tested code; a digest of the programs down to it
                  misled        the verifier, of which a program had loaded what tested code left in place of a library
                  (empty)       nothing is known: the sandbox cannot guard files

Each rule compares with the same verifier where nothing cheats: with the reference, and on the unchanged snapshot. So a verifier that
writes its reward in an unusual way is believed, as long as it does so there too.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePosixPath

from steelyard.bench.execution_spec import VerifierSpec
from steelyard.bench.outcome import Outcome
from steelyard.bench.verifier.reward_files import MAX_ARTIFACT_BYTES, RewardFiles
from steelyard.bench.verifier.run_verifier import REWARD_TXT, VerifierRan
from steelyard.contract.contract import Contract
from steelyard.deferred.named_tuple import NamedTuple

MAX_SHOWN = 100


class Elsewhere(NamedTuple):
    """The same verifier on trees that are trusted. Each call runs it."""

    trusted: Callable[[], Outcome]  # with the reference; without one, as below
    snapshot: Callable[[], Outcome]


def believed_reward(
    contract: Contract, spec: VerifierSpec, ran: VerifierRan, elsewhere: Elsewhere
) -> RewardFiles:
    why = (
        _why_unnamed(contract, spec, ran, elsewhere)
        or _why_others(contract, ran, elsewhere)
        or _why_crashed(spec, ran, elsewhere)
    )
    if not why:
        return ran.verified
    return RewardFiles(completed=False, reward=None, errors=(why,), written_by=ran.verified.written_by)


def _why_unnamed(contract: Contract, spec: VerifierSpec, ran: VerifierRan, elsewhere: Elsewhere) -> str:
    """The verifier writes another file on the trusted tree."""
    if not is_unnamed(contract, spec, ran.found):
        return ""
    there = elsewhere.trusted().verified
    if there is not None and there.completed and (there.rewards is None) == (ran.verified.rewards is None):
        return ""
    return f"the verifier does not name {ran.found[0]}, so the verifier may not have written it"


def _why_others(contract: Contract, ran: VerifierRan, elsewhere: Elsewhere) -> str:
    """Tested code wrote last, or misled a program of the verifier. A verifier that writes nothing on the trusted trees shows nothing."""
    writer = ran.verified.written_by
    if not ran.verified.reward or writer in {"", "verifier"}:
        return ""
    trees = [elsewhere.trusted, elsewhere.snapshot] if contract.reference is not None else [elsewhere.trusted]
    is_known = False
    for tree in trees:
        there = tree().verified
        if there is None or not there.completed:
            continue
        if there.written_by == writer:
            return ""
        is_known = True
    if not is_known:
        return ""
    if writer == "misled":
        return "a program of the verifier loaded what the tested code left in place of a library"
    shown = "".join(char if char.isprintable() else "?" for char in ran.writer[:MAX_SHOWN])
    by = f": `{shown}` opened it" if shown else ""
    return f"the reward was not written by the verifier but by code that it tests{by}"


def _why_crashed(spec: VerifierSpec, ran: VerifierRan, elsewhere: Elsewhere) -> str:
    """The verifier failed here, and does not even fail where the work is missing."""
    if not ran.verified.reward or not ran.finished.exit_code or spec.separate is not None:
        return ""
    there = elsewhere.snapshot()
    if there.exit != 0 or there.verified is None or not there.verified.completed:
        return ""
    return f"the verifier failed with exit {ran.finished.exit_code}, so the verifier may not have written the reward"


def is_unnamed(contract: Contract, spec: VerifierSpec, found: tuple[str, ...]) -> bool:
    """Whether the one reward file that was found is not the one that the verifier's files name.

    Code under test can keep the verifier from writing its file, and write the other one.
    """
    if len(found) != 1:
        return False
    paths = [file.path for file in contract.files_beside(spec.script).values() if file.mode != "link"]
    texts = [path.read_bytes() for path in paths if path.stat().st_size <= MAX_ARTIFACT_BYTES]
    by_name = {PurePosixPath(spec.reward_path).name: (b"rubric",), REWARD_TXT: ()}
    named = [
        name
        for name, others in by_name.items()
        if any(word in text for text in texts for word in (name.encode(), *others))
    ]
    return len(named) == 1 and named[0] != found[0]
