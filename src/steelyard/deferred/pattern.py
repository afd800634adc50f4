"""A regular expression that is compiled when it is first used."""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


class _DeferredPattern:
    def __init__(self, source: Any, flags: int) -> None:
        self._source, self._flags = source, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        compiled = re.compile(self._source, self._flags)
        value = getattr(compiled, name)
        self.__dict__[name] = value  # the next use costs what it costs of a compiled pattern
        return value


def deferred_pattern(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """As `re.compile`. Only its methods and attributes can be used; `re.sub(pattern, ...)` does not know it."""
    return cast("re.Pattern[AnyStr]", _DeferredPattern(source, flags))
