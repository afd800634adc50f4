"""File names in other people's tasks -> names in a contract's folder."""

from __future__ import annotations

import posixpath
from pathlib import Path

from steelyard.contract.parse.files import bad_name
from steelyard.filesystem.tree import shown
from steelyard.importers.reading import fault


def plain_name(name: str, where: str, field: str) -> str:
    """`./hidden/x.py` -> `hidden/x.py`; absolute names and `..` are refused."""
    if reason := bad_name(name):
        raise fault(where, field, f"{shown(name)} {reason.replace('the contract', 'the task')}")
    return posixpath.normpath(name)


def existing(folder: Path, name: str, where: str, field: str) -> Path:
    path = folder / plain_name(name, where, field)
    if not path.exists():
        raise fault(where, field, f"{shown(name)} does not exist")
    return path
