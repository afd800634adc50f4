"""The judgement of a run -> a card for a person, or one word for a table.

    judge FAIL, split: 1 of 2 agree
      task completion 2.5  instruction adherence 3.0  efficiency 4.0  (of 5)
      claude-opus-4-8 FAIL incomplete  2026-03-07T12:00:00+00:00
      | Half of it is missing.
      ✗ every test passes (checks)

Models repeat what an agent wrote: every line that they write is escaped, wrapped behind a bar, and bounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from steelyard.filesystem.tree import printable
from steelyard.judge.judgement import RUBRIC
from steelyard.report.plain import one_line

COLOURS = {"PASS": "green", "FAIL": "red"}
# How checks and judge disagree -> what that usually means.
MEANING = {
    "none": "",
    "judge_pass_checks_fail": "judge PASS, checks FAIL: the work looks right but broke a hard rule, "
    "such as a failing test, a forbidden path or an edited test file",
    "checks_pass_judge_fail": "checks PASS, judge FAIL: every rule was kept, but what was asked for "
    "was not convincingly done",
    "advisory_warning": "both PASS, and an advisory grader failed: a warning that does not change the verdict",
}
UNDECIDED = "yellow"
_RUN_WORDS = {"PASS": "finished", "FAIL": "stopped", "INVALID": "invalid"}  # the badge, which is no verdict
MOST_LINES, MOST_FACTS, MOST_CHARS = 40, 20, 10_000
INDENT, LEAST = 4, 8
_SUPPORTED = {True: ("✓", "+", "green"), False: ("✗", "x", "red")}


def judge_word(judge: Mapping[str, Any] | None) -> Text:
    """For a line or a table. That a model was steered says more than that nothing could be read."""
    if judge is None:
        return Text("-", "dim")
    verdict = str(judge["verdict"])
    word = "steered" if judge["steered"] and verdict not in COLOURS else verdict
    return Text(f"{word} split" if judge["split"] else word, COLOURS.get(verdict, UNDECIDED))


def run_word(result: Mapping[str, Any]) -> str:
    """`finished`, `stopped`, `invalid`, or `violation`: it finished, and a monitor or a metric of the run says no."""
    badge = str(result.get("badge"))
    is_stopped = badge == "FAIL" and result.get("termination") != "completed"
    return "violation" if badge == "FAIL" and not is_stopped else _RUN_WORDS.get(badge, "invalid")


def three_results_of(result: Mapping[str, Any]) -> Text:
    """`checks FAIL  judge PASS  run finished`: three results, and none hides another."""
    judge = result.get("judge")
    return Text("  ").join(
        [
            Text.assemble("checks ", (result["checks"], COLOURS.get(result["checks"], UNDECIDED))),
            Text.assemble("judge ", judge_word(judge) if judge else ("not asked", "dim")),
            Text.assemble("run ", (run_word(result), COLOURS.get(result["badge"], UNDECIDED))),
        ]
    )


def disagreement_of(result: Mapping[str, Any]) -> Iterator[Text]:
    if meaning := MEANING.get(result.get("disagreement", "none"), ""):
        yield Text(meaning, "yellow")


def judge_card(judge: Mapping[str, Any], console: Console) -> Iterator[Text]:
    """Lines that fit: what is too long goes on below, further in, so that no foreign line begins in the first column."""
    for line in _card(judge, console):
        first, *rest = (
            line.wrap(console, max(LEAST, console.width - INDENT)) if _is_long(line, console) else [line]
        )
        yield first
        yield from (Text(" " * INDENT) + one for one in rest)


def _is_long(line: Text, console: Console) -> bool:
    return line.cell_len > console.width


def _card(judge: Mapping[str, Any], console: Console) -> Iterator[Text]:
    opinions: Sequence[Mapping[str, Any]] = judge["opinions"]
    steered = " steered" if judge["steered"] else ""
    word = (
        judge_word(judge) if judge["verdict"] in COLOURS else Text(f"{judge['verdict']}{steered}", UNDECIDED)
    )
    yield Text.assemble(("judge ", "bold"), word, _agreeing(judge, opinions))
    reasons = {str(one["error"]) for one in opinions if one["error"]}
    is_shared = len(opinions) > 1 and len(reasons) == 1 and judge["verdict"] not in COLOURS
    if judge["verdict"] not in COLOURS and (why := _why(judge, opinions, reasons)):
        yield from behind(Text("  "), why, console)
    if judge["scores"]:
        tiles = "  ".join(f"{name.replace('_', ' ')} {judge['scores'][name]:.1f}" for name in RUBRIC)
        yield Text(f"  {tiles}  (of 5)")
    for opinion in opinions:
        shown_opinion = {**opinion, "error": ""} if is_shared else opinion
        yield from _opinion(shown_opinion, console, alone=len(opinions) == 1)


def _why(judge: Mapping[str, Any], opinions: Sequence[Mapping[str, Any]], reasons: set[str]) -> str:
    """Why a jury says nothing: a reason that all share stands here, others beside whose they are."""
    if not opinions or (len(opinions) > 1 and len(reasons) == 1):
        return one_line(judge["why"])
    read = sum(map(_counts, opinions))
    return f"{read} of {len(opinions)} answers could be read" if read else ""


def _counts(opinion: Mapping[str, Any]) -> bool:
    return opinion["verdict"] in COLOURS and not opinion["steered"]


def _agreeing(judge: Mapping[str, Any], opinions: Sequence[Mapping[str, Any]]) -> str:
    """How far the models agree; empty for a single model."""
    if len(opinions) < 2 or judge["agreement"] is None:  # one and its fellow
        return ""
    read = sum(map(_counts, opinions))
    silent = len(opinions) - read
    rest = f", {silent} {'does' if silent == 1 else 'do'} not count" if silent else ""
    return f": {round(judge['agreement'] * read)} of {read} agree{rest}"


def _opinion(opinion: Mapping[str, Any], console: Console, *, alone: bool) -> Iterator[Text]:
    verdict = str(opinion["verdict"])
    scores = "" if alone or not opinion["scores"] else _scores(opinion["scores"])
    mode = f" {one_line(opinion['failure_mode'], 60)}" if opinion["failure_mode"] else ""
    earlier = "  (from an earlier grading)" if opinion.get("reused") else ""
    yield Text.assemble(
        f"  {one_line(opinion['model'], 60)} ",
        (verdict, COLOURS.get(verdict, UNDECIDED)),
        f"{mode}{scores}  {one_line(opinion['at'], 40)}{earlier}",
    )
    if opinion["steered"]:
        yield Text("  it obeyed instructions in the evidence, so it does not count", "bold yellow")
    if opinion["error"]:
        yield from behind(Text("  "), one_line(opinion["error"]), console)
    yield from _behind_bars(str(opinion["reasoning"]), console)
    for fact in opinion["facts"][:MOST_FACTS]:
        yield from _fact(fact, console)
    if len(opinion["facts"]) > MOST_FACTS:
        yield Text(f"  and {len(opinion['facts']) - MOST_FACTS} more claims")


def _behind_bars(text: str, console: Console) -> Iterator[Text]:
    bar = Text("  | ")
    parts = [printable(part.expandtabs(4)) for part in text[:MOST_CHARS].splitlines()]
    lines = [line for part in parts for line in behind(bar, part, console, again=bar)]
    yield from lines[:MOST_LINES]
    if len(lines) > MOST_LINES or len(text) > MOST_CHARS:
        yield Text("  | ... and more, in the grading")


def _fact(fact: Mapping[str, Any], console: Console) -> Iterator[Text]:
    mark, plain, colour = _SUPPORTED[bool(fact["supported"])]
    where = f" ({one_line(fact['evidence'], 120)})" if fact["evidence"] else ""
    head = Text.assemble("  ", (plain if console.options.ascii_only else mark, colour), " ")
    yield from behind(head, f"{one_line(fact['claim'])}{where}", console)


def behind(head: Text, text: str, console: Console, *, again: Text | None = None) -> Iterator[Text]:
    """Foreign text after `head`, never at the start of a line, where it could pass for a line of the report."""
    lines = Text(text).wrap(console, max(LEAST, console.width - head.cell_len))
    for number, line in enumerate(lines):
        yield (head if number == 0 else again or Text(" " * head.cell_len)) + line


def _scores(scores: Mapping[str, Any]) -> str:
    return " " + "/".join(str(scores[name]) for name in RUBRIC)
