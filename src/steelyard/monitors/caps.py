"""Contract, agent and sandbox -> which caps bind this run, and by what.

"caps": {"tool_calls": {"value": 400, "enforced": "none"}, ...}
"enforced_caps": ["wall_s", "cpu_s", ...]       those that something enforces
"stated_caps": ["wall_s"]                       those that the contract or its suite states; the others are defaults
"observation": {"processes": "sampled", "system_calls": "refused"}    `refused`: those that the sandbox refuses are events

clock       the harness ends the agent's work
events      a monitor counts what the agent reports
sampled     a monitor counts what is seen in the sandbox from outside; what is short may stay unseen
gateway     the model gateway counts before it spends
no_network  no model can be reached, so that nothing can be spent
none        nothing measures it
"""

from __future__ import annotations

from typing import Any

from steelyard.agents.base import Agent
from steelyard.contract.model import ContractSpec
from steelyard.sandboxes.base import Facts

_OF_MODELS = ("cost_usd", "cost_units", "tokens", "model_calls")
_OF_CALLS = ("tool_calls", "failed_checks", "command_s")
_SAMPLED = ("dependency_installs", "cpu_s", "memory_mb", "disk_mb", "processes")
_REPORTING = frozenset({"client"})  # a parameter of clients whose calls become events
_SEEN = frozenset({"bubblewrap", "docker", "local"})


def caps_of(spec: ContractSpec, agent: Agent, facts: Facts, *, has_gateway: bool) -> dict[str, Any]:
    """For the manifest. A cap without a value is not listed."""
    budget = spec.budget.model_dump(mode="json")
    enforced = {
        "wall_s": "clock",
        **_models(agent, facts, has_gateway=has_gateway),
        **_calls(agent),
        **_samples(facts),
    }
    caps = {
        name: {"value": value, "enforced": enforced[name]}
        for name, value in budget.items()
        if name != "headroom" and value is not None
    }
    return {
        "observation": {
            "processes": enforced["cpu_s"],
            "system_calls": "refused" if facts.kernel_evidence else "none",
        },
        "caps": caps,
        "enforced_caps": sorted(name for name, cap in caps.items() if cap["enforced"] != "none"),
        "stated_caps": sorted(spec.budget.model_fields_set & caps.keys()),
    }


def _models(agent: Agent, facts: Facts, *, has_gateway: bool) -> dict[str, str]:
    if has_gateway:
        return dict.fromkeys(_OF_MODELS, "gateway")
    is_offline = facts.network == "none" and not agent.resources.hosts
    return dict.fromkeys(_OF_MODELS, "no_network" if is_offline else "none")


def _calls(agent: Agent) -> dict[str, str]:
    """A known client reports its calls; any other process does not, and data makes none."""
    is_reported = not agent.in_sandbox or not _REPORTING.isdisjoint(agent.parameters())
    return dict.fromkeys(_OF_CALLS, "events" if is_reported else "none")


def _samples(facts: Facts) -> dict[str, str]:
    return dict.fromkeys(_SAMPLED, "sampled" if facts.kind in _SEEN else "none")
