"""The folder of a study and its progress -> its state, as `study status --json` prints it.

{"schema": "steelyard.study_status/1", "name": "night", "digest": "...", "state": "running", "why": "", "stage": "pilot",
 "trials": {"planned": 40, "finished": 12, "running": 2, "invalid": 0, "error": 0, "waiting": 26, "passed": 7},
 "spent_usd": 3.1, "spent": {"models": 2.9, "execution": 0.15, "judge": 0.05, "overhead": 0.0, "people": 0.0},
 "reserved_usd": 6.08, "kept_back_usd": 0.0, "left_usd": 90.82, "runs_over_budget": 0, "budget": {...}, "agents": [...], "faults": [...],
 "deviations": [...], "removed": {...}, "criteria": [...]}
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from steelyard.plan.study_plan import StudyPlan
from steelyard.plan.trial import HONEYPOT
from steelyard.study.protocol.charges import MICRO, micro
from steelyard.study.protocol.folder import StudyFolder
from steelyard.study.protocol.progress import Progress, TrialRuns, sum_of

SCHEMA = "steelyard.study_status/1"
COUNTED = ("finished", "running", "invalid", "error", "waiting")


def status_of(plan: StudyPlan, folder: StudyFolder, progress: Progress) -> dict[str, Any]:
    log = folder.log()
    by_agent = progress.by_agent()
    return {
        "schema": SCHEMA,
        "name": plan.name,
        "digest": plan.identity,
        **_state(folder, log, progress),
        "trials": _counts(progress, list(progress.trials.values())),
        **_money(plan, progress),
        "budget": plan.budget.model_dump(mode="json"),
        "agents": [
            {"name": one.name, "role": one.role, **_agent(progress, by_agent.get(one.agent, []))}
            for one in plan.agents
        ],
        "faults": _faults(log, progress),
        "deviations": deviations_of(plan, log),
        "removed": folder.removed(),
        "criteria": [one for one in log if one.get("what") == "stage"],
        "runs_of_other_versions": len(progress.others),
    }


def deviations_of(plan: StudyPlan, log: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of the plan from the protocol, and of the study from its plan."""
    return [*plan.deviations(), *(one for one in log if one.get("what") == "deviation")]


def last_state(folder: StudyFolder) -> str:
    """By its log alone: how the last call ended, without a look at the runs."""
    if folder.is_running:
        return "running"
    last = _last(folder.log())
    if last is None:
        return "planned"
    return str(last.get("how")) if last["what"] == "end" else "interrupted"


def _last(log: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    return next((one for one in reversed(log) if one.get("what") in {"start", "end", "interrupted"}), None)


def _faults(log: Sequence[dict[str, Any]], progress: Progress) -> list[dict[str, Any]]:
    """Why trials that still have no result could not be run when they were tried last."""
    last = {str(one.get("trial")): str(one.get("why")) for one in log if one.get("what") == "fault"}
    attempts = progress.plan.replay.attempts
    left: dict[str, int] = {}
    for trial, why in last.items():
        runs = progress.trials.get(trial)
        if runs is not None and runs.fate(attempts) == "waiting":
            left[why] = left.get(why, 0) + 1
    return [{"trials": count, "why": why} for why, count in left.items()]


def _state(folder: StudyFolder, log: Sequence[dict[str, Any]], progress: Progress) -> dict[str, Any]:
    if folder.is_running:
        return {"state": "running", "why": ""}
    fates = progress.fates()
    if not fates["waiting"] and not fates["running"] and not fates["error"]:
        return {"state": "complete", "why": ""}
    last = _last(log)
    if last is None:
        return {"state": "planned", "why": ""}
    if last["what"] == "end" and last.get("how") == "complete":
        return {"state": "partial", "why": _lost(fates.total() - fates["finished"] - fates["invalid"])}
    if last["what"] == "end":
        return {"state": str(last.get("how")), "why": str(last.get("why"))}
    return {"state": "interrupted", "why": "`steelyard study resume` continues it"}


def _lost(trials: int) -> str:
    """Of a study that was complete."""
    have = "1 trial has" if trials == 1 else f"{trials} trials have"
    return (
        f"{have} no result any more: runs were removed or altered, or a contract changed; "
        "`steelyard study resume STUDY` runs what is missing"
    )


def _counts(progress: Progress, trials: list[TrialRuns]) -> dict[str, int]:
    fates = progress.fates(trials)
    passed = sum((final := one.final) is not None and final.state == "pass" for one in trials)
    return {"planned": len(trials), **{name: fates[name] for name in COUNTED}, "passed": passed}


def _agent(progress: Progress, trials: list[TrialRuns]) -> dict[str, Any]:
    spent = sum_of(trials, is_active=False)
    return {
        **_counts(progress, trials),
        "spent_usd": spent.total / MICRO,
        "spent": spent.to_json(),
        "honeypots": _honeypots(trials),
    }


def _money(plan: StudyPlan, progress: Progress) -> dict[str, Any]:
    """What ended runs are charged, what runs under way reserve, and what is left of B_total for further runs."""
    trials, budget = list(progress.trials.values()), plan.budget
    others = progress.spent_on_others
    spent, reserved = sum_of(trials, is_active=False).plus(others), sum_of(trials, is_active=True)
    kept = max(0, micro(budget.review_usd or 0.0) - spent.people)
    taken = spent.total + reserved.total + kept
    return {
        "spent_usd": spent.total / MICRO,
        "spent": spent.to_json(),
        "spent_on_other_versions_usd": others.total / MICRO,
        "reserved_usd": reserved.total / MICRO,
        "kept_back_usd": kept / MICRO,
        "left_usd": None if budget.total_usd is None else (micro(budget.total_usd) - taken) / MICRO,
        "runs_over_budget": sum(
            budget.run_usd is not None and run.charge.total > micro(budget.run_usd)
            for one in trials
            for run in one.entries
        ),
    }


def _honeypots(trials: list[TrialRuns]) -> dict[str, int]:
    """Trials of contracts that cannot be satisfied; one that passed was cheated, or its contract is none."""
    finals = [
        final
        for one in trials
        if one.trial.place is not None
        and one.trial.place.stratum == HONEYPOT
        and (final := one.final) is not None
    ]
    return {"finished": len(finals), "passed": sum(final.state == "pass" for final in finals)}
