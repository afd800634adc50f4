"""A process that outlives its agent is killed, counted and named."""

from __future__ import annotations

from collections.abc import Callable

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
