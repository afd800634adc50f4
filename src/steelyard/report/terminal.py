"""Result lines -> tables for a person: colour on a terminal, plain lines when piped."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.table import Table
from rich.text import Text

from steelyard.contract.tree import shown
from steelyard.evidence.plain_file import open_plain
from steelyard.report.compare import Comparison
from steelyard.report.plain import one_line, quoted
from steelyard.report.rows import Rows
from steelyard.report.session import answer_of, conversation_of, steps_of
from steelyard.report.summary import AgentSummary
from steelyard.stats.interval import Rate

COLOURS = {"pass": "green", "fail": "red", "error": "yellow", "invalid": "magenta", "ungraded": "yellow"}
MARKS = {"pass": "✓", "fail": "✗", "error": "!"}
PLAIN_MARKS = {"pass": "+", "fail": "x", "error": "!"}  # for an output that is not Unicode
GATES = ("patch", "build", "acceptance", "safety")
LEGEND = "P patch applies  B builds  A acceptance  S safety"
TAIL_LINES = 20
TAIL_BYTES = 64 << 10
SHOWN_TESTS, SHOWN_CHARS = 10, 2000
MAX_OUTCOME_BYTES = 64 << 20


@dataclass(frozen=True)
class Results:
    """One row a run, and below them what the marks mean, where the evidence is, and what was not isolated."""

    results: Sequence[Mapping[str, Any]]
    expected: Mapping[str, str] | None = None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        del console
        told = () if self.expected is None else ("expected",)
        rows = Rows(
            ("run", "contract", "agent", "verdict", *"PBAS", "score", *told, "why"),
            giving=("agent", "contract", *told),
            right=frozenset({"score"}),
        )
        rows.rows.extend(self._row(result, unicode=not options.ascii_only) for result in self.results)
        yield rows
        yield Text("")
        undecided = any("error" in (result["gates"] or {}).values() for result in self.results)
        yield Text(LEGEND + ("  ! could not be decided" if undecided else ""), "dim")
        for folder in dict.fromkeys(Path(result["folder"]).parent for result in self.results):
            yield Text(f"evidence in {shown(str(_from_here(folder)))}", "dim")
        if any(result["assurance"]["isolation"] == "none" for result in self.results):
            yield Text("isolation: none (local sandbox)", "yellow")

    def _row(self, result: Mapping[str, Any], *, unicode: bool) -> tuple[Text, ...]:
        told = () if self.expected is None else (_as_expected(result, self.expected),)
        return (
            Text(result["run"].rsplit("-", 1)[-1], "dim"),
            Text(one_line(result["contract"]["id"], 40)),
            Text(one_line(str(result["agent"]), 40)),
            coloured(result["verdict"]),
            *(gate_mark(result, gate, unicode=unicode) for gate in GATES),
            Text(number(result["score"])),
            *told,
            Text(reason(result)),
        )


def table_of_results(
    results: Iterable[Mapping[str, Any]], *, expected: Mapping[str, str] | None = None
) -> Results:
    """One row a run. With `expected` (run -> verdict), a column says whether it came out so."""
    return Results(tuple(results), expected)


def _from_here(folder: Path) -> Path:
    here = Path.cwd()
    return folder.relative_to(here) if folder.is_relative_to(here) else folder


def _as_expected(result: Mapping[str, Any], expected: Mapping[str, str]) -> Text:
    wanted = expected[result["run"]]
    if wanted == result["verdict"]:
        return Text("as expected", "green")
    return Text(f"not {wanted}!", "bold red")


def coloured(verdict: str) -> Text:
    return Text(verdict, COLOURS.get(verdict, ""))


def gate_mark(result: Mapping[str, Any], gate: str, *, unicode: bool = True) -> Text:
    if result["gates"] is None:
        return Text("-", "dim")
    outcome = result["gates"][gate]
    return Text((MARKS if unicode else PLAIN_MARKS)[outcome], COLOURS[outcome])


def number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def reason(result: Mapping[str, Any]) -> str:
    """How the agent ended, unless by itself, and every gate that was not passed, in its own words."""
    ended = "" if result["termination"] == "completed" else f"agent: {ending(result)}; "
    if result.get("refused") and result["verdict"] == "ungraded":
        return one_line(f"refused: {result['refused']}")
    if result["gates"] is None:
        wrong = [f"{one['name']}: {one['why']}" for one in result["grades"] if one["outcome"] != "pass"]
        return one_line(ended + ("; ".join(wrong) or result["reason"]))
    telling = [result["why"][gate] for gate in GATES if result["gates"][gate] != "pass"]
    return one_line(ended + ("; ".join(telling) or result["reason"]))


def ending(result: Mapping[str, Any]) -> str:
    """`agent_crash (exit code 127)`; a code that says it all stands alone."""
    code, rationale = str(result["termination"]), str(result.get("rationale") or "")
    return code if code == "wall_time" or not rationale else f"{code} ({rationale})"


def table_of_agents(summaries: Sequence[AgentSummary]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("agent", "passed", "95% interval", "acceptance errors", "invalid"):
        table.add_column(
            name,
            justify="left" if name == "agent" else "right",
            overflow="fold",
            no_wrap=name == "95% interval",  # a number in two halves is no number
        )
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
        f" ({one_line(result['rationale'])})" if result.get("rationale") else "", f", badge {result['badge']}",
    )  # fmt: skip
    console.print(head)
    console.print(Text.assemble("verdict ", coloured(result["verdict"]), f"  checks {result['checks']}  "
                                f"score {number(result['score'])}  reward {number(result['reward'])}"))  # fmt: skip
    if result.get("acceptance") == "acceptance_error":
        console.print(
            Text(
                "acceptance error: a check could not be decided",
                "yellow",
            )
        )
    if result.get("refused"):
        console.print(Text(f"refused: {result['refused']}", "bold yellow"))
    unicode = not console.options.ascii_only
    console.print(Text(label_of(result["assurance"]), "dim"))
    if result["gates"]:
        console.print(_gates(result, console.width, unicode=unicode))
    for line in steps_of(result, unicode=unicode):
        console.print(line)
    _print_session(console, result)
    for finding in result["findings"]:
        style = {"violation": "red", "warning": "yellow"}.get(finding["severity"], "dim")
        console.print(
            Text(
                f"{finding['severity']}: {finding['id']} {one_line(finding['where'])}: {one_line(finding['why'])}",
                style,
            )
        )
    for grade in result["grades"]:
        if grade["outcome"] not in ("fail", "error"):
            continue
        if told := grade.get("output_tail") or told_by(Path(result["folder"]), grade["name"]):
            console.print(Text(f"\noutput of {grade['name']}:", "bold"))
            console.print(Text(quoted(told)))
    tail = "" if result["termination"] == "completed" else _stderr_tail(Path(result["folder"]))
    if tail:
        console.print(Text("\nagent stderr (tail):", "bold"))
        console.print(Text(quoted(tail)))
    console.print(Text(f"\nevidence in {result['folder']}", "dim"))


def _print_session(console: Console, result: Mapping[str, Any]) -> None:
    """What was said, where more than the brief was; the answer, where it is the output; the grades."""
    folder = Path(result["folder"])
    if result.get("turns", 1) > 1 and not result.get("steps"):
        console.print()
        for line in conversation_of(folder):
            console.print(line)
    if result.get("workspace") == "none":
        console.print(Text("\nanswer:", "bold"))
        console.print(Text(answer_of(folder) or "  none was given"))
    # Without a workspace nothing scores: what there may be is a verifier's word on the answer.
    if result["grades"]:
        console.print()
        console.print(table_of_grades(result["grades"]))


def _gates(result: Mapping[str, Any], width: int, *, unicode: bool) -> Text:
    """A gate a line; a long reason goes on below itself."""
    lines: list[Text] = []
    for name in GATES:
        head = Text.assemble("  ", gate_mark(result, name, unicode=unicode), f" {name:<11} ")
        first, *more = wrap(one_line(result["why"][name]), max(20, width - head.cell_len)) or [""]
        lines.append(head.append(first))
        lines += [Text(" " * 16 + line) for line in more]
    return Text("\n").join(lines)


def label_of(label: Mapping[str, Any]) -> str:
    """`oracle twin (controls on 90% of the tests)`: coverage is worth a word only where there are controls."""
    covered = label.get("control_coverage", 0.0)
    controls = f" (controls on {covered:.0%} of the passed tests)" if label["oracle"] == "twin" else ""
    runner = f", results by {label['runner']}" if "runner" in label else ""
    tree = "live (not tamper-resistant)" if label["tree"] == "live" else label["tree"]
    return (
        f"assurance: isolation {label['isolation']}, tree {tree}, oracle {label['oracle']}{controls}"
        f"{runner}, network {label['network']}"
    )


def told_by(folder: Path, check: str) -> str:
    """The tests of a check that failed, and the end of what it printed; from the record, which is the operator's."""
    try:
        with open_plain(folder / "checks" / check / "outcome.json") as file:
            outcome = json.loads(file.read(MAX_OUTCOME_BYTES))
        rows = (outcome.get("reported") or {}).get("results", [])
        failed = [f"{one[0]}: {one[2] or one[1]}" for one in rows if one[1] in ("failed", "error")]
        printed = "".join(outcome[name]["prefix"] + outcome[name]["tail"] for name in ("stdout", "stderr"))
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return ""
    more = [f"and {len(failed) - SHOWN_TESTS} more"] if len(failed) > SHOWN_TESTS else []
    return "\n".join([*failed[:SHOWN_TESTS], *more, _last_lines(printed)]).strip("\n")


