"""`dataclass` of the standard library, with its methods shared or made at first use.

The standard library writes and compiles five methods for each class when the class is made: half a millisecond, and a command
makes two hundred classes. Here `__init__` is compiled when a class has many instances, and all classes share the other methods.
Fields, `replace`, `asdict`, equality, hash, text, pickling and the errors of a frozen class are those of the standard library.

Not for grader types: pydantic validates their options and reads how the class was made. No ordering, no `InitVar`.
"""

from __future__ import annotations

import dataclasses
from dataclasses import MISSING, FrozenInstanceError
from operator import attrgetter
from reprlib import recursive_repr

_COMPILED_AFTER = 30  # instances
_SPECIAL = ("ClassVar", "InitVar", "KW_ONLY")  # annotations that are no fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass as dataclass  # noqa: PLC0414  # type checkers know the original
    from typing import Any

    # of each field: name, may be positional, may be given, default, factory
    _Plan = list[tuple[str, bool, bool, Any, Any]]
else:

    def dataclass(cls: type | None = None, /, **options: bool) -> Any:
        """As `dataclasses.dataclass` with the options `frozen`, `slots`, `kw_only`, `eq` and `repr`."""
        return (lambda made: _data_class(made, **options)) if cls is None else _data_class(cls, **options)


def _data_class(  # noqa: PLR0913  # the options of the original
    cls: Any,
    *,
    frozen: bool = False,
    slots: bool = False,
    kw_only: bool = False,
    eq: bool = True,
    repr: bool = True,  # noqa: A002
) -> Any:
    if cls.__doc__ is None:
        # The original writes the signature, which takes as long as all the rest
        cls.__doc__ = f"{cls.__name__}(...)"
    own = set(vars(cls))
    cls = _with_fields(cls, slots=slots, kw_only=kw_only)
    fields = dataclasses.fields(cls)
    _set(cls, own, "__init__", _deferred_init(cls, frozen=frozen))
    if repr:
        _set(cls, own, "__repr__", _repr_of([one.name for one in fields if one.repr]))
    if eq:
        key = _key_of([one.name for one in fields if one.compare])
        _set(cls, own, "__eq__", _eq_of(key))
        if "__hash__" not in own or vars(cls)["__hash__"] is None:
            hashed = _key_of([one.name for one in fields if (one.compare if one.hash is None else one.hash)])
            cls.__hash__ = _hash_of(hashed) if frozen else None
    if frozen:
        _set(cls, own, "__setattr__", _refuse_assignment)
        _set(cls, own, "__delattr__", _refuse_deletion)
        if slots:
            _set(cls, own, "__getstate__", _state)
            _set(cls, own, "__setstate__", _restore)
    return cls


def _with_fields(cls: Any, **options: bool) -> Any:
    """The class with its fields, by the original, which reads annotations that are text with a regular expression, three times."""
    written = vars(cls).get("__annotations__", {})
    is_plain = not any(one in str(text) for text in written.values() for one in _SPECIAL)
    if is_plain:
        cls.__annotations__ = dict.fromkeys(written, object)
    made: Any = dataclasses.dataclass(cls, init=False, repr=False, eq=False, **options)
    if is_plain:
        made.__annotations__ = cls.__annotations__ = written
        for name, text in written.items():
            made.__dataclass_fields__[name].type = text
    return made


def _set(cls: Any, own: set[str], name: str, method: Callable[..., Any]) -> None:
    """A method that the class does not define itself."""
    if name not in own:
        method.__qualname__ = f"{cls.__qualname__}.{name}"
        setattr(cls, name, method)


def _deferred_init(cls: Any, *, frozen: bool) -> Callable[..., None]:
    """Sets the fields one by one, until there are so many instances that it pays to compile the method."""
    instances = 0
    plan: _Plan = []

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807  # what it is
        nonlocal instances
        instances += 1
        if not plan:
            plan.extend(_plan_of(cls))
        values = _bound(plan, args, kwargs) if instances <= _COMPILED_AFTER else None
        if values is None:
            init = _compiled_init(cls, frozen=frozen)
            if cls.__dict__.get("__init__") is __init__:
                cls.__init__ = init
            init(self, *args, **kwargs)
            return
        for name, value in values.items():
            object.__setattr__(self, name, value)
        if hasattr(cls, "__post_init__"):
            self.__post_init__()

    return __init__


