"""One run in full: the verdict, its gates, and the reasons."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from steelyard.evidence.folder.folder import CHECKS, GRADINGS, MANIFEST, RunFolder
from steelyard.evidence.output_view import output_text
from steelyard.evidence.replay_ways import replay_ways
from steelyard.evidence.trace.chain import read_events
from steelyard.evidence.trace.summary import summarise_events
from steelyard.filesystem.plain_file import open_plain
from steelyard.filesystem.tree import printable
from steelyard.judge.saved_calibration import calibration_lines
from steelyard.report.agent_output import agent_output
from steelyard.report.breakdown import breakdown_of, errors_of
from steelyard.report.judge_card import COLOURS, UNDECIDED, disagreement_of, judge_card, three_results_of
from steelyard.report.lines.wrapping import print_wrapped, width_of, wrap_words
from steelyard.report.plain import one_line, quote_lines
from steelyard.report.session import answer_of, conversation_of, failed_connections, steps_of
from steelyard.report.terminal import GATES, gate_mark, number, style_verdict, table_of_grades
from steelyard.report.trace.timeline import INDENT as TIMELINE_INDENT
from steelyard.report.trace.timeline import short_timeline

TAIL_LINES = 20
TAIL_BYTES = 64 << 10
SHOWN_TESTS, SHOWN_CHARS = 10, 2000
CHANGED = (
    "[printed by the tests; Steelyard changes expected values of some on purpose, to catch faked results, "
    "and failures of those are right]"
)
MAX_OUTCOME_BYTES = 64 << 20


def print_run(console: Console, result: Mapping[str, Any]) -> None:
    _print_verdict(console, result)
    if result["gates"]:
        console.print(
            _gates(result, width_of(console), unicode=not console.options.ascii_only), soft_wrap=True
        )
    for line in steps_of(result, unicode=not console.options.ascii_only):
        console.print(line)
    if result["assurance"]["network"] == "allow_list":
        for line in failed_connections(Path(result["folder"])):
            console.print(line)
    for words in filter(None, (_models(result), _costs(result))):
        print_wrapped(console, Text(words))
    _print_session(console, result)
    print_timeline(console, RunFolder(Path(result["folder"])))
    _print_grades(console, result)
    _print_judge(console, result)
    _print_findings(console, result)
    _print_outputs(console, result)
    # Paths and commands are copied: the terminal wraps them, and no line end comes into them.
    console.print(Text(f"\nevidence in {printable(result['folder'])}", "dim"), soft_wrap=True)
    for hint in replay_lines(RunFolder(Path(result["folder"]))):
        print_wrapped(console, Text(hint, "dim"))


def replay_lines(folder: RunFolder) -> list[str]:
    """How the result can be had again; nothing of a record that cannot be read."""
    try:
        ways = replay_ways(folder.read_json(MANIFEST), summarise_events(read_events(folder.events)))
    except (OSError, ValueError, TypeError, AttributeError):
        return []
    if not ways:
        return ["replay: not possible from this record alone"]
    lines = {
        "changes": f"`steelyard replay {folder.typed}` makes the recorded changes again",
        "cassette": "`steelyard run` with the same agent and `--replay {}` gives the recorded answers of its models",
        "agent": "`steelyard run` with the same agent does the same again: it had no network",
    }
    return [f"replay: {lines[way.kind].format(one_line(way.cassette))}" for way in ways]


def print_timeline(console: Console, folder: RunFolder) -> None:
    """What happened, in short; of a log that is damaged, as far as it can be read."""
    try:
        head, left_out, tail = short_timeline(read_events(folder.events))
    except (OSError, ValueError, TypeError):
        return
    console.print()
    for row in head:
        console.print(_fitted(row.line(), width_of(console)), soft_wrap=True)
    if left_out:
        console.print(
            Text(f"{'':>10}  ... {left_out} more; `steelyard show {folder.typed} --trace` shows all", "dim")
        )
    for row in tail:
        console.print(_fitted(row.line(), width_of(console)), soft_wrap=True)


def _fitted(line: str, width: int) -> Text:
    """A row of the timeline; a long one goes on below its own words."""
    room = max(20, width - TIMELINE_INDENT)
    first, *more = wrap_words(line[TIMELINE_INDENT:], room)
    lines = [f"{line[:TIMELINE_INDENT]}{first}", *(" " * TIMELINE_INDENT + one for one in more)]
    return Text("\n".join(lines).rstrip())


def _print_verdict(console: Console, result: Mapping[str, Any]) -> None:
    """The agent, how it ended, and three results side by side."""
    ended = f" ({one_line(result['rationale'])})" if result.get("rationale") else ""
    console.print(Text(result["run"], "bold"), soft_wrap=True)
    print_wrapped(
        console,
        Text.assemble(
            f"contract {result['contract']['id']}  ",
            (result["contract"]["digest"][:12], "dim"),
            f"  agent {one_line(str(result['agent'] or 'unknown'))}  ended: {result['termination']}{ended}",
        ),
    )
    print_wrapped(console, Text(story_of(result), "bold"))
    numbers = f"  score {number(result['score'])}  reward {number(result['reward'])}"
    print_wrapped(
        console,
        Text.assemble("verdict ", style_verdict(result["verdict"]), "  ", three_results_of(result), numbers),
    )
    for line in disagreement_of(result):
        print_wrapped(console, line)
    if validity := result.get("validity"):
        print_wrapped(console, _validity(validity))
    if result.get("refused"):
        print_wrapped(console, Text(f"refused: {result['refused']}", "bold yellow"))
    print_wrapped(console, Text(label_of(result["assurance"], result["verdict"]), "dim"))


_VERDICTS = {
    "pass": "Passed",
    "fail": "Failed",
    "error": "Not decided",
    "ungraded": "Not graded",
    "invalid": "Does not count",
}


def _costs(result: Mapping[str, Any]) -> str:
    """What was paid for beside the agent's models, as far as it has a price."""
    items = (result.get("cost") or {}).get("items") or {}
    named = {"exec": "execution", "judge": "model judge", "overhead": "overhead", "human": "people"}
    amounts = {name: (items.get(key) or {}).get("usd") for key, name in named.items()}
    asked = ((items.get("judge") or {}).get("quantities") or {}).get("judge_request/call")
    parts = [f"{name} {usd:.4f} USD" for name, usd in amounts.items() if usd]
    if asked and amounts["model judge"] is None:
        parts.append("model judge: cost unknown")
    return f"beside that: {', '.join(parts)}" if parts else ""


