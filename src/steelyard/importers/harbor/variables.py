"""Values of a task.toml that name variables of this machine -> plain values, or a refusal.

{KEY = "${KEY}"}          refused, unless the operator says --take-env KEY; the contract then has `${KEY}`, not the value
{MODE = "${MODE:-fast}"}  fast, unless the operator says --take-env MODE
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from steelyard.contract.parse.host_variables import TEMPLATE
from steelyard.contract.parse.yaml_source import Source, YamlPath, dotted_path
from steelyard.importers.collected import FaultCollector
from steelyard.importers.reading import fault
from steelyard.importers.task import Options


def resolve_variables(
    env: Mapping[str, str], at: YamlPath, source: Source, options: Options
) -> dict[str, str]:
    """What the operator lets a task take stays a template, and gets its value when a sandbox is started."""
    found, values = FaultCollector(), {}
    for key, text in env.items():
        with found:
            values[key] = _value(text, (*at, key), source, options)
    found.raise_all()
    return values


def _value(text: str, place: YamlPath, source: Source, options: Options) -> str:
    def put(found: re.Match[str]) -> str:
        name, default = found[1], found[2]
        if name in options.take_env:
            if default is None and name not in os.environ:
                message = f"takes the value of {name} from this machine, which has none"
                raise fault(source.where(place), dotted_path(place), message, f"set {name}")
            return found[0]
        if default is None:
            message = f"takes the value of {name} from this machine"
            raise fault(
                source.where(place), dotted_path(place), message, f"--take-env {name} lets the task have it"
            )
        return str(default)

    return TEMPLATE.sub(put, text)


def host_variables(contract: Mapping[str, Any], options: Options) -> list[str]:
    """The names that any `env` of the contract takes from this machine."""
    found: set[str] = set()
    pending: list[Any] = [contract]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            env = value.get("env")
            texts = env.values() if isinstance(env, dict) else ()
            found |= {one[1] for text in texts for one in TEMPLATE.finditer(str(text))}
            pending += value.values()
        elif isinstance(value, list):
            pending += value
    return sorted(found & options.take_env)
