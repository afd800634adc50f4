"""Result lines -> tables for a person: colour on a terminal, plain lines when piped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from rich import console as rich_console
from rich import table as rich_table
from rich import text as rich_text

from steelyard.deferred.data_class import dataclass
from steelyard.filesystem.tree import printable
from steelyard.judge import saved_calibration
from steelyard.report import compare, judge_card, summary
from steelyard.report.lines.rows import Rows, StyledText
from steelyard.report.percent import percent
from steelyard.report.plain import one_line
from steelyard.stats import interval as intervals

COLOURS = {"pass": "green", "fail": "red", "error": "yellow", "invalid": "magenta", "ungraded": "yellow"}
MARKS = {"pass": "✓", "fail": "✗", "error": "!"}
PLAIN_MARKS = {"pass": "+", "fail": "x", "error": "!"}  # for an output that is not Unicode
GATES = ("patch", "build", "acceptance", "safety")
LEGEND = "P patch applies  B builds  A acceptance  S safety"


@dataclass(frozen=True)
class Results:
    """One row a run, and below them what the marks mean, where the evidence is, and what was not isolated."""

    results: Sequence[Mapping[str, Any]]

    def __rich_console__(
        self, console: rich_console.Console, options: rich_console.ConsoleOptions
    ) -> Iterator[rich_console.RenderableType]:
        del console
        columns = Columns(
            gated=any(result.get("workspace") != "none" for result in self.results),
            more=tuple(name for name in ("reward", "judge") if self._has(name)),
        )
        rows = columns.table()
        rows.rows.extend(columns.row(result, unicode=not options.ascii_only) for result in self.results)
        yield rows
        yield from footer(self.results)

    def _has(self, column: str) -> bool:
        """A column that would say nothing, or what another says already, is not worth its room."""
        if column == "judge":
            return any(result.get("judge") for result in self.results)
        return any(number(result["reward"]) != number(result["score"]) for result in self.results)


@dataclass(frozen=True)
class Columns:
    """Which columns a table of runs has; answers have no gates. `more` are of `reward`, `judge`, `time`, `expected`."""

    gated: bool = True
    more: tuple[str, ...] = ()
    least: Mapping[str, int] = field(default_factory=dict)

    def table(self, *, headed: bool = True) -> Rows:
        gates = tuple(name[0].upper() for name in GATES) if self.gated else ()
        return Rows(
            ("run", "contract", "agent", "verdict", *gates, "score", *self.more, "why"),
            giving=("agent", "contract", *(("expected",) if "expected" in self.more else ())),
            right=frozenset({"score", "reward", "time"}),
            headed=headed,
            least=self.least,
        )

    def row(
        self, result: Mapping[str, Any], *, unicode: bool, expected: str = "", attempt: str = ""
    ) -> tuple[StyledText | rich_text.Text, ...]:
        cells: dict[str, Callable[[], StyledText | rich_text.Text]] = {
            "reward": lambda: StyledText(number(result["reward"])),
            "judge": lambda: judge_card.judge_word(result.get("judge")),
            "time": lambda: StyledText(seconds(result["durations"].get("wall_s")), "dim"),
            "expected": lambda: _as_expected(result, expected),
        }
        return (
            StyledText((result["run"] or "-").rsplit("-", 1)[-1] or "-", "dim"),
            StyledText(one_line(result["contract"]["id"], 40)),
            StyledText(one_line(str(result["agent"]), 40)),
            style_verdict(result["verdict"]),
            *(gate_mark(result, gate, unicode=unicode) for gate in (GATES if self.gated else ())),
            StyledText(number(result["score"])),
            *(cells[name]() for name in self.more),
            StyledText(f"{attempt}: {reason(result)}" if attempt else reason(result)),
        )


def footer(results: Sequence[Mapping[str, Any]]) -> Iterator[StyledText]:
    """What the marks mean, where the evidence is, and what was not isolated."""
    yield StyledText("")
    if any(result.get("workspace") != "none" for result in results):
        undecided = any("error" in (result["gates"] or {}).values() for result in results)
        yield StyledText(LEGEND + ("  ! not decided" if undecided else ""), "dim")
    for folder in dict.fromkeys(Path(result["folder"]).parent for result in results if result["folder"]):
        yield StyledText(f"evidence in {printable(str(_from_here(folder)))}", "dim")
    if any((result["assurance"] or {}).get("isolation") == "none" for result in results):
        yield StyledText("isolation: none (local sandbox)", "yellow")


def table_of_results(results: Iterable[Mapping[str, Any]]) -> Results:
    """One row a run."""
    return Results(tuple(results))


def seconds(value: float | None) -> str:
    """`0.4s`, `12s`, `3:05`, `1:02:03`."""
    if value is None:
        return "-"
    if value < 10:
        return f"{value:.1f}s"
    minutes, rest = divmod(round(value), 60)
    if not minutes:
        return f"{rest}s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def _from_here(folder: Path) -> Path:
    here = Path.cwd()
    return folder.relative_to(here) if folder.is_relative_to(here) else folder


def _as_expected(result: Mapping[str, Any], wanted: str) -> StyledText:
    if wanted == result["verdict"]:
        return StyledText("as expected", "green")
    return StyledText(f"NOT {wanted}", "bold red")


def style_verdict(verdict: str) -> StyledText:
    return StyledText(verdict, COLOURS.get(verdict, ""))


def gate_mark(result: Mapping[str, Any], gate: str, *, unicode: bool = True) -> StyledText:
    if result["gates"] is None:
        return StyledText("-", "dim")
    outcome = result["gates"][gate]
    return StyledText((MARKS if unicode else PLAIN_MARKS)[outcome], COLOURS[outcome])


def number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def reason(result: Mapping[str, Any]) -> str:
    """How the agent ended, unless by itself, and every gate that was not passed, in its own words."""
    if result.get("fault"):
        return one_line(f"{result['fault']} fault: {result['reason']}")
    # What the machine did is the reason already.
    is_known = result["termination"] in {"completed", "infrastructure"}
    ended = "" if is_known else f"agent: {ending(result)}; "
    if patch := result.get("patch_verdict"):
        ended += f"stopped, so failed (the patch itself: {patch}); "
    if result.get("refused") and result["verdict"] == "ungraded":
        return one_line(f"refused: {result['refused']}")
    if result["gates"] is None:
        wrong = [
            f"{one['name']}: {one['why']}" for one in result["grades"] if one["outcome"] in {"fail", "error"}
        ]
        return one_line(ended + ("; ".join(wrong) or result["reason"]))
    telling = [result["why"][gate] for gate in GATES if result["gates"][gate] != "pass"]
    reasons = "; ".join(telling) or ("" if result.get("patch_verdict") else result["reason"])
    return one_line((ended + reasons).removesuffix("; "))


def ending(result: Mapping[str, Any]) -> str:
    """`agent_crash (exit code 127)`; a code that says it all stands alone."""
    code, rationale = str(result["termination"]), str(result.get("rationale") or "")
    return code if code == "wall_time" or not rationale else f"{code} ({rationale})"


def print_summary(console: rich_console.Console, results: Sequence[Mapping[str, Any]]) -> None:
    """Rates over all runs: what passed, and what the judge holds to be right. One trial has a row, and no rate."""
    summaries = summary.summarise(results)
    rated = [one for one in summaries if one.trials > 1]
    for table in (table_of_agents(rated), table_of_judged(rated)) if rated else ():
        if table is not None:
            console.print()
            console.print(table)
    for note in _notes(rated):
        console.print(StyledText(note, "dim"))
    if any(one.judged.trials for one in summaries):
        runs = next((Path(str(one["folder"])).parent for one in results if one.get("folder")), None)
        for note in saved_calibration.calibration_lines(runs) if runs is not None else ():
            console.print(StyledText(one_line(note), "dim"))


def _notes(summaries: Sequence[summary.AgentSummary]) -> Iterator[str]:
    """What the intervals and the bounds above speak of."""
    scopes = {one.passed.scope for one in summaries}
    if "contract" in scopes:
        yield "interval over one contract: it covers repeats of this one contract, not other contracts"
    if "contracts" in scopes:
        yield "interval over several contracts: repeats of one contract count as one cluster"
    if any(one.undecided for one in summaries):
        yield (
            "bounds: from the lower end of the interval if every trial without a decision had failed, to the upper end "
            "if every one had passed"
        )


def table_of_agents(summaries: Sequence[summary.AgentSummary]) -> rich_table.Table:
    table = rich_table.Table(box=None, pad_edge=False, header_style="bold")
    ungraded = any(one.ungraded for one in summaries)
    undecided = any(one.undecided for one in summaries)
    more = (*(("ungraded",) if ungraded else ()), *(("bounds",) if undecided else ()))
    for name in ("agent", "passed", "95% interval", "errors", "invalid", *more):
        _add_column(table, name)
    for one in summaries:
        table.add_row(
            one_line(one.agent, 40),
            f"{one.passed.successes} of {one.passed.trials}",
            interval(one.passed.rate),
            f"{one.errors} of {one.trials}",
            f"{one.invalid} of {one.trials}",
            *((f"{one.ungraded} of {one.trials}",) if ungraded else ()),
            *(
                (f"{percent(one.bounds.low)} to {percent(one.bounds.high)}" if one.undecided else "-",)
                if undecided
                else ()
            ),
        )
    return table


def table_of_judged(summaries: Sequence[summary.AgentSummary]) -> rich_table.Table | None:
    """How often the judge says PASS, over the runs that it judged; nothing where it judged none."""
    judged = [one for one in summaries if one.judged.trials]
    if not judged:
        return None
    table = rich_table.Table(box=None, pad_edge=False, header_style="bold")
    for name in ("agent", "judge PASS", "95% interval"):
        _add_column(table, name)
    for one in judged:
        count = f"{one.judged.successes} of {one.judged.trials}"
        table.add_row(one_line(one.agent, 40), count, interval(one.judged.rate))
    return table


def _add_column(table: rich_table.Table, name: str) -> None:
    table.add_column(
        name,
        justify="left" if name == "agent" else "right",
        overflow="fold",
        no_wrap=name in ("95% interval", "bounds"),  # a number in two halves is no number
    )


def interval(rate: intervals.Rate) -> str:
    if rate.rate is None:
        return "unknown"
    return f"{percent(rate.rate)} [{percent(rate.low)}, {percent(rate.high)}]"


def counts_as(grade: Mapping[str, Any]) -> str:
    """`required`, `weight 2`, or `advisory`: what fails nothing and carries no credit."""
    if grade.get("gate"):
        return "gate"
    if grade.get("required") is not False:
        return "required"
    weight = grade.get("weight", 0.0)
    if not isinstance(weight, int | float) or not weight:
        return "advisory"
    return f"weight {weight:g}{', disqualifies' if grade.get('disqualifies') else ''}"


def table_of_grades(grades: Sequence[Mapping[str, Any]]) -> Rows:
    rows = Rows(
        ("grader", "type", "outcome", "score", "counts as", "why"),
        giving=("type",),
        right=frozenset({"score"}),
    )
    for grade in grades:
        cells = (
            StyledText(one_line(grade["name"], 40)),
            StyledText(grade["type"]),
            style_verdict(grade["outcome"]),
            StyledText(number(grade["score"])),
            StyledText(counts_as(grade), "dim"),
            StyledText(one_line(grade["why"])),
        )
        rows.rows.append(cells)
    return rows


def print_comparison(console: rich_console.Console, comparison: compare.Comparison) -> None:
    for why in comparison.incomparable:
        console.print(StyledText(f"the two runs are not comparable: {one_line(why)}", "bold yellow"))
    for name, run in zip(("first", "second"), comparison.runs, strict=True):
        console.print(StyledText(f"{name:<6} {run}", "dim"))
    table = rich_table.Table(box=None, pad_edge=False, header_style="bold")
    for name in ("", "first", "second"):
        table.add_column(name, overflow="fold")
    for what, one, two in comparison.differences:
        table.add_row(one_line(what), one_line(one), one_line(two))
    console.print(table if comparison.differences else "the outcomes are the same")
    for title, paths in (
        ("changed only by the first", comparison.only_first),
        ("changed only by the second", comparison.only_second),
        ("changed by both, differently", comparison.otherwise),
    ):
        if paths:
            console.print(StyledText(f"\n{title}:", "bold"))
            console.print(StyledText("\n".join(f"  {path}" for path in paths)))