def _models(result: Mapping[str, Any]) -> str:
    """What the models of the agent took; nothing where none was metered."""
    usage, cost = result.get("usage") or {}, result.get("cost") or {}
    if not usage.get("model_calls"):
        return ""
    tokens = "tokens unknown"
    if usage["tokens_in"] is not None:
        cached = f" ({usage['cache_read']:,} from a cache)" if usage["cache_read"] else ""
        tokens = f"{usage['tokens_in']:,} tokens in{cached}, {usage['tokens_out']:,} out"
    parts = [f"{usage['model_calls']:,} model calls", tokens]
    if cost.get("usd") is not None:
        parts.append(f"{cost['usd']:.4f} USD")
    if cost.get("units") is not None:
        parts.append(f"{cost['units']:.1f} cost units")
    waited, working = (result.get("durations", {}).get(name) for name in ("waited_s", "working_s"))
    if waited:
        parts.append(f"waited {waited:.1f} s for models, worked {working or 0:.1f} s")
    return "models: " + ", ".join(parts)


_WHOLE = 4000  # letters: what this machine says is in no other place of the page


def story_of(result: Mapping[str, Any]) -> str:
    """One sentence for the verdict, one for the agent: `Failed: hidden: exit 1. The agent finished normally.`"""
    room = _WHOLE if result["verdict"] == "invalid" else 200
    why = "" if result["verdict"] == "pass" else f": {one_line(result['reason'], room).rstrip('.')}"
    sentences = [f"{_VERDICTS[result['verdict']]}{why}{'' if why.endswith('…') else '.'}"]
    if result["verdict"] == "error":
        sentences.append("This counts neither as a pass nor as a failure.")
    if patch := result.get("patch_verdict"):
        reward = result.get("patch_reward")
        worth = "" if reward is None else f", reward {number(reward)}"
        sentences.append(f"The patch on its own: {patch}{worth}.")
    sentences.append(_agent_sentence(result))
    if result["verdict"] != "pass":
        sentences.append(_put_back(result))
    return " ".join(filter(None, sentences))


# Findings about files of the change that the checks did not use.
_NOT_USED = frozenset(
    {
        "steers_runner",
        "oracle_data_changed",
        "at_hidden_place",
        "setup_layer_changed",
        "takes_along",
        "check_script_changed",
    }
)