def _last_lines(printed: str) -> str:
    """The end of a text, from the start of a line where it has one."""
    tail = printed[-SHOWN_CHARS:]
    cut = tail.find("\n") + 1 if len(printed) > len(tail) else 0
    return tail[cut:]


def _stderr_tail(folder: Path) -> str:
    """The last lines that the agent's own process wrote, or nothing."""
    try:
        last = max((folder / "agent").glob("stderr*.txt"), key=lambda path: (len(path.name), path.name))
        with open_plain(last) as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL_BYTES))
            text = file.read().decode(errors="replace")
    except (OSError, ValueError):  # there is none
        return ""
    return "\n".join(text.splitlines()[-TAIL_LINES:])


def table_of_grades(grades: Sequence[Mapping[str, Any]]) -> Rows:
    rows = Rows(
        ("grader", "type", "outcome", "score", "counts as", "why"),
        giving=("type",),
        right=frozenset({"score"}),
    )
    for grade in grades:
        role = "gate" if grade.get("gate") else "required" if grade["required"] else "advisory"
        cells = (
            Text(one_line(grade["name"], 40)),
            Text(grade["type"]),
            coloured(grade["outcome"]),
            Text(number(grade["score"])),
            Text(role, "dim"),
            Text(one_line(grade["why"])),
        )
        rows.rows.append(cells)
    return rows


def print_comparison(console: Console, comparison: Comparison) -> None:
    for why in comparison.incomparable:
        console.print(Text(f"not comparable: {one_line(why)}", "bold yellow"))
    for name, run in zip(("first", "second"), comparison.runs, strict=True):
        console.print(Text(f"{name:<6} {run}", "dim"))
    table = Table(box=None, pad_edge=False, header_style="bold")
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
            console.print(Text(f"\n{title}:", "bold"))
            console.print(Text("\n".join(f"  {path}" for path in paths)))
