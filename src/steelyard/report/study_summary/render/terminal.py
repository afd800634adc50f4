"""`StudySummary` -> a terminal of any width, with or without colours; plain lines when piped."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from steelyard.report.lines.rows import Rows
from steelyard.report.plain import one_line
from steelyard.report.study_summary.model import StudySummary
from steelyard.report.study_summary.render.bars import Leaderboard
from steelyard.report.study_summary.render.tables import Section, sections
from steelyard.report.study_summary.render.words import count


def print_study(console: Console, summary: StudySummary) -> None:
    for text in head(summary):
        console.print(text, soft_wrap=False)
    console.print()
    console.print(Leaderboard(summary.agents))
    for section in sections(summary):
        console.print()
        print_section(console, section)


def head(summary: StudySummary) -> Iterator[Text]:
    """What these numbers are of, and why they are provisional."""
    study = summary.study
    name = (
        f"study {one_line(study['name'], 60)} ({study['digest'][:12]})"
        if study
        else one_line(summary.source, 160)
    )
    yield Text(name, "bold")
    yield Text(
        f"{count(summary.trials, 'trial')} ({count(summary.runs, 'run')}), {count(summary.contracts, 'contract')}, "
        f"{count(len(summary.agents), 'agent')}; 95% intervals, contracts are the clusters",
        "dim",
    )
    for why in summary.provisional:
        yield Text(f"PROVISIONAL: {one_line(why, 700)}", "bold yellow")


def print_section(console: Console, section: Section) -> None:
    console.print(Text(section.title, "bold"))
    if section.rows:
        console.print(_rows(section))
    for line in section.lines:
        indent = len(line) - len(line.lstrip())
        text = Text(one_line(line, 600), "" if not indent else "dim")
        for part in text.wrap(console, console.width - indent):
            console.print(Text(" " * indent) + part)


def _rows(section: Section) -> Rows:
    rows = Rows(section.columns, giving=tuple(reversed(section.columns[1:-1])), whole=True)
    rows.rows.extend(tuple(Text(one_line(cell, 300)) for cell in row) for row in section.rows)
    return rows
