"""A file that does real work and also steers -> the part of it that steers, to be compared with the baseline's.

    pyproject.toml      [tool.pytest...], tasks of tox, hatch, pdm, poe; plugins that pytest finds by entry point;
                        where uv takes packages from
    setup.cfg           [tool:pytest], [aliases] and the like
    package.json        scripts, jest, mocha, babel ...; runners taken from a folder; names that stand for a runner
    gradle.properties   what the build tool itself obeys
    go.mod              modules that are taken from elsewhere
    Cargo.toml          crates that are taken from elsewhere, which tests there are, and what runs them
    .python-version     an interpreter by its path

Each part is a value that can be compared, falsy when nothing steers. Our parser may read a file otherwise than
the runner's does, so whatever is doubtful counts as steering.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from steelyard.deferred.pattern import deferred_pattern

MAX_BYTES = 1 << 20
_UNREADABLE = (ValueError, TypeError, RecursionError)

Part = Callable[[bytes], object]

_TASKS = ("tox", "nox", "poe", "taskipy", "ward", "green")
_NESTED_TASKS: tuple[tuple[str, ...], ...] = (
    ("coverage", "run", "plugins"),
    ("hatch", "envs"),
    ("pdm", "scripts"),
    ("rye", "scripts"),
)
_PLUGINS: tuple[tuple[str, ...], ...] = (
    ("project", "entry-points", "pytest11"),
    ("tool", "poetry", "plugins", "pytest11"),
)
# Settings that say where a tool that installs runners at the start of a verifier takes them from.
_SOURCES: tuple[tuple[str, ...], ...] = tuple(
    ("uv", key)
    for key in (
        "index",
        "index-url",
        "extra-index-url",
        "find-links",
        "no-index",
        "pip",
        "cache-dir",
        "python-install-mirror",
    )
)
STEERING_TABLES = (
    *_PLUGINS,
    *(("tool", *keys) for keys in _NESTED_TASKS if keys[-1] != "plugins"),
    *(("tool", *keys) for keys in _SOURCES),
)

INI_SECTIONS = deferred_pattern(
    r"pytest|^aliases$|nose|^tox|^testenv|^unittest|^coverage:run$|entry_points$", re.IGNORECASE
)
INI_HEADER = deferred_pattern(r"\s*\[(.*?)\]")
INI_PLAIN_HEADER = deferred_pattern(r"\[[^\]]*\]\s*([#;].*)?")

_RUNNERS = frozenset(
    [
        "node",
        "npm",
        "npx",
        "yarn",
        "pnpm",
        "corepack",
        "jest",
        "jest-cli",
        "jest-circus",
        "jest-runner",
        "mocha",
        "vitest",
        "ava",
        "tap",
        "tape",
        "jasmine",
        "karma",
        "uvu",
        "nyc",
        "c8",
        "chai",
        "expect",
        "sinon",
        "should",
        "playwright",
        "cypress",
        "qunit",
        "lab",
        "tsx",
        "ts-node",
        "ts-jest",
        "babel-jest",
        "assert",
        "test",
    ]
)
_PACKAGE_KEYS = (
    *(
        "scripts",
        "jest",
        "mocha",
        "vitest",
        "ava",
        "tap",
        "nyc",
        "c8",
        "babel",
        "jasmine",
        "uvu",
        "esm",
        "ts-node",
    ),
    *("ts-jest", "jest-junit", "karma", "qunit", "testem", "swc"),
)
_DEPENDENCIES = (
    "dependencies",
    "devDependencies",
    "optionalDependencies",
    "peerDependencies",
    "overrides",
    "resolutions",
)
_REDIRECTS = ("file:", "link:", "portal:", "workspace:", "npm:", "git", "http", ".", "/", "~")


def same_part(part: Part, old: bytes | None, new: bytes | None) -> bool:
    """Whether the two steer alike; None: there is no such file. A new one that cannot be read is never alike."""
    try:
        changed = None if new is None else part(new)
        return (changed or None) == (_part_or_nothing(part, old) or None)
    except _UNREADABLE:
        return False


def _part_or_nothing(part: Part, old: bytes | None) -> object:
    """What cannot be read steers nothing: a change may mend it."""
    try:
        return None if old is None else part(old)
    except _UNREADABLE:
        return None


def _pyproject(data: bytes) -> object:
    whole = tomllib.loads(data.decode())
    tool = _table(whole.get("tool"))
    found: dict[str, object] = {name: value for name, value in tool.items() if is_steering_tool(name)}
    for keys in (*_NESTED_TASKS, *_SOURCES):
        found[".".join(keys)] = _reach(tool, keys)
    for keys in _PLUGINS:
        found[".".join(keys)] = _reach(whole, keys)
    return {name: value for name, value in found.items() if value is not None}


def is_steering_tool(name: str) -> bool:
    return name in _TASKS or name.startswith("pytest")


def _reach(table: object, keys: Iterable[str]) -> object:
    for key in keys:
        table = _table(table).get(key)
    return table


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _setup_cfg(data: bytes) -> object:
    """By the line: the parsers of pytest and of setuptools do not agree on what a section is."""
    found: list[str] = []
    steering = False
    for line in data.decode().splitlines():
        header = INI_HEADER.match(line)
        if header and INI_SECTIONS.search(header[1].strip()):
            steering = True
        elif header and INI_PLAIN_HEADER.fullmatch(line):
            steering = False
        if steering and line.strip() and line.strip()[0] not in "#;":
            found.append(line.rstrip())
    return found


def _package_json(data: bytes) -> object:
    whole = json.loads(data.decode("utf-8-sig"), object_pairs_hook=_unique, parse_constant=_refuse)
    if not isinstance(whole, dict):
        raise TypeError("not an object")
    found = {key: whole[key] for key in _PACKAGE_KEYS if key in whole}
    for key in (*_DEPENDENCIES, "bin", "imports"):
        taken = _taken(whole, key)
        if taken:
            found[key] = taken
    return found


def _taken(whole: dict[str, Any], key: str) -> dict[str, Any]:
    return {
        name: value for name, value in _table(whole.get(key)).items() if _replaces_runner(key, name, value)
    }


def steering_keys(*packages: dict[str, Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The keys of package.json that steer in one of these, and the names below them; () for all that is there."""
    for key in _PACKAGE_KEYS:
        if any(key in one for one in packages):
            yield key, ()
    for key in (*_DEPENDENCIES, "bin", "imports"):
        names = tuple(name for one in packages for name in _taken(one, key))
        if names:
            yield key, names


