"""What an `Annotated` type asks of its values: checked here for plain values, and handed to pydantic in its own words.

Annotated[int, Field(ge=16)]        Annotated[str, AfterValidator(check_host)]
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any


class NotPlainError(Exception):
    """Pydantic has to look at this value: it may be wrong, or right in a way that is not known here."""


class Field:
    """As `pydantic.Field`: the bounds of a value, and the default and the alias of a field."""

    __is_annotated_types_grouped_metadata__ = True  # pydantic iterates over it

    def __init__(self, **options: Any) -> None:
        self.options = options

    def check(self, value: Any) -> Any:
        for name, bound in self.options.items():
            if name in _BOUNDS and not _BOUNDS[name](value, bound):
                raise NotPlainError
        return value

    def __iter__(self) -> Iterator[Any]:
        from pydantic import Field as PydanticField  # noqa: PLC0415  # it asks, so it is loaded

        options = dict(self.options)
        extra = options.pop("json_schema_extra", None)
        yield from PydanticField(**options).metadata
        if extra:
            yield _SchemaExtra(extra)


class _SchemaExtra:
    """Keys that a JSON Schema has beside those of the type."""

    def __init__(self, keys: dict[str, Any]) -> None:
        self._keys = keys

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Callable[[Any], dict[str, Any]]) -> Any:
        return {**handler(core_schema), **self._keys}


class AfterValidator:
    """As `pydantic.AfterValidator`: a function that returns the value, or raises ValueError."""

    __is_annotated_types_grouped_metadata__ = True

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function

    def check(self, value: Any) -> Any:
        try:
            return self._function(value)
        except (ValueError, AssertionError) as error:
            raise NotPlainError from error

    def __iter__(self) -> Iterator[Any]:
        from pydantic import AfterValidator as PydanticValidator  # noqa: PLC0415  # it asks, so it is loaded

        yield PydanticValidator(self._function)


def _matches(value: str, pattern: str) -> bool:
    """As the regular expressions of pydantic do: `$` is the end of the text, and no newline may follow it. They know other
    spaces and digits than Python, so text with any of them is not decided here.
    """
    if "\\" in pattern and not (value.isascii() and value.isprintable()):
        return False
    inner = pattern.removesuffix("$")
    if "$" in inner:
        return False
    return re.search(f"{inner}\\Z" if inner != pattern else pattern, value) is not None


_BOUNDS: dict[str, Callable[[Any, Any], bool]] = {
    "ge": lambda value, bound: value >= bound,
    "gt": lambda value, bound: value > bound,
    "le": lambda value, bound: value <= bound,
    "lt": lambda value, bound: value < bound,
    "min_length": lambda value, bound: len(value) >= bound,
    "max_length": lambda value, bound: len(value) <= bound,
    "pattern": _matches,
}
