"""A contract -> one row for each check and grader: its name, its type, the gate, whether it must pass, its weight, its options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

import yaml

from steelyard.contract.catalogue import GraderEntry
from steelyard.contract.contract import Contract


class GraderRow(NamedTuple):
    name: str
    type: str
    under: str  # the gate that it belongs to
    role: str  # "required", "weighted" or "advisory"
    default_role: str  # of its type
    weight: float
    options: Mapping[str, Any]  # those that differ from the default

    def to_json(self) -> dict[str, Any]:
        return {**self._asdict(), "options": {name: _plain(value) for name, value in self.options.items()}}

    @property
    def role_text(self) -> str:
        """A role that is not the type's own is marked."""
        return self.role if self.role == self.default_role else f"{self.role} (set)"

    @property
    def options_text(self) -> str:
        """As an author writes them in one line of YAML."""
        written = yaml.safe_dump(
            self.to_json()["options"], default_flow_style=True, width=1 << 20, sort_keys=False
        )
        return written.strip().removeprefix("{").removesuffix("}")


def grader_rows(contract: Contract) -> list[GraderRow]:
    """In the order in which the contract has them; checks first."""
    return [_row(entry) for entry in (*contract.checks, *contract.graders)]


def _row(entry: GraderEntry) -> GraderRow:
    grader = entry.grader
    own = grader.__dataclass_fields__
    given = {name: getattr(grader, name) for name in own if name not in _OWN}
    options = {
        name: value for name, value in given.items() if value not in (None, "", (), {}, own[name].default)
    }
    default = _role(required=grader.REQUIRED, weight=grader.WEIGHT)
    return GraderRow(
        entry.name,
        entry.type,
        entry.under,
        _role(required=entry.required, weight=entry.weight),
        "required" if entry.is_check else default,
        entry.weight,
        options,
    )


_OWN = frozenset({"type", "name", "id"})


def _role(*, required: bool, weight: float) -> str:
    if required:
        return "required"
    return "weighted" if weight else "advisory"


def _plain(value: Any) -> Any:
    """What JSON and YAML know; of a value of an own type its fields."""
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: _plain(getattr(value, one.name)) for one in fields(value)}
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)
