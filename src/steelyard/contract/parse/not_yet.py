"""Keys whose part of Steelyard does not exist yet -> a refusal by name.

A contract that asks for more than will be done must not be run as if it had not asked. The table shrinks
as the parts arrive; each row is (key, when it is refused).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from steelyard.contract.parse.yaml_source import Source, YamlPath, dotted_path
from steelyard.deferred.named_tuple import NamedTuple
from steelyard.errors import Problem


class Row(NamedTuple):
    place: YamlPath
    refused: Callable[[Any], bool]
    instead: str = ""


def _is_given(value: Any) -> bool:
    """Written, and not as nothing."""
    return value not in (None, [], {}, False)


NOT_YET: tuple[Row, ...] = (Row(("setup_inputs",), _is_given),)


def not_yet(source: Source) -> list[Problem]:
    """Every key of the contract that nothing would read."""
    return [
        Problem(source.where(row.place), dotted_path(row.place), "not supported yet", row.instead)
        for row in NOT_YET
        if _is_refused(row, source.data)
    ]


def _is_refused(row: Row, data: Any) -> bool:
    for part in row.place:
        if not isinstance(data, dict) or part not in data:
            return False
        data = data[part]
    return data is not None and row.refused(data)
