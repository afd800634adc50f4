"""A record's members -> whether it carries its own digest, over its canonical bytes (RFC 8785).

The canonical writer is slow Python. A record of ordinary values is the same bytes when a fast writer writes it with integral
floats as integers: `_ordinary` says which values are. What is not ordinary goes to the canonical writer. When a digest is
checked, a hash that matches proves that the bytes are the same, and nothing has to be ordinary.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import orjson
import rfc8785

UNSIGNED = ("digest", "signature")
_EXACT = 1 << 53
_LEAST, _MOST = 1e-4, 1e15  # both writers write the floats between them as a decimal fraction


def canonical(record: Mapping[str, Any]) -> bytes:
    """What `digest` and `signature` of a record are over: everything else."""
    return canonical_bytes(_body(record))


def canonical_bytes(value: Any) -> bytes:
    """The bytes that `rfc8785.dumps` writes."""
    try:
        return orjson.dumps(_ordinary(value), option=orjson.OPT_SORT_KEYS)
    except (_UnusualError, TypeError, RecursionError):
        return rfc8785.dumps(value)


class _UnusualError(Exception):
    """A value that two writers could write differently."""


def _ordinary(value: Any) -> Any:
    """The value with integral floats as integers; raises for names, numbers or types of which the writers have different views."""
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return value
    if kind is dict:
        if not all(type(key) is str and key.isascii() for key in value):  # others are sorted by UTF-16
            raise _UnusualError
        return {key: one if type(one) is str else _ordinary(one) for key, one in value.items()}
    if kind is list:
        return [one if type(one) is str else _ordinary(one) for one in value]
    if kind is int and -_EXACT < value < _EXACT:
        return value
    if kind is float and value.is_integer() and abs(value) < _MOST:
        return int(value)
    if kind is float and _LEAST <= abs(value) < _MOST:
        return value
    raise _UnusualError


def has_its_digest(record: Mapping[str, Any]) -> bool:
    digest = record.get("digest")
    if hashlib.sha256(_quickly(_body(record))).hexdigest() == digest:
        return True
    return hashlib.sha256(canonical(record)).hexdigest() == digest


def _body(record: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key not in UNSIGNED}


def _quickly(body: dict[str, Any]) -> bytes:
    written = orjson.dumps(body, option=orjson.OPT_SORT_KEYS)
    return orjson.dumps(_integral(body), option=orjson.OPT_SORT_KEYS) if b".0" in written else written


def _integral(value: Any) -> Any:
    kind = type(value)
    if kind is dict:
        return {key: one if type(one) is str else _integral(one) for key, one in value.items()}
    if kind is list:
        return [one if type(one) is str else _integral(one) for one in value]
    if kind is float and value.is_integer() and abs(value) < _EXACT:
        return int(value)
    return value
