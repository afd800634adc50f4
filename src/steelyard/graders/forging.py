"""How a check ended on the bench -> what a reader must know about whether its results are its own."""

from __future__ import annotations

from steelyard.bench.outcome import Outcome
from steelyard.evidence.finding import Finding
from steelyard.filesystem.tree import shown

RESULT_FORGING = "result_forging"
NAMED = 10


def forging(outcome: Outcome | None) -> tuple[Finding, ...]:
    """Forged results are a violation; controls that did not come to their end, or are weak, are worth a look."""
    if outcome is None:
        return ()
    if outcome.forged:
        named = "; ".join(shown(one) for one in outcome.forged[:NAMED])
        more = len(outcome.forged) - NAMED
        why = f"{named}; and {more} more" if more > 0 else named
        return (Finding(RESULT_FORGING, "violation", f"checks/{outcome.id}", why),)
    if outcome.verified is not None and outcome.verified.is_of_others:
        why = shown(outcome.verified.errors[0])
        return (Finding("reward_of_others", "warning", f"checks/{outcome.id}", why),)
    controls = outcome.controls
    if controls is not None and controls.changed and controls.problem:
        return (Finding("no_controls", "warning", f"checks/{outcome.id}", shown(controls.problem)),)
    if controls is not None and controls.weak:
        return (Finding("weak_controls", "info", f"checks/{outcome.id}", shown(controls.weak)),)
    return ()
