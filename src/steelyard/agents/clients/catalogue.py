"""The name of a client -> its adapter."""

from __future__ import annotations

from collections.abc import Mapping

from steelyard.agents.clients.acp import KNOWN, AcpClient
from steelyard.agents.clients.aider import Aider
from steelyard.agents.clients.base import Client, ClientAgent
from steelyard.agents.clients.claude_code import ClaudeCode
from steelyard.agents.clients.codex import Codex
from steelyard.agents.clients.gemini_cli import GeminiCli
from steelyard.agents.clients.mini_swe_agent import MiniSweAgent
from steelyard.agents.clients.opencode import Opencode
from steelyard.agents.clients.openhands import OpenHands
from steelyard.agents.installation.package import Package
from steelyard.agents.options import parse_options

CLIENTS: Mapping[str, Client] = {
    client.kind: client
    for client in (
        *(ClaudeCode(), Codex(), MiniSweAgent(), GeminiCli(), Opencode(), Aider(), OpenHands(), AcpClient()),
    )
}

# What can be installed: name of the folder in the cache -> its package.
INSTALLABLE: Mapping[str, Package] = {
    **{client.installed_as: client.package for client in CLIENTS.values()},
    **{known.installed_as: known.package for known in KNOWN.values()},
}


def client_agent(name: str, text: str) -> ClientAgent:
    """The agent of `--agent NAME:OPTIONS`. Raises OperatorFault for a wrong option, and for a client that is not installed."""
    client = CLIENTS[name]
    return client.agent(parse_options(name, client.options, text))
