"""`TwoAgents` -> a terminal: conditions that differ first, then the sentence, both rates, flips with their runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.text import Text

from steelyard.report.percent import amount, signed_points
from steelyard.report.plain import one_line
from steelyard.report.study_summary.model import AgentComparison, Flip
from steelyard.report.study_summary.render.bars import Leaderboard
from steelyard.report.study_summary.render.tables import MOST_FLIPS, Section, significance, unlike
from steelyard.report.study_summary.render.terminal import print_section
from steelyard.report.study_summary.render.words import p_value
from steelyard.report.study_summary.sentence import points
from steelyard.report.study_summary.two_agents import TwoAgents
from steelyard.stats.compare.equivalence import MarginTest
from steelyard.stats.estimate import Estimate
from steelyard.stats.indeterminate import conclusion

ANYWAY = "NOT COMPARABLE, compared anyway: these conditions differ"


def print_two_agents(console: Console, found: TwoAgents) -> None:
    for text in _warnings(found):
        console.print(text)
    console.print(Text(one_line(found.comparison.sentence, 600), "bold"))
    if found.gate is not None:
        style = "bold red" if found.gate.failed else "bold green"
        word = "regression gate failed" if found.gate.failed else "regression gate passed"
        console.print(Text(f"{word}: {one_line(found.gate.why, 300)}", style))
    if found.equivalence is not None:
        console.print(Text(equivalence_words(found.equivalence)))
    console.print()
    console.print(Leaderboard((found.first, found.second)))
    for section in sections(found.comparison):
        console.print()
        print_section(console, section)
    if found.anyway:  # at the end too: the beginning of a long comparison is out of sight
        console.print(Text(ANYWAY, "bold yellow"))


def equivalence_words(test: MarginTest) -> str:
    """`equivalent within 5 points: shown (TOST, paired t over contracts: p = 0.012)`."""
    head = f"equivalent within {100 * test.margin:g} points"
    if test.p is None and test.by_interval is None:
        return f"{head}: not tested: {test.why}"
    how = test.method if test.p is None else f"{test.method}: {p_value(test.p)}"
    but = f"; {test.why}" if test.holds() and test.why else ""
    return f"{head}: {'shown' if test.holds() else 'not shown'} ({how}){but}"


def _warnings(found: TwoAgents) -> Iterator[Text]:
    if found.anyway:
        yield Text(ANYWAY, "bold yellow")
        yield from (Text(f"  {one_line(text, 300)}", "yellow") for text in unlike(found.comparison))
    for why in found.provisional:
        yield Text(f"PROVISIONAL: {one_line(why, 700)}", "bold yellow")
    if found.unchecked:
        yield Text(
            f"conditions of {amount(found.unchecked, 'run')} are not known: no folder on this machine",
            "yellow",
        )


def sections(one: AgentComparison) -> Iterator[Section]:
    more = [
        ("difference, which decides", points(one.difference, is_short=True)),
        ("paired permutation", significance(one)),
    ]
    if one.mcnemar_p is not None:
        more.append(("McNemar, one trial each", p_value(one.mcnemar_p)))
    if one.log_rank_p is not None:
        more.append(("time to success, log-rank", p_value(one.log_rank_p)))
    more.append(
        ("difference, bootstrap, a check", points(one.bootstrap, is_short=True) + _why(one.bootstrap))
    )
    if one.undecided:
        more.append(("if undecided trials count against it", points(one.worst, is_short=True)))
        more.append(("if undecided trials count for it", points(one.best, is_short=True)))
    yield Section("How sure", ("what", "result"), tuple(more), (which_decides(one),))
    if one.flips:
        yield _flips(one)
    for name, missing in ((one.first, one.only_first), (one.second, one.only_second)):
        if missing:
            yield Section(f"Only {name} has decided trials on", lines=(", ".join(missing),))


def _why(estimate: Estimate) -> str:
    return f" ({estimate.why})" if estimate.interval is None and estimate.why else ""


def which_decides(one: AgentComparison) -> str:
    """One sentence: which of the numbers the conclusion rests on, and whether the others agree with it."""
    if one.difference.value is None:
        return f"nothing decides: {one.difference.why}"
    text = (
        f"the first interval alone decides ({one.difference.method}); tests and the bootstrap are shown as a check, because they "
        "assume less about how differences are distributed"
    )
    against = [
        name
        for name, says in (
            ("the bootstrap", conclusion(one.bootstrap) if one.bootstrap.interval else None),
            ("the permutation test", None if one.p is None else _of_test(one)),
        )
        if says is not None and says != one.conclusion
    ]
    return (
        f"{text}; {' and '.join(against)} would conclude otherwise: the result is close" if against else text
    )


def _of_test(one: AgentComparison) -> str:
    """What the permutation test concludes at the level of the interval."""
    if one.p is None or one.p > 1 - one.difference.level or not one.difference.value:
        return "undecided"
    return "better" if one.difference.value > 0 else "worse"


def _flips(one: AgentComparison) -> Section:
    rows = tuple(
        (flip.contract, flip.first, flip.second, signed_points(flip.difference), _runs(flip))
        for flip in one.flips[:MOST_FLIPS]
    )
    left = len(one.flips) - len(rows)
    lines = (f"{amount(left, 'more contract')} with a difference; --json lists all",) if left else ()
    return Section(
        "Contracts that differ", ("contract", one.first, one.second, "points", "runs"), rows, lines
    )


def _runs(flip: Flip) -> str:
    """The first run of each agent, as a path that `steelyard show` takes."""
    return " ".join(_run_path(runs[0]) for runs in (flip.first_runs, flip.second_runs) if runs)


def _run_path(folder: str) -> str:
    path, here = Path(folder), Path.cwd()
    return str(path.relative_to(here)) if path.is_absolute() and path.is_relative_to(here) else folder
