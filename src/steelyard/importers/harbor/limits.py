"""cpus, memory and storage of a Harbor environment -> the limits of a contract's."""

from __future__ import annotations

from typing import Any

from steelyard.contract.parse.yaml_source import Source, YamlPath, dotted_path
from steelyard.importers.harbor.model import Environment
from steelyard.importers.reading import fault

MOST_MEMORY_GUARANTEED = 1024
_UNITS = {"K": 1 / 1024, "M": 1, "G": 1024}


def limits(wanted: Environment, place: YamlPath, source: Source, *, plain: bool = False) -> dict[str, Any]:
    """`plain`: memory as one number."""
    memory = _megabytes(source, (*place, "memory"), wanted.memory, wanted.memory_mb)
    disk = _megabytes(source, (*place, "storage"), wanted.storage, wanted.storage_mb)
    room = {"guaranteed": min(memory, MOST_MEMORY_GUARANTEED), "limit": memory} if memory else {}
    return {
        **({"cpu": wanted.cpus} if wanted.cpus else {}),
        **({"memory_mb": memory if plain else room} if memory else {}),
        **({"disk_mb": disk} if disk else {}),
    }


def _megabytes(source: Source, place: YamlPath, size: str | None, megabytes: int | None) -> int | None:
    if size is None:
        return megabytes
    text = size.strip().upper()
    meant = int(float(text[:-1]) * _UNITS[text[-1]])
    if megabytes is not None and megabytes != meant:
        raise fault(source.where(place), dotted_path(place), f"contradicts {place[-1]}_mb = {megabytes}")
    return meant
