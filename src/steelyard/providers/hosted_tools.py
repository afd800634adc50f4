"""A request -> the same request without tools that run at the provider: web search, fetching of pages, code, MCP servers.

An agent whose sandbox has no network would reach the network through them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

_TYPES = {
    "messages": ("web_search", "web_fetch", "code_execution", "mcp_toolset", "mcp"),
    "responses": ("web_search", "file_search", "code_interpreter", "mcp", "image_generation"),
    "chat": ("web_search", "code_interpreter", "mcp", "file_search"),
}
_KEYS = {
    "messages": ("mcp_servers", "container"),
    "responses": (),
    "chat": ("web_search_options", "plugins"),
    "generate": (),
}
_GEMINI = frozenset(
    name.replace("_", "").lower()
    for name in (
        *("google_search", "google_search_retrieval", "enterprise_web_search", "google_maps", "url_context"),
        *("code_execution", "file_search", "mcp_servers", "retrieval"),
    )
)
MOST_NAMES, _NAME_CHARS = 20, 60


class StrippedRequest(NamedTuple):
    data: dict[str, Any]
    removed: tuple[str, ...]  # names of what was taken out


def without_hosted_tools(wire: str, data: Mapping[str, Any]) -> StrippedRequest:
    removed = [key for key in _KEYS.get(wire, ()) if data.get(key)]
    kept = {key: value for key, value in data.items() if key not in removed}
    tools = data.get("tools")
    if isinstance(tools, dict):  # Gemini takes one tool for a list of one
        tools = [tools]
    if isinstance(tools, list):
        kept["tools"] = [one for one in (_tool(wire, tool, removed) for tool in tools) if one is not None]
        if not kept["tools"]:
            del kept["tools"]
    return StrippedRequest(kept, tuple(removed[:MOST_NAMES]))


def _tool(wire: str, tool: Any, removed: list[str]) -> Any:
    if not isinstance(tool, dict):
        return tool
    if wire == "generate":
        hosted = [key for key in tool if _plain(key) in _GEMINI]
        removed += [key[:_NAME_CHARS] for key in hosted]  # `_` at will is part of such a name
        left = {key: value for key, value in tool.items() if key not in hosted}
        return left if left or not hosted else None
    kind = tool.get("type")
    is_hosted = isinstance(kind, str) and kind.startswith(_TYPES.get(wire, ()))
    if isinstance(kind, str) and (is_hosted or _runs_in_container(tool)):
        removed.append(kind[:_NAME_CHARS])
        return None
    return tool


def _runs_in_container(tool: Mapping[str, Any]) -> bool:
    """A shell at the provider; the same tool with a local environment is run by the client."""
    where = tool.get("environment")
    return isinstance(where, dict) and str(where.get("type")).startswith("container")


def _plain(key: str) -> str:
    return key.replace("_", "").lower()
