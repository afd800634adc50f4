"""Toolchains -> the versions of the package managers that a sandbox sees, read from their files; nothing is run."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from pathlib import Path

from steelyard.sandboxes.toolchains import Toolchain

_PIP = ("lib/python3*/site-packages/pip-*.dist-info", "lib/python3/dist-packages/pip-*.dist-info")
_NPM = ("lib/node_modules/npm/package.json", "share/nodejs/npm/package.json")


def package_managers(toolchains: Sequence[Toolchain]) -> dict[str, str | None]:
    """None says that there is none to be seen."""
    prefixes = tuple(chain.prefix for chain in toolchains if chain.prefix is not None)
    return {"pip": _pip(prefixes), "npm": _npm(prefixes)}


@functools.cache
def _pip(prefixes: tuple[Path, ...]) -> str | None:
    found = _first(prefixes, _PIP)
    return None if found is None else found.name.removeprefix("pip-").removesuffix(".dist-info")


@functools.cache
def _npm(prefixes: tuple[Path, ...]) -> str | None:
    found = _first(prefixes, _NPM)
    try:
        return None if found is None else str(json.loads(found.read_bytes())["version"])
    except (OSError, ValueError, KeyError):
        return None


def _first(prefixes: tuple[Path, ...], patterns: tuple[str, ...]) -> Path | None:
    extra_mounts = (*prefixes, Path("/usr/local"), Path("/usr"))
    return next(
        (found for place in extra_mounts for pattern in patterns for found in sorted(place.glob(pattern))),
        None,
    )
