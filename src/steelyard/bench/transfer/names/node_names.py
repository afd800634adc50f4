"""A changed `package.json` or `tsconfig.json` -> whether a name of an installed package means something else with it.

{"name": "chai", "exports": "./mine.js"}       a package finds itself by its name before it finds node_modules
{"imports": {"#check": "./mine.js"}}           which was {"#check": "chai"}
{"compilerOptions": {"paths": {"chai": [...]}}}    what runners of TypeScript go by
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from typing import Any

_STRING = r'"(?:[^"\\]|\\.)*"'
_COMMENT = re.compile(rf"({_STRING})|//[^\n]*|/\*.*?\*/", re.DOTALL)
_TRAILING = re.compile(rf"({_STRING})|,(?=\s*[\]}}])", re.DOTALL)


def takes_a_name(name: str, old: bytes | None, new: bytes, packages: Collection[str]) -> bool:
    """`name` is the file's base name. An unreadable file takes none: Node does not read it either."""
    before, after = _object(old), _object(new)
    if name == "package.json":
        return _is_another(before, after, packages) or _redirects(before, after)
    if after.get("ts-node") != before.get("ts-node"):  # names code that runs first
        return True
    return any(key not in packages_as(before) and _is_of(key, packages) for key in packages_as(after))


def packages_as(settings: dict[str, Any]) -> dict[str, Any]:
    """`paths` of a tsconfig.json."""
    paths = _table(_table(settings.get("compilerOptions")).get("paths"))
    return {key: value for key, value in paths.items() if value != [f"./node_modules/{key}"]}


def _is_another(before: dict[str, Any], after: dict[str, Any], packages: Collection[str]) -> bool:
    name = after.get("name")
    had = before.get("name") if "exports" in before else None
    return isinstance(name, str) and "exports" in after and name != had and name in packages


def _redirects(before: dict[str, Any], after: dict[str, Any]) -> bool:
    """An entry of `imports` that stands for a package, and stands for something else now."""
    now = _table(after.get("imports"))
    return any(
        now.get(key) != value
        for key, value in _table(before.get("imports")).items()
        if any(not one.startswith(".") for one in _strings(value))
    )


def _is_of(key: str, packages: Collection[str]) -> bool:
    """`chai`, `chai/*`, and `*` for every one of them."""
    name = key.removesuffix("*").rstrip("/")
    return (
        not name
        or name in packages
        or any(name == one.split("/")[0] for one in packages if one.startswith("@"))
    )


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from _strings(one)


def _object(data: bytes | None) -> dict[str, Any]:
    try:
        text = (data or b"{}").decode("utf-8-sig")
        text = _TRAILING.sub(lambda found: found[1] or "", _COMMENT.sub(lambda found: found[1] or "", text))
        return _table(json.loads(text))
    except (ValueError, RecursionError):
        return {}


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
