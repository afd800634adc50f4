"""How a client's process ended, what its trace says and what the gateway saw -> how the agent ended.

A client may exit with 0 after a denial, a refusal or an error of the API: that is not `completed`. Only what the gateway saw
itself makes a run `infrastructure`: a trace that claims an error of the API is a claim of the agent, and does not cause another attempt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from steelyard.agents.base import Ending, ending_of
from steelyard.agents.traces.recorder import WHY_CHARS, TraceFacts
from steelyard.evidence.trace.chain import Event
from steelyard.evidence.trace.termination import Termination
from steelyard.sandboxes.base import CommandResult

_LIMITS: dict[str, Termination] = {"limit_turns": "model_call_cap", "limit_cost": "cost_cap"}
# Answers of a model's API that no request of the agent's brings about: no access, no money, overload. Failures are 500 and more.
_NOT_OF_AGENT = frozenset({401, 402, 403, 429})
_FAILED = 500
# Other errors may be the client's doing
_OF_UPSTREAM = frozenset({"status", "connection", "timeout", "dropped"})


@dataclass
class ModelAnswers:
    """What the gateway recorded while a client worked; a subscriber of the run's events."""

    requests: int = 0
    responses: int = 0
    last_error: dict[str, Any] | None = None  # since the last response

    def __call__(self, event: Event) -> None:
        if event.actor != "harness":
            return
        if event.type == "model.request":
            self.requests += 1
        elif event.type == "model.response":
            self.responses += 1
            self.last_error = None
        elif event.type == "model.error":
            self.last_error = dict(event.payload)

    @property
    def failure(self) -> str:
        """Why the model could not be used, where that is not the agent's doing; nothing where it could."""
        if self.last_error is None or self.last_error.get("kind") not in _OF_UPSTREAM:
            return ""
        status = self.last_error.get("status")
        if isinstance(status, int) and status < _FAILED and status not in _NOT_OF_AGENT:
            return ""
        why = str(self.last_error.get("why") or self.last_error.get("error") or "no answer")[:WHY_CHARS]
        return f"the model's API failed{f' with status {status}' if status else ''}: {why}"


def client_ending(client: str, finished: CommandResult, facts: TraceFacts, model: ModelAnswers) -> Ending:
    """The Ending of one message to a client."""
    ended = ending_of(finished)
    if ended.code == "wall_time" and model.requests and not model.responses:
        return Ending("infrastructure", f"no model answered {client} before its time was used up", finished)
    if ended.code in {"wall_time", "infrastructure"}:
        return ended
    is_done = ended.code == "completed" and facts.failure is None and facts.success is not None
    if not is_done and model.failure:
        return Ending("infrastructure", model.failure, finished)
    if not model.responses:
        return Ending(
            "infrastructure", f"{client} never reached a model: {_process_end(ended, facts)}", finished
        )
    code, why = _by_trace(ended, facts)
    return ended if code == "completed" else Ending(code, f"{client}: {why}", finished)


def _by_trace(ended: Ending, facts: TraceFacts) -> tuple[Termination, str]:
    """By the client's own word, where the model answered."""
    if facts.failure is not None:
        return _LIMITS.get(facts.failure.cause, "agent_crash"), facts.failure.why[:WHY_CHARS]
    if ended.code != "completed":
        return ended.code, _process_end(ended, facts)
    if facts.denials:
        tools = ", ".join(sorted({denial.tool for denial in facts.denials.values()}))[:WHY_CHARS]
        return (
            "agent_crash",
            f"{len(facts.denials)} tool calls were denied ({tools}), and it ended as if all was well",
        )
    return (
        ("agent_crash", "it ended without saying that it finished")
        if facts.success is None
        else ("completed", "")
    )


def _process_end(ended: Ending, facts: TraceFacts) -> str:
    """How the process ended, what the trace says of it, and the end of its error output."""
    finished = ended.finished
    parts = [ended.rationale if ended.code != "completed" else "it ended"]
    parts += [f"it says: {facts.failure.why[:WHY_CHARS]}"] if facts.failure is not None else []
    stderr = finished.stderr.text.strip()[-WHY_CHARS:] if finished is not None else ""
    return "; ".join(parts) + (f"\n{stderr}" if stderr else "")
