"""Trials -> a ranking of agents by one number, if the study asks for one; and what it does with acceptance errors.

    none       no ranking: success, failure and acceptance-error rates are shown apart (the default)
    failure    successes of scorable trials: an acceptance error counts as a failure
    excluded   successes of decided trials: an acceptance error is left out

Invalid and ungraded trials are in no ranking. Baselines are not ranked. Agents with the same rate have the same place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from steelyard.plan.study_plan import AcceptanceErrors
from steelyard.report.study_summary.model import RankedAgent, Ranking
from steelyard.report.study_summary.trial_record import BASELINES, TrialRecord, rate_of

WORDS: Mapping[AcceptanceErrors, str] = {
    "none": "no ranking: success, failure and acceptance-error rates are shown apart",
    "failure": "acceptance errors count as failures",
    "excluded": "acceptance errors are left out",
}
_COUNTED: Mapping[AcceptanceErrors, frozenset[str]] = {
    "none": frozenset(),
    "failure": frozenset({"success", "failure", "acceptance_error"}),
    "excluded": frozenset({"success", "failure"}),
}


def ranking_of(
    agents: Mapping[str, Sequence[TrialRecord]], rule: AcceptanceErrors, planned: AcceptanceErrors | None
) -> Ranking:
    """`planned` is what the plan of the study says; None outside a study."""
    words = WORDS[rule]
    if planned is not None and planned != rule:
        words += f" (the plan says: {planned})"
    rows = []
    for name, records in agents.items():
        counted = [one for one in records if one.category in _COUNTED[rule]]
        if name not in BASELINES and counted:
            rows.append(RankedAgent(0, name, rate_of(counted, lambda one: one.succeeded), len(counted)))
    rows.sort(key=lambda one: (-(one.rate.value or 0.0), one.agent))
    values = [one.rate.value for one in rows]
    placed = [replace(one, place=values.index(one.rate.value) + 1) for one in rows]
    return Ranking(rule, words, tuple(placed) if rule != "none" else ())
