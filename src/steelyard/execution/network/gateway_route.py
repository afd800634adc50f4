"""A run whose agent speaks to models -> an address for the agent, and a route for its requests."""

from __future__ import annotations

import os

from steelyard.agents.base import Agent
from steelyard.contract.allowed_hosts import THIS_MACHINE
from steelyard.environment.prepare import Environment
from steelyard.evidence.redact import Secrets
from steelyard.execution.live_run import LiveRun
from steelyard.gateway.address import GatewayAddress, draw_key
from steelyard.gateway.route import Route
from steelyard.gateway.server import gateway_server
from steelyard.gateway.upstreams import Upstream, upstreams_for
from steelyard.plan.trial import Trial


def gateway_address(agent: Agent, environment: Environment) -> GatewayAddress | None:
    """Where the agent will find its models; None for one that speaks to none."""
    if not agent.resources.providers or not agent.in_sandbox:
        return None
    # A local sandbox has no names of its own.
    host = "127.0.0.1" if environment.sandbox == "local" else THIS_MACHINE
    return GatewayAddress(host, gateway_server().port, draw_key())


def secrets_of(trial: Trial, agent: Agent) -> Secrets:
    """Values that no record shows: the agent's variables, and the keys of the upstreams, which may echo them."""
    keys = {f"key of {name}": upstream.key for name, upstream in _upstreams(trial, agent).items()}
    return Secrets({**agent.resources.env, **keys})


def open_route(run: LiveRun) -> None:
    """Before the sandbox starts; the run's end closes it."""
    if run.gateway is None:
        return
    run.route = Route(
        run.gateway.key,
        gateway_server(),
        _upstreams(run.trial, run.agent),
        on_failure=lambda: _kill(run),
    )
    run.route.open()


def _upstreams(trial: Trial, agent: Agent) -> dict[str, Upstream]:
    return upstreams_for(agent.resources.providers, trial.options.gateway, os.environ)


def _kill(run: LiveRun) -> None:
    """Without a gateway the agent can do nothing more: its processes end, and the run says why."""
    if run.sandbox_spec is not None:
        run.sandbox_spec.kill_processes()
