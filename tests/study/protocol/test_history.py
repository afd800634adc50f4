# mypy: disable-error-code="arg-type"
"""What earlier runs cost at the prices of a list: a run of which something priced was not metered has no known cost."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest

from steelyard.providers.prices import CostModel
from steelyard.study.protocol.history import read_history

PRICES = CostModel("0" * 64, {("exec", "minute"): Decimal("0.5"), ("tool_call", "call"): Decimal("0.1")})


class FakeStore:
    """An index of one run that took two minutes."""

    def __init__(self, calls: int | None, judge: dict[str, Any] | None) -> None:
        quantities = {"exec/minute": 2.0, "tool_call/call": calls}
        items = {"exec": {"quantities": quantities}, **({} if judge is None else {"judge": judge})}
        self._line = {"cost": {"usd": 1.0, "items": items}}

    def query(self, *, lines: bool) -> Iterator[Any]:
        assert lines
        yield SimpleNamespace(
            status="scorable", cost_usd=1.0, wall_s=130.0, agent="mine", contract="a", line=self._line
        )


@pytest.mark.parametrize(
    ("calls", "judge", "usd"),
    [
        (3, None, 1.0 + 2 * 0.5 + 3 * 0.1),
        (3, {"usd": 0.25}, 1.0 + 2 * 0.5 + 3 * 0.1 + 0.25),
        (None, None, None),
        (3, {"usd": None}, None),
    ],
)
def test_what_was_not_metered_is_not_free(
    calls: int | None, judge: dict[str, Any] | None, usd: float | None
) -> None:
    (earlier,) = read_history(FakeStore(calls, judge), PRICES).runs["mine", "a"]
    assert earlier.usd == (None if usd is None else pytest.approx(usd))
