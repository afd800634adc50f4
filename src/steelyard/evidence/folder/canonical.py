"""A record's members -> whether it carries its own digest, over its canonical bytes (RFC 8785).

The canonical writer is slow Python. Most records are the same bytes when a fast writer writes them with integral floats as
integers; a hash that matches proves that, and what does not match is written canonically before it is called altered.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import orjson
import rfc8785

UNSIGNED = ("digest", "signature")
_EXACT = 1 << 53


def canonical(record: Mapping[str, Any]) -> bytes:
    """What `digest` and `signature` of a record are over: everything else."""
    return rfc8785.dumps(_body(record))


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
