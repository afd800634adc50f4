"""`--agent-env`, `--agent-host`, `--agent-path`: what an operator gives to an agent, beside the contract."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from steelyard.agents.catalogue import find_agent
from steelyard.errors import OperatorFault
from steelyard.evidence.redact import SHORTEST_BYTES, is_redacted
from steelyard.plan.agent_options import AgentOptions


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


def agent_options(args: argparse.Namespace) -> AgentOptions:
    return AgentOptions(tuple(args.agent_env), tuple(args.agent_host), tuple(args.agent_path))


def check_agents(texts: Sequence[str], options: AgentOptions) -> None:
    """Raises OperatorFault for an agent, a variable, a host or a folder that is not there, and for two agents of one name."""
    names: dict[str, str] = {}
    unredacted: set[str] = set()
    takes = False
    for text in texts:
        agent = find_agent(text, options)
        if agent.name in names:
            raise OperatorFault(_same_name(names[agent.name], text, agent.name))
        names[agent.name] = text
        takes = takes or agent.in_sandbox
        unredacted |= {name for name, value in agent.resources.env.items() if not is_redacted(value)}
    if options and not takes:
        raise OperatorFault(
            "--agent-env, --agent-host and --agent-path are for agents that run, and none of these does"
        )
    for name in sorted(unredacted):
        note = f"the value of {name} is shorter than {SHORTEST_BYTES} bytes, so it is not redacted in records"
        print(f"steelyard: note: {note}", file=sys.stderr)  # noqa: T201  # this is the command line


def _same_name(first: str, second: str, name: str) -> str:
    if first == second:
        return f"--agent {first} is given twice; `--repeats 2` tries each agent twice"
    return (
        f"--agent {first} and --agent {second} have the same name, {name}; give each a name: --agent NAME=..."
    )
