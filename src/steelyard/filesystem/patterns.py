"""Shell patterns -> one function that says whether a path matches any of them; compiled once in a process."""

from __future__ import annotations

import fnmatch
import functools
import re
from collections.abc import Callable

Match = Callable[[str], "re.Match[str] | None"]


@functools.lru_cache(maxsize=256)
def match_any(patterns: tuple[str, ...]) -> Match:
    """As `fnmatch` with case, for all patterns at once; without patterns nothing matches."""
    return re.compile("|".join(map(fnmatch.translate, patterns)) or r"(?!)").match
