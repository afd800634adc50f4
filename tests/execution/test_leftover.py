"""A process that outlives its agent is killed, counted and named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from authoring import FIX, Author, Steelyard


def test_a_process_that_outlives_its_agent_is_a_tag_with_its_event(
    author: Author, script: Callable[[str], str], steelyard: Steelyard
) -> None:
    agent = script(f"{FIX}setsid sleep 1000 > /dev/null 2>&1 &\n")
    line = steelyard("run", author.write(), "--agent", agent, "--json").line
    assert line["verdict"] == "pass"
    (mode,) = line["failure_modes"]
    assert mode["id"] == "leftover_process"
    assert mode["evidence"][0].startswith("events.jsonl#")


def test_a_process_that_outlives_a_step_is_a_tag_with_the_event_of_that_step(
    author: Author, script: Callable[[str], str], steelyard: Steelyard
) -> None:
    agent = script(f"test -e one && exit\ntouch one\n{FIX}setsid sleep 1000 > /dev/null 2>&1 &\n")
    steps = [
        {"name": name, "brief": f"Do {name}.", "checks": [{"cmd": "! pgrep sleep"}]}
        for name in ("one", "two")
    ]
    contract = author.write(oracle={}, brief=None, steps=steps)
    line = steelyard("run", contract, "--agent", agent, "--json").line
    assert line["verdict"] == "pass"
    (mode,) = line["failure_modes"]
    assert mode["id"] == "leftover_process"
    (pointer,) = mode["evidence"]
    events = [json.loads(text) for text in Path(line["folder"], "events.jsonl").read_text().splitlines()]
    left = [
        (event["seq"], event["payload"]["leftover_processes"])
        for event in events
        if event["type"] == "stage.leave" and "leftover_processes" in event["payload"]
    ]
    assert left == [(int(pointer.removeprefix("events.jsonl#")), 1)]
