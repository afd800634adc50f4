"""`model=gpt-5,max_turns=30` -> the options of a client, each with the type that its field declares.

A client declares its options as fields of a subclass of `ClientOptions`. One without a default is required.
"""

from __future__ import annotations

import dataclasses
import difflib
from typing import Any, get_type_hints

from steelyard.errors import OperatorFault

_WORDS = {str: "TEXT", int: "NUMBER", float: "NUMBER", bool: "yes|no"}
_YES, _NO = ("yes", "true", "on", "1"), ("no", "false", "off", "0")


def option(default: Any = dataclasses.MISSING, about: str = "") -> Any:
    """A field of an options class, with one sentence about it."""
    return dataclasses.field(default=default, metadata={"about": about})


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClientOptions:
    """The options of every client."""

    model: str = option(about="the model that the client asks for")
    version: str = option("", "an installed version; none: the one that was tried, or the newest")


def parse_options(kind: str, options: type, text: str) -> Any:
    """An instance of the dataclass `options`. Raises OperatorFault with the list of all options for a wrong one."""
    types = get_type_hints(options)
    values: dict[str, Any] = {}
    for part in filter(None, (one.strip() for one in text.split(","))):
        name, equals, value = part.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or name not in types:
            close = difflib.get_close_matches(name, types, n=1)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise OperatorFault(f"agent {kind} has no option {name!r}{hint}\n{describe(kind, options)}")
        if name in values:
            raise OperatorFault(f"agent {kind}: option {name} is given twice")
        try:
            values[name] = _value(types[name], value.strip())
        except ValueError as error:
            raise OperatorFault(f"agent {kind}: {name}={value}: {error}\n{describe(kind, options)}") from None
    absent = [
        one.name for one in dataclasses.fields(options) if _is_required(one) and not values.get(one.name)
    ]
    if absent:
        raise OperatorFault(f"agent {kind} needs {absent[0]}=...\n{describe(kind, options)}")
    return options(**values)


def describe(kind: str, options: type) -> str:
    """The options of a client, one line each."""
    types = get_type_hints(options)
    lines = [f"options of {kind}, as --agent {kind}:NAME=VALUE,NAME=VALUE"]
    names = [f"{one.name}={_WORDS[types[one.name]]}" for one in dataclasses.fields(options)]
    width = max(map(len, names), default=0)
    for name, one in zip(names, dataclasses.fields(options), strict=True):
        need = "required" if _is_required(one) else f"default {_shown(one.default)}"
        about = one.metadata.get("about", "")
        lines.append(f"  {name:<{width}}  {need}{f'; {about}' if about else ''}")
    return "\n".join(lines)


def non_default_options(options: Any) -> dict[str, Any]:
    """What differs from the defaults."""
    defaults = {one.name: one.default for one in dataclasses.fields(options)}
    return {name: value for name, value in dataclasses.asdict(options).items() if value != defaults[name]}


def _is_required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value == "" else str(value)


def _value(kind: type, text: str) -> Any:
    if kind is bool:
        if text.lower() not in (*_YES, *_NO):
            raise ValueError("write yes or no")
        return text.lower() in _YES
    if kind is str:
        if not text.isprintable():
            raise ValueError("has a character that cannot be printed")
        return text
    try:
        number = kind(text)
    except ValueError:
        raise ValueError("not a number") from None
    if not 0 <= number < 1e12:
        raise ValueError("out of range")
    return number
