"""The thread of the gateway dies in the middle of a run."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from authoring import Author
from gateway_rig import AGENT, AGENT_KEY, FIXING
from steelyard.contract.load import load_contract
from steelyard.evidence.folder.seal import check_seal
from steelyard.gateway.scripted import ScriptedModel, environment, serving
from steelyard.gateway.server import gateway_server
from steelyard.graders.catalogue import installed_catalogue
from steelyard.plan.agent_options import AgentOptions
from steelyard.plan.trial import Trial
from steelyard.study.engine import Engine


def test_a_gateway_that_dies_costs_the_attempt_and_not_the_trial(
    author: Author, script: Any, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first attempt is sealed as infrastructure and billed for what came; the second one is another run."""
    answers = {
        **FIXING,
        "turns": [FIXING["turns"][0], {**FIXING["turns"][1], "fault": {"hang": True}}, {"text": "Done."}],
    }
    model = ScriptedModel(answers)
    with serving(model) as url:
        variables = {**environment(url), "ANTHROPIC_API_KEY": AGENT_KEY, "STEELYARD_CACHE": str(cache)}
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        assert os.environ["STEELYARD_CACHE"]
        trial = Trial(
            load_contract(author.write(), installed_catalogue()),
            script(AGENT, "agent.py"),
            options=AgentOptions(providers=("anthropic",)),
        )
        ended = threading.Event()

        def kill() -> None:
            while not any(one["fault"] == {"hang": True} for one in model.ledger) and not ended.wait(0.02):
                pass
            gateway_server().stop()

        killing = threading.Thread(target=kill)
        killing.start()
        (result,) = Engine(tmp_path / "runs").run([trial])
        ended.set()
        killing.join()
    first, second = (record.evidence for record in result.records)
    assert (first.termination, first.rationale) == ("infrastructure", "the model gateway has stopped")
    assert check_seal(first.folder) == []
    assert first.summary.models.usage == (1000, 50)
    assert (second.termination, result.records[1].verdict.verdict) == ("completed", "pass")
    assert second.summary.models.usage == (3000, 150)