def _put_back(result: Mapping[str, Any]) -> str:
    """Which edits the checks did not see; an author or an agent may have counted on them."""
    paths = [str(one["where"]) for one in result.get("findings", ()) if one["id"] in _NOT_USED]
    if not paths:
        return ""
    named = one_line(", ".join(dict.fromkeys(paths)))
    return f"The checks used their own version of {named}, not the change's (see the warnings)."


def _agent_sentence(result: Mapping[str, Any]) -> str:
    rationale = one_line(str(result.get("rationale") or ""))
    if "no agent ran" in rationale:
        return "No agent ran."
    if result["termination"] == "completed":
        return "The agent finished normally."
    if result["termination"] == "agent_crash":
        return f"The agent crashed: {rationale}."
    return (
        ""
        if result["verdict"] == "invalid"
        else f"The agent was stopped: {rationale or result['termination']}."
    )


def _validity(validity: Mapping[str, Any]) -> Text:
    """`validity: output parseable, schema valid, verifier completed`; what does not hold comes first."""
    flags = {
        "output parseable": validity["output_parseable"],
        "schema valid": validity["schema_valid"],
        "verifier completed": validity["verifier_completed"],
    }
    words = [name if holds else f"NOT {name}" for name, holds in flags.items()]
    errors = "; ".join(one_line(str(error)) for error in validity["errors"])
    line = f"validity: {', '.join(words)}" + (f" ({errors})" if errors else "")
    return Text(line, "dim" if all(flags.values()) else "yellow")


def _print_grades(console: Console, result: Mapping[str, Any]) -> None:
    """The card of the checks; of an answer there may be a verifier's word, and nothing else scores."""
    if result["grades"]:
        overall = (result["checks"], COLOURS.get(result["checks"], UNDECIDED))
        mean = f"  (unweighted mean of the scores below, without patch: {number(result.get('mean_score'))})"
        console.print(Text.assemble(("\nchecks ", "bold"), overall, mean))
        console.print(table_of_grades(result["grades"]))
    for line in (*breakdown_of(result), *errors_of(result)):
        console.print(line)


def _print_judge(console: Console, result: Mapping[str, Any]) -> None:
    if judge := result.get("judge"):
        console.print()
        for line in judge_card(judge, console):
            console.print(line)
        for note in calibration_lines(Path(result["folder"]).parent):
            console.print(Text(f"  {one_line(note)}", "dim"))


def _print_findings(console: Console, result: Mapping[str, Any]) -> None:
    if result["findings"] and (result["grades"] or result.get("judge")):
        console.print()
    for finding in result["findings"]:
        style = {"violation": "red", "warning": "yellow"}.get(finding["severity"], "dim")
        line = f"{finding['id']} {one_line(finding['where'])}: {one_line(finding['why'])}"
        print_wrapped(console, Text(f"{finding['severity']}: {line}", style))


def _print_outputs(console: Console, result: Mapping[str, Any]) -> None:
    """Of what did not pass, and of an agent that did not end by itself."""
    folder = Path(result["folder"])
    for grade in result["grades"]:
        if grade["outcome"] not in ("fail", "error"):
            continue
        if (
            output := grade.get("output_tail")
            or check_output(folder, grade["name"])
            or graded_tail(result, grade)
        ):
            where = f" (it may show hidden files; the whole is in {CHECKS}/{grade['name']}/)"
            hidden = where if grade.get("hidden") and grade.get("check") else ""
            console.print(Text(f"\noutput of {grade['name']}{hidden}:", "bold"))
            _print_quoted(console, output)
    if tail := "" if result["termination"] == "completed" else _stderr_tail(folder):
        console.print(Text("\nagent stderr (tail):", "bold"))
        _print_quoted(console, tail)


def _print_quoted(console: Console, output: str) -> None:
    for line in quote_lines(output).split("\n"):
        print_wrapped(console, Text(line))


def _print_session(console: Console, result: Mapping[str, Any]) -> None:
    """What was said: the conversation, the end of the one answer, or all of it where it is the output."""
    folder = Path(result["folder"])
    is_session = result.get("turns", 1) > 1 or bool(result.get("steps"))
    answer = answer_of(folder) if result.get("workspace") == "none" else ""
    if is_session and not result.get("steps"):
        console.print()
        for line in conversation_of(folder):
            console.print(line)
    if result.get("workspace") == "none":
        console.print(Text("\nanswer:", "bold"))
        console.print(Text(answer or "  none was given"))
    if not is_session and not answer:
        for line in agent_output(folder, console):
            console.print(line)


