"""The content of a client's own trace, in items that all clients share. All of it was written by the agent's processes.

A parser is a pure function: one decoded record -> the items in it, or None for a record of an unknown type. Parsers read
fields with the functions at the end of this file, which accept a value of any type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import orjson

Kind = Literal["execute", "write", "read", "search", "network", "other"]
MOST_CHARS = 1 << 20  # of one text that is taken out of a record


@dataclass(frozen=True, slots=True)
class SessionStart:
    """The client names its session, which a later message can resume."""

    id: str
    version: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """What the model wrote for the user."""

    text: str
    is_delta: bool = False  # a piece, to be joined with the pieces beside it


@dataclass(frozen=True, slots=True)
class ToolCall:
    id: str
    tool: str
    input: Any = None
    kind: Kind | None = None  # None: by the tool's name


@dataclass(frozen=True, slots=True)
class ToolResult:
    id: str
    output: str = ""
    is_error: bool = False
    exit_code: int | None = None
    wall_ns: int | None = None  # as the client measured it; None: what passed between the two records


@dataclass(frozen=True, slots=True)
class Denial:
    """The client did not let the model use a tool."""

    tool: str
    id: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """What the client says that it used. `tokens_in` includes what was read from and written to a cache."""

    tokens_in: int = 0
    tokens_out: int = 0
    cache_read: int = 0
    cache_write: int = 0
    usd: float | None = None
    is_total: bool = True  # False: of one request, to be added


@dataclass(frozen=True, slots=True)
class Retry:
    """The client asks the model's API again."""

    status: int | None
    why: str = ""


Cause = Literal["api", "limit_turns", "limit_cost", "refusal", "error"]


@dataclass(frozen=True, slots=True)
class Failure:
    """The client says that it did not finish its work."""

    cause: Cause
    why: str


@dataclass(frozen=True, slots=True)
class Success:
    """The client says that it finished."""

    answer: str = ""


Item = SessionStart | Message | ToolCall | ToolResult | Denial | Claim | Retry | Failure | Success
Record = Mapping[str, Any]
Parser = Callable[[Record], Sequence[Item] | None]

_KINDS: dict[Kind, frozenset[str]] = {
    "execute": frozenset(
        {"bash", "shell", "exec_command", "run_shell_command", "terminal", "execute_bash", "run_commands", "local_shell",
         "command_execution", "write_stdin", "killshell", "bashoutput"}
    ),
    "write": frozenset(
        {"edit", "write", "multiedit", "notebookedit", "apply_patch", "replace", "write_file", "file_change", "patch",
         "file_editor", "str_replace_editor", "str_replace_based_edit_tool"}
    ),
    "read": frozenset({"read", "read_file", "view", "list_directory", "ls", "list", "read_many_files", "view_image"}),
    "search": frozenset({"grep", "glob", "search_file_content", "grep_search", "find", "toolsearch"}),
    "network": frozenset({"webfetch", "websearch", "web_fetch", "google_web_search", "web_search", "fetch"}),
}  # fmt: skip


def kind_of(tool: str) -> Kind:
    """By the name of the tool, as the clients that we know name theirs."""
    name = tool.lower()
    return next((kind for kind, names in _KINDS.items() if name in names), "other")


@dataclass(frozen=True, slots=True)
class NativeFile:
    """A file that a client keeps of its session, as much of it as was read."""

    name: str  # as the client calls it; not to be used as a path
    content: bytes = field(repr=False)
    size: int

    def json_object(self) -> Record | None:
        """The JSON object that it holds; None for anything else."""
        try:
            record = orjson.loads(self.content)
        except orjson.JSONDecodeError:
            return None
        return record if isinstance(record, Mapping) else None

    @property
    def cut(self) -> int:
        return max(0, self.size - len(self.content))


def text(value: Any) -> str:
    """A text, whatever the value is."""
    return value[:MOST_CHARS] if isinstance(value, str) else ""


def as_mapping(value: Any) -> Record:
    return value if isinstance(value, Mapping) else {}


def sequence(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()


def count(value: Any) -> int:
    """A number of tokens: never negative, never more than 2^50."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:  # noqa: PLR0124  # a NaN
        return 0
    return int(min(max(value, 0), 1 << 50))


def elapsed_ns(begun: Any, ended: Any, unit_ns: int) -> int | None:
    """Between two times of a client's clock."""
    times = [one for one in (begun, ended) if isinstance(one, int | float) and not isinstance(one, bool)]
    spent = times[1] - times[0] if len(times) == 2 else -1  # a beginning and an end
    return int(spent * unit_ns) if 0 <= spent < 1e12 else None  # no NaN, no age of the universe


def money(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e9:
        return None
    return float(value)


def status(value: Any) -> int | None:
    """An exit code or an HTTP status."""
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 31 else None