def _plan_of(cls: Any) -> _Plan:
    return [
        (one.name, one.init and not one.kw_only, one.init, one.default, one.default_factory)
        for one in dataclasses.fields(cls)
    ]


def _bound(plan: _Plan, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any] | None:
    """What each field is set to; None where the arguments do not fit, which the compiled method says in words."""
    values: dict[str, Any] = {}
    position = used = 0
    for name, is_positional, is_given, default, factory in plan:
        if is_positional and position < len(args):
            values[name] = args[position]
            position += 1
            if name in kwargs:
                return None
        elif is_given and name in kwargs:
            values[name] = kwargs[name]
            used += 1
        elif default is not MISSING:
            values[name] = default
        elif factory is not MISSING:
            values[name] = factory()
        elif is_given:
            return None
    return values if position == len(args) and used == len(kwargs) else None


def _compiled_init(cls: Any, *, frozen: bool) -> Callable[..., None]:
    fields = dataclasses.fields(cls)
    defaults = {f"_default_{one.name}": one.default for one in fields if one.default is not MISSING}
    factories = {
        f"_factory_{one.name}": one.default_factory for one in fields if one.default_factory is not MISSING
    }
    positional = [one for one in fields if one.init and not one.kw_only]
    named = [one for one in fields if one.init and one.kw_only]
    header = ["self", *map(_parameter, positional), *(["*"] if named else []), *map(_parameter, named)]
    assign = "_set(self, {0!r}, {1})" if frozen else "self.{0} = {1}"
    body = [assign.format(one.name, value) for one in fields if (value := _value(one))]
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    source = f"def __init__({', '.join(header)}):\n " + "\n ".join(body or ["pass"])
    names: dict[str, Any] = {**defaults, **factories, "_set": object.__setattr__, "_missing": MISSING}
    exec(source, names)  # noqa: S102  # made of the names of fields
    init: Callable[..., None] = names["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


def _parameter(one: dataclasses.Field[Any]) -> str:
    if one.default is not MISSING:
        return f"{one.name}=_default_{one.name}"
    return f"{one.name}=_missing" if one.default_factory is not MISSING else one.name


def _value(one: dataclasses.Field[Any]) -> str:
    """What `__init__` assigns to a field; nothing to one that it leaves alone."""
    if one.default_factory is not MISSING:
        made = f"_factory_{one.name}()"
        return f"{made} if {one.name} is _missing else {one.name}" if one.init else made
    if one.init:
        return one.name
    return "" if one.default is MISSING else f"_default_{one.name}"


def _key_of(names: list[str]) -> Callable[[Any], Any]:
    """The values of these fields, as one value that can be compared and hashed."""
    return attrgetter(*names) if len(names) > 1 else lambda one: tuple(getattr(one, name) for name in names)


def _eq_of(key: Callable[[Any], Any]) -> Callable[[Any, object], bool]:
    def __eq__(self: Any, other: object) -> bool:  # noqa: N807
        return key(self) == key(other) if other.__class__ is self.__class__ else NotImplemented

    return __eq__


def _hash_of(key: Callable[[Any], Any]) -> Callable[[Any], int]:
    def __hash__(self: Any) -> int:  # noqa: N807
        return hash(key(self))

    return __hash__


def _repr_of(names: list[str]) -> Callable[[Any], str]:
    @recursive_repr()
    def __repr__(self: Any) -> str:  # noqa: N807
        return (
            f"{self.__class__.__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"
        )

    return __repr__


def _refuse_assignment(self: Any, name: str, value: object) -> None:
    del value
    raise FrozenInstanceError(f"cannot assign to field {name!r} of {type(self).__name__}")


def _refuse_deletion(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r} of {type(self).__name__}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, one.name) for one in dataclasses.fields(self)]


def _restore(self: Any, state: list[Any]) -> None:
    for one, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, one.name, value)
