"""An agent of the Agent Client Protocol works in the sandbox; what it asks for is answered by the contract and recorded."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from authoring import Author, Steelyard
from steelyard.gateway.scripted import ScriptedModel, environment, serving


@pytest.fixture
def weigh(steelyard: Steelyard, author: Author, tmp_path: Path) -> Any:
    def run(**keys: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        folder = tmp_path / "agent"
        folder.mkdir()
        folder.chmod(0o755)
        shutil.copy(Path(__file__).with_name("acp_agent.py"), folder / "agent.py")
        (folder / "agent.py").chmod(0o755)
        agent = "acp:agent=command,command=/opt/mine/agent.py,provider=openai"
        with serving(
            ScriptedModel({"turns": [{"text": "ok"}], "usage": {"tokens_in": 10, "tokens_out": 5}})
        ) as url:
            result = steelyard(
                *(
                    "run",
                    author.write(**keys),
                    "--agent",
                    agent,
                    "--agent-path",
                    f"{folder}:/opt/mine",
                    "--json",
                ),
                env=environment(url),
            )
        events = (Path(result.line["folder"]) / "events.jsonl").read_text().splitlines()
        return result.line, [json.loads(line) for line in events]

    return run


def test_a_permission_that_the_policy_does_not_forbid_is_given_and_recorded(weigh: Any) -> None:
    line, events = weigh()
    assert line["verdict"] == "pass"
    asked = next(one for one in events if one["type"] == "permission.request")
    decided = next(one for one in events if one["type"] == "permission.decision")
    assert (asked["actor"], asked["payload"]["kind"]) == ("agent", "write")
    assert (decided["actor"], decided["payload"]["decision"], decided["payload"]["option"]) == (
        "harness",
        "allow",
        "yes",
    )
    (message,) = [one["payload"] for one in events if one["type"] == "agent.message"]
    assert message["prefix"] == "I mend it."
    (trace,) = [one["payload"] for one in events if one["type"] == "agent.trace"]
    assert trace["unknown"] == 1
    assert [one["name"] for one in trace["files"]] == ["acp.jsonl"]


def test_a_permission_that_the_policy_forbids_is_refused(weigh: Any) -> None:
    line, events = weigh(policy={"allowed_paths": ["src/**"]})
    assert line["verdict"] == "fail"
    decided = next(one["payload"] for one in events if one["type"] == "permission.decision")
    assert (decided["decision"], decided["option"]) == ("deny", "no")
    assert "policy.allowed_paths" in decided["why"]


def test_a_write_that_is_asked_for_in_inspect_is_refused_by_the_mediator_and_is_an_alert(weigh: Any) -> None:
    line, events = weigh(policy={"stages": ["inspect", "write"], "require": ["enforced_stages"]})
    assert line["verdict"] == "fail"
    decided = next(one for one in events if one["type"] == "permission.decision")
    assert (decided["payload"]["decision"], decided["payload"]["stage"]) == ("deny", "inspect")
    alerts = [one["payload"] for one in events if one["type"] == "monitor.alert"]
    assert "write_in_inspect" in [one["code"] for one in alerts if decided["seq"] in one["events"]]
