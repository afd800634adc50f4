"""The name of a client -> its adapter, loaded when it is used."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from steelyard.agents import options
from steelyard.agents.clients import (
    acp,
    aider,
    base,
    claude_code,
    codex,
    gemini_cli,
    mini_swe_agent,
    opencode,
    openhands,
)
from steelyard.agents.installation import package
from steelyard.deferred.table import DeferredTable

_ADAPTERS: Mapping[str, Callable[[], type[base.Client]]] = {
    "claude_code": lambda: claude_code.ClaudeCode,
    "codex": lambda: codex.Codex,
    "mini_swe_agent": lambda: mini_swe_agent.MiniSweAgent,
    "gemini_cli": lambda: gemini_cli.GeminiCli,
    "opencode": lambda: opencode.Opencode,
    "aider": lambda: aider.Aider,
    "openhands": lambda: openhands.OpenHands,
    "acp": lambda: acp.AcpClient,
}
CLIENTS: DeferredTable[base.Client] = DeferredTable(
    {name: lambda adapter=adapter: adapter()() for name, adapter in _ADAPTERS.items()}  # type: ignore[misc]  # one each
)


def installable() -> Mapping[str, package.Package]:
    """What can be installed: name of the folder in the cache -> its package."""
    return {
        **{client.installed_as: client.package for client in CLIENTS.values()},
        **{known.installed_as: known.package for known in acp.KNOWN.values()},
    }


def client_agent(name: str, text: str) -> base.ClientAgent:
    """The agent of `--agent NAME:OPTIONS`. Raises OperatorFault for a wrong option, and for a client that is not installed."""
    client = CLIENTS[name]
    return client.agent(options.parse_options(name, client.options, text))
