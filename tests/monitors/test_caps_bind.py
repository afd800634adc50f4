"""Which caps bind a run: all of them, for an agent that reports its calls and asks models through the gateway."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from steelyard.agents.base import Ending, Turn
from steelyard.agents.process import ProcessAgent
from steelyard.contract import model
from steelyard.contract.model import Budget, ContractSpec
from steelyard.monitors.caps import caps_of
from steelyard.sandboxes.base import Facts

SOURCE = Path(model.__file__).parents[1]
EVERY_CAP = {
    "cpu_s": 9.0,
    "memory_mb": 9,
    "disk_mb": 9,
    "processes": 9,
    "model_calls": 9,
}
FACTS = Facts("bubblewrap", "bubblewrap", "overlay", "", "allow_list", 1000, {})


@dataclass(frozen=True)
class Client(ProcessAgent):
    """Works in the sandbox, and reports its calls as the known clients do."""

    is_known: bool = True
    name: str = "client"

    def parameters(self) -> dict[str, str]:
        return {"client": "1.0"} if self.is_known else {}

    def work(self, turn: Turn) -> Ending:
        raise AssertionError(turn)


def spec() -> ContractSpec:
    return ContractSpec.model_validate({"id": "a", "brief": "b", "budget": EVERY_CAP}, strict=False)


def enforced(client: Client, facts: Facts = FACTS, *, has_gateway: bool = True) -> set[str]:
    found: list[str] = caps_of(spec(), client, facts, has_gateway=has_gateway)["enforced_caps"]
    return set(found)


ALL = set(Budget.model_fields) - {"headroom"}
OF_CALLS = {"tool_calls", "failed_checks", "command_s"}
OF_MODELS = {"cost_usd", "cost_units", "tokens", "model_calls"}


def test_every_cap_binds_a_client_that_asks_models_through_the_gateway() -> None:
    assert enforced(Client()) == ALL


def test_caps_on_calls_do_not_bind_an_agent_that_reports_none() -> None:
    assert enforced(Client(is_known=False)) == ALL - OF_CALLS


def test_caps_on_models_do_not_bind_an_agent_with_a_host_of_its_own() -> None:
    assert enforced(Client(), has_gateway=False) == ALL - OF_MODELS


def test_without_a_network_nothing_can_be_spent() -> None:
    assert enforced(Client(), replace(FACTS, network="none"), has_gateway=False) == ALL


MODELS: list[Any] = [
    *(model.Policy, model.Breakers, model.Breaker, model.NoProgress, model.Burst, model.OperatorPause),
    *(model.Tools, model.Dependencies, model.Budget, model.Headroom),
]
KEYS = [(one, key) for one in MODELS for key in one.model_fields]


@pytest.fixture(scope="module")
def readers() -> str:
    """Everything that reads contracts, without what parses them."""
    files = [path for path in SOURCE.rglob("*.py") if path.parent.parent != SOURCE / "contract"]
    return "\n".join(path.read_text() for path in files if path.parent != SOURCE / "contract")


@pytest.mark.parametrize(("of", "key"), KEYS, ids=[f"{one.__name__}.{key}" for one, key in KEYS])
def test_every_key_of_policy_and_budget_is_read_by_something(of: Any, key: str, readers: str) -> None:
    by_name = of is Budget and f'"{key}"' in readers  # caps are looked up by their names
    assert by_name or re.search(rf"\.{key}\b", readers)
