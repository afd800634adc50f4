"""A key that nothing would read is refused by name."""

from __future__ import annotations

from typing import Any

import pytest
from contract_folders import Writer

from steelyard.contract.parse.not_yet import NOT_YET

# One refused value for each row of the table, and one that is fine.
ROWS: list[tuple[str, Any, Any]] = [
    ("setup_inputs", ["lock"], []),
]


def with_key(key: str, value: Any) -> dict[str, Any]:
    outer, _, inner = key.partition(".")
    if not inner:
        return {outer: value}
    base = {"checks": [{"id": "accept", "cmd": "x"}]} if outer == "oracle" else {}
    return {outer: {**base, inner: value}}


def test_every_row_of_the_table_is_tested() -> None:
    assert [".".join(map(str, row.place)) for row in NOT_YET] == [key for key, _, _ in ROWS]


@pytest.mark.parametrize(("key", "refused", "fine"), ROWS, ids=[row[0] for row in ROWS])
def test_a_key_that_nothing_would_read_is_refused(writer: Writer, key: str, refused: Any, fine: Any) -> None:
    writer.write(**with_key(key, refused))
    problem = writer.problem()
    assert (problem.field, problem.message) == (key, "not supported yet")
    writer.write(**with_key(key, fine))
    assert writer.load().id == "demo"


def test_exports_are_for_whole_systems(writer: Writer) -> None:
    writer.write(exports=["/etc/nginx/**"])
    problem = writer.problem()
    assert (problem.field, problem.message, problem.fix) == (
        "exports",
        "not supported yet",
        "only with `scope: system`",
    )


def test_caps_are_accepted(writer: Writer) -> None:
    writer.write(budget={"cost_usd": 1.0, "tokens": 5, "tool_calls": 3, "cost_units": 7})
    assert writer.load().spec.budget.tokens == 5


def test_the_tests_of_a_contract_have_a_twin_unless_it_says_otherwise(writer: Writer) -> None:
    writer.write()
    assert writer.load().spec.oracle.mode == "twin"
