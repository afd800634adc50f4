"""A check that reached no decision on a change -> whether the change is to blame: the same check on a trusted tree.

    change    error: timed out after 60 s        reference   exit 0 after 0.2 s      -> the change has failed
    change    error: timed out after 60 s        reference   timed out too           -> error: the contract or the machine

An undecided run leaves the success rate, so failing work would gain by hanging its check, killing its verifier
or remove its shell than fail. What the trusted tree does not do is the change's own doing. The trusted tree is the
snapshot with the reference's change, or the snapshot alone. It is asked at the time of the error and never from a
cache, so that a machine that stalls now stalls both. A timeout is the change's only if the trusted tree decides within
half of the time: a check that needs most of its time anyway proves nothing. Other errors are tried once more on the
change: one that then passes has an unsteady check, and the error stays. Failing work cannot come to that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from steelyard.bench.outcome import Outcome
from steelyard.bench.twin import trusted
from steelyard.deferred.named_tuple import NamedTuple
from steelyard.environment.prepare import Environment
from steelyard.errors import GraderFault, InfraFault
from steelyard.sandboxes.base import FileOverlay

TIMEOUT_SHARE = 0.5  # of a check's time: what the trusted tree may need for a timeout to be the change's
RunOn = Callable[
    [tuple[FileOverlay, ...], float], Outcome
]  # the check on another change, with a share of its time


class TrustedWork(NamedTuple):
    name: str  # for a person: "the reference", "the unchanged snapshot"
    overlays: tuple[FileOverlay, ...]


def blame_change(
    environment: Environment, outcome: Outcome, run_on: RunOn, again: Callable[[], Outcome]
) -> Outcome:
    """The outcome as it is, or as a failure where the trusted tree shows that the change made the difference.

    `again` runs the check on the change once more.
    """
    if outcome.outcome != "error":
        return outcome
    with environment.cache.temporary() as scratch:
        tree = _trusted_work(environment, scratch)
        try:
            there = run_on(tree.overlays, TIMEOUT_SHARE if outcome.timed_out else 1.0)
        except (InfraFault, GraderFault):  # the trusted tree decides nothing: nothing is known then
            return outcome
    if there.outcome == "error":
        return outcome
    if not outcome.timed_out and again().outcome == "pass":
        return replace(outcome, why=f"{outcome.why}; a second run passed, so the check is flaky")
    why = f"{outcome.why}; with {tree.name} the check decides after {there.observed_s:.1f} s"
    return replace(outcome, outcome="fail", why=why, runs=("fail",), score=0.0)


def excuse_change(environment: Environment, outcome: Outcome, run_on: RunOn) -> Outcome:
    """A failure on a bench that lacks a tool: an error where the reference fails too, because then every change does."""
    if outcome.outcome != "fail" or outcome.forged:
        return outcome
    try:
        there = on_trusted_tree(environment, run_on)
    except (InfraFault, GraderFault):  # nothing is known then
        return outcome
    if there.outcome == "pass":
        return outcome
    why = f"{outcome.why}, also with the reference: the bench lacks a command"
    return replace(outcome, outcome="error", why=why, runs=("error",), score=None)


def on_trusted_tree(environment: Environment, run_on: RunOn) -> Outcome:
    """The check on the trusted tree, with all of its time."""
    with environment.cache.temporary() as scratch:
        return run_on(_trusted_work(environment, scratch).overlays, 1.0)


def _trusted_work(environment: Environment, scratch: Path) -> TrustedWork:
    contract = environment.contract
    answer = contract.spec.answer_path
    if answer is not None and contract.reference is not None:
        return TrustedWork("the reference", (FileOverlay(answer, "file", source=contract.reference),))
    reference = trusted.reference_change(environment, scratch)
    if reference is None:
        return TrustedWork("the unchanged snapshot", ())
    return TrustedWork("the reference", reference)
