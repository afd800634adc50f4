"""Alerts of a run -> findings for its verdict; and whether the run waits for a review.

Only an alert that the contract gave a consequence (`severity: violation`, or `penalty`) is a finding. With `policy.effect: penalty`
violations of tools and dependencies lower the reward and fail no gate.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.evidence.evidence import Evidence
from steelyard.evidence.finding import Finding
from steelyard.evidence.folder.annotations import read_annotations
from steelyard.evidence.trace.summary import Summary

MOST_FINDINGS = 50
CLEARING = frozenset({"false_positive", "acceptable_risk"})
DEADLINE = "deadline"  # who decided, where no person did


def alert_findings(summary: Summary) -> list[Finding]:
    """Each rule once, at the first event that broke it. An alert that an operator cleared is none."""
    found: dict[str, Finding] = {}
    cleared = {one.get("alert") for one in summary.decisions if _clears(one)}
    for alert in summary.alerts:
        if alert.get("severity") not in {"violation", "penalty"} or alert.get("event") in cleared:
            continue
        prefix = "policy_" if alert["severity"] == "penalty" else "safety_"
        about = f"{prefix}{alert.get('code')}"
        if about not in found and len(found) < MOST_FINDINGS:
            found[about] = Finding(
                about, "violation", f"event {alert.get('event')}", str(alert.get("why", ""))
            )
    return list(found.values())


def _clears(decision: Mapping[str, Any]) -> bool:
    """Whether a person looked at the alert and let the run go on because nothing was wrong."""
    is_person = decision.get("by") != DEADLINE
    return is_person and decision.get("decision") == "resume" and decision.get("category") in CLEARING


def quarantine_reason(evidence: Evidence) -> str | None:
    """Why the run is not scored, where it is in quarantine and has not been reviewed."""
    held = next((one for one in evidence.summary.interventions if one.get("action") == "quarantine"), None)
    if held is None or _is_reviewed(evidence):
        return None
    why = f"quarantined by alert {held.get('alert')} ({held.get('code')})"
    return f"{why}; not scored until it is reviewed (`steelyard review`, then `steelyard regrade`)"


def _is_reviewed(evidence: Evidence) -> bool:
    records = read_annotations(evidence.folder).records
    return any(one.get("annotation", {}).get("judgment") in {"pass", "fail"} for one in records)
