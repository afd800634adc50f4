"""Result lines -> tables for a person: colour on a terminal, plain lines when piped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from steelyard.report.compare import Comparison
from steelyard.report.plain import one_line, quoted
from steelyard.report.summary import AgentSummary
from steelyard.stats.interval import Rate

COLOURS = {"pass": "green", "fail": "red", "error": "yellow", "invalid": "magenta", "ungraded": "yellow"}
MARKS = {"pass": "✓", "fail": "✗", "error": "!"}
GATES = ("patch", "build", "acceptance", "safety")


def table_of_results(
    results: Iterable[Mapping[str, Any]], *, expected: Mapping[str, str] | None = None
) -> Table:
    """One row a run. With `expected` (run -> verdict), a column says whether it came out so."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("run", "contract", "agent", "verdict"):
        table.add_column(name, no_wrap=name != "agent", overflow="fold")
    for gate, short in zip(GATES, ("P", "B", "A", "S"), strict=True):
        table.add_column(short, justify="center", header_style="bold")
        del gate
    table.add_column("score", justify="right")
    if expected is not None:
        table.add_column("expected", no_wrap=True)
    table.add_column("why", overflow="ellipsis", no_wrap=True, ratio=1)
    for result in results:
        row: list[Text | str] = [
            Text(result["run"].rsplit("-", 1)[-1], "dim"),
            one_line(result["contract"]["id"], 40),
            one_line(str(result["agent"]), 40),
            coloured(result["verdict"]),
            *(gate_mark(result, gate) for gate in GATES),
            number(result["score"]),
        ]
        if expected is not None:
            wanted = expected[result["run"]]
            row.append(
                Text("as expected", "green")
                if wanted == result["verdict"]
                else Text(f"not {wanted}!", "bold red")
            )
        table.add_row(*row, Text(reason(result)))
    return table


def coloured(verdict: str) -> Text:
    return Text(verdict, COLOURS.get(verdict, ""))


def gate_mark(result: Mapping[str, Any], gate: str) -> Text:
    if result["gates"] is None:
        return Text("-", "dim")
    outcome = result["gates"][gate]
    return Text(MARKS[outcome], COLOURS[outcome])


def number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def reason(result: Mapping[str, Any]) -> str:
    """Every gate that was not passed, in its own words."""
    if result["gates"] is None:
        return one_line(result["reason"])
    telling = [result["why"][gate] for gate in GATES if result["gates"][gate] != "pass"]
    return one_line("; ".join(telling) or result["reason"])


def table_of_agents(summaries: Sequence[AgentSummary]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("agent", "passed", "95% interval", "acceptance errors", "invalid"):
        table.add_column(name, justify="left" if name == "agent" else "right")
    for one in summaries:
        table.add_row(
            one_line(one.agent, 40),
            f"{one.passed.successes} of {one.passed.trials}",
            interval(one.passed),
            str(one.acceptance_errors),
            f"{one.invalid} of {one.trials}",
        )
    return table


def interval(rate: Rate) -> str:
    return "unknown" if rate.rate is None else f"{rate.rate:.0%} [{rate.low:.0%}, {rate.high:.0%}]"


def print_run(console: Console, result: Mapping[str, Any]) -> None:
    """One run in full: what was decided, by which gate, on which grounds."""
    head = Text.assemble(
        (result["run"], "bold"), "\n", f"contract {result['contract']['id']}  ", (result["contract"]["digest"][:12], "dim"),
        f"  agent {one_line(str(result['agent']))}  ended: {result['termination']}",
    )  # fmt: skip
    console.print(head)
    console.print(Text.assemble("verdict ", coloured(result["verdict"]), f"  checks {result['checks']}  badge {result['badge']}  "
                                f"score {number(result['score'])}  reward {number(result['reward'])}"))  # fmt: skip
    label = result["assurance"]
    console.print(Text(f"assurance: isolation {label['isolation']}, tree {label['tree']}, oracle {label['oracle']}, "
                       f"network {label['network']}", "dim"))  # fmt: skip
    for name in GATES if result["gates"] else ():
        console.print(
            Text.assemble("  ", gate_mark(result, name), f" {name:<11} {one_line(result['why'][name])}")
        )
    console.print(table_of_grades(result["grades"]))
    for finding in result["findings"]:
        style = {"violation": "red", "warning": "yellow"}.get(finding["severity"], "dim")
        console.print(
            Text(
                f"{finding['severity']}: {finding['id']} {one_line(finding['where'])}: {one_line(finding['why'])}",
                style,
            )
        )
    for grade in result["grades"]:
        if grade["outcome"] in ("fail", "error") and grade.get("output_tail"):
            console.print(Text(f"\noutput of {grade['name']}:", "bold"))
            console.print(Text(quoted(grade["output_tail"])))
    console.print(Text(f"\nevidence in {result['folder']}", "dim"))


def table_of_grades(grades: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("grader", "type", "outcome", "score", "", "why"):
        table.add_column(name, overflow="fold")
    for grade in grades:
        role = "gate" if grade.get("gate") else "required" if grade["required"] else "advisory"
        table.add_row(
            one_line(grade["name"], 40),
            grade["type"],
            coloured(grade["outcome"]),
            number(grade["score"]),
            Text(role, "dim"),
            Text(one_line(grade["why"])),
        )
    return table


def print_comparison(console: Console, comparison: Comparison) -> None:
    first, second = comparison.runs
    for why in comparison.incomparable:
        console.print(Text(f"not comparable: {one_line(why)}", "bold yellow"))
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("", first, second):
        table.add_column(name, overflow="fold")
    for what, one, two in comparison.differences:
        table.add_row(one_line(what), one_line(one), one_line(two))
    console.print(table if comparison.differences else "the outcomes are the same")
    for title, paths in (
        (f"changed only by {first}", comparison.only_first),
        (f"changed only by {second}", comparison.only_second),
        ("changed by both, differently", comparison.otherwise),
    ):
        if paths:
            console.print(Text(f"\n{title}:", "bold"))
            console.print(Text("\n".join(f"  {path}" for path in paths)))
