"""A graded run -> why a person should look at it, or nothing.

People's time is kept for borderline cases, for diffs that matter to security, and for checks that reached no decision.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

BORDERLINE = 0.1  # of the score, around the threshold


def reasons_to_review(grading: Mapping[str, Any], pass_threshold: float = 1.0) -> tuple[str, ...]:
    """`grading` is the JSON of a grading. A clear pass or fail with nothing suspicious needs no person."""
    return tuple(_reasons(grading["verdict"], grading.get("grades", ()), pass_threshold))


def _reasons(verdict: Mapping[str, Any], grades: Any, threshold: float) -> Iterator[str]:
    score = verdict.get("score")
    if isinstance(score, int | float) and 0 < score < 1 and abs(score - threshold) <= BORDERLINE:
        yield f"borderline: the score {score:.2f} is near the threshold {threshold:.2f}"
    if verdict["verdict"] == "error":
        yield f"ambiguous: {verdict['reason']}"
    safety = (verdict.get("gates") or {}).get("safety", {})
    if safety.get("outcome") == "fail":
        yield f"security: {safety.get('why')}"
    suspicious = [one for one in verdict.get("findings", ()) if one["severity"] != "info"]
    if verdict["verdict"] == "pass" and suspicious:
        yield f"security: passed with {suspicious[0]['id']} at {suspicious[0]['where']}"
    flaky = next((one["name"] for one in grades if "flaky" in str(one.get("why", ""))), None)
    if flaky is not None:
        yield f"ambiguous: {flaky} is flaky"
    disagreement = str(verdict.get("disagreement") or "none")
    if disagreement != "none":
        yield f"disagreement: {disagreement}"
