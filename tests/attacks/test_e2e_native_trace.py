"""An agent that writes a trace to get out of a failure, or into the numbers.

The trace of a client is written by the agent's own processes. An agent that cannot do its task claims that the model's API
failed: such a run would be invalid and be tried again, as often as it takes. Another one claims that it used nothing. Neither
is believed: what the gateway saw counts.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fake_client import install_fake

from authoring import Author, Steelyard
from steelyard.gateway.scripted import ScriptedModel, environment, serving


@pytest.fixture
def weigh(steelyard: Steelyard, author: Author, cache: Path) -> Any:
    def run(behaviour: str) -> dict[str, Any]:
        agent = install_fake(cache, behaviour)
        model = ScriptedModel({"turns": [{"text": "go on"}], "usage": {"tokens_in": 1000, "tokens_out": 50}})
        with serving(model) as url:
            printed = steelyard("run", author.write(), "--agent", agent, "--json", env=environment(url))
        return {
            **printed.line,
            "report": json.loads((Path(printed.line["folder"]) / "report.json").read_text()),
        }

    return run


def test_an_api_error_that_only_the_trace_claims_is_a_failure_of_the_agent(weigh: Any) -> None:
    result = weigh("blame")
    assert result["verdict"] == "fail"
    assert result["report"]["termination"]["code"] == "agent_crash"


def test_a_claim_of_cost_is_not_counted(weigh: Any) -> None:
    report = weigh("lie")["report"]
    assert report["usage"]["tokens_in"] == 1000
    assert report["cost"]["usd"] > report["cost"]["claimed"]["usd"]
