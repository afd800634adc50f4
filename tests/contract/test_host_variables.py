"""`${NAME}` in a contract's variables: replaced only where the contract lists the name, and never written down."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from steelyard.contract.contract import Contract
from steelyard.contract.load import load_contract
from steelyard.contract.parse.host_variables import (
    allow_host_variables,
    check_host_variables,
    with_host_values,
    without_host_values,
)
from steelyard.errors import OperatorFault
from steelyard.filesystem.cache import Cache
from steelyard.graders.catalogue import installed_catalogue


@pytest.fixture(autouse=True)
def allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_TAKE_ENV", "KEY,MODE")


def test_a_contract_takes_nothing_that_the_operator_does_not_let_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_TAKE_ENV", "OTHER")
    monkeypatch.setenv("KEY", "secret")
    assert with_host_values({"A": "${KEY:-none}"}, ["KEY"]) == {"A": "none"}
    with pytest.raises(OperatorFault, match="--take-env KEY"):
        with_host_values({"A": "${KEY}"}, ["KEY"])
    allow_host_variables(["KEY"])
    assert with_host_values({"A": "${KEY}"}, ["KEY"]) == {"A": "secret"}


def test_only_listed_names_are_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", "secret")
    monkeypatch.delenv("MODE", raising=False)
    env = {"A": "x ${KEY} y", "B": "${HOME}", "C": "${MODE:-fast}", "D": "$KEY"}
    assert with_host_values(env, ["KEY", "MODE"]) == {
        "A": "x secret y",
        "B": "${HOME}",
        "C": "fast",
        "D": "$KEY",
    }
    assert with_host_values(env, []) == env


def test_a_value_that_is_missing_is_the_operators_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KEY", raising=False)
    with pytest.raises(OperatorFault, match="set KEY"):
        with_host_values({"A": "${KEY}"}, ["KEY"])


def test_setup_has_none_of_the_variables_that_need_a_value() -> None:
    assert without_host_values({"A": "${KEY}", "B": "b", "C": "${OTHER}"}, ["KEY"]) == {
        "B": "b",
        "C": "${OTHER}",
    }


def load(folder: Path, env: Mapping[str, object]) -> Contract:
    (folder / "repo").mkdir(parents=True, exist_ok=True)
    (folder / "repo/a").write_text("a")
    spec = {
        "id": "x",
        "brief": "b",
        "repository": {"tree": "repo"},
        "environment": dict(env),
        "build": "none",
        "oracle": {"checks": [{"id": "c", "cmd": "true"}]},
    }
    (folder / "contract.yaml").write_text(yaml.safe_dump(spec))
    return load_contract(folder, installed_catalogue(), Cache(folder.parent / "cache"))


def test_the_value_is_not_in_the_digest_and_the_list_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = {"env": {"A": "${KEY}"}}
    digests = []
    for value in ("one", "two"):
        monkeypatch.setenv("KEY", value)
        contract = load(tmp_path / "x", {**env, "host_variables": ["KEY"]})
        check_host_variables(contract)
        digests.append(contract.digest)
    assert digests[0] == digests[1]
    assert load(tmp_path / "x", env).digest != digests[0]


def test_a_contract_without_a_list_keeps_its_digest(tmp_path: Path) -> None:
    contract = load(tmp_path / "x", {})
    assert "host_variables" not in contract.spec.model_dump(mode="json")["environment"]
    assert load(tmp_path / "x", {"host_variables": []}).digest == contract.digest


def test_a_missing_value_is_found_before_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KEY", raising=False)
    contract = load(tmp_path / "x", {"env": {"A": "${KEY}"}, "host_variables": ["KEY"]})
    with pytest.raises(OperatorFault, match="set KEY"):
        check_host_variables(contract)
