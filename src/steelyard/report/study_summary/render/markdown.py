"""`StudySummary` -> Markdown: the same tables, for a pull request or a wiki."""

from __future__ import annotations

import re
from collections.abc import Iterator

from steelyard.report.percent import amount
from steelyard.report.plain import one_line
from steelyard.report.study_summary.model import StudySummary
from steelyard.report.study_summary.render.tables import Section, sections
from steelyard.report.study_summary.render.words import format_count, rate

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~])")


def study_markdown(summary: StudySummary) -> str:
    study = summary.study
    title = f"study {study['name']} ({study['digest'][:12]})" if study else summary.source
    size = (
        f"{amount(summary.trials, 'trial')} ({amount(summary.runs, 'run')}), {amount(summary.contracts, 'contract')}, "
        f"{amount(len(summary.agents), 'agent')}"
    )
    parts = [
        f"# {escape_markdown(title)}\n",
        f"{size}; 95% intervals, contracts are the clusters.\n",
        *(f"**PROVISIONAL:** {escape_markdown(why)}\n" for why in summary.provisional),
        *_section(_leaderboard(summary)),
    ]
    for section in sections(summary):
        parts += _section(section)
    return "\n".join(parts)


def _leaderboard(summary: StudySummary) -> Section:
    rows = tuple(
        (
            one.agent + (" (baseline)" if one.is_baseline else ""),
            rate(one.success),
            format_count(one.categories[0]),
            str(one.success.n),
            str(one.contracts),
        )
        for one in summary.agents
    )
    return Section("Success", ("agent", "success", "of scorable", "decided trials", "contracts"), rows)


def _section(section: Section) -> Iterator[str]:
    yield f"## {escape_markdown(section.title)}\n"
    if section.rows:
        yield _row([escape_markdown(name) for name in section.columns])
        yield _row(["---"] * len(section.columns))
        for row in section.rows:
            yield _row([escape_markdown(cell) for cell in row])
        yield ""
    for line in section.lines:
        yield (
            f"- {escape_markdown(line.strip())}"
            if not line.startswith(" ")
            else f"  - {escape_markdown(line.strip())}"
        )
    if section.lines:
        yield ""


def _row(cells: tuple[str, ...] | list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def escape_markdown(text: str) -> str:
    """Foreign text as text: no markup of it is obeyed."""
    return _SPECIAL.sub(r"\\\1", one_line(text, 600))
