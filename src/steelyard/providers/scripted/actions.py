"""A neutral action and the tools that a client offers -> a call of one of them, with arguments as its schema wants them.

    do: {shell: "ls"}   do: {read: calc.py}   do: {write: {path: a.py, content: "..."}}
    do: {edit: {path: calc.py, old: "a - b", new: "a + b"}}

Every coding agent names its tools its own way; a script that names none of them works with all. An edit for which no tool
is known is made by the shell.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any, NamedTuple

from steelyard.providers.scripted.script import Reply, actions_of

_SHELLS = (
    *(
        "Bash",
        "bash",
        "exec_command",
        "shell",
        "shell_command",
        "run_shell_command",
        "terminal",
        "local_shell",
    ),
    *("execute_bash", "run_commands", "execute_command", "run_command", "developer__shell"),
)
_EDITS = ("Edit", "edit", "replace", "str_replace", "edit_file")
_READS = ("Read", "read", "read_file", "view")
_COMMANDS = ("command", "cmd", "commands", "script")
_PATHS = ("file_path", "filePath", "path", "absolute_path", "filename")
_OLD = ("old_string", "oldString", "old_str", "oldText", "old_text")
_NEW = ("new_string", "newString", "new_str", "newText", "new_text")
_EDITOR = "import sys; p, a, b = sys.argv[1:]; t = open(p).read(); assert a in t; open(p, 'w').write(t.replace(a, b, 1))"


class Call(NamedTuple):
    name: str
    arguments: dict[str, Any]


class Tool(NamedTuple):
    name: str
    properties: Mapping[str, Any]
    required: tuple[str, ...]


def calls_of(reply: Reply, wire: str, data: Mapping[str, Any]) -> list[Call]:
    """The calls that a reply makes, in the client's own tools."""
    tools = offered_tools(wire, data)
    named = [Call(str(one["name"]), dict(one.get("arguments") or {})) for one in reply.get("calls") or []]
    return named + [_call(action, tools) for action in actions_of(reply)]


def offered_tools(wire: str, data: Mapping[str, Any]) -> list[Tool]:
    listed = data.get("tools")
    entries = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    if wire == "generate":
        entries = [
            one
            for entry in entries
            for one in entry.get("functionDeclarations") or entry.get("function_declarations") or []
        ]
    found = []
    for entry in entries:
        inner = entry.get("function")
        function: dict[str, Any] = inner if isinstance(inner, dict) else entry
        schema: dict[str, Any] = next(
            (
                function[name]
                for name in ("input_schema", "parameters", "parametersJsonSchema", "inputSchema")
                if isinstance(function.get(name), dict)
            ),
            {},
        )
        name = function.get("name") or entry.get("type")
        found.append(Tool(str(name), schema.get("properties") or {}, tuple(schema.get("required") or ())))
    return found


def _call(action: Mapping[str, Any], tools: list[Tool]) -> Call:
    ((kind, value),) = action.items()
    if kind == "shell":
        return _shell(str(value), tools)
    if kind == "read":
        tool = _find_tool(tools, _READS)
        if tool is not None and (path := _one_of(tool, _PATHS)):
            return Call(tool.name, _fill(tool, {path: str(value)}))
        return _shell(f"cat {shlex.quote(str(value))}", tools)
    if kind == "write":
        path, content = str(value["path"]), str(value["content"])
        return _shell(f"printf %s {shlex.quote(content)} > {shlex.quote(path)}", tools)
    tool = _find_tool(tools, _EDITS)
    names = [_one_of(tool, among) for among in (_PATHS, _OLD, _NEW)] if tool is not None else []
    if tool is not None and all(names):
        values = (value["path"], value["old"], value["new"])
        return Call(tool.name, _fill(tool, {str(k): str(v) for k, v in zip(names, values, strict=True)}))
    words = ["python3", "-c", _EDITOR, str(value["path"]), str(value["old"]), str(value["new"])]
    return _shell(shlex.join(words), tools)


def _shell(command: str, tools: list[Tool]) -> Call:
    tool = _find_tool(tools, _SHELLS)
    if tool is None:
        names = ", ".join(one.name for one in tools)
        raise ValueError(f"no tool that runs a command is offered; there are {names}")
    name = _one_of(tool, _COMMANDS) or "command"
    schema = tool.properties.get(name)
    is_list = isinstance(schema, dict) and schema.get("type") == "array"
    value: Any = command
    if is_list:
        value = [command] if name == "commands" else ["bash", "-lc", command]
    return Call(tool.name, _fill(tool, {name: value}))


def _find_tool(tools: list[Tool], names: tuple[str, ...]) -> Tool | None:
    by_name = {tool.name: tool for tool in tools}
    return next((by_name[name] for name in names if name in by_name), None)


def _one_of(tool: Tool, names: tuple[str, ...]) -> str:
    return next((name for name in names if name in tool.properties), "")


def _fill(tool: Tool, arguments: dict[str, Any]) -> dict[str, Any]:
    """What the schema requires beside it, as plain as possible."""
    for name in tool.required:
        if name not in arguments:
            arguments[name] = _plain(tool.properties.get(name))
    return arguments


def _plain(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return "scripted"
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    return {"integer": 1, "number": 1, "boolean": False, "array": [], "object": {}}.get(
        str(kind).lower(), "scripted"
    )


def arguments_json(call: Call) -> str:
    return json.dumps(call.arguments, ensure_ascii=False)
