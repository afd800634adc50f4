"""Where requests go, and what is refused before anything starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.errors import OperatorFault
from steelyard.gateway.address import GatewayAddress
from steelyard.gateway.upstream.upstreams import check_gateway_options, upstreams_for
from steelyard.plan.agent_options import GatewayOptions

NONE = GatewayOptions()


@pytest.mark.parametrize(
    ("provider", "named"),
    [
        ("anthropic", "ANTHROPIC_API_KEY"),
        ("openai", "OPENAI_API_KEY"),
        ("gemini", "GEMINI_API_KEY or GOOGLE_API_KEY"),
    ],
)
def test_a_missing_key_is_named(provider: str, named: str) -> None:
    with pytest.raises(OperatorFault, match=f"set {named}"):
        upstreams_for([provider], NONE, {})


def test_the_first_variable_that_is_set_has_the_key() -> None:
    assert upstreams_for(["gemini"], NONE, {"GOOGLE_API_KEY": "g"})["gemini"].key == "g"


def test_an_option_comes_before_the_variable_and_needs_no_key() -> None:
    env = {"STEELYARD_UPSTREAM_OPENAI": "http://a.example/v1"}
    assert upstreams_for(["openai"], NONE, env)["openai"].url == "http://a.example/v1"
    options = GatewayOptions(("openai=http://b.example",))
    assert upstreams_for(["openai"], options, env)["openai"].url == "http://b.example/v1"


@pytest.mark.parametrize(
    "text", ["openai", "other=http://a", "openai=ftp://a", "openai=http://u:p@a", "openai=http://a?x=1"]
)
def test_an_upstream_that_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(OperatorFault, match="--upstream"):
        upstreams_for(["openai"], GatewayOptions((text,)), {"OPENAI_API_KEY": "k"})


def test_a_key_with_a_line_break_is_refused() -> None:
    with pytest.raises(OperatorFault, match="OPENAI_API_KEY has characters"):
        upstreams_for(["openai"], NONE, {"OPENAI_API_KEY": "a\r\nx-evil: 1"})


def test_a_replay_needs_no_key() -> None:
    assert upstreams_for(["openai"], GatewayOptions(replay="tape"), {})["openai"].key == ""


def test_a_proxy_of_the_environment_is_used_except_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    env = {"ANTHROPIC_API_KEY": "k"}
    assert upstreams_for(["anthropic"], NONE, env)["anthropic"].proxy == "http://proxy.example:3128"
    options = GatewayOptions(("anthropic=https://127.0.0.1:1",))
    assert upstreams_for(["anthropic"], options, env)["anthropic"].proxy is None


def test_a_cost_model_that_is_not_there_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(OperatorFault, match="No such file"):
        check_gateway_options(GatewayOptions(cost_model=str(tmp_path / "none.csv")))


def test_an_address_gives_each_provider_the_base_url_of_its_clients() -> None:
    address = GatewayAddress("host.internal", 4000, "key")
    assert address.base_url("openai") == "http://host.internal:4000/v1"
    assert address.environment(["anthropic"]) == {
        "ANTHROPIC_BASE_URL": "http://host.internal:4000",
        "ANTHROPIC_API_BASE": "http://host.internal:4000",
        "ANTHROPIC_API_KEY": "key",
    }
    assert "key" not in repr(address).replace("key=", "")
