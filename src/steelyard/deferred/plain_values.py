"""A type -> a function that reads plain values of it: those which pydantic, strict, would accept too.

    reader_of(tuple[str, ...])(["a"], "json") -> ("a",)

`NotPlainError` says that pydantic has to decide. Whatever is accepted here is accepted by pydantic, with an equal result; the
reverse need not hold.
"""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from steelyard.deferred.constraints import AfterValidator, Field, NotPlainError

Form = Literal["json", "python"]  # where the data is from; in JSON a list stands for a tuple
Reader = Callable[[Any, Form], Any]

_SETTINGS = {"allow_inf_nan", "extra", "strict"}
_MOST = 1 << 53  # whole numbers up to it are exact as floats


def evaluate_annotation(owner: type, name: str) -> Any:
    """The type of a field, which the class or one above it declares."""
    for one in owner.__mro__:
        written = vars(one).get("__annotations__", {}).get(name)
        if written is not None:
            return eval(written, vars(sys.modules[one.__module__])) if isinstance(written, str) else written  # noqa: S307  # written in a class of ours
    raise NotPlainError


def reader_of(annotation: Any) -> Reader:
    origin = get_origin(annotation)
    if origin is not None:
        return _READERS_OF.get(origin, _never_of)(annotation)
    if hasattr(annotation, "read_plain"):
        return _model_reader(annotation)
    if dataclasses.is_dataclass(annotation):
        return _dataclass_reader(annotation)
    return _SIMPLE.get(annotation, _never)


def read_dataclass(kind: type, data: Mapping[str, Any], *, form: Form) -> Any:
    """An instance of a data class whose fields are in `data`."""
    if not _is_plain_class(kind):
        raise NotPlainError
    values = {name: _field_reader(kind, name)(value, form) for name, value in data.items()}
    try:
        return kind(**values)
    except (TypeError, ValueError, AssertionError) as error:  # a field is missing, or the class refuses
        raise NotPlainError from error


@lru_cache(maxsize=256)
def _is_plain_class(kind: type) -> bool:
    """Whether nothing in the class speaks to pydantic, but for the settings that every class of options has."""
    named = [pair for one in kind.__mro__ for pair in vars(one).items()]
    defaults = [one.default for one in kind.__dataclass_fields__.values()]  # type: ignore[attr-defined]
    return (
        not any(_is_of_pydantic(value) for value in (*defaults, *(value for _, value in named)))
        and not any(name.startswith("__get_pydantic") for name, _ in named)
        and all(value.keys() <= _SETTINGS for name, value in named if name == "__pydantic_config__")
    )


def _is_of_pydantic(value: object) -> bool:
    return type(value).__module__.partition(".")[0] in {"pydantic", "pydantic_core"}


@lru_cache(maxsize=1024)
def _field_reader(kind: type, name: str) -> Reader:
    field = kind.__dataclass_fields__.get(name)  # type: ignore[attr-defined]
    if field is None or not field.init:
        return _never
    return reader_of(evaluate_annotation(kind, name))


def _never(_: Any, __: Form) -> Any:
    raise NotPlainError


def _never_of(annotation: Any) -> Reader:
    del annotation
    return _never


def _read_none(value: Any, _: Form) -> None:
    if value is not None:
        raise NotPlainError


def _read_bool(value: Any, _: Form) -> bool:
    if type(value) is not bool:
        raise NotPlainError
    return value


def _read_str(value: Any, _: Form) -> str:
    if type(value) is not str or not _is_text(value):
        raise NotPlainError
    return value


def _is_text(value: str) -> bool:
    """Whether it has no half of a character."""
    return value.isascii() or not any("\ud800" <= char <= "\udfff" for char in value)


def _read_int(value: Any, _: Form) -> int:
    if type(value) is not int or not -_MOST <= value <= _MOST:
        raise NotPlainError
    return value


