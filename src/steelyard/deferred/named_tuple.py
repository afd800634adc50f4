"""`NamedTuple` of `typing`, without its work on annotations: it compiles the type of every field, which none of ours reads.

Fields, defaults, methods and text are those of `collections.namedtuple`; `__annotations__` are the texts that were written.
"""

from __future__ import annotations

from collections import namedtuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any
    from typing import NamedTuple as NamedTuple  # noqa: PLC0414  # type checkers know the original
else:

    class _NamedTupleType(type):
        def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> type:
            if not bases:
                return super().__new__(cls, name, bases, namespace)
            fields = namespace.get("__annotations__", {})
            defaults = [namespace[one] for one in fields if one in namespace]
            if any(one in namespace for one in list(fields)[: len(fields) - len(defaults)]):
                raise TypeError(f"{name}: a field without a default follows one that has a default")
            made = namedtuple(name, fields, defaults=defaults, module=namespace["__module__"])  # noqa: PYI024  # what it is made of
            made.__annotations__ = made.__new__.__annotations__ = dict(fields)
            for key, value in namespace.items():
                if key not in fields and key not in ("__annotations__", "__module__"):
                    setattr(made, key, value)
            return made

    class NamedTuple(metaclass=_NamedTupleType):
        """The base of a class whose annotations are the fields of a tuple."""
