"""`StudySummary` -> a terminal of any width, with or without colours; plain lines when piped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from steelyard.report.lines.rows import Rows
from steelyard.report.percent import amount
from steelyard.report.plain import one_line
from steelyard.report.study_summary.model import StudySummary
from steelyard.report.study_summary.render import brief
from steelyard.report.study_summary.render.bars import Leaderboard
from steelyard.report.study_summary.render.tables import Section, sections

WIDEST_COLUMN = 60  # of a heading: it may be an agent's name


def print_study(console: Console, summary: StudySummary) -> None:
    """Everything."""
    _print_head(console, summary)
    console.print()
    console.print(Leaderboard(summary.agents))
    for section in sections(summary):
        console.print()
        print_section(console, section)


def print_brief(console: Console, summary: StudySummary) -> None:
    """What a person reads first, and how to see the rest."""
    _print_head(console, summary)
    for sentence in brief.decision(summary):
        _print_wrapped(console, Text(one_line(sentence, 600), "bold"))
    if shown := brief.agents_with_rate(summary.agents):
        console.print()
        console.print(Leaderboard(shown))
    for section in brief.brief_sections(summary):
        console.print()
        print_section(console, section)
    console.print()
    _print_wrapped(console, Text(brief.more_line(summary), "dim"))


def print_sections(console: Console, summary: StudySummary, names: Sequence[str]) -> None:
    """Those that were asked for; one that these runs have nothing for says so."""
    for number, name in enumerate(names):
        if number:
            console.print()
        found = [*sections(summary, [name])]
        for at, section in enumerate(found):
            if at:
                console.print()
            print_section(console, section)
        if not found:
            console.print(Text(f"{name}: nothing to show for these runs"))


def _print_head(console: Console, summary: StudySummary) -> None:
    for text in head(summary):
        console.print(text, soft_wrap=False)


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
        f"{amount(summary.trials, 'trial')} ({amount(summary.runs, 'run')}), {amount(summary.contracts, 'contract')}, "
        f"{amount(len(summary.agents), 'agent')}; 95% intervals, contracts are the clusters",
        "dim",
    )
    for why in summary.provisional:
        yield Text(f"PROVISIONAL: {one_line(why, 700)}", "bold yellow")


def print_section(console: Console, section: Section) -> None:
    console.print(Text(one_line(section.title, 300), "bold"))
    if section.rows:
        console.print(_rows(section))
    for line in section.lines:
        indent = len(line) - len(line.lstrip())
        _print_wrapped(console, Text(one_line(line, 600), "" if not indent else "dim"), indent)


def _print_wrapped(console: Console, text: Text, indent: int = 0) -> None:
    for part in text.wrap(console, console.width - indent):
        part.rstrip()
        console.print(Text(" " * indent) + part)


def _rows(section: Section) -> Rows:
    columns = tuple(one_line(name, WIDEST_COLUMN) for name in section.columns)
    rows = Rows(columns, giving=tuple(reversed(columns[1:-1])), whole=section.whole)
    rows.rows.extend(tuple(Text(one_line(cell, 300)) for cell in row) for row in section.rows)
    return rows