def _gates(result: Mapping[str, Any], width: int, *, unicode: bool) -> Text:
    """A gate a line; a long reason goes on below itself."""
    lines: list[Text] = []
    for name in GATES:
        head = Text.assemble("  ", gate_mark(result, name, unicode=unicode), f" {name:<11} ")
        first, *more = wrap_words(one_line(result["why"][name]), width - head.cell_len)
        lines.append(head.append(first))
        lines += [Text(" " * 16 + line) for line in more]
    return Text("\n").join(lines)


def _network(label: Mapping[str, Any]) -> str:
    """`none`, or who may reach what: `agent api.example:443`."""
    named = [
        f"{who} {one_line(allowed_hosts[0])}{f' and {len(allowed_hosts) - 1} more' if len(allowed_hosts) > 1 else ''}"
        for who, allowed_hosts in label.get("allowed_hosts", {}).items()
    ]
    return ", ".join(named) or str(label["network"])


def label_of(label: Mapping[str, Any], verdict: str) -> str:
    """In plain words first, then each part of the label; coverage only where there are controls."""
    covered = label.get("control_coverage", 0.0)
    controls = f" (controls on {covered:.0%} of the passed tests)" if label["oracle"] == "twin" else ""
    runner = f", results by {label['runner']}" if "runner" in label else ""
    tree = "live (not tamper-resistant)" if label["tree"] == "live" else label["tree"]
    return (
        f"trust: {_trust(label, verdict)} (assurance: isolation {label['isolation']}, tree {tree}, "
        f"oracle {label['oracle']}{controls}{runner}, network {_network(label)})"
    )


# The channel that reported the results of checks -> how the tested code could have faked them, without controls.
_FAKED = {
    "judge": "a model's opinion decides",
    "candidate": "the tested code reports its own results",
    "exit_code": "the tested code could fake this exit code",
    "verifier": "the contract's verifier decides",
    "report_file": "the tested code could fake this report",
    "reporter": "the tested code could fake these results",
}


def _trust(label: Mapping[str, Any], verdict: str) -> str:
    where = "not sandboxed" if label["isolation"] == "none" else "sandboxed"
    if verdict in {"invalid", "error"}:
        return f"{where}; there is no decision that could be faked"
    how = {
        "split": "the tests run in another sandbox than the tested code",
        "twin": "controls look for faked results",
    }.get(label["oracle"], _FAKED.get(label.get("runner", ""), "the tested code could fake these results"))
    return f"{where}; {how}"


def check_output(folder: Path, check: str) -> str:
    """The tests of a check that failed, and the end of what it printed; from the record, which is the operator's."""
    try:
        with open_plain(folder / "checks" / check / "outcome.json") as file:
            outcome = json.loads(file.read(MAX_OUTCOME_BYTES))
        rows = (outcome.get("reported") or {}).get("results", [])
        failed = [f"{one[0]}: {one[2] or one[1]}" for one in rows if one[1] in ("failed", "error")]
        printed = "".join(output_text(outcome[name]) for name in ("stdout", "stderr"))
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return ""
    more = [f"and {len(failed) - SHOWN_TESTS} more"] if len(failed) > SHOWN_TESTS else []
    note = [CHANGED] if failed and printed.strip() and may_be_changed(outcome) else []
    return "\n".join([*failed[:SHOWN_TESTS], *more, *note, _last_lines(printed)]).strip("\n")


def may_be_changed(outcome: Mapping[str, Any]) -> bool:
    """Whether what a suite printed may be that of a run in which the controls changed tests."""
    return outcome.get("oracle") != "split" and outcome["reported"]["channel"] != "exit_code"


def graded_tail(result: Mapping[str, Any], grade: Mapping[str, Any]) -> str:
    """The end of what a grader printed that is no check: its grading has it, the result line perhaps not."""
    try:
        name = f"{GRADINGS}/{result['grading']['number']:04d}.json"
        with open_plain(Path(result["folder"]) / name) as file:
            grades = json.loads(file.read(MAX_OUTCOME_BYTES))["grades"]
        return next((str(one["output_tail"]) for one in grades if one["name"] == grade["name"]), "")
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return ""


def _last_lines(printed: str) -> str:
    """The end of a text, from the start of a line where it has one; a mark says what is missing before it."""
    tail = printed[-SHOWN_CHARS:]
    cut = tail.find("\n") + 1 if len(printed) > len(tail) else 0
    missing = len(printed) - len(tail) + cut
    return f"[... {missing} characters ...]\n{tail[cut:]}" if missing else tail


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
