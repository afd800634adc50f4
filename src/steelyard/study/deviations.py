"""Manifest and outcomes of a run -> where it departed from the planned protocol.

{"what": "framework", "planned": "numpy", "observed": null}
{"what": "attempt", "planned": 1, "observed": 2, "why": ["the launcher died"]}
{"what": "oracle", "check": "unit", "planned": "twin", "observed": "in_process"}
{"what": "budget", "planned": ["tokens"], "observed": null}             the contract states a cap that nothing enforced
{"what": "default budget", "planned": ["tool_calls"], "observed": null}  the same of a default of Steelyard's
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from steelyard.plan.trial import PROTOCOL_SEED

PLANNED_FRAMEWORK = "numpy"
DEFAULT_BUDGET = "default budget"


def protocol_of(manifest: Mapping[str, Any], outcomes: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """What was planned, what was observed, and each difference between them."""
    planned = {"framework": PLANNED_FRAMEWORK, "seed": PROTOCOL_SEED}
    # Outside a study nothing is sampled or shuffled, so there is no framework to name (docs/decisions/0005).
    seeds = manifest.get("seeds", {})
    observed = {"framework": seeds.get("framework"), "seed": seeds.get("protocol")}
    return {
        "planned": planned,
        "observed": observed,
        "deviations": [
            *(
                {"what": name, "planned": planned[name], "observed": observed[name]}
                for name in planned
                if planned[name] != observed[name]
            ),
            *_attempt_deviations(manifest),
            *_limit_deviations(manifest),
            *_cap_deviations(manifest),
            *_acceptance_deviations(manifest, outcomes),
        ],
    }


def _attempt_deviations(manifest: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The machine spoiled earlier attempts at the trial."""
    trial = manifest.get("trial", {})
    if trial.get("attempt", 1) > 1:
        why = [retry["why"] for retry in trial.get("retries", ())]
        yield {"what": "attempt", "planned": 1, "observed": trial["attempt"], "why": why}


def _limit_deviations(manifest: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A limit that nothing enforced."""
    for name, limit in sorted(manifest.get("environment", {}).get("limits", {}).items()):
        if limit.get("enforced") == "none":
            planned = f"{limit.get('value')} {limit.get('unit')}"
            yield {"what": "limit", "limit": name, "planned": planned, "observed": None}


def _cap_deviations(manifest: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The budget of an agent that is a process has caps that nothing enforced."""
    configuration = manifest.get("configuration", {})
    budget = configuration.get("budget", {})
    caps = {name for name, value in budget.items() if name != "headroom" and value is not None}
    missing = caps - set(configuration.get("enforced_caps", []))
    if not manifest.get("agent", {}).get("in_sandbox"):
        return
    # A manifest without the list: all of them
    stated = missing & set(configuration.get("stated_caps", missing))
    for what, names in (("budget", stated), (DEFAULT_BUDGET, missing - stated)):
        if names:
            yield {"what": what, "planned": sorted(names), "observed": None}


def _acceptance_deviations(
    manifest: Mapping[str, Any], outcomes: Mapping[str, Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Passes that rest on less than the contract's oracle, and checks in the agent's own sandbox.

    A failure needs no controls: there is nothing to forge.
    """
    configuration = manifest.get("configuration", {})
    if configuration.get("bench") == "live":
        yield {"what": "bench", "planned": "fresh", "observed": "live"}
    wanted = configuration.get("oracle")
    for name, outcome in sorted(outcomes.items()):
        is_weaker = outcome.get("reported") is not None and outcome.get("oracle") != wanted
        if is_weaker and outcome.get("outcome") != "fail":
            yield {"what": "oracle", "check": name, "planned": wanted, "observed": outcome.get("oracle")}
