"""The index of earlier runs, and a price list -> what each agent took on each contract: the `History` of a forecast.

With a price list the minutes, starts and files of earlier runs are priced by it. If it has prices of models, the tokens and requests of earlier runs are priced by it, so that a forecast is right when
prices have changed since. A run whose tokens are not known keeps the cost that it had.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from steelyard.evidence.run_use import use_of_cost
from steelyard.plan.forecast import Earlier, History
from steelyard.providers.prices import CostModel
from steelyard.providers.usage import Usage
from steelyard.store.store import Store


def read_history(store: Store, prices: CostModel | None = None) -> History:
    found: dict[tuple[str, str], list[Earlier]] = {}
    for one in store.query(lines=prices is not None):
        if one.status is None:
            continue
        usd = one.cost_usd
        if prices is not None and one.line is not None:
            if prices.prices_requests:
                usd = reprice(one.line.get("usage"), prices, usd)
            rest = _rest_usd(one.line, prices.by_name)
            usd = None if usd is None or rest is None else usd + rest
        found.setdefault((one.agent, one.contract), []).append(Earlier(usd, one.wall_s))
    return History(found)


def _rest_usd(line: Mapping[str, Any], prices: Mapping[str, float]) -> float | None:
    """Execution, overhead and judge of an earlier run at these prices, without minutes of people.

    None if something that has a price was not metered.
    """
    cost = line.get("cost")
    items = cost.get("items") if isinstance(cost, Mapping) else None
    found = [items.get(name) or {} for name in ("exec", "overhead")] if isinstance(items, Mapping) else []
    quantities = {name: amount for item in found for name, amount in (item.get("quantities") or {}).items()}
    judge = use_of_cost(cost).judge if isinstance(cost, Mapping) else 0.0
    priced = {name: amount for name, amount in quantities.items() if name in prices}
    if judge is None or None in priced.values():
        return None
    return judge + sum(float(prices[name]) * float(amount) for name, amount in priced.items())


def reprice(usage: Any, prices: CostModel, usd: float | None) -> float | None:
    """The usage of a result line at these prices; `usd` where its tokens are not known."""
    tokens = usage if isinstance(usage, Mapping) else {}
    numbers = [tokens.get(name) for name in ("tokens_in", "tokens_out", "cache_read", "cache_write")]
    if not all(isinstance(one, int) for one in numbers[:2]):
        return usd
    read, write = (one if isinstance(one, int) else 0 for one in numbers[2:])
    total = prices.request_usd(Usage(int(numbers[0] or 0), int(numbers[1] or 0), read, write))
    calls = tokens.get("model_calls")
    if isinstance(calls, int):  # the price of a call is in `total` once
        total += (prices.price("llm_request", "call") or Decimal(0)) * (calls - 1)
    return max(0.0, float(total))
