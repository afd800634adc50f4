"""A run whose agent speaks to models -> an address for the agent, and a route for its requests.

The gateway and the HTTP library are loaded here, by the first run that needs them.
"""

from __future__ import annotations

import decimal
import os
from pathlib import Path
from typing import Any

from steelyard.agents.base import Agent
from steelyard.contract.allowed_hosts import THIS_MACHINE
from steelyard.contract.parse.host_variables import secret_host_values
from steelyard.environment.prepare import Environment
from steelyard.errors import InfraFault, LastingFault
from steelyard.evidence.fallback_units import FALLBACK
from steelyard.evidence.redact import Secrets
from steelyard.evidence.text_rules import TextRules, read_patterns
from steelyard.execution.alerts import stop_for_models
from steelyard.execution.live_run import LiveRun
from steelyard.gateway import address, cassette, records, route, server
from steelyard.gateway import caps as gateway_caps
from steelyard.gateway.upstream.upstreams import Upstream, upstreams_for
from steelyard.plan.trial import Trial
from steelyard.providers import prices as provider_prices
from steelyard.providers import usage


def speaks_to_models(agent: Agent) -> bool:
    return bool(agent.resources.providers) and agent.in_sandbox


def gateway_address(agent: Agent, environment: Environment) -> address.GatewayAddress | None:
    """Where the agent will find its models; None for one that speaks to none."""
    if not speaks_to_models(agent):
        return None
    # A local sandbox has no names of its own.
    host = "127.0.0.1" if environment.sandbox == "local" else THIS_MACHINE
    return address.GatewayAddress(host, server.gateway_server().port, address.draw_key())


def secrets_of(trial: Trial, agent: Agent) -> Secrets:
    """Values that no record shows: keys that the contract takes, the agent's variables, and the keys of the upstreams, which may
    echo them.
    """
    upstreams = _upstreams(trial, agent) if speaks_to_models(agent) else {}
    keys = {f"key of {name}": one.key for name, one in upstreams.items()}
    return Secrets({**secret_host_values(trial.contract), **agent.resources.env, **keys})


def text_rules(trial: Trial) -> TextRules | None:
    """What is replaced in the texts of models and of the agent; None unless the operator wants that."""
    options = trial.options.gateway
    return TextRules(read_patterns(options.redact)) if options.model_text == "redacted" else None


def open_route(run: LiveRun) -> None:
    """Before the sandbox starts; the run's end closes it."""
    if run.gateway is None:
        return
    prices = prices_of(run.trial)
    # Loads the prices here, and not while a request waits
    prices.cost("anthropic", "claude", usage.Usage(), 0)
    budget = run.trial.contract.spec.budget
    caps = gateway_caps.Caps(
        tokens=budget.tokens,
        cost_usd=decimal.Decimal(str(budget.less_headroom(budget.cost_usd))),
        cost_units=decimal.Decimal(str(budget.less_headroom(budget.cost_units))),
        model_calls=budget.model_calls,
    )
    run.route = route.Route(
        run.gateway.key,
        server.gateway_server(),
        _upstreams(run.trial, run.agent),
        records.Recorder(run.events, run.blobs, run.trial.options.gateway.model_text, text_rules(run.trial)),
        gateway_caps.ModelBudget(caps),
        prices,
        **_cassette(run),
        on_failure=lambda: _kill(run),
        on_cap=lambda cap: stop_for_models(run, cap),
    )
    run.route.open()


def _cassette(run: LiveRun) -> dict[str, Any]:
    """What of a route a cassette takes part in."""
    options, gateway = run.trial.options.gateway, run.gateway
    if gateway is None or not (options.record or options.replay):
        return {}
    placeholders = {gateway.key: "{key}", f"{gateway.host}:{gateway.port}": "{gateway}"}
    if options.replay:
        return {
            "player": cassette.CassettePlayer(
                cassette.folder_of(Path(options.replay), run.trial.id), placeholders
            )
        }
    trial = run.trial
    index = {"contract": trial.contract.id, "agent": run.agent.name, "repeat": trial.repeat}
    folder = Path(options.record) / trial.id
    return {"writer": cassette.CassetteWriter(folder, index, placeholders, run.folder.secrets)}


def prices_of(trial: Trial) -> provider_prices.Prices:
    """How the requests of a run are priced; raises OperatorFault for a price list that cannot be read."""
    path = trial.options.gateway.cost_model
    return provider_prices.Prices(provider_prices.read_cost_model(Path(path)) if path else None)


def check_gateway(run: LiveRun) -> None:
    """Raises InfraFault when the gateway, or the server behind it, let the run down."""
    if run.route is not None and run.route.failure and run.stop.current is None:
        kind = LastingFault if run.route.is_lasting else InfraFault
        raise kind(run.route.failure)


def describe_gateway(trial: Trial, agent: Agent) -> dict[str, Any] | None:
    """For the manifest: where requests go, and how they are priced. No key is in it."""
    if not speaks_to_models(agent):
        return None
    options = trial.options.gateway
    return {
        "mode": "replay" if options.replay else "record" if options.record else "live",
        "cassette": options.replay or options.record or None,
        "upstreams": {name: one.url for name, one in _upstreams(trial, agent).items()},
        "model_text": options.model_text,
        "redaction": None if (rules := text_rules(trial)) is None else rules.digest,
        "prices": {"id": prices_of(trial).id, "fallback": FALLBACK},
    }


def _upstreams(trial: Trial, agent: Agent) -> dict[str, Upstream]:
    return upstreams_for(agent.resources.providers, trial.options.gateway, os.environ)


def _kill(run: LiveRun) -> None:
    """Without a gateway the agent can do nothing more: its processes end, and the run says why."""
    if run.started_sandbox is not None:
        run.started_sandbox.kill_processes()
