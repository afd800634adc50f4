"""An event -> what the agent did or said in it, in the one shape that every monitor reads.

A `tool.call` of an agent that reports its calls, a `process.start` that was sampled in the sandbox, a text of the agent. The
command line of the agent itself (`whole_agent`) is the operator's choice and no act of the agent.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from steelyard.deferred.named_tuple import NamedTuple
from steelyard.evidence.trace.chain import Event
from steelyard.monitors.rules.rule import Format
from steelyard.monitors.shell import ParsedShell, Simple, parse_argv, parse_shell

_VOLATILE = frozenset({"id", "call", "call_id", "ceiling_s", "turn", "pid", "parent", "at", "index"})
_SHELL_KEYS = ("command", "cmd", "script", "shell")
_CODE_KEYS = ("code", "content", "new_string", "new_text", "newText", "file_text", "source", "patch", "diff")
_TEXT_KEYS = ("text", "prompt", "plan", "title", "description", "query", "message", "thought")
_PATH_KEYS = ("path", "file", "file_path", "filename", "uri", "abs_path")
_INPUT_KEYS = ("input", "arguments", "args", "raw_input", "rawInput", "parameters")
_NOTHING = ParsedShell(())

_TEST_PROGRAMS = frozenset(
    {"pytest", "py.test", "tox", "nox", "jest", "vitest", "mocha", "rspec", "phpunit", "ctest"}
)
_TEST_WORDS = {
    "npm": {"test", "t"},
    "yarn": {"test"},
    "pnpm": {"test"},
    "bun": {"test"},
    "cargo": {"test", "nextest"},
    "go": {"test"},
    "make": {"test", "check", "tests"},
    "mvn": {"test", "verify"},
    "gradle": {"test", "check"},
    "gradlew": {"test", "check"},
    "dotnet": {"test"},
    "mix": {"test"},
    "rake": {"test", "spec"},
}
# Program -> the word that makes it install packages.
_INSTALLS = {
    "pip": {"install"},
    "uv": {"add", "sync"},
    "npm": {"install", "i", "ci", "add"},
    "yarn": {"add", "install"},
    "pnpm": {"add", "install", "i"},
    "bun": {"add", "install"},
    "cargo": {"add", "install"},
    "go": {"get", "install"},
    "gem": {"install"},
    "bundle": {"install", "add"},
    "poetry": {"add", "install"},
    "pdm": {"add", "install"},
    "conda": {"install"},
    "mamba": {"install"},
    "apt": {"install"},
    "apt-get": {"install"},
    "apk": {"add"},
    "dnf": {"install"},
    "yum": {"install"},
    "brew": {"install"},
    "composer": {"require", "install"},
}
_REGISTRY_OPTIONS = (
    "--index-url",
    "--extra-index-url",
    "-i",
    "--registry",
    "--source",
    "--find-links",
    "-f",
    "--index",
)
_OPTIONS_WITH_VALUE = frozenset(
    {*_REGISTRY_OPTIONS, "-r", "--requirement", "-c", "--constraint", "-t", "--target", "--prefix"}
)


class Install(NamedTuple):
    """One installation: packages without their versions, and where from, as far as the command line says."""

    manager: str
    packages: tuple[str, ...]
    registries: tuple[str, ...]

    @property
    def key(self) -> str:
        return f"{self.manager} {' '.join(sorted(self.packages))}".strip()


class Call(NamedTuple):
    """Something that the agent did."""

    seq: int
    t: int
    key: str  # equal for calls that are the same
    kind: str
    name: str
    parsed: ParsedShell
    paths: tuple[str, ...]
    texts: tuple[tuple[Format, str], ...]
    argv: tuple[str, ...]
    line: str  # for a shell, where there are no words
    sampled: bool  # seen in the sandbox, not reported by the agent

    @property
    def is_test_run(self) -> bool:
        return any(is_test_run(one) for one in self.parsed.commands)

    @property
    def installs(self) -> tuple[Install, ...]:
        return tuple(found for one in self.parsed.commands if (found := install_of(one)) is not None)


def call_of(event: Event) -> Call | None:
    payload = event.payload
    if event.type == "process.start":
        if payload.get("agent") is True:
            return None
        argv = _strings(payload.get("argv"))
        return Call(
            event.seq, event.t, "\0".join(argv), "execute", "", parse_argv(argv), (), (), argv, "", True
        )
    if event.type != "tool.call" or payload.get("whole_agent") is True:
        return None
    argv = _strings(payload.get("argv"))
    given = _inputs(payload)
    shell = next((str(given[key]) for key in _SHELL_KEYS if isinstance(given.get(key), str)), "")
    parsed = parse_argv(argv) if argv else parse_shell(shell) if shell else _NOTHING
    return Call(
        event.seq,
        event.t,
        _key(payload),
        str(payload.get("kind", "other")),
        str(payload.get("name") or payload.get("tool") or ""),
        parsed,
        tuple(_paths(given)),
        tuple(_texts(given)),
        argv,
        shell,
        False,
    )


def call_id(payload: Mapping[str, Any], otherwise: int) -> str:
    """By which a `tool.call` and its `tool.result` name each other."""
    for key in ("id", "call", "call_id"):
        if isinstance(payload.get(key), str | int):
            return str(payload[key])
    return f"#{otherwise}"


def is_failed(result: Mapping[str, Any]) -> bool:
    return result.get("exit_status") not in (0, None) or result.get("is_error") is True


def texts_of(event: Event) -> Iterator[tuple[Format, str]]:
    """What the agent or its model wrote in plain text."""
    if event.type in {"model.response", "agent.message"}:
        for key in ("text", "content", "prefix"):
            value = event.payload.get(key)
            if isinstance(value, str) and value:
                yield "text", value
                return


def is_test_run(command: Simple) -> bool:
    words = command.words
    program = command.program
    if program in _TEST_PROGRAMS:
        return "--version" not in words and "--help" not in words
    if program.startswith("python") and "-m" in words:
        at = words.index("-m") + 1
        return at < len(words) and words[at] in {"pytest", "unittest", "nose2", "tox"}
    rest = [word for word in words[1:] if not word.startswith("-")]
    if program in {"npm", "pnpm", "yarn"} and rest[:1] == ["run"]:
        rest = rest[1:]
    return bool(rest) and rest[0].partition(":")[0] in _TEST_WORDS.get(program, ())


def install_of(command: Simple) -> Install | None:
    words = list(command.words)
    program = command.program
    if program.startswith("python") and words[1:3] == ["-m", "pip"]:
        program, words = "pip", words[2:]
    if program == "uv" and words[1:2] == ["pip"]:
        program, words = "pip", words[1:]
    program = "pip" if program.startswith("pip") and program[3:].replace(".", "").isdigit() else program
    verbs = _INSTALLS.get(program)
    rest = words[1:]
    if verbs is None or not any(word in verbs for word in rest[:4]):
        return None
    at = next(index for index, word in enumerate(rest) if word in verbs)
    packages: list[str] = []
    registries: list[str] = []
    skip = ""
    for word in rest[at + 1 :]:
        option, equals, value = word.partition("=")
        if skip:
            registries += [word] if skip in _REGISTRY_OPTIONS else []
            packages += [f"-r {word}"] if skip in {"-r", "--requirement"} else []
            skip = ""
        elif word.startswith("-") and equals and option in _REGISTRY_OPTIONS:
            registries.append(value)
        elif word in _OPTIONS_WITH_VALUE:
            skip = word
        elif not word.startswith("-"):
            packages.append(_package_name(word))
    return Install(program, tuple(packages), tuple(registries))


def _package_name(word: str) -> str:
    """`requests[socks]>=2` and `left-pad@1.3` without their versions; a folder, a file or an address as it is."""
    if word.startswith((".", "/")) or "://" in word:
        return word
    head = word
    for mark in ("==", ">=", "<=", "~=", "!=", ">", "<", "[", "@", ";"):
        at = head.find(mark, 1)
        head = head[:at] if at > 0 else head
    return head.strip().lower()


def _inputs(payload: Mapping[str, Any]) -> dict[str, Any]:
    given = dict(payload)
    for key in _INPUT_KEYS:
        value = payload.get(key)
        if isinstance(value, Mapping):
            given |= {str(name): one for name, one in value.items()}
        elif isinstance(value, str):
            given.setdefault("command" if payload.get("kind") == "execute" else "text", value)
    return given


def _paths(given: Mapping[str, Any]) -> Iterator[str]:
    for key in _PATH_KEYS:
        if isinstance(given.get(key), str):
            yield given[key]
    listed = given.get("paths") or given.get("locations")
    for one in listed if isinstance(listed, list) else ():
        path = one.get("path") if isinstance(one, Mapping) else one
        if isinstance(path, str):
            yield path


def _texts(given: Mapping[str, Any]) -> Iterator[tuple[Format, str]]:
    for key in _CODE_KEYS:
        if isinstance(given.get(key), str):
            yield "code", given[key]
    for key in _TEXT_KEYS:
        if isinstance(given.get(key), str):
            yield "text", given[key]


def _strings(value: Any) -> tuple[str, ...]:
    return tuple(str(one) for one in value) if isinstance(value, list) else ()


def _key(payload: Mapping[str, Any]) -> str:
    kept = {name: value for name, value in payload.items() if name not in _VOLATILE}
    data = orjson.dumps(kept, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(data).hexdigest()[:16]
