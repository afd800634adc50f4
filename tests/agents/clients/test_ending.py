"""Only what the gateway saw makes a run invalid; an exit code of 0 alone makes none complete."""

from __future__ import annotations

from typing import Any

import pytest

from steelyard.agents.clients.ending import ModelAnswers, client_ending
from steelyard.agents.traces.items import Denial, Failure, Success
from steelyard.agents.traces.recorder import TraceFacts
from steelyard.evidence.trace.events import Event
from steelyard.sandboxes.base import CommandResult

OK = CommandResult(0)
FAILED = CommandResult(1)
ANSWERED = ModelAnswers(requests=1, responses=1)


def facts(**fields: Any) -> TraceFacts:
    return TraceFacts(**{"success": Success("done"), **fields})


def error(**payload: Any) -> ModelAnswers:
    return ModelAnswers(requests=2, responses=1, last_error=payload)


@pytest.mark.parametrize(
    ("finished", "trace", "model", "code"),
    [
        (OK, facts(), ANSWERED, "completed"),
        (OK, facts(success=None), ANSWERED, "agent_crash"),
        (OK, facts(denials={"t1": Denial("Edit")}), ANSWERED, "agent_crash"),
        (OK, facts(failure=Failure("refusal", "no")), ANSWERED, "agent_crash"),
        (OK, facts(failure=Failure("api", "API Error")), ANSWERED, "agent_crash"),
        (FAILED, facts(failure=Failure("limit_turns", "30")), ANSWERED, "model_call_cap"),
        (OK, facts(failure=Failure("limit_cost", "$1")), ANSWERED, "cost_cap"),
        (FAILED, facts(), ANSWERED, "agent_crash"),
        (CommandResult(127), facts(success=None), ModelAnswers(), "infrastructure"),
        (
            CommandResult(None, not_started="no such file"),
            facts(success=None),
            ModelAnswers(),
            "infrastructure",
        ),
        (OK, facts(), ModelAnswers(), "infrastructure"),
        (FAILED, facts(), error(kind="status", status=401, why="HTTP 401"), "infrastructure"),
        (OK, facts(failure=Failure("api", "x")), error(kind="status", status=529, why="x"), "infrastructure"),
        (FAILED, facts(), error(kind="connection", status=None, why="refused"), "infrastructure"),
        (FAILED, facts(), error(kind="status", status=400, why="too long"), "agent_crash"),
        (FAILED, facts(), error(kind="cancelled", status=None, why="the client has gone"), "agent_crash"),
        (FAILED, facts(), error(kind="client_gone", status=200, why="closed"), "agent_crash"),
        (OK, facts(), error(kind="status", status=500, why="a side request"), "completed"),
        (CommandResult(None, timed_out=True), facts(), ANSWERED, "wall_time"),
        (CommandResult(None, timed_out=True), facts(), ModelAnswers(requests=1), "infrastructure"),
        (CommandResult(None, timed_out=True), facts(), ModelAnswers(), "wall_time"),
        (CommandResult(None, lost=True), facts(), ANSWERED, "infrastructure"),
    ],
)
def test_the_end_of_a_client_follows_from_its_exit_its_trace_and_the_gateway(
    finished: CommandResult, trace: TraceFacts, model: ModelAnswers, code: str
) -> None:
    assert client_ending("codex", finished, trace, model).code == code


def test_only_events_of_the_harness_are_answers_of_a_model() -> None:
    """An agent that writes `model.response` itself has not reached a model."""
    model = ModelAnswers()
    model(Event(1, 1, "", "model.response", "agent", {}, "", ""))
    assert model.responses == 0
    model(Event(2, 2, "", "model.response", "harness", {}, "", ""))
    assert model.responses == 1
