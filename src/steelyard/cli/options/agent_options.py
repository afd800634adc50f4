"""`--agent-env`, `--agent-host`, `--agent-path`, `--agent-provider`: what an operator gives to an agent, beside the contract."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from steelyard.agents.base import Agent
from steelyard.agents.catalogue import find_agent
from steelyard.cli.console import say
from steelyard.errors import OperatorFault
from steelyard.evidence.redact import SHORTEST_BYTES, is_redacted
from steelyard.gateway.upstream.upstreams import check_gateway_options, upstreams_for
from steelyard.plan.agent_options import MODEL_TEXTS, NO_GATEWAY_OPTIONS, AgentOptions, GatewayOptions
from steelyard.providers.prices import METERED, read_cost_model


def add_agent_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--agent-env",
        action="append",
        default=[],
        metavar="NAME",
        help="give the agent's processes this variable of the environment, a key for example; its value is redacted in "
        "every record; may be repeated",
    )
    parser.add_argument(
        "--agent-host",
        action="append",
        default=[],
        metavar="HOST:PORT",
        help="let the agent's sandbox reach this host, and no other sandbox; this machine is host.internal",
    )
    parser.add_argument(
        "--agent-path",
        action="append",
        default=[],
        metavar="DIR[:AT]",
        help="mount this folder read-only into the agent's sandbox, at its own path or AT",
    )
    parser.add_argument(
        "--agent-provider",
        action="append",
        default=[],
        metavar="PROVIDER",
        help="give the agent a model gateway for anthropic, openai or gemini: base URL and placeholder key are in the "
        "variables that clients read, the real key stays outside its sandbox; may be repeated",
    )
    add_gateway_options(parser)


def add_gateway_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("models", "for agents that reach models through the gateway")
    group.add_argument(
        "--upstream",
        action="append",
        default=[],
        metavar="PROVIDER=URL",
        help="send the requests of anthropic, openai or gemini to this server",
    )
    group.add_argument(
        "--cost-model",
        default="",
        metavar="FILE",
        help="prices of the operator's own, of models, execution, people and overhead: a CSV file with action_type, unit, unit_price",
    )
    group.add_argument(
        "--model-text",
        choices=MODEL_TEXTS,
        default=MODEL_TEXTS[0],
        help="what is recorded of requests and answers: their text (the default); the text with keys and --redact patterns "
        "replaced, also in the events of the agent; or digests and sizes alone",
    )
    group.add_argument(
        "--redact",
        action="append",
        default=[],
        metavar="NAME=REGEX",
        help="with --model-text redacted: replace what matches by [redacted:NAME]; may be repeated",
    )
    either = group.add_mutually_exclusive_group()
    either.add_argument(
        "--record",
        default="",
        metavar="DIR",
        help="write each request and answer into a new cassette, as JSON files",
    )
    either.add_argument(
        "--replay",
        default="",
        metavar="DIR",
        help="answer from a cassette; no model is asked and no key is needed",
    )


def agent_options(args: argparse.Namespace) -> AgentOptions:
    return AgentOptions(
        tuple(args.agent_env),
        tuple(args.agent_host),
        tuple(args.agent_path),
        tuple(args.agent_provider),
        GatewayOptions(
            tuple(args.upstream),
            args.record,
            args.replay,
            args.cost_model,
            args.model_text,
            tuple(args.redact),
        ),
    )


def check_agents(texts: Sequence[str], options: AgentOptions) -> None:
    """Raises OperatorFault for an agent, a variable, a host, a folder or a key that is missing, and for two agents of one name."""
    names: dict[str, str] = {}
    unredacted: set[str] = set()
    takes = speaks = False
    check_gateway_options(options.gateway)
    note_unmetered_rows(options.gateway.cost_model)
    for text in texts:
        agent = check_agent(text, options)
        if agent.name in names:
            raise OperatorFault(_same_name(names[agent.name], text, agent.name))
        names[agent.name] = text
        speaks = speaks or bool(agent.resources.providers)
        takes = takes or agent.in_sandbox
        unredacted |= {name for name, value in agent.resources.env.items() if not is_redacted(value)}
    if options and not takes:
        raise OperatorFault(
            "--agent-env, --agent-host, --agent-path and --agent-provider are for agents that run, and none of these does"
        )
    if replace(options.gateway, cost_model="") != NO_GATEWAY_OPTIONS and not speaks:
        raise OperatorFault(
            "--upstream, --record, --replay, --model-text and --redact are for agents that reach models through the gateway, and "
            "none of these does; --agent-provider NAME opens it"
        )
    for name in sorted(unredacted):
        note = f"the value of {name} is shorter than {SHORTEST_BYTES} bytes, so it is not redacted in records"
        say(f"note: {note}")


def note_unmetered_rows(cost_model: str) -> None:
    """Other columns of a price list are its owner's business; another row looks like a price and is none."""
    rows = read_cost_model(Path(cost_model)).unmetered if cost_model else []
    if rows:
        say(
            f"note: --cost-model {cost_model}: nothing is metered by {', '.join(rows[:5])}"
            f"{f' and {len(rows) - 5} more' if len(rows) > 5 else ''}, so {'it prices' if len(rows) == 1 else 'they price'} nothing; "
            f"metered are {', '.join(sorted(METERED))}"
        )


def check_agent(text: str, options: AgentOptions) -> Agent:
    """Raises OperatorFault for an agent, a variable, a host, a folder or a key that is missing."""
    agent = find_agent(text, options)
    upstreams_for(agent.resources.providers, options.gateway, os.environ)
    return agent


def _same_name(first: str, second: str, name: str) -> str:
    if first == second:
        return f"--agent {first} is given twice; `--repeats 2` tries each agent twice"
    return (
        f"--agent {first} and --agent {second} have the same name, {name}; give each a name: --agent NAME=..."
    )
