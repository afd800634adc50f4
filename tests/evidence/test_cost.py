"""What a run cost, item by item: priced by the operator's list, and unknown where a price or a quantity is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from authoring import FIX, Author, Steelyard

PRICES = """action_type,unit,unit_price,notes,team
exec,minute,6.0,one sandbox,x
provisioning,start,0.5,,
overhead,run,0.25,,
human,minute,1.0,,
"""


def items(line: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = line["cost"]["items"]
    return found


def test_without_a_price_list_only_the_quantities_are_known(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    cost = items(steelyard("run", author.write(), "--agent", script(FIX), "--json").line)
    assert cost["lm"]["usd"] == 0.0
    assert cost["exec"]["usd"] is cost["human"]["usd"] is cost["overhead"]["usd"] is cost["total_usd"] is None
    assert cost["exec"]["quantities"]["provisioning/start"] == 2
    assert cost["model"] is None


def test_a_price_list_prices_what_it_lists(
    author: Author, steelyard: Steelyard, script: Any, tmp_path: Path
) -> None:
    prices = tmp_path / "prices.csv"
    prices.write_text(PRICES)
    result = steelyard("run", author.write(), "--agent", script(FIX), "--cost-model", prices, "--json")
    cost = items(result.line)
    minutes = cost["exec"]["quantities"]["exec/minute"]
    assert cost["exec"]["usd"] == round(minutes * 6.0 + 2 * 0.5, 6)
    assert cost["overhead"]["usd"] == 0.25
    assert cost["human"]["usd"] is None  # without a review it is unknown, not 0
    assert cost["total_usd"] is None
    assert cost["known_usd"] == round(cost["exec"]["usd"] + 0.25, 6)
    assert len(cost["model"]) == 64
    assert steelyard("verify", "last").code == 0
