"""The result of record and a regrade of the same run -> what changed, and why; of many runs a table.

{"run": "...", "verdict": ["pass", "fail"], "reward": [1.0, 0.0], "because": "docs: pass -> fail: nowhere: retry",
 "grades": [{"name": "docs", "outcome": ["pass", "fail"], "score": [1.0, 0.5], "why": "..."}]}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from steelyard.report.plain import one_line
from steelyard.report.terminal import number, style_verdict

_SAME = 1e-9


def flip_of(run: str, record: Mapping[str, Any], again: Mapping[str, Any]) -> dict[str, Any] | None:
    """None where verdict, reward and every grade are as they were; both arguments are gradings as JSON."""
    before, after = record["verdict"], again["verdict"]
    grades = _changed_grades(record["grades"], again["grades"])
    same = before["verdict"] == after["verdict"] and _is_same(before["reward"], after["reward"])
    if same and not grades:
        return None
    return {
        "run": run,
        "contract": record["contract"]["id"],
        "verdict": [before["verdict"], after["verdict"]],
        "reward": [before["reward"], after["reward"]],
        "versions": [_version(record), _version(again)],
        "grades": grades,
        "because": _because(before, after, grades),
    }


def table_of_flips(flips: Sequence[Mapping[str, Any]], regraded: int) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", title_justify="left")
    flipped = sum(one["verdict"][0] != one["verdict"][1] for one in flips)
    table.title = (
        f"{flipped} of {regraded} verdicts flipped; {len(flips)} of {regraded} runs differ from their record"
    )
    table.title_style = "bold"
    for name in ("run", "contract", "record", "now", "reward", "because"):
        table.add_column(
            name, no_wrap=name != "because", overflow="fold" if name == "because" else "ellipsis"
        )
    for one in flips:
        rewards = f"{number(one['reward'][0])} -> {number(one['reward'][1])}"
        table.add_row(
            one_line(str(one["run"]).rpartition("-")[2]),
            one_line(str(one["contract"]), 30),
            style_verdict(one["verdict"][0]),
            style_verdict(one["verdict"][1]),
            rewards,
            Text(one_line(str(one["because"]), 400)),
        )
    return table


def _changed_grades(
    before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    old = {str(one["name"]): one for one in before}
    new = {str(one["name"]): one for one in after}
    found = []
    for name in dict.fromkeys([*old, *new]):
        one, other = old.get(name), new.get(name)
        outcomes = [one["outcome"] if one else None, other["outcome"] if other else None]
        scores = [one["score"] if one else None, other["score"] if other else None]
        if outcomes[0] != outcomes[1] or not _is_same(*scores):
            why = str((other or one or {}).get("why", ""))
            found.append({"name": name, "outcome": outcomes, "score": scores, "why": why})
    return found


def _because(before: Mapping[str, Any], after: Mapping[str, Any], grades: Sequence[Mapping[str, Any]]) -> str:
    if grades:
        return "; ".join(f"{one['name']}: {_step(one)}: {one['why']}" for one in grades)
    old, new = len(before["findings"]), len(after["findings"])
    if old != new:
        return f"{old} findings, now {new}: {after['reason']}"
    return f"the rules changed: {after['reason']}"


def _step(grade: Mapping[str, Any]) -> str:
    """`pass -> fail`; of the same outcome, how the score changed."""
    before, after = grade["outcome"]
    if before == after:
        return f"{after}, score {number(grade['score'][0])} -> {number(grade['score'][1])}"
    return f"{before or 'absent'} -> {after or 'absent'}"


def _version(grading: Mapping[str, Any]) -> str:
    return str((grading.get("harness") or {}).get("version"))


def _is_same(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return abs(one - other) <= _SAME
