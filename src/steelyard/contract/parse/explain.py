"""What the models refuse -> problems in the words of the contract's author.

{"type": "int_type", "loc": ("budget", "tokens"), "input": "x"}
-> contract.yaml:14:11: budget.tokens: expected a whole number, got text 'x'
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, get_args, get_type_hints

from steelyard.contract.model import (
    HOST_PORT_PATTERN,
    MODEL_PATTERN,
    NAME_PATTERN,
    RELEASE_PATTERN,
    VARIABLE_PATTERN,
)
from steelyard.contract.parse.yaml_source import Source, YamlPath, dotted_path
from steelyard.errors import Problem

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

# A value of the wrong kind, and what was wanted instead.
_KINDS = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "set_type": "a list",
    "frozen_set_type": "a list",
    "dict_type": "a mapping",
    "mapping_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "dataclass_type": "a mapping",
    "literal_error": "",  # lists what is allowed
}
_LIMITS = {
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "finite_number": "must be a finite number",
    "too_short": "needs at least {min_length}",
    "too_long": "has more than {max_length}",
    "string_too_short": "must not be shorter than {min_length} characters",
    "string_too_long": "is longer than {max_length} characters",
}
_PATTERNS = {
    NAME_PATTERN: "a name: letters, digits, '.', '_' and '-', at most 100, a letter or digit first",
    VARIABLE_PATTERN: "the name of a variable",
    HOST_PORT_PATTERN: "host:port",
    MODEL_PATTERN: "the name of a model: claude-..., gpt-..., anthropic:NAME, openai:NAME",
    RELEASE_PATTERN: 'a release in quotes, as "3.11"',
}
_UNKNOWN = {"extra_forbidden", "unexpected_keyword_argument"}


class _ErrorAtPlace(NamedTuple):
    """One error with its place in the data; `union` is the place of a value that may be of several kinds."""

    error: ErrorDetails
    place: YamlPath
    union: YamlPath | None

    @property
    def wrong_kind(self) -> bool:
        return self.place == self.union and self.error["type"] in _KINDS


def explain(
    refused: ValidationError,
    source: Source,
    known: Callable[[YamlPath], list[str]],
    base: YamlPath = (),
    *,
    below: int = 0,
) -> list[Problem]:
    """Every error of validating the data at `base`.

    `known` tells the keys that may stand at a place, `below` is how many wrappers were put around the data.
    """
    data: Any = source.data
    for part in base:
        data = data[part]
    explained = [_explain(error, data, below) for error in refused.errors(include_url=False)]
    problems = []
    for group in _group(explained):
        place = (*base, *group[0].place)
        message, fix = _message(group, known)
        problems.append(Problem(source.where(place), dotted_path(place), message, fix))
    return problems


def suggestion(word: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(word, sorted(known), n=1, cutoff=0.6)
    return f"did you mean {close[0]}?" if close else ""


def known_keys(model: Any, place: YamlPath) -> list[str]:
    """The keys that may stand at `place` of a value described by a pydantic model or a dataclass."""
    owners = [model]
    for part in place:
        if isinstance(part, str):
            owners = [inner for owner in owners for inner in _classes(_fields(owner).get(part))]
    return sorted({key for owner in owners for key in _fields(owner)})


def _explain(error: ErrorDetails, data: Any, below: int) -> _ErrorAtPlace:
    """The part of `loc` that the author wrote; the rest names branches of unions."""
    place: list[str | int] = []
    union: YamlPath | None = None
    loc = error["loc"][below:]
    for number, part in enumerate(loc):
        missing = error["type"] == "missing" and number == len(loc) - 1
        if (isinstance(data, dict) and part in data) or (
            isinstance(data, list) and isinstance(part, int) and part < len(data)
        ):
            data = data[part]  # type: ignore[index]  # the kinds were looked at above
        elif not missing:
            union = tuple(place) if union is None else union
            continue
        place.append(part)
    return _ErrorAtPlace(error, tuple(place), union)


def _group(explained: list[_ErrorAtPlace]) -> Iterator[list[_ErrorAtPlace]]:
    """Errors apart, but those of one union together: the branch that nearly fits, else all of them."""
    unions: dict[YamlPath, list[_ErrorAtPlace]] = {}
    for one in explained:
        if one.union is None:
            yield [one]
        else:
            unions.setdefault(one.union, []).append(one)
    for group in unions.values():
        near = [one for one in group if not one.wrong_kind]
        yield from ([one] for one in near) if near else [group]


class _Message(NamedTuple):
    text: str
    fix: str = ""


def _message(group: Sequence[_ErrorAtPlace], known: Callable[[YamlPath], list[str]]) -> _Message:
    error, place, _ = group[0]
    if error["type"] in _UNKNOWN:
        return _Message("unknown key", suggestion(str(place[-1]), known(place[:-1])))
    if error["type"] == "missing":
        return _Message("is missing")
    number_for_text = error["type"] == "string_type" and isinstance(error["input"], bool | int | float)
    return _Message(_words(group), _as_text(place) if number_for_text and len(group) == 1 else "")


def _as_text(place: YamlPath) -> str:
    """What a number should have been; a port alone leads nowhere, quoted or not."""
    is_host = len(place) > 1 and place[-2] in {"network", "setup_network"}
    return "write host:port, like api.example:443" if is_host else "put it in quotes"


def _words(group: Sequence[_ErrorAtPlace]) -> str:
    error, *_ = group[0]
    kind, context = error["type"], error.get("ctx", {})
    if kind in ("value_error", "assertion_error"):
        return str(context["error"])
    if kind in ("string_too_short", "too_short") and context["min_length"] == 1:
        return "must not be empty"
    if kind in _KINDS:
        wanted = dict.fromkeys(
            _KINDS[one.error["type"]] or str(one.error["ctx"]["expected"]) for one in group
        )
        message = f"expected {' or '.join(wanted)}"
    elif kind in _LIMITS:
        message = _LIMITS[kind].format(**context)
    elif kind == "string_pattern_mismatch":
        message = f"expected {_PATTERNS.get(context['pattern'], context['pattern'])}"
    else:
        message = error["msg"].replace("Input should be", "expected")
    return f"{message}, got {_describe_value(error['input'])}"


def _describe_value(value: Any) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return f"the number {value}"
        case str():
            return f"text {value[:60]!r}"
        case list() | tuple():
            return f"a list of {len(value)}"
        case _:
            return "a mapping"


def _fields(owner: Any) -> dict[str, Any]:
    """Key in the YAML -> annotation."""
    if hasattr(owner, "model_fields"):
        return {field.alias or name: field.annotation for name, field in owner.model_fields.items()}
    hints = get_type_hints(owner)
    return {field.name: hints[field.name] for field in dataclasses.fields(owner)}


def _classes(annotation: Any) -> Iterator[Any]:
    """The models and dataclasses inside an annotation."""
    if isinstance(annotation, type) and (
        hasattr(annotation, "model_fields") or dataclasses.is_dataclass(annotation)
    ):
        yield annotation
    for inner in get_args(annotation):
        yield from _classes(inner)
