"""A changed file that does real work and also steers -> the change with the baseline's settings in it.

    pyproject.toml      the change's, and the [tool.pytest...] of the baseline
    setup.cfg           the change's, and the [tool:pytest] of the baseline
    package.json        the change's, and the scripts of the baseline

What comes out is read again: where it does not steer as the baseline does, there is nothing, and the bench has the baseline's
file as a whole.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard.bench.transfer.names import node_names
from steelyard.bench.transfer.read_toml import read_toml
from steelyard.bench.transfer.steering_parts import (
    INI_HEADER,
    INI_PLAIN_HEADER,
    INI_SECTIONS,
    PARTS,
    STEERING_TABLES,
    is_steering_tool,
    same_part,
    steering_keys,
)
from steelyard.filesystem.cache import Cache
from steelyard.sandboxes.base import FileOverlay

_UNREADABLE = (ValueError, TypeError, RecursionError, AttributeError)


def with_old_settings(name: str, old: bytes | None, new: bytes) -> bytes | None:
    """`name` is the file's base name; None where the two cannot be separated."""
    merge = _MERGES.get(name)
    if merge is None:
        return None
    try:
        merged = merge(old or b"", new)
    except _UNREADABLE:
        return None
    return merged if same_part(PARTS[name], old, merged) else None


def _pyproject(old: bytes, new: bytes) -> bytes:
    read_toml(new)
    kept = [block for block in _blocks(new.decode()) if not _steers(block)]
    own = [block for block in _blocks(old.decode()) if _steers(block)]
    return "\n".join([*kept, *own, ""]).encode()


def _blocks(text: str) -> Iterator[str]:
    """Tables with their headers; before the first of them, what has none."""
    lines: list[str] = []
    for line in text.splitlines():
        if re.match(r"\s*\[", line) and _table_name(line):
            yield "\n".join(lines)
            lines = []
        lines.append(line)
    yield "\n".join(lines)


def _table_name(line: str) -> tuple[str, ...]:
    try:
        table: Any = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return ()
    names = []
    while isinstance(table, dict | list) and table:
        if isinstance(table, list):
            table = table[0]
            continue
        ((name, table),) = table.items()
        names.append(name)
    return tuple(names)


def _steers(block: str) -> bool:
    names = _table_name(block.split("\n", 1)[0])
    if names[:1] == ("tool",) and len(names) > 1 and is_steering_tool(names[1]):
        return True
    return any(names[: len(table)] == table for table in STEERING_TABLES) or (
        names == ("tool", "coverage", "run") and "plugins" in block
    )


def _setup_cfg(old: bytes, new: bytes) -> bytes:
    kept = [line for line, steers in _ini_lines(new) if not steers]
    own = [line for line, steers in _ini_lines(old) if steers]
    return "\n".join([*kept, *own, ""]).encode()


def _ini_lines(data: bytes) -> Iterator[tuple[str, bool]]:
    steers = False
    for line in data.decode().splitlines():
        header = INI_HEADER.match(line)
        if header and INI_SECTIONS.search(header[1].strip()):
            steers = True
        elif header and INI_PLAIN_HEADER.fullmatch(line):
            steers = False
        yield line, steers


def _package_json(old: bytes, new: bytes) -> bytes:
    before, after = json.loads(old or b"{}"), json.loads(new.decode("utf-8-sig"))
    for key, names in steering_keys(before, after):
        if not names:
            _put(after, key, before)
        for name in names:
            table = after.setdefault(key, {})
            _put(table, name, before.get(key, {}))
    if node_names.takes_a_name("package.json", old, json.dumps(after).encode(), {after.get("name")}):
        _put(after, "name", before)
    if node_names.takes_a_name("package.json", old, json.dumps(after).encode(), ()):
        _put(after, "imports", before)
    return json.dumps(after, indent=2, ensure_ascii=False).encode()


def _put(table: dict[str, Any], key: str, source: dict[str, Any]) -> None:
    if key in source:
        table[key] = source[key]
    else:
        table.pop(key, None)


_MERGES: dict[str, Callable[[bytes, bytes], bytes]] = {
    "pyproject.toml": _pyproject,
    "setup.cfg": _setup_cfg,
    "package.json": _package_json,
}


def with_contents(
    overlays: tuple[FileOverlay, ...], contents: Mapping[str, bytes], cache: Cache
) -> tuple[FileOverlay, ...]:
    """The same with other contents for some files, which are kept in the cache: a run folder has the change as it was."""

    def kept(data: bytes) -> Path:
        def build(folder: Path) -> None:
            (folder / "content").write_bytes(data)

        return cache.build("settings", hashlib.sha256(data).hexdigest(), build) / "content"

    return tuple(
        replace(one, source=kept(contents[one.path])) if one.kind == "file" and one.path in contents else one
        for one in overlays
    )