def _replaces_runner(key: str, name: str, value: object) -> bool:
    if name.removeprefix("#").removeprefix("node:") not in _RUNNERS and not name.startswith(
        ("@jest/", "@babel/")
    ):
        return False
    return key not in _DEPENDENCIES or not isinstance(value, str) or value.strip().startswith(_REDIRECTS)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Which of two equal keys counts is a matter of the parser."""
    table = dict(pairs)
    if len(table) != len(pairs):
        raise ValueError("a key occurs twice")
    return table


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def _gradle_properties(data: bytes) -> object:
    """A backslash continues a line or spells a letter, so such a line could say anything."""
    lines = re.split(r"[\r\n]+", data.decode("latin-1"))
    return [line for line in lines if re.match(r"\s*(org\.gradle|systemProp)", line) or "\\" in line]


def _go_mod(data: bytes) -> object:
    """`replace` of one line or of several; a toolchain."""
    found, inside = list[str](), False
    for line in data.decode().splitlines():
        words = line.split("//")[0].split()
        if inside or words[:1] in (["replace"], ["toolchain"]):
            found += words
        inside = words[-1:] == ["("] if words[:1] == ["replace"] else inside and words[:1] != [")"]
    return found


def _cargo_toml(data: bytes) -> object:
    whole = tomllib.loads(data.decode())
    found: dict[str, object] = {key: whole[key] for key in ("patch", "replace", "test") if key in whole}
    for keys in (("package", "autotests"), ("lib", "harness"), ("lib", "test"), ("profile", "test")):
        found[".".join(keys)] = _reach(whole, keys)
    elsewhere = {
        name: value
        for name, value in _table(whole.get("dev-dependencies")).items()
        if isinstance(value, dict) and {"path", "git", "registry"} & value.keys()
    }
    found["dev-dependencies"] = elsewhere or None
    return {name: value for name, value in found.items() if value is not None}


def _python_version(data: bytes) -> object:
    return [line for line in data.decode(errors="replace").split() if not re.fullmatch(r"[\w.@+-]+", line)]


PARTS: dict[str, Part] = {
    "go.mod": _go_mod,
    "Cargo.toml": _cargo_toml,
    ".python-version": _python_version,
    "pyproject.toml": _pyproject,
    "setup.cfg": _setup_cfg,
    "package.json": _package_json,
    "gradle.properties": _gradle_properties,
}
