"""`turns:` end to end: several messages of one session, one sandbox, one budget, and checks once at the end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from containers import image

from authoring import FIX, Author, Steelyard, events, payloads

TURNS = ["Now say which files you touched.", "Thank you. Anything else?"]
# Works in the first turn, remembers each message in HOME, and answers it.
RULES = "\nRules:\n- There is no network.\n- You have 30 seconds.\n"  # once, with the first message
TALKING = f"""
test "$STEELYARD_TURN" = 1 && {{ {FIX.strip()}; }}
cat ~/.steelyard-brief.md >> ~/heard; echo >> ~/heard
echo "answer $STEELYARD_TURN: $(head -n 1 ~/.steelyard-brief.md)"
"""


def test_every_message_and_answer_is_recorded_in_order(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    result = steelyard("run", author.write(turns=TURNS), "--agent", script(TALKING), "--json")
    assert (result.code, result.line["verdict"], result.line["turns"]) == (0, "pass", 3), result.out
    text = payloads(result.line, "brief", "agent.message")
    assert [(one["role"], one["conversation"], one["index"]) for one in text] == [
        *(("user", 1, 0), ("assistant", 1, 1), ("user", 1, 2)),
        *(("assistant", 1, 3), ("user", 1, 4), ("assistant", 1, 5)),
    ]
    assert [one["text"] for one in text[::2]] == [f"Make add() add.\n{RULES}", *TURNS]
    answers = ["answer 1: Make add() add.\n", f"answer 2: {TURNS[0]}\n", f"answer 3: {TURNS[1]}\n"]
    assert [one["prefix"] for one in text[1::2]] == answers
    kept = [Path(result.line["folder"], one["pointer"]).read_text() for one in text[1::2]]
    assert kept == answers


def test_the_checks_run_once_at_the_end(author: Author, steelyard: Steelyard, script: Any) -> None:
    late = script(f'test "$STEELYARD_TURN" = 3 || exit 0\n{FIX}')
    line = steelyard("run", author.write(turns=TURNS), "--agent", late, "--json").line
    assert (line["verdict"], len(events(line, "check.end"))) == ("pass", 1)
    assert [event["type"] for event in events(line, "brief", "check.start")][-1] == "check.start"


def test_a_command_line_is_given_each_message_and_its_number(author: Author, steelyard: Steelyard) -> None:
    line = steelyard(
        "run", author.write(turns=TURNS), "--agent", "command:echo {turn} {brief}", "--json"
    ).line
    text = [one["prefix"] for one in payloads(line, "agent.message")]
    assert text == [f"1 Make add() add.\n{RULES}\n", f"2 {TURNS[0]}\n", f"3 {TURNS[1]}\n"]


def test_what_the_agent_left_running_lives_until_the_next_message(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    agent = script(
        'case $STEELYARD_TURN in 1) sleep 300 & echo $! > ~/pid;; *) kill -0 "$(cat ~/pid)";; esac\n'
    )
    line = steelyard("run", author.write(turns=TURNS), "--agent", agent, "--json").line
    assert line["termination"] == "completed"


def test_a_turn_that_crashes_ends_the_session(author: Author, steelyard: Steelyard, script: Any) -> None:
    agent = script(f'{FIX}test "$STEELYARD_TURN" = 1 || exit 7\n')
    line = steelyard("run", author.write(turns=TURNS), "--agent", agent, "--json").line
    assert (line["termination"], line["badge"]) == ("agent_crash", "FAIL")
    assert line["rationale"] == "turn 2 of 3: exit code 7"
    assert len(events(line, "brief")) == 2


def test_the_wall_budget_is_shared_by_all_turns(author: Author, steelyard: Steelyard) -> None:
    line = steelyard("run", author.write(turns=TURNS), "--agent", "command:true", "--json").line
    first, second, third = (one["ceiling_s"] for one in payloads(line, "tool.call"))
    assert 30 == first > second > third > 0


def test_a_turn_that_uses_up_the_budget_ends_the_session(author: Author, steelyard: Steelyard) -> None:
    contract = author.write(turns=TURNS, budget={"wall_s": 10, "headroom": {"wall_s": 0}})
    line = steelyard("run", contract, "--agent", "command:test {turn} = 1 || sleep 600", "--json").line
    assert (line["termination"], line["rationale"].split(":")[0]) == ("wall_time", "turn 2 of 3")
    assert len(events(line, "brief")) == 2


@pytest.mark.parametrize(
    "trap",
    [
        "rm -f ~/.steelyard-*; mkfifo ~/.steelyard-brief.md ~/.steelyard-script",
        "mkdir -p ~/.steelyard-brief.md/x",
        "chmod 500 ~",
    ],
)
def test_an_agent_that_spoils_its_home_is_not_tried_again(
    author: Author, steelyard: Steelyard, script: Any, trap: str
) -> None:
    result = steelyard("run", author.write(turns=TURNS[:1]), "--agent", script(f"{FIX}{trap}\n"), "--json")
    assert result.line["status"] == "scorable", result.out
    assert result.line["termination"] in {"completed", "agent_crash"}


@pytest.mark.parametrize(("agent", "verdict"), [("reference", "pass"), ("noop", "fail")])
def test_agents_without_a_process_deliver_once(
    author: Author, steelyard: Steelyard, agent: str, verdict: str
) -> None:
    line = steelyard("run", author.write(turns=TURNS), "--agent", agent, "--json").line
    assert line["verdict"] == verdict


def test_show_tells_the_conversation(author: Author, steelyard: Steelyard, script: Any) -> None:
    line = steelyard("run", author.write(turns=TURNS), "--agent", script(TALKING), "--json").line
    shown = steelyard("show", line["run"])
    assert "answer 3: Thank you. Anything else?" in shown.out
    assert steelyard("verify", line["run"]).code == 0


def test_turns_go_to_the_same_container(author: Author, steelyard: Steelyard, script: Any) -> None:
    small = {"memory_mb": {"guaranteed": 64, "limit": 512}, "disk_mb": 64, "processes": 64}
    contract = author.write(turns=TURNS, environment={**small, "sandbox": "docker", "image": image().id})
    line = steelyard("run", contract, "--agent", script(TALKING), "--json").line
    assert (line["verdict"], len(events(line, "agent.message"))) == ("pass", 3)
