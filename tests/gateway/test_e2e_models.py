"""An agent that asks a model, through the command line: metered, capped, recorded, replayed, and without the real key."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from containers import in_docker

from authoring import Author, CliResult, Steelyard, payloads
from gateway_rig import AGENT, AGENT_KEY, FIXING
from steelyard.gateway.scripted import ScriptedModel, environment, serving


@contextmanager
def run_with(
    steelyard: Steelyard, author: Author, script: Any, answers: Any, *words: str, **keys: Any
) -> Iterator[tuple[CliResult, ScriptedModel]]:
    model = ScriptedModel(answers)
    contract = author.write(**keys)
    agent = ("--agent", "mine=" + script(AGENT, "agent.py"), "--agent-provider", "anthropic")
    with serving(model) as url:
        env = {**environment(url), "ANTHROPIC_API_KEY": AGENT_KEY, "STEELYARD_JUDGE": "off"}
        yield steelyard("run", contract, *agent, "--json", *words, env=env), model


SANDBOXES = ["bubblewrap", "docker", "local"]
LIMITS = {"memory_mb": {"guaranteed": 64, "limit": 512}, "disk_mb": 64, "processes": 64}


def own_cost(line: dict[str, Any]) -> dict[str, Any]:
    """What the models cost, without the items of the whole run."""
    return {key: line["cost"][key] for key in ("usd", "units", "method")}


def everything_in(folder: str) -> bytes:
    return b"".join(path.read_bytes() for path in Path(folder).rglob("*") if path.is_file())


def test_an_agent_is_weighed_with_its_models(author: Author, steelyard: Steelyard, script: Any) -> None:
    with run_with(steelyard, author, script, FIXING) as (result, model):
        line = result.line
    assert line["verdict"] == "pass", result
    billed = model.billed
    assert line["usage"] == {
        "tokens_in": billed.tokens_in,
        "tokens_out": billed.tokens_out,
        "cache_read": 600,
        "cache_write": 0,
        "model_calls": 3,
        "tool_calls": None,
        "test_cycles": None,
    }
    assert own_cost(line) == {"usd": pytest.approx(0.01605), "units": None, "method": "library"}
    assert line["durations"]["waited_s"] >= 1
    assert line["durations"]["working_s"] + line["durations"]["waited_s"] < line["durations"]["wall_s"]
    report = json.loads(Path(line["folder"], "report.json").read_text())
    assert report["cost"]["matched_models"] == {"claude-opus-4-5": 3}
    manifest = json.loads(Path(line["folder"], "manifest.json").read_text())
    assert manifest["gateway"]["mode"] == "live"
    assert manifest["environment"]["network"] == ["model gateway (anthropic)"]
    seen = json.loads(Path(line["folder"], "agent", "stdout.txt").read_text().splitlines()[0])
    assert seen["ANTHROPIC_API_KEY"].startswith("sk-steelyard-")
    assert AGENT_KEY.encode() not in everything_in(line["folder"])
    shown = steelyard("show", line["folder"])
    assert "3 model calls, 3,000 tokens in (600 from a cache), 150 out, 0.016" in " ".join(shown.out.split())


def test_every_sandbox_reaches_the_gateway(
    kind: str, author: Author, steelyard: Steelyard, script: Any
) -> None:
    place = {**LIMITS, **(in_docker() if kind == "docker" else {"sandbox": kind})}
    with run_with(steelyard, author, script, FIXING, environment=place) as (result, model):
        line = result.line
    assert (line["verdict"], line["usage"]["tokens_in"]) == ("pass", model.billed.tokens_in), result


def test_a_run_that_reaches_its_token_cap_is_stopped(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    budget = {"wall_s": 60, "headroom": {"wall_s": 30}, "tokens": 2500}
    with run_with(steelyard, author, script, FIXING, budget=budget) as (result, model):
        line = result.line
    assert (line["verdict"], line["termination"], line["stopped_by"]) == (
        "fail",
        "token_cap",
        "budget tokens",
    )
    assert len(model.ledger) == 3  # one refusal, two answers
    (alert,) = [one for one in payloads(line, "monitor.alert") if one["code"] == "token_cap"]
    assert alert["threshold"] == {"tokens": 2500}
    assert len(alert["events"]) == 2  # the last request and its cost


def test_prices_of_the_operators_own_are_used_and_named(
    author: Author, steelyard: Steelyard, script: Any, tmp_path: Path
) -> None:
    (tmp_path / "prices.csv").write_text("action_type,unit,unit_price,notes\nllm_request,token,0.001,each\n")
    words = ("--cost-model", str(tmp_path / "prices.csv"))
    with run_with(steelyard, author, script, FIXING, *words) as (result, _):
        line = result.line
    assert own_cost(line) == {"usd": pytest.approx(3.15), "units": None, "method": "csv"}
    report = json.loads(Path(line["folder"], "report.json").read_text())
    assert report["cost"]["id"].startswith("sha256:")


def test_a_key_that_the_upstream_refuses_makes_the_run_invalid(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    with run_with(steelyard, author, script, [{"status": 401, "body": "no"}]) as (result, _):
        (line,) = result.lines  # no second attempt
    assert (line["status"], line["termination"]) == ("invalid", "infrastructure")
    assert "refused the key in ANTHROPIC_API_KEY" in line["rationale"]


def test_a_missing_key_is_refused_before_anything_starts(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    agent = ("--agent", script(AGENT, "agent.py"), "--agent-provider", "anthropic")
    result = steelyard("run", author.write(), *agent, env={"ANTHROPIC_API_KEY": ""})
    assert result.code == 2
    assert "set ANTHROPIC_API_KEY" in result.err
    assert "Traceback" not in result.err


def test_a_recorded_run_replays_without_a_model_or_a_key(
    author: Author, steelyard: Steelyard, script: Any, tmp_path: Path
) -> None:
    tape = str(tmp_path / "tape")
    with run_with(steelyard, author, script, FIXING, "--record", tape) as (result, _):
        first = result.line
    agent = ("--agent", "mine=" + script(AGENT, "agent.py"), "--agent-provider", "anthropic")
    env = {"ANTHROPIC_API_KEY": "", "STEELYARD_JUDGE": "off"}
    again = steelyard("run", author.folder, *agent, "--json", "--replay", tape, "--repeats", "2", env=env)
    assert [one["verdict"] for one in again.lines] == ["pass", "pass"], again
    assert [one["usage"] for one in again.lines] == [first["usage"]] * 2
    changes = {Path(one["folder"], "change.json").read_bytes() for one in (first, *again.lines)}
    assert len(changes) == 1
    assert AGENT_KEY not in "".join(path.read_text() for path in Path(tape).rglob("*.json"))


def test_under_a_privacy_policy_no_record_has_what_a_pattern_matches(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    answers = {
        "turns": [*FIXING["turns"][1:-1], {"text": "Ask ann@work.org."}],
        "usage": {"tokens_in": 9, "tokens_out": 9},
    }
    words = ("--model-text", "redacted", "--redact", r"mail=[a-z]+@[a-z]+\.org")
    with run_with(steelyard, author, script, answers, *words) as (result, _):
        line = result.line
    assert line["verdict"] == "pass", result
    assert b"ann@work" not in everything_in(line["folder"])
    assert [one["redacted"]["count"] for one in payloads(line, "model.response")] == [0, 1]
    manifest = json.loads(Path(line["folder"], "manifest.json").read_text())
    assert (manifest["gateway"]["model_text"], len(manifest["gateway"]["redaction"])) == ("redacted", 64)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--redact", "a=b"), "--redact is for --model-text redacted"),
        (("--model-text", "redacted", "--redact", "a=("), "not a regular expression"),
        (("--model-text", "digest", "--record", "tape"), "--record keeps the whole text"),
    ],
)
def test_a_privacy_policy_that_contradicts_itself_is_refused(
    words: tuple[str, ...], why: str, author: Author, steelyard: Steelyard
) -> None:
    result = steelyard(
        "run", author.write(), "--agent", "mine=command:true", "--agent-provider", "anthropic", *words
    )
    assert (result.code, why in result.err) == (2, True), result


def test_options_of_models_without_an_agent_that_has_any_are_refused(
    author: Author, steelyard: Steelyard
) -> None:
    result = steelyard("run", author.write(), "--agent", "noop", "--cost-model", "prices.csv")
    assert result.code == 2
    result = steelyard("run", author.folder, "--agent", "noop", "--upstream", "openai=http://127.0.0.1:1")
    assert "--agent-provider" in result.err
