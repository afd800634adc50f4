"""The timeline of a run: short, in order, and safe to print."""

from __future__ import annotations

from typing import Any

from authoring import FIX, Author, Steelyard
from steelyard.evidence.trace.chain import GENESIS, Event
from steelyard.report.trace.timeline import SHOWN_HEAD, SHOWN_TAIL, short_timeline, timeline, trace_line


def made(*described: tuple[str, dict[str, Any]]) -> list[Event]:
    return [
        Event(seq, seq * 10**9, "", kind, "agent", payload, GENESIS, "")
        for seq, (kind, payload) in enumerate(described, start=1)
    ]


def change(path: object, **sides: Any) -> tuple[str, dict[str, Any]]:
    return "workspace.change", {"path": path, "before": {"kind": "file"}, "after": {"kind": "file"}, **sides}


def texts(*described: tuple[str, dict[str, Any]]) -> list[str]:
    return [f"{row.label}: {row.text}" for row in timeline(made(*described))]


def test_changes_that_follow_each_other_are_one_row() -> None:
    many = [change(f"f{number}") for number in range(6)]
    assert texts(
        *many, ("tool.result", {"exit_status": 1, "wall_ns": 2 * 10**9}), change("g", before=None)
    ) == [
        "change: f0 (modified), f1 (modified), f2 (modified), f3 (modified) and 2 more",
        "result: exit 1 after 2.0 s",
        "change: g (added)",
    ]


def test_tokens_and_cost_are_summed_over_exchanges() -> None:
    answer = ("model.response", {"model": "m", "usage": {"tokens_in": 10, "tokens_out": 1}})
    cost = ("cost", {"usd": 0.5, "method": "library"})
    assert texts(answer, answer, cost, cost) == [
        "model: m, m  22 tokens",
        "cost: library, library  1.0000 USD",
    ]


def test_a_call_shows_its_command() -> None:
    assert texts(("tool.call", {"tool": "Bash", "kind": "execute", "input": {"command": "ls -l"}})) == [
        "call: Bash: ls -l"
    ]


def test_a_long_run_shows_its_beginning_and_its_end() -> None:
    described = [("tool.call", {"argv": [str(number)]}) for number in range(100)]
    head, left_out, tail = short_timeline(made(*described))
    assert (len(head), left_out, len(tail)) == (SHOWN_HEAD, 100 - SHOWN_HEAD - SHOWN_TAIL, SHOWN_TAIL)
    assert tail[-1].text == "other: 99"


def test_nothing_of_an_agent_reaches_the_terminal_as_it_is() -> None:
    evil = "\x1b]0;owned\x07\u202e\nnext"
    described = made(
        ("tool.call", {"tool": evil, "argv": [evil]}),
        change({"b64": "G1szMW0="}),
        ("workspace.change", {"path": [evil], "before": evil}),
        ("check.end", {"id": evil, "outcome": evil}),
        ("tool.result", {"exit_status": evil}),
        ("network.connection", {"to": evil}),
        ("agent.message", {"prefix": evil}),
        ("brief", {"index": 0, "step": evil, "text": evil}),
        ("sandbox.sample", {evil: evil}),
    )
    lines = [trace_line(event) for event in described] + [row.line() for row in timeline(described)]
    assert all(line.isprintable() for line in lines), lines


def test_show_prints_the_timeline_and_with_trace_every_event(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    line = steelyard("run", author.write(), "--agent", script(FIX), "--json").line
    shown = steelyard("show", line["run"]).out
    assert "change        add.sh (modified)" in shown
    assert "check         adds: pass" in shown
    result = steelyard("show", line["run"], "--trace")
    events = steelyard("show", line["run"], "--trace", "--json").lines
    assert len(result.out.splitlines()) == len(events) == events[-1]["seq"]
    assert events[0]["type"] == "run.start"
    assert steelyard("show", "--trace").code == 2
