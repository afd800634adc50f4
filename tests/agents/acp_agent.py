#!/usr/bin/python3 -I
"""A small agent of the Agent Client Protocol, for tests: it asks the model once, asks for permission, and edits."""

import json
import os
import sys
import urllib.request


def send(**message: object) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)  # noqa: T201  # the protocol


def update(**fields: object) -> None:
    send(method="session/update", params={"sessionId": "s1", "update": fields})


def ask_model() -> None:
    body = {"model": "gpt-5", "messages": [{"role": "user", "content": "go"}]}
    headers = {"authorization": f"Bearer {os.environ['OPENAI_API_KEY']}", "content-type": "application/json"}
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)).read()  # noqa: S310


def prompt(number: object) -> None:
    ask_model()
    update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": "I mend "})
    update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": "it."})
    update(sessionUpdate="of_next_year", value="\x1b[31m")
    options = [
        {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
        {"optionId": "no", "name": "No", "kind": "reject_once"},
    ]
    call = {
        "toolCallId": "c1",
        "title": "Edit",
        "kind": "edit",
        "rawInput": {},
        "locations": [{"path": "/workspace/add.sh"}],
    }
    send(
        id=100,
        method="session/request_permission",
        params={"sessionId": "s1", "toolCall": call, "options": options},
    )
    answer = json.loads(sys.stdin.readline())
    is_allowed = answer["result"]["outcome"].get("optionId") == "yes"
    if is_allowed:
        with open("add.sh", "w") as file:  # noqa: PTH123
            file.write("echo $(($1 + $2))\n")
    update(sessionUpdate="tool_call_update", toolCallId="c1", status="completed" if is_allowed else "failed")
    send(id=number, result={"stopReason": "end_turn"})


for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "initialize":
        send(id=message["id"], result={"protocolVersion": 1, "agentInfo": {"name": "test", "version": "1"}})
    elif message["method"] == "session/new":
        send(id=message["id"], result={"sessionId": "s1"})
    elif message["method"] == "session/prompt":
        prompt(message["id"])
