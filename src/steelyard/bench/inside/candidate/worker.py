"""Imports and calls the candidate's code, in the candidate's own sandbox; everything it says is a claim.

Asks and answers are drawn in `bench/split/__init__.py`. Nothing here protects this process from the code that it
loads: the other side believes nothing but the format.
"""

import builtins
import importlib
import itertools
import operator
import os
import sys
import types
from typing import Any, BinaryIO, Dict, List

from .serve import serve
from .values import MAX_ITEMS, CannotCross, decode, encode

COROUTINE = 0x80  # the flag of the code of an `async def`
OPERATORS: Dict[str, Any] = {
    "len": len,
    "bool": bool,
    "str": str,
    "repr": repr,
    "int": int,
    "float": float,
    "hash": hash,
    "abs": abs,
    "next": next,
    "round": round,
    "divmod": divmod,
    "enter": lambda one: type(one).__enter__(one),
    "iter": lambda one: list(itertools.islice(iter(one), MAX_ITEMS + 1)),
    "contains": lambda one, other: other in one,
}
OPERATORS.update(
    {
        name: getattr(operator, name)
        for name in (
            *("getitem", "setitem", "delitem", "eq", "ne", "lt", "le", "gt", "ge", "neg", "pos", "invert"),
            *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_", "xor"),
            *("lshift", "rshift"),
        )
    }
)


class Worker:
    def __init__(self) -> None:
        self._kept: Dict[int, Any] = {}
        self._numbers: Dict[int, int] = {}
        self._last = 0
        self._loop: Any = None

    def answer(self, ask: Dict[str, Any]) -> Dict[str, Any]:
        try:
            return {"ok": getattr(self, "_op_" + ask["op"])(ask)}
        except CannotCross:
            raise
        except BaseException as error:  # whatever the candidate raises, SystemExit too, is its answer
            return {"raised": self._raised(error)}

    def _op_import(self, ask: Dict[str, Any]) -> None:
        importlib.import_module(ask["module"])

    def _op_look(self, ask: Dict[str, Any]) -> Dict[str, Any]:
        return self._about(getattr(self._find(ask["of"]), ask["name"]), ask.get("as") == "object")

    def _op_call(self, ask: Dict[str, Any]) -> Any:
        args = [self._decoded(one) for one in ask["args"]]
        kwargs = {name: self._decoded(one) for name, one in ask["kwargs"]}
        result = self._find(ask["of"])(*args, **kwargs)
        if isinstance(result, types.CoroutineType):
            result = self._awaited(result)
        itself = result is self._kept.get(ask["of"].get("handle"), self)
        return self._encoded(result, itself or ask.get("as") == "object")

    def _op_do(self, ask: Dict[str, Any]) -> Any:
        args = [self._decoded(one) for one in ask["args"]]
        if ask["what"] == "exit":
            return self._encoded(_leave(*args), objects=False)
        result = OPERATORS[ask["what"]](*args)
        return self._encoded(result, result is args[0] or ask.get("as") == "object")

    def _op_set(self, ask: Dict[str, Any]) -> None:
        setattr(self._find(ask["of"]), ask["name"], self._decoded(ask["value"]))

    def _op_drop(self, ask: Dict[str, Any]) -> None:
        for number in ask["handles"]:
            self._numbers.pop(id(self._kept.pop(number, None)), None)

    def _find(self, ref: Dict[str, Any]) -> Any:
        found = self._kept[ref["handle"]] if "handle" in ref else importlib.import_module(ref["module"])
        for name in ref["path"]:
            found = getattr(found, name)
        return found

    def _about(self, found: Any, objects: bool) -> Dict[str, Any]:
        if isinstance(found, types.ModuleType):
            return {"kind": "module", "name": found.__name__}
        if isinstance(found, type) and issubclass(found, BaseException):
            return {"kind": "exception", "mro": _mro(found), "bases": _bases(found)}
        if isinstance(found, type):
            return {"kind": "class", "class": _name(found)}
        if callable(found) and not is_data_class_instance(found):
            code = getattr(getattr(found, "__func__", found), "__code__", None)
            return {"kind": "function", "async": bool(getattr(code, "co_flags", 0) & COROUTINE)}
        value = self._encoded(found, objects)
        is_object = isinstance(value, dict) and value["$"] == "handle"
        return {"kind": "object" if is_object else "data", "value": value}

    def _encoded(self, value: Any, objects: bool) -> Any:
        return encode(value, self._as_object if objects else self._as_data)

    def _as_data(self, value: Any) -> Any:
        if not is_data_class_instance(value):
            raise CannotCross(
                "an object of the class %s.%s, which is not plain data" % tuple(_name(type(value)))
            )
        names = [str(name) for name in type(value).__dataclass_fields__]
        values = [self._encoded(getattr(value, name), objects=False) for name in names]
        record = {"kind": "dataclass", "class": _name(type(value)), "fields": names, "values": values}
        return {"$": "record", "v": record}

    def _as_object(self, value: Any) -> Any:
        number = self._numbers.get(id(value))
        if number is None:
            self._last = number = self._last + 1
            self._numbers[id(value)] = number
            self._kept[number] = value
        return {"$": "handle", "v": {"n": number, "class": _name(type(value))}}

    def _decoded(self, data: Any) -> Any:
        return _rebuilt(decode(data, self._arrived))

    def _arrived(self, data: Dict[str, Any]) -> Any:
        if data["$"] == "handle":
            return self._kept[data["v"]["n"]]
        return self._find(data["v"])

    def _awaited(self, coroutine: Any) -> Any:
        if self._loop is None:
            asyncio: Any = importlib.import_module("asyncio")  # rarely needed, and slow to load
            self._loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self._loop)
        return self._loop.run_until_complete(coroutine)

    def _raised(self, error: BaseException) -> Dict[str, Any]:
        attrs = [[name, value] for name, value in vars(error).items() if isinstance(name, str)]
        return {
            "mro": _mro(type(error)),
            "bases": _bases(type(error)),
            "args": [self._data_or_text(one) for one in error.args],
            "text": _text_of(error),
            "attrs": [[name, self._data_or_text(value)] for name, value in attrs if not name.startswith("_")],
        }

    def _data_or_text(self, value: Any) -> Any:
        """As data if it is, else as text: an exception is worth more than its strangest argument."""
        try:
            return self._encoded(value, objects=False)
        except CannotCross:
            return _clean(repr(value))[:1000]


