"""Values of a task.toml that name variables of this machine -> plain values, or a refusal.

{KEY = "${KEY}"}          refused, unless the operator says --take-env KEY
{MODE = "${MODE:-fast}"}  fast, unless the operator says --take-env MODE and there is one
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from steelyard.contract.importing.collected import Collected
from steelyard.contract.importing.reading import fault
from steelyard.contract.importing.task import Options
from steelyard.contract.yaml_source import Place, Source, dotted

_TEMPLATE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


def resolved(env: Mapping[str, str], at: Place, source: Source, options: Options) -> dict[str, str]:
    """A value that is taken stands in the contract, which is why nothing is taken without being asked for."""
    found, values = Collected(), {}
    for key, text in env.items():
        with found:
            values[key] = _value(text, (*at, key), source, options)
    found.settle()
    return values


def _value(text: str, place: Place, source: Source, options: Options) -> str:
    def put(found: re.Match[str]) -> str:
        name, default = found[1], found[2]
        taken = os.environ.get(name) if name in options.take_env else None
        if taken is None and default is None:
            is_asked = name in options.take_env
            message = f"takes the value of {name} from this machine" + (
                ", which has none" if is_asked else ""
            )
            fix = f"set {name}" if is_asked else f"--take-env {name} writes its value into the contract"
            raise fault(source.where(place), dotted(place), message, fix)
        return str(default if taken is None else taken)

    return _TEMPLATE.sub(put, text)
