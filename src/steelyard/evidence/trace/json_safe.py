"""Anything an agent sent -> something every JSON parser accepts, the same each time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_EXACT = 1 << 53  # beyond it a reader in another language would round
_DEEPEST = 100


def json_safe(value: Any, depth: int = 0) -> Any:
    r"""A lone surrogate becomes `\udc80` in letters, a huge integer its digits, endless nesting a note."""
    if depth > _DEEPEST:
        return "(nested too deeply)"
    if isinstance(value, int | float) or value is None:
        return hex(value) if isinstance(value, int) and abs(value) >= _EXACT else value
    if isinstance(value, str | bytes):
        raw = value.encode("utf-8", "backslashreplace") if isinstance(value, str) else value
        return raw.decode("utf-8", "backslashreplace")
    if isinstance(value, Mapping):
        return {json_safe(str(key)): json_safe(item, depth + 1) for key, item in value.items()}
    if isinstance(value, Sequence | set | frozenset):
        return [json_safe(item, depth + 1) for item in value]
    raise TypeError(f"{type(value).__name__} cannot be an event's payload")
