"""A graded run -> why a person should look at it, or nothing.

People's time is kept for borderline cases, for diffs that matter to security, such as other dependencies, and for checks that
reached no decision.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from steelyard.contract.snapshot.lock_files import LOCK_FILES, REGISTRY_FILES, is_named
from steelyard.evidence.change.change import Change
from steelyard.evidence.folder.folder import CHANGE, RunFolder

BORDERLINE = 0.1  # of the score, around the threshold
DEPENDENCY_FILES = LOCK_FILES | REGISTRY_FILES | {"go.mod", "Pipfile", "Gemfile"}
MOST_PATHS = 5


def reasons_to_review(
    grading: Mapping[str, Any], pass_threshold: float = 1.0, changed: Sequence[str] = ()
) -> tuple[str, ...]:
    """`grading` is the JSON of a grading, `changed` the changed paths. A clear result with nothing suspicious needs no person."""
    reasons = list(_reasons(grading["verdict"], grading.get("grades", ()), pass_threshold))
    dependencies = [path for path in changed if is_named(path, DEPENDENCY_FILES)]
    if grading["verdict"]["verdict"] == "pass" and dependencies:
        reasons.append(f"dependencies: {', '.join(dependencies[:MOST_PATHS])} changed")
    return tuple(reasons)


def changed_paths(folder: RunFolder) -> tuple[str, ...]:
    """Of a sealed run; none where its change cannot be read."""
    try:
        return Change.from_bytes(folder.file(CHANGE).read_bytes()).changed_paths
    except (OSError, ValueError, LookupError, TypeError):
        return ()


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
    advisory = [one for one in grades if one["outcome"] == "fail" and _is_advisory(one)]
    if verdict["verdict"] == "pass" and advisory:
        yield f"advisory: {advisory[0]['name']} failed: {advisory[0]['why']}"
    if "flaky_oracle" in verdict.get("tags", ()):
        yield "ambiguous: executions of a check differ"
    disagreement = str(verdict.get("disagreement") or "none")
    if disagreement != "none":
        yield f"disagreement: {disagreement}"


def _is_advisory(grade: Mapping[str, Any]) -> bool:
    return not grade.get("required") and not grade.get("weight")
