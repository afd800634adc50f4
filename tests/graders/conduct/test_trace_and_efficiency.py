"""`trace` and `efficiency`: what the events of a run show, and what they cannot show."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from cases import case
from hypothesis import given
from hypothesis import strategies as st

from steelyard.contract.catalogue import GraderEntry
from steelyard.contract.load import load_contract
from steelyard.errors import ContractFault
from steelyard.evidence.trace.chain import read_events
from steelyard.evidence.trace.events import EventLog
from steelyard.evidence.trace.model_usage import ModelUsage
from steelyard.evidence.trace.summary import Summary, summarise_events
from steelyard.filesystem.cache import Cache
from steelyard.graders.base import Case
from steelyard.graders.catalogue import CATALOGUE
from steelyard.graders.conduct.efficiency import Efficiency, target_score
from steelyard.graders.conduct.trace import RequiredTool, Trace
from steelyard.graders.grade import Grade

Events = list[tuple[str, dict[str, Any]]]

WHOLE = ("tool.call", {"kind": "execute", "argv": ["agent"], "whole_agent": True})
WRITE, READ = ("tool.call", {"kind": "write"}), ("tool.call", {"kind": "read"})
ASKED = ("permission.request", {"tool": "rm"})
DENIED, ALLOWED = (
    ("permission.decision", {"decision": "deny"}),
    ("permission.decision", {"decision": "allow"}),
)
METERED = ("model.response", {"usage": {"tokens_in": 900, "tokens_out": 100}})
UNMETERED = ("model.response", {"role": "assistant"})
COST = ("cost", {"usd": 0.5})


def traced(folder: Path, events: Events) -> Case:
    with EventLog(folder / "events.jsonl") as log:
        for kind, payload in events:
            log.append(kind, "harness" if kind in {"model.response", "cost"} else "agent", payload)
    return replace(case({}), trace=summarise_events(read_events(folder / "events.jsonl")))


def tool(kind: Any) -> RequiredTool:
    return RequiredTool(kind)


TRACES: list[tuple[Trace, Events, str, str]] = [
    (Trace((tool("write"),)), [WRITE], "pass", "1 write calls"),
    (Trace((tool("write"),)), [READ], "fail", "0 write calls"),
    (Trace((tool("write"), tool("read"))), [WRITE, READ], "pass", ""),
    (Trace((tool("write"), tool("search"))), [WRITE, READ], "fail", "0 search calls"),
    (Trace((tool("execute"),)), [WHOLE], "not_applicable", "were not recorded"),
    (Trace((tool("execute"),)), [], "not_applicable", "were not recorded"),
    (Trace((tool("execute"),)), [WHOLE, WRITE], "fail", "0 execute calls"),
    (Trace((tool("write"),)), [METERED], "not_applicable", "write calls unknown"),
    (Trace(require_no_denied=True), [WRITE, ASKED, ALLOWED], "pass", "permissions denied: 0"),
    (Trace(require_no_denied=True), [WRITE, ASKED, DENIED, ALLOWED], "fail", "permissions denied: 1"),
    (Trace(require_no_denied=True), [WRITE], "not_applicable", "permissions not reported"),
    (Trace((tool("write"),), require_no_denied=True), [WRITE], "pass", "permissions not reported"),
    (Trace(max_tool_calls=2), [WRITE, READ], "pass", "2 of 2 tool calls"),
    (Trace(max_tool_calls=1), [WRITE, READ], "fail", "2 of 1 tool calls"),
    (Trace(max_tool_calls=0), [METERED], "not_applicable", "tool calls unknown"),
    (Trace(max_tokens=1000), [METERED], "pass", "1000 of 1000 tokens"),
    (Trace(max_tokens=1000), [METERED, METERED], "fail", "2000 of 1000 tokens"),
    (Trace(max_tokens=1000), [METERED, UNMETERED], "not_applicable", "tokens unknown"),
    (Trace(max_tokens=1000), [WRITE], "not_applicable", "tokens unknown"),
    (Trace(max_cost_usd=0.5), [WRITE, COST], "pass", "0.5 of 0.5 dollars"),
    (Trace(max_cost_usd=0.4), [WRITE, COST], "fail", "0.5 of 0.4 dollars"),
    (Trace(max_cost_usd=0.9), [WRITE, COST, COST], "fail", "1 of 0.9 dollars"),
    (Trace(max_cost_usd=1), [WRITE], "not_applicable", "dollars unknown"),
    (Trace(max_cost_usd=1, max_tool_calls=0), [WRITE], "fail", "dollars unknown"),
    (Trace(max_cost_usd=1), [COST], "not_applicable", "were not recorded"),
]


@pytest.mark.parametrize(("grader", "events", "outcome", "why"), TRACES)
def test_a_trace_holds_when_everything_that_is_known_does(
    grader: Trace, events: Events, outcome: str, why: str, tmp_path: Path
) -> None:
    grade = grader.grade(traced(tmp_path, events))
    score = {"pass": 1.0, "fail": 0.0, "not_applicable": None}[outcome]
    assert (grade.outcome, grade.score) == (outcome, score)
    assert why in grade.why


def spent(tokens: int | None = None, calls: int = 1, cost: float | None = None) -> Case:
    made = Summary(models=ModelUsage(usd=cost, responses=1))
    made.kinds["write"] = calls
    made.types["model.response"] = 1
    made.models.metered, made.models.tokens_in = int(tokens is not None), tokens or 0
    return replace(case({}), trace=made)


EFFICIENCIES: list[tuple[Efficiency, Case, float | None, str]] = [
    (Efficiency(target_tokens=1000), spent(tokens=1000), 1.0, "1000 tokens, target 1000"),
    (Efficiency(target_tokens=1000), spent(tokens=1), 1.0, ""),
    (Efficiency(target_tokens=1000), spent(tokens=2000), 0.5, ""),
    (Efficiency(target_cost_usd=0.3), spent(cost=0.4), 0.75, ""),
    (Efficiency(target_tool_calls=5), spent(calls=20), 0.25, ""),
    (Efficiency(target_tokens=1000, target_tool_calls=1), spent(tokens=2000, calls=1), 0.75, ""),
    (Efficiency(target_cost_usd=1, target_tool_calls=1), spent(calls=2), 0.5, "dollars unknown"),
    (Efficiency(target_cost_usd=1), spent(), None, "dollars unknown"),
    (Efficiency(target_tokens=0), spent(tokens=0), 1.0, ""),
    (Efficiency(target_tokens=0), spent(tokens=5), 0.0, ""),
    (Efficiency(target_cost_usd=0.0), spent(cost=0.0), 1.0, ""),
    (Efficiency(target_cost_usd=1), case({}), None, "were not recorded"),
]


@pytest.mark.parametrize(("grader", "made", "score", "why"), EFFICIENCIES)
def test_efficiency_is_the_mean_over_what_is_known(
    grader: Efficiency, made: Case, score: float | None, why: str
) -> None:
    grade = grader.grade(made)
    assert grade.score == (None if score is None else pytest.approx(score))
    assert why in grade.why


@pytest.mark.parametrize(("score", "outcome"), [(0.8, "pass"), (0.79, "fail"), (1.0, "pass"), (0.0, "fail")])
def test_efficiency_passes_at_its_own_threshold(score: float, outcome: str) -> None:
    assert Grade.share(score, "").at(Efficiency.PASS_THRESHOLD).outcome == outcome


@given(target=st.floats(0, 1e9), used=st.floats(0, 1e9), more=st.floats(0, 1e9))
def test_spending_more_is_never_worth_more(target: float, used: float, more: float) -> None:
    assert 0 <= target_score(target, used + more) <= target_score(target, used) <= 1
    assert target_score(target, target) == 1


def loaded(tmp_path: Path, **keys: Any) -> GraderEntry:
    folder = tmp_path / "demo"
    (folder / "repo").mkdir(parents=True)
    (folder / "repo" / "a.py").write_text("")
    contract = {
        "id": "demo",
        "brief": "Mend it.",
        "repository": {"tree": "repo"},
        "build": "none",
        "oracle": {"checks": [{"id": "accept", "cmd": "true"}]},
        "graders": [keys],
    }
    (folder / "contract.yaml").write_text(yaml.safe_dump(contract))
    return load_contract(folder, CATALOGUE, Cache(tmp_path / "cache")).graders[0]


@pytest.mark.parametrize(
    ("keys", "under", "threshold"),
    [
        ({"type": "trace", "max_tool_calls": 3}, "safety", 1.0),
        ({"type": "efficiency", "target_tokens": 3}, "acceptance", 0.8),
        ({"type": "efficiency", "target_tokens": 3, "pass_threshold": 0.5}, "acceptance", 0.5),
    ],
)
def test_trace_and_efficiency_weigh_1_and_are_not_required_by_default(
    keys: dict[str, Any], under: str, threshold: float, tmp_path: Path
) -> None:
    entry = loaded(tmp_path, **keys)
    assert (entry.under, entry.required, entry.weight, entry.pass_threshold) == (under, False, 1.0, threshold)


MISTAKES: list[tuple[dict[str, Any], str, str]] = [
    ({"type": "trace"}, "graders[0]", "checks nothing: set one of require_tools"),
    ({"type": "trace", "require_tools": []}, "graders[0]", "checks nothing"),
    ({"type": "trace", "require_tools": [{"kind": "fly"}]}, "graders[0].require_tools[0].kind", "'read'"),
    ({"type": "trace", "require_tools": ["write"]}, "graders[0].require_tools[0]", "a mapping"),
    ({"type": "trace", "max_tool_calls": -1}, "graders[0].max_tool_calls", "at least 0"),
    ({"type": "trace", "max_cost_usd": "1"}, "graders[0].max_cost_usd", "a number"),
    ({"type": "efficiency"}, "graders[0]", "checks nothing: set target_cost_usd"),
    ({"type": "efficiency", "target_tokens": 1.5}, "graders[0].target_tokens", "whole number"),
    ({"type": "efficiency", "target_cost_usd": -1}, "graders[0].target_cost_usd", "at least 0"),
]


@pytest.mark.parametrize(("keys", "field", "result"), MISTAKES)
def test_a_mistake_is_reported_before_anything_runs(
    keys: dict[str, Any], field: str, result: str, tmp_path: Path
) -> None:
    with pytest.raises(ContractFault) as caught:
        loaded(tmp_path, **keys)
    (problem,) = caught.value.problems
    assert (problem.field, result in problem.message) == (field, True), problem
