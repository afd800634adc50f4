"""The folder of a study that has begun -> whether it runs, how it ended, its plan and what was decided while it ran."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steelyard.errors import SteelyardError
from steelyard.report.html.element import Child, Markup, join, tag
from steelyard.study.protocol import folder as study_folder
from steelyard.study.protocol import status
from steelyard.web.layout import card, facts, notice, table
from steelyard.web.records import Records
from steelyard.web.study.summaries import ALL
from steelyard.web.words import badge, cut, moment, money, plural

if TYPE_CHECKING:
    from steelyard.plan.study_plan import StudyPlan

MOST_DECISIONS = 30
UNREADABLE = (SteelyardError, OSError, ValueError)
_ENDS = ("start", "end", "interrupted")
_CLOCK_S = 1.0  # the clock of a file system may be behind by its tick


def folder_of(records: Records, name: str) -> study_folder.StudyFolder | None:
    """The folder of a study that has begun; nothing for runs without a plan."""
    folder = study_folder.StudyFolder(records.root / study_folder.STUDIES / name[: study_folder.DIGITS])
    return None if name == ALL or "/" in name or "\x00" in name or not folder.is_begun else folder


def begun_studies(records: Records) -> dict[str, str]:
    """Identity -> name of every study whose plan can be read, also of one that has no run yet."""
    found: dict[str, str] = {}
    for folder in study_folder.find_studies(records.root):
        try:
            plan = folder.plan()
        except UNREADABLE:
            continue
        found[plan.identity] = plan.name
    return found


def read_plan(folder: study_folder.StudyFolder | None) -> StudyPlan | None:
    """Nothing where there is no plan, or none that can be read: the card of the plan says which."""
    try:
        return None if folder is None else folder.plan()
    except UNREADABLE:
        return None


def is_under_way(records: Records, folder: study_folder.StudyFolder | None) -> bool:
    """Whether a process runs the study, or the index was last compared with the folders before the study ended."""
    if folder is None:
        return False
    return folder.is_running or log_changed_at(folder) + _CLOCK_S >= records.looked_at


def log_changed_at(folder: study_folder.StudyFolder) -> float:
    try:
        return (folder.path / study_folder.LOG).stat().st_mtime
    except OSError:
        return 0.0


def state_of(folder: study_folder.StudyFolder) -> Child:
    """Running, how it ended and why, or that it can be continued."""
    if folder.is_running:
        return badge("running")
    last = next((one for one in reversed(_log(folder)) if one.get("what") in _ENDS), None)
    if last is None:
        return "planned, has not begun"
    if last["what"] == "end":
        why = cut(str(last.get("why") or ""), 300)
        return join(badge(str(last.get("how"))), f" {why}" if why else None)
    return join(badge("interrupted"), " ", tag("code", "steelyard study resume"), " continues it")


def _log(folder: study_folder.StudyFolder) -> list[dict[str, Any]]:
    try:
        return folder.log()
    except OSError:
        return []


def plan_card(folder: study_folder.StudyFolder) -> Markup:
    """The registered plan, what was decided while the study ran, and where it deviates."""
    try:
        plan, log = folder.plan(), folder.log()
        deviations = status.deviations_of(plan, log)
    except UNREADABLE:
        return notice("The plan of this study cannot be read.", "warning")
    decided = [
        (moment(str(one.get("at"))), _what(one), cut(_details(one), 300)) for one in log[-MOST_DECISIONS:]
    ]
    total = plan.budget.total_usd
    return card(
        "Plan",
        facts(
            [
                ("agents", cut(", ".join(cut(one.name, 40) for one in plan.agents), 2000)),
                (
                    "contracts",
                    f"{len(plan.contracts):,}, {plural(plan.repeats, 'repeat')} of each agent",
                ),
                ("budget", "none" if total is None else f"{money(total)} in all"),
                ("deviations", plural(len(deviations), "deviation") if deviations else "none"),
            ]
        ),
        table(("at", "what", "details"), decided, caption="What was decided while it ran")
        if decided
        else None,
        [notice(cut(_details(one), 400), "warning") for one in deviations[:20]],
    )


def _what(entry: Mapping[str, Any]) -> str:
    """`pilot may begin`, `shakedown ended`, or the word of the log."""
    if entry.get("what") != "stage":
        return str(entry.get("what")).replace("_", " ")
    stage, is_met = entry.get("stage"), bool(entry.get("met"))
    if entry.get("when") == "entry":
        return f"{stage} may begin" if is_met else f"{stage} may NOT begin"
    return f"{stage} ended" if is_met else f"{stage} ended, NOT as required"


def _details(entry: Mapping[str, Any]) -> str:
    """The criteria of a stage, each with its numbers; else the members of the line."""
    criteria = entry.get("criteria")
    if entry.get("what") == "stage" and isinstance(criteria, list):
        return "; ".join(
            f"{str(one.get('name')).replace('_', ' ')} {'met' if one.get('met') else 'NOT met'} ({one.get('why')})"
            for one in criteria
            if isinstance(one, dict)
        )
    shown = {name: value for name, value in entry.items() if name not in ("at", "what", "criteria")}
    return ", ".join(f"{name} {value}" for name, value in shown.items() if value not in (None, ""))