def is_data_class_instance(value: Any) -> bool:
    return hasattr(type(value), "__dataclass_fields__") and not isinstance(value, type)


def _rebuilt(value: Any) -> Any:
    """Records that came back as the candidate's own objects again, wherever they are in the data."""
    if hasattr(value, "_kind") and hasattr(value, "_of"):
        return _object_of(value)
    if type(value) in (list, tuple, set, frozenset):
        return type(value)(_rebuilt(one) for one in value)
    if type(value) is dict:
        return {_rebuilt(key): _rebuilt(one) for key, one in value.items()}
    return value


def _object_of(record: Any) -> Any:
    module, name = record._of
    made: Any = importlib.import_module(module)
    for part in name.split("."):
        made = getattr(made, part)
    values = [_rebuilt(one) for one in record]
    if record._kind == "namedtuple":
        return tuple.__new__(made, values)
    found = object.__new__(made)
    for field, value in zip(record._fields, values):
        object.__setattr__(found, field, value)
    return found


def _leave(one: Any, raised: Any = None) -> Any:
    if raised is None:
        return type(one).__exit__(one, None, None, None)
    name, text = raised
    kind = getattr(builtins, name, Exception)
    error = (kind if isinstance(kind, type) and issubclass(kind, Exception) else Exception)(text)
    return type(one).__exit__(one, type(error), error, None)


def _mro(kind: type) -> List[List[str]]:
    return [_name(one) for one in kind.__mro__ if issubclass(one, BaseException)]


def _bases(kind: type) -> List[List[int]]:
    """Of each class of the mro, where in it its bases are."""
    mro = [one for one in kind.__mro__ if issubclass(one, BaseException)]
    return [[mro.index(base) for base in one.__bases__ if base in mro] for one in mro]


def _name(kind: type) -> List[str]:
    return [str(kind.__module__), str(kind.__qualname__)]


def _text_of(error: BaseException) -> str:
    try:
        return _clean(str(error))[:10_000]
    except Exception:
        return ""


def _clean(text: str) -> str:
    return text.encode(errors="replace").decode()


def main(source: BinaryIO, config: Dict[str, Any]) -> None:
    here = os.getcwd()
    sys.path[:0] = [os.path.join(here, root).rstrip("/") for root in config["roots"]]
    serve(source, Worker().answer)
