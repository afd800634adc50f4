"""An agent that asks a model, through the command line: metered, capped, recorded, replayed, and without the real key."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from authoring import Author, Said, Steelyard, payloads
from steelyard.gateway.scripted import ScriptedModel, environment, serving

KEY = "sk-ant-real-0123456789abcdefghijklmnopqrstuv"
USAGE = {"tokens_in": 1000, "tokens_out": 50, "cache_read": 200}
# The loop of a coding agent: ask, run what the model calls, tell it the result, until it calls nothing.
AGENT = """#!/usr/bin/python3
import json, os, subprocess, sys, urllib.error, urllib.request
print(json.dumps(dict(os.environ)))
tool = {"name": "bash", "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}}}
messages = [{"role": "user", "content": "Make add() add."}]
for _ in range(9):
    body = {"model": "claude-opus-4-5", "max_tokens": 1000, "tools": [tool], "messages": messages}
    headers = {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "anthropic-version": "2023-06-01"}
    url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
    try:
        request = urllib.request.Request(url, json.dumps(body).encode(), headers)
        answer = json.load(urllib.request.urlopen(request, timeout=60))
    except urllib.error.HTTPError as error:
        print(error.read().decode())
        sys.exit(3)
    messages.append({"role": "assistant", "content": answer["content"]})
    calls = [one for one in answer["content"] if one["type"] == "tool_use"]
    if not calls:
        break
    results = []
    for one in calls:
        done = subprocess.run(["sh", "-c", one["input"]["command"]], capture_output=True, text=True)
        results.append({"type": "tool_result", "tool_use_id": one["id"], "content": done.stdout})
    messages.append({"role": "user", "content": results})
"""
FIXING: dict[str, Any] = {
    "turns": [
        {"text": "I look first.", "do": {"shell": "ls; date"}, "fault": {"status": 429, "retry_after": 1}},
        {"do": {"edit": {"path": "add.sh", "old": "$1 - $2", "new": "$1 + $2"}}},
        {"text": "Done."},
    ],
    "usage": USAGE,
}


@contextmanager
def run_with(
    steelyard: Steelyard, author: Author, script: Any, answers: Any, *words: str, **keys: Any
) -> Iterator[tuple[Said, ScriptedModel]]:
    model = ScriptedModel(answers)
    contract = author.write(**keys)
    agent = ("--agent", "mine=" + script(AGENT, "agent.py"), "--agent-provider", "anthropic")
    with serving(model) as url:
        env = {**environment(url), "ANTHROPIC_API_KEY": KEY, "STEELYARD_JUDGE": "off"}
        yield steelyard("run", contract, *agent, "--json", *words, env=env), model


def everything_in(folder: str) -> bytes:
    return b"".join(path.read_bytes() for path in Path(folder).rglob("*") if path.is_file())


def test_an_agent_is_weighed_with_its_models(author: Author, steelyard: Steelyard, script: Any) -> None:
    with run_with(steelyard, author, script, FIXING) as (said, model):
        line = said.line
    assert line["verdict"] == "pass", said
    billed = model.billed
    assert line["usage"] == {
        "tokens_in": billed.tokens_in,
        "tokens_out": billed.tokens_out,
        "cache_read": 600,
        "cache_write": 0,
        "model_calls": 3,
    }
    assert line["cost"] == {"usd": pytest.approx(0.01605), "units": None, "method": "library"}
    assert line["durations"]["waited_s"] >= 1
    assert line["durations"]["working_s"] + line["durations"]["waited_s"] < line["durations"]["wall_s"]
    report = json.loads(Path(line["folder"], "report.json").read_text())
    assert report["cost"]["matched_models"] == {"claude-opus-4-5": 3}
    manifest = json.loads(Path(line["folder"], "manifest.json").read_text())
    assert manifest["gateway"]["mode"] == "live"
    assert manifest["environment"]["network"] == ["model gateway (anthropic)"]
    seen = json.loads(Path(line["folder"], "agent", "stdout.txt").read_text().splitlines()[0])
    assert seen["ANTHROPIC_API_KEY"].startswith("sk-steelyard-")
    assert KEY.encode() not in everything_in(line["folder"])
    shown = steelyard("show", line["folder"])
    assert "3 model calls, 3,000 tokens in (600 from a cache), 150 out, 0.016" in " ".join(shown.out.split())


def test_a_run_that_reaches_its_token_cap_is_stopped(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    budget = {"wall_s": 60, "headroom": {"wall_s": 30}, "tokens": 2500}
    with run_with(steelyard, author, script, FIXING, budget=budget) as (said, model):
        line = said.line
    assert (line["verdict"], line["termination"], line["stopped_by"]) == (
        "fail",
        "token_cap",
        "budget tokens",
    )
    assert len(model.ledger) == 3  # one refusal, two answers
    (alert,) = [one for one in payloads(line, "monitor.alert") if one["code"] == "token_cap"]
    assert alert["threshold"] == {"tokens": 2500}


def test_prices_of_the_operators_own_are_used_and_named(
    author: Author, steelyard: Steelyard, script: Any, tmp_path: Path
) -> None:
    (tmp_path / "prices.csv").write_text("action_type,unit,unit_price,notes\nllm_request,token,0.001,each\n")
    words = ("--cost-model", str(tmp_path / "prices.csv"))
    with run_with(steelyard, author, script, FIXING, *words) as (said, _):
        line = said.line
    assert line["cost"] == {"usd": pytest.approx(3.15), "units": None, "method": "csv"}
    report = json.loads(Path(line["folder"], "report.json").read_text())
    assert report["cost"]["id"].startswith("sha256:")


def test_a_key_that_the_upstream_refuses_makes_the_run_invalid(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    with run_with(steelyard, author, script, [{"status": 401, "body": "no"}]) as (said, _):
        line = said.lines[-1]
    assert (line["status"], line["termination"]) == ("invalid", "infrastructure")
    assert "refused the key in ANTHROPIC_API_KEY" in line["rationale"]


def test_a_missing_key_is_refused_before_anything_starts(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    agent = ("--agent", script(AGENT, "agent.py"), "--agent-provider", "anthropic")
    said = steelyard("run", author.write(), *agent, env={"ANTHROPIC_API_KEY": ""})
    assert said.code == 2
    assert "set ANTHROPIC_API_KEY" in said.err
    assert "Traceback" not in said.err


def test_a_recorded_run_replays_without_a_model_or_a_key(
    author: Author, steelyard: Steelyard, script: Any, tmp_path: Path
) -> None:
    tape = str(tmp_path / "tape")
    with run_with(steelyard, author, script, FIXING, "--record", tape) as (said, _):
        first = said.line
    agent = ("--agent", "mine=" + script(AGENT, "agent.py"), "--agent-provider", "anthropic")
    env = {"ANTHROPIC_API_KEY": "", "STEELYARD_JUDGE": "off"}
    again = steelyard("run", author.folder, *agent, "--json", "--replay", tape, "--repeats", "2", env=env)
    assert [one["verdict"] for one in again.lines] == ["pass", "pass"], again
    assert [one["usage"] for one in again.lines] == [first["usage"]] * 2
    changes = {Path(one["folder"], "change.json").read_bytes() for one in (first, *again.lines)}
    assert len(changes) == 1
    assert KEY not in "".join(path.read_text() for path in Path(tape).rglob("*.json"))


def test_options_of_models_without_an_agent_that_has_any_are_refused(
    author: Author, steelyard: Steelyard
) -> None:
    said = steelyard("run", author.write(), "--agent", "noop", "--cost-model", "prices.csv")
    assert said.code == 2
    said = steelyard("run", author.folder, "--agent", "noop", "--upstream", "openai=http://127.0.0.1:1")
    assert "--agent-provider" in said.err