def _read_float(value: Any, form: Form) -> float:
    if type(value) is int:
        return float(_read_int(value, form))
    if type(value) is not float or not math.isfinite(value):
        raise NotPlainError
    return value


def _read_any(value: Any, form: Form) -> Any:
    """JSON, copied."""
    if value is None or type(value) is bool:
        return value
    if type(value) is str:
        return _read_str(value, form)
    if type(value) is int:
        return _read_int(value, form)
    if type(value) is float:
        return _read_float(value, form)
    if type(value) is list:
        return [_read_any(one, form) for one in value]
    if type(value) is dict:
        return {_read_str(key, form): _read_any(one, form) for key, one in value.items()}
    raise NotPlainError


_SIMPLE: dict[Any, Reader] = {
    Any: _read_any,
    None: _read_none,
    bool: _read_bool,
    float: _read_float,
    int: _read_int,
    str: _read_str,
    NoneType: _read_none,
}


def _annotated_reader(annotation: Any) -> Reader:
    inner = reader_of(annotation.__origin__)
    constraints = annotation.__metadata__
    if not all(isinstance(one, Field | AfterValidator) for one in constraints):
        return _never

    def read(value: Any, form: Form) -> Any:
        value = inner(value, form)
        for one in constraints:
            value = one.check(value)
        return value

    return read


def _literal_reader(annotation: Any) -> Reader:
    allowed = {(type(one), one) for one in get_args(annotation)}

    def read(value: Any, _: Form) -> Any:
        if type(value) not in (bool, int, str) or (type(value), value) not in allowed:
            raise NotPlainError
        return value

    return read


def _union_reader(annotation: Any) -> Reader:
    """The first that fits. Where two could fit, pydantic chooses the better one."""
    kinds = get_args(annotation)
    if {int, float} <= {one.__origin__ if get_origin(one) is Annotated else one for one in kinds}:
        return _never
    readers = [reader_of(one) for one in kinds]

    def read(value: Any, form: Form) -> Any:
        for reader in readers:
            try:
                return reader(value, form)
            except NotPlainError:
                continue
        raise NotPlainError

    return read


def _tuple_reader(annotation: Any) -> Reader:
    inner, *rest = get_args(annotation)
    if rest != [...]:
        return _never
    reader = reader_of(inner)

    def read(value: Any, form: Form) -> tuple[Any, ...]:
        if type(value) is not (list if form == "json" else tuple):
            raise NotPlainError
        return tuple([reader(one, form) for one in value])

    return read


def _list_reader(annotation: Any) -> Reader:
    reader = reader_of(*get_args(annotation))

    def read(value: Any, form: Form) -> list[Any]:
        if type(value) is not list:
            raise NotPlainError
        return [reader(one, form) for one in value]

    return read


def _dict_reader(annotation: Any) -> Reader:
    key_reader, reader = map(reader_of, get_args(annotation))

    def read(value: Any, form: Form) -> dict[Any, Any]:
        if type(value) is not dict:
            raise NotPlainError
        return {key_reader(_read_str(key, form), form): reader(one, form) for key, one in value.items()}

    return read


def _model_reader(kind: Any) -> Reader:
    def read(value: Any, form: Form) -> Any:
        if type(value) is kind:
            return value
        if type(value) is not dict or form == "python":
            raise NotPlainError
        return kind.read_plain(value, form=form)

    return read


def _dataclass_reader(kind: Any) -> Reader:
    def read(value: Any, form: Form) -> Any:
        if type(value) is not dict or form == "python":
            raise NotPlainError
        return read_dataclass(kind, value, form=form)

    return read


_READERS_OF: dict[Any, Callable[[Any], Reader]] = {
    Annotated: _annotated_reader,
    Literal: _literal_reader,
    Union: _union_reader,
    UnionType: _union_reader,
    tuple: _tuple_reader,
    list: _list_reader,
    dict: _dict_reader,
}
