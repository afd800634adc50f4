"""One script drives clients with different tools, and the turn is read from the conversation."""

from __future__ import annotations

import json
from typing import Any

import pytest

from steelyard.providers.endpoints import Endpoint
from steelyard.providers.scripted.actions import Call, calls_of
from steelyard.providers.scripted.model import ScriptedModel
from steelyard.providers.scripted.script import Script

EDIT = {"do": {"edit": {"path": "a.py", "old": "x", "new": "y"}}}
STRING, LIST = {"type": "string"}, {"type": "array"}


def tool(wire: str, name: str, required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    if wire == "messages":
        return {"name": name, "input_schema": schema}
    if wire == "generate":
        return {"functionDeclarations": [{"name": name, "parametersJsonSchema": schema}]}
    declared = {"name": name, "parameters": schema}
    return (
        {"type": "function", **declared}
        if wire == "responses"
        else {"type": "function", "function": declared}
    )


@pytest.mark.parametrize(
    ("wire", "offered", "call"),
    [
        (
            "messages",
            [tool("messages", "Bash", ("command", "description"), command=STRING, description=STRING)],
            Call("Bash", {"command": "ls", "description": "scripted"}),
        ),
        ("responses", [tool("responses", "exec_command", cmd=STRING)], Call("exec_command", {"cmd": "ls"})),
        (
            "responses",
            [tool("responses", "shell", command=LIST)],
            Call("shell", {"command": ["bash", "-lc", "ls"]}),
        ),
        ("chat", [tool("chat", "bash", command=STRING)], Call("bash", {"command": "ls"})),
        ("chat", [tool("chat", "run_commands", commands=LIST)], Call("run_commands", {"commands": ["ls"]})),
        (
            "generate",
            [tool("generate", "run_shell_command", command=STRING)],
            Call("run_shell_command", {"command": "ls"}),
        ),
    ],
)
def test_a_command_is_run_by_the_tool_that_is_offered(wire: str, offered: list[Any], call: Call) -> None:
    assert calls_of({"do": {"shell": "ls"}}, wire, {"tools": offered}) == [call]


def test_an_edit_uses_the_clients_own_tool_or_the_shell() -> None:
    own = tool("messages", "Edit", file_path=STRING, old_string=STRING, new_string=STRING)
    assert calls_of(EDIT, "messages", {"tools": [own]}) == [
        Call("Edit", {"file_path": "a.py", "old_string": "x", "new_string": "y"})
    ]
    (call,) = calls_of(EDIT, "messages", {"tools": [tool("messages", "bash", command=STRING)]})
    assert call.arguments["command"].startswith("python3 -c")


def test_a_client_without_a_shell_is_an_error_that_names_its_tools() -> None:
    with pytest.raises(ValueError, match="there are Read"):
        calls_of({"do": {"shell": "ls"}}, "messages", {"tools": [tool("messages", "Read", path=STRING)]})


SCRIPT = {
    "turns": [{"do": {"shell": "one"}}, {"text": "Between.", "do": {"shell": "two"}}, {"text": "Done."}]
}
TOOLS = {
    "messages": [tool("messages", "bash", command=STRING)],
    "generate": [tool("generate", "bash", command=STRING)],
}


def turn_of(script: Any, wire: str, data: dict[str, Any]) -> int:
    return Script.of(script).choose("m", wire, data)[1].turn


def result(*ids: str) -> list[dict[str, Any]]:
    return [
        {"role": "assistant", "content": [{"type": "tool_use", "id": one, "name": "bash", "input": {}}]}
        for one in ids
    ]


def test_the_turn_follows_from_the_calls_that_were_made() -> None:
    first: dict[str, Any] = {"messages": [{"role": "user", "content": "fix"}], "tools": TOOLS["messages"]}
    assert turn_of(SCRIPT, "messages", first) == 0
    assert turn_of(SCRIPT, "messages", first) == 0  # a retry
    assert turn_of(SCRIPT, "messages", {**first, "messages": result("toolu_sy_b0_t00_0")}) == 1
    assert (
        turn_of(SCRIPT, "messages", {**first, "messages": result("toolu_sy_b0_t00_0", "toolu_sy_b0_t01_0")})
        == 2
    )


def test_the_turn_follows_from_texts_where_there_are_no_calls() -> None:
    script = {"turns": [{"text": "First words."}, {"text": "Second words."}]}
    data = {"messages": [{"role": "assistant", "content": "First words."}]}
    assert turn_of(script, "chat", data) == 1


def test_calls_without_ids_are_counted() -> None:
    call = {"role": "model", "parts": [{"functionCall": {"name": "bash", "args": {}}}]}
    assert turn_of(SCRIPT, "generate", {"contents": [call], "tools": TOOLS["generate"]}) == 1


def test_a_side_request_does_not_shift_the_script() -> None:
    reply, place = Script.of(SCRIPT).choose(
        "m", "messages", {"messages": [{"role": "user", "content": "a title"}]}
    )
    assert (reply["text"], place.turn) == ("ok", -1)


def test_a_subagent_has_a_branch_of_its_own() -> None:
    script = {**SCRIPT, "branches": [{"match": "explore", "turns": [{"text": "Explored."}]}]}
    data = {"messages": [{"role": "user", "content": "explore the code"}], "tools": TOOLS["messages"]}
    assert Script.of(script).choose("m", "messages", data)[0] == {"text": "Explored."}


def test_an_answer_is_cut_at_the_limit_of_the_request() -> None:
    model = ScriptedModel({"turns": [{"text": "word " * 100}], "usage": {"tokens_in": 5, "tokens_out": 100}})
    endpoint = Endpoint("anthropic", "messages", "/v1/messages")
    data = {"model": "m", "max_tokens": 10, "messages": []}
    reply, place = model.script.choose("m", "messages", data)
    made = model.rendered(endpoint, data, reply, place)
    assert (made.usage.tokens_out, made.cut, len(made.text)) == (10, True, 40)


@pytest.mark.parametrize(
    "script",
    [
        {"turns": [{"txt": "a"}]},
        {"turns": [{"text": "a", "fault": {"explode": True}}]},
        {"turns": [{"do": {"dance": "now"}}]},
        {"turns": [{"text": "a"}], "usgae": {}},
        {"turns": []},
        {"turns": [{"text": "a"}], "usage": {"tokens_in": "many"}},
    ],
)
def test_a_script_with_a_mistake_is_refused(script: Any) -> None:
    with pytest.raises(ValueError, match=r"reply|key|script|usage"):
        Script.of(json.loads(json.dumps(script)))
