"""A sealed run -> what it cost, item by item: C = C_LM + C_exec + C_human + C_overhead.

    {"lm":       {"usd": 0.41, "units": null, "method": "library"},
     "exec":     {"usd": 0.02, "units": 25.4, "quantities": {"exec/minute": 1.9, "tool_call/call": 14, "provisioning/start": 3},
                  "known_usd": 0.02, "unmetered": []},
     "human":    {"usd": null, "units": null, "quantities": {"human/minute": null}, "known_usd": 0.0, "unmetered": ["human/minute"]},
     "overhead": {"usd": 0.0001, "units": 0.02, "quantities": {"overhead/run": 1, "artifact_storage/gigabyte-day": 0.002}, ...},
     "judge":    {"usd": 0.03, "method": "library", "quantities": {"judge_request/call": 1, "judge_input/token": 5210, ...}},
     "total_usd": null, "known_usd": 0.4601, "model": "<sha256 of the price list>", "fallback": "fallback/1"}

`judge` is what our own requests to judging models cost. It belongs to C_overhead: the agent did not cause it, so it is in no cap of a run.
`unmetered` has the priced quantities of which nothing is known, `known_usd` the cost of the others.

Prices are those of the operator's list (`action_type,unit,unit_price,notes`) as the manifest records it. A quantity without a
price costs an unknown amount (null), never 0; an item is known when each of its quantities is known and priced, or when the
list prices at least one of them and leaves the others out on purpose. `units` are those of the schedule `fallback/1`, which needs no
prices; an agent that is one process is one tool call.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from steelyard.evidence.evidence import Evidence
from steelyard.evidence.fallback_units import FALLBACK, UNITS_MB, units_of_calls
from steelyard.evidence.folder.folder import SEAL

_MINUTE_S = 60.0
_GB, _MB = 1e9, 1e6
RETENTION_DAYS = 1.0  # storage is priced for one day; a longer retention is a multiple of it
Quantities = Mapping[str, float | None]
NO_JUDGE: Mapping[str, Any] = {"usd": 0.0, "method": "no request", "id": None, "quantities": {}}
UNKNOWN_JUDGE: Mapping[str, Any] = {"usd": None, "method": None, "id": None, "quantities": {}}


def cost_items(
    evidence: Evidence, human_minutes: float | None = None, judge: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """`human_minutes` are those that people have recorded for this run; None: no one recorded any.

    `judge` is the cost of judging as the grading recorded it; None: no model was asked.
    """
    prices = listed_prices(evidence)
    items: dict[str, dict[str, Any]] = {
        "lm": {
            "usd": evidence.cost_usd,
            "units": evidence.summary.models.units,
            "method": evidence.summary.cost_method,
        },
        "exec": _item(_execution_quantities(evidence), prices, _execution_units(evidence)),
        "human": _item({"human/minute": human_minutes}, prices, None),
        "overhead": _item(_overhead(evidence), prices, _storage_units(evidence)),
        "judge": dict(judge or NO_JUDGE),
    }
    known = [item["usd"] for item in items.values() if item["usd"] is not None]
    return {
        **items,
        "total_usd": round(sum(known), 6) if len(known) == len(items) else None,
        "known_usd": round(sum(known), 6) if known else None,
        "model": _model(evidence).get("sha256"),
        "fallback": FALLBACK,
    }


def _execution_quantities(evidence: Evidence) -> Quantities:
    durations, counts = evidence.durations, evidence.counts
    spans = [durations["working_s"], durations["acceptance_s"]]
    calls = counts["tool_calls"]
    return {
        "exec/minute": None if None in spans else round(sum(span or 0 for span in spans) / _MINUTE_S, 6),
        "tool_call/call": None if calls is None else sum(calls.values()),
        "provisioning/start": counts["agent_processes"] + counts["check_runs"],
    }


def _execution_units(evidence: Evidence) -> float | None:
    summary, seconds = evidence.summary, evidence.durations["active_tool_s"]
    calls = summary.kinds.total() or summary.tools.total()
    return None if seconds is None else round(units_of_calls(calls, seconds), 6)


def _storage_units(evidence: Evidence) -> float | None:
    size = _stored_bytes(evidence)
    return None if size is None else round(size / _MB * UNITS_MB, 6)


def _overhead(evidence: Evidence) -> Quantities:
    size = _stored_bytes(evidence)
    return {
        "overhead/run": 1,
        "artifact_storage/gigabyte-day": None if size is None else round(size / _GB * RETENTION_DAYS, 9),
    }


def _stored_bytes(evidence: Evidence) -> int | None:
    """Of the sealed files: they never change again."""
    try:
        names, root = evidence.folder.read_json(SEAL)["files"], evidence.folder.path
        return sum(os.stat(f"{root}/{name}").st_size for name in names if "%" not in name)  # noqa: PTH116  # each run
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _model(evidence: Evidence) -> Mapping[str, Any]:
    configuration = evidence.manifest.get("configuration")
    model = configuration.get("cost_model") if isinstance(configuration, Mapping) else None
    return model if isinstance(model, Mapping) else {}


def listed_prices(evidence: Evidence) -> Mapping[str, float]:
    """The rows of the operator's list, `action_type/unit` -> price, as the manifest records them."""
    rows = _model(evidence).get("rows")
    return rows if isinstance(rows, Mapping) else {}


def _item(quantities: Quantities, prices: Mapping[str, float], units: float | None) -> dict[str, Any]:
    priced = {name: amount for name, amount in quantities.items() if name in prices}
    unmetered = sorted(name for name, amount in priced.items() if amount is None)
    known = round(sum((amount or 0) * float(prices[name]) for name, amount in priced.items()), 6)
    return {
        "usd": known if priced and not unmetered else None,
        "units": units,
        "quantities": dict(quantities),
        "known_usd": known if priced else None,
        "unmetered": unmetered,
    }
