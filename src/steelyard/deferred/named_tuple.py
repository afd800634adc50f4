"""`NamedTuple` of `typing`, without its work on annotations and without compiling a method for each class.

Fields, defaults, methods and text are those of `collections.namedtuple`; `__annotations__` are the texts that were written. `__new__`
is compiled when a class has many instances, when arguments do not fit, and when the signature is asked for.
"""

from __future__ import annotations

from _collections import _tuplegetter  # type: ignore[import-not-found]  # what `collections.namedtuple` makes fields of
from collections import namedtuple

_COMPILED_AFTER = 30  # instances

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any
    from typing import NamedTuple as NamedTuple  # noqa: PLC0414  # type checkers know the original
else:

    class _NamedTupleType(type):
        def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> type:
            if not bases:
                return super().__new__(cls, name, bases, namespace)
            fields = namespace.get("__annotations__", {})
            defaults = {one: namespace[one] for one in fields if one in namespace}
            if any(one in namespace for one in list(fields)[: len(fields) - len(defaults)]):
                raise TypeError(f"{name}: a field without a default follows one that has a default")
            made = _tuple_class(name, tuple(fields), defaults)
            made.__annotations__ = dict(fields)
            for key, value in namespace.items():
                if key not in fields and key != "__annotations__":
                    setattr(made, key, value)
            return made

    class NamedTuple(metaclass=_NamedTupleType):
        """The base of a class whose annotations are the fields of a tuple."""


def _tuple_class(name: str, fields: tuple[str, ...], defaults: dict[str, Any]) -> Any:
    if refused := [one for one in fields if one.startswith("_")]:
        raise ValueError(f"Field names cannot start with an underscore: {refused[0]!r}")
    namespace = {
        "__doc__": f"{name}({', '.join(fields)})",
        "__slots__": (),
        "__match_args__": fields,
        "__signature__": _SIGNATURE,
        "_fields": fields,
        "_field_defaults": defaults,
        "__new__": _deferred_new(),
        "__repr__": _repr,
        "__getnewargs__": _values,
        "_asdict": _asdict,
        "_make": _MAKE,
        "_replace": _replace,
        **{one: _tuplegetter(index, _doc(index)) for index, one in enumerate(fields)},
    }
    return type(name, (tuple,), namespace)


def _doc(index: int) -> str:
    return f"Alias for field number {index}"


def _deferred_new() -> Callable[..., Any]:
    """Takes the arguments one by one, until there are so many instances that it pays to compile the method."""
    instances = 0

    def __new__(cls: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807  # what it is
        nonlocal instances
        instances += 1
        fields = cls._fields
        if len(args) == len(fields) and not kwargs:
            return tuple.__new__(cls, args)
        values = _bound(cls, args, kwargs) if instances <= _COMPILED_AFTER else None
        if values is not None:
            return tuple.__new__(cls, values)
        compiled = _compiled_new(cls)
        for owner in cls.__mro__:
            if owner.__dict__.get("__new__") is own:
                owner.__new__ = staticmethod(compiled)
        return compiled(cls, *args, **kwargs)

    own = staticmethod(__new__)
    return own


def _bound(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any] | None:
    """The value of each field; None where the arguments do not fit, which the compiled method says in words."""
    values, rest, defaults = list(args), dict(kwargs), cls._field_defaults
    for name in cls._fields[len(args) :]:
        if name in rest:
            values.append(rest.pop(name))
        elif name in defaults:
            values.append(defaults[name])
        else:
            return None
    return None if rest or len(values) != len(cls._fields) else values


def _compiled_new(cls: Any) -> Callable[..., Any]:
    made: Any = namedtuple(cls.__name__, cls._fields, defaults=cls._field_defaults.values())  # type: ignore[misc]  # noqa: PYI024
    compiled: Callable[..., Any] = made.__new__
    compiled.__annotations__ = dict(cls.__annotations__)
    return compiled


class _Signature:
    """As `inspect.signature` reads it of the compiled method."""

    def __get__(self, instance: object, owner: Any) -> Any:
        import inspect  # noqa: PLC0415  # for who asks

        whole = inspect.signature(_compiled_new(owner))
        return whole.replace(parameters=list(whole.parameters.values())[1:])


_SIGNATURE = _Signature()


def _make_of(cls: Any, values: Iterable[Any]) -> Any:
    made = tuple.__new__(cls, values)
    if len(made) != len(cls._fields):
        raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
    return made


_MAKE = classmethod(_make_of)


def _replace(self: Any, /, **changes: Any) -> Any:
    made = self._make(map(changes.pop, self._fields, self))
    if changes:
        raise ValueError(f"Got unexpected field names: {list(changes)!r}")
    return made


def _values(self: Any) -> tuple[Any, ...]:
    return tuple(self)


def _asdict(self: Any) -> dict[str, Any]:
    return dict(zip(self._fields, self, strict=True))


def _repr(self: Any) -> str:
    values = ", ".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
    return f"{self.__class__.__name__}({values})"
