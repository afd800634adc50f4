"""The cache -> which versions of a client are installed, and where."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

from steelyard.agents.installation.install import KIND, RECORD, key_of
from steelyard.agents.installation.package import Package
from steelyard.errors import OperatorFault
from steelyard.filesystem.cache import Cache


class Installation(NamedTuple):
    client: str
    version: str
    folder: Path
    record: dict[str, Any]


def installed_versions(client: str) -> list[Installation]:
    """Those that are in the cache, the newest version last. Their bytes are checked when one is used."""
    top = Cache.default().root / KIND
    found = [_read(folder) for folder in sorted(top.glob(f"{client}-[0-9]*"))]
    return sorted(
        (one for one in found if one is not None and one.client == client),
        key=lambda one: _order(one.version),
    )


def find_installed(client: str, package: Package, version: str = "") -> Installation:
    """The wanted version; without one the version that the adapter was tried with, or else the newest that is there."""
    versions = installed_versions(client)
    wanted = version or package.version
    one = next((one for one in versions if one.version == wanted), None)
    if one is None and not version and versions:
        one = versions[-1]
    if one is None:
        there = ", ".join(other.version for other in versions)
        which = f"{client}=={version}" if version else client
        raise OperatorFault(
            f"agent {which} is not installed{f' (installed: {there})' if there else ''}; "
            f"`steelyard agents install {which}` installs it"
        )
    if Cache.default().found(KIND, key_of(client, one.version)) is None:
        raise OperatorFault(
            f"{one.folder} is not as it was installed; remove it, then `steelyard agents install {client}=={one.version}`"
        )
    return one


def _read(folder: Path) -> Installation | None:
    try:
        record = json.loads((folder / RECORD).read_text())
        return Installation(str(record["client"]), str(record["version"]), folder, record)
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _order(version: str) -> tuple[tuple[int, str], ...]:
    return tuple((int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"[.+-]", version))
