"""TOML of a change -> its tables, without keys that are made to be expensive.

a.a.a.a = 1     the parser needs memory by the square of the parts: a line of 100 KB takes 10 GB
"""

from __future__ import annotations

import re
import tomllib
from typing import Any

MAX_PARTS = 100  # of one key; no real file comes near
_STRINGS = re.compile(rb'"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'')


def read_toml(data: bytes) -> dict[str, Any]:
    """Raises ValueError or RecursionError for what cannot be read."""
    lines = _STRINGS.sub(b"", data).split(b"\n")
    if any(re.split(rb"[=#]", line, maxsplit=1)[0].count(b".") > MAX_PARTS for line in lines):
        raise ValueError(f"a key has more than {MAX_PARTS} parts")
    return tomllib.loads(data.decode())
