"""The cost of a run, as its record has it -> what an envelope can charge for it.

The amounts are dollars at the operator's prices. Of execution and overhead they are those of the quantities that were metered; the
names of priced quantities that were not are in `unmetered`, and are charged as the bound says. An item without a price is 0 here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from steelyard.deferred.named_tuple import NamedTuple


class RunUse(NamedTuple):
    """What one run used. None: not known."""

    models: float | None = None  # the agent's
    judge: float | None = 0.0
    execution: float = 0.0
    overhead: float = 0.0
    people: float = 0.0  # minutes that were recorded up to now
    unmetered: tuple[str, ...] = ()  # `action_type/unit`


def use_of_cost(cost: Mapping[str, Any]) -> RunUse:
    """Of the field `cost` of a result line; what is not in it is not known."""
    items = _object(cost.get("items"))
    execution, overhead = _object(items.get("exec")), _object(items.get("overhead"))
    judge = items.get("judge")
    return RunUse(
        models=_amount(cost.get("usd")),
        judge=_amount(judge.get("usd")) if isinstance(judge, Mapping) else 0.0,
        execution=_amount(execution.get("known_usd")) or 0.0,
        overhead=_amount(overhead.get("known_usd")) or 0.0,
        people=_amount(_object(items.get("human")).get("known_usd")) or 0.0,
        unmetered=tuple(str(name) for item in (execution, overhead) for name in item.get("unmetered") or ()),
    )


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _amount(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value < 1e12 else None


def use_to_text(use: RunUse) -> str:
    """As the index keeps it."""
    return orjson.dumps([*use[:-1], list(use.unmetered)]).decode()


def use_of_text(text: str) -> RunUse:
    models, judge, execution, overhead, people, unmetered = orjson.loads(text)
    return RunUse(models, judge, execution, overhead, people, tuple(unmetered))
