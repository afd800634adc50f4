"""Proxies, in the tests' process, for the candidate's modules, functions, classes and objects.

Each name is looked up on the other side. Data is data; a function is called there, with data; an exception class
is made here. An object that stays there is used by its number, and only where the check's `objects` lists the name
that gives it: the candidate sees what a test passes to such an object, and may answer as it likes.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import pathlib
import sys
import types
from typing import Any, Dict, List, Optional, Tuple

from .exceptions import exception, exception_class, is_stop_iteration
from .link import LINK, SETTINGS, CandidateGone, may_stay, refusal
from .values import CannotCross, Malformed, Record, decode, encode

MAX_CLASSES = 1000
CATCHERS = {("unittest.case", "run"), ("_pytest.runner", "runtestprotocol")}
MODULE_DUNDERS = {"__version__", "__author__", "__doc__"}
# This file is in `candidate/` in one of the roots.
_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_TREE = _HERE if os.path.basename(_HERE) not in SETTINGS["roots"] else os.path.dirname(_HERE)
ROOTS = [os.path.join(_TREE, root).rstrip("/") for root in SETTINGS["roots"]]
Ref = Dict[str, Any]


class Module(types.ModuleType):
    """A module of the candidate's, as far as its names are asked for."""

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":  # or the candidate would say what `len` is in the tests
            raise CannotCross("from %s import *: name what the tests use" % self.__name__)
        if name.startswith("__") and name not in MODULE_DUNDERS:
            raise AttributeError(name)
        ref: Ref = {"module": self.__name__, "path": []}
        return look(ref, name, "%s:%s" % (self.__name__, name))

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("__") and not isinstance(value, types.ModuleType):
            raise CannotCross(
                "setting %s.%s: nothing of the candidate's can be replaced" % (self.__name__, name)
            )
        if isinstance(
            value, Module
        ):  # set by the import of a submodule; the package may have another thing of that name
            return
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        raise CannotCross(
            "deleting %s.%s: nothing of the candidate's can be replaced" % (self.__name__, name)
        )


class Function:
    """A function there: called with data, gives data."""

    def __init__(self, ref: Ref, label: str, receiver: "Optional[Object]" = None) -> None:
        self.__dict__.update(_ref=ref, _label=label, _receiver=receiver)
        self.__dict__.update(__name__=label.rpartition(":")[2].rpartition(".")[2], __qualname__=label)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return call(self._ref, self._label, args, kwargs, self._receiver)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return look(self.__dict__["_ref"], name, "%s.%s" % (self.__dict__["_label"], name))

    def __setattr__(self, name: str, value: Any) -> None:
        raise CannotCross("setting %s.%s: nothing of the candidate's can be replaced" % (self._label, name))

    def __repr__(self) -> str:
        return "<the candidate's %s>" % self._label


class Coroutine(Function):
    """The same, of an `async def`: awaited there, and the result awaited here at once."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        async def call_there() -> Any:
            return call(self._ref, self._label, args, kwargs, self._receiver)

        return call_there()


class Class(type):
    """A class there. Calling it makes an object there, or, of a data class, data."""

    def __new__(cls, name: str, bases: Tuple[type, ...], namespace: Dict[str, Any], **_: Any) -> "Class":
        if "_of" not in namespace:
            raise CannotCross("a class derived from the candidate's %s" % bases[0].__name__)
        return super().__new__(cls, name, bases, namespace)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return call(cls.__dict__["_ref"], cls.__dict__["_label"], args, kwargs, None)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__") or "_ref" not in cls.__dict__ or cls.__dict__["_ref"] is None:
            raise AttributeError(name)
        return look(cls.__dict__["_ref"], name, "%s.%s" % (cls.__dict__["_label"], name))

    def __setattr__(cls, name: str, value: Any) -> None:
        raise CannotCross("setting %s.%s: nothing of the candidate's can be replaced" % (cls.__name__, name))

    def __instancecheck__(cls, value: Any) -> bool:
        of = value._of if isinstance(value, Record) else type(value).__dict__.get("_of", ("",))
        return bool(of == cls.__dict__["_of"])


class Object(metaclass=Class):
    """An object that stays there. It equals another one if the candidate says so, and never data."""

    _of = ("", "")
    _ref: Any = None
    _label = ""
    __slots__ = ("__weakref__", "_generation", "_name", "_number")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        ref: Ref = {"handle": number(self), "path": []}
        return look(ref, name, "%s.%s" % (self._name, name), self)

    def __setattr__(self, name: str, value: Any) -> None:
        data = encode_argument(value, "%s.%s" % (self._name, name))
        result("set", self._name, None, of={"handle": number(self), "path": []}, name=name, value=data)

    def __del__(self) -> None:
        LINK.forget(self._generation, self._number)

    def __hash__(self) -> int:
        return hash((self._generation, self._number))

    def __eq__(self, other: object) -> Any:
        return self is other or (other is not None and self._compared("eq", other))

    def __ne__(self, other: object) -> Any:
        return self is not other and (other is None or self._compared("ne", other))

    def _compared(self, what: str, other: Any) -> bool:
        if not isinstance(other, Object) and type(type(other)) is not Class:
            raise CannotCross("comparing %s with data: ask it for data, and compare that" % self._name)
        return boolean(self, what, other)

    def __iter__(self) -> Any:
        return iter(operate(self, "iter"))

    def __contains__(self, other: object) -> bool:
        return boolean(self, "contains", other)

    def __exit__(self, _kind: object, error: Optional[BaseException], _trace: object) -> bool:
        details = [] if error is None else [(type(error).__name__, str(error))]
        return operate(self, "exit", *details) is True


def _operator(what: str, name: str) -> Any:
    def method(self: Object, *args: Any) -> Any:
        return operate(self, what, *args)

    method.__name__ = name
    return method


def _reflected(what: str, name: str) -> Any:
    def method(self: Object, other: Any) -> Any:
        label = "%s.%s" % (self._name, name)
        return result(
            "do", label, None, what=what, args=[encode_argument(one, label) for one in (other, self)]
        )

    method.__name__ = name
    return method


def _boolean(what: str, name: str) -> Any:
    def method(self: Object, *args: Any) -> bool:
        return self._compared(what, *args) if args else boolean(self, what)

    method.__name__ = name
    return method


_SAME = (
    "len str repr int float abs next round divmod enter getitem setitem delitem neg pos invert add sub mul truediv "
    "floordiv mod pow matmul xor lshift rshift"
)
for _what in _SAME.split():
    type.__setattr__(Object, "__%s__" % _what, _operator(_what, "__%s__" % _what))
for _what in ("and_", "or_"):
    type.__setattr__(Object, "__%s_" % _what, _operator(_what, "__%s_" % _what))
for _what in ("bool", "lt", "le", "gt", "ge"):
    type.__setattr__(Object, "__%s__" % _what, _boolean(_what, "__%s__" % _what))
for _what in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"):
    type.__setattr__(Object, "__r%s__" % _what, _reflected(_what, "__r%s__" % _what))


# By the tests' own name for it: a function that claims to be some other class does not become that one.
_class_of: Dict[Tuple[str, Tuple[str, str]], Any] = {}


def class_stand_in(ref: Optional[Ref], label: str, of: Any) -> Any:
    name = _class_name(of)
    if (label, name) not in _class_of:
        space = {"_of": name, "_ref": ref, "_label": label, "__slots__": (), "__module__": name[0]}
        made = Class(name[1].rpartition(".")[2] or "Object", (Object,), space)
        if len(_class_of) >= MAX_CLASSES:
            return made
        _class_of[label, name] = made
    return _class_of[label, name]


def object_stand_in(claim: Any, label: str, receiver: Optional[Object]) -> Object:
    if not isinstance(claim, dict) or set(claim) != {"n", "class"} or type(claim["n"]) is not int:
        raise Malformed("an object without a number")
    if receiver is not None and receiver._number == claim["n"]:
        return receiver
    if not may_stay(label):
        raise refusal(
            label, "an object of the class %s.%s, which is not plain data" % _class_name(claim["class"])
        )
    made = object.__new__(class_stand_in(None, "", claim["class"]))
    for name, value in (("_number", claim["n"]), ("_name", label + "()"), ("_generation", LINK.generation)):
        object.__setattr__(made, name, value)
    return made  # type: ignore[no-any-return]


def _class_name(of: Any) -> Tuple[str, str]:
    if not isinstance(of, list) or len(of) != 2 or not all(isinstance(part, str) for part in of):
        raise Malformed("a class without a name")
    return of[0][:200], of[1][:200]


def number(value: Object) -> int:
    if value._generation != LINK.generation:
        raise CandidateGone("%s belonged to a candidate process that has ended" % value._name)
    return value._number  # type: ignore[no-any-return]


def look(owner: Ref, name: str, label: str, receiver: Optional[Object] = None) -> Any:
    """Look up a name there; returns data, or the proxy for it."""
    about = request("look", label, of=owner, name=name, **{"as": "object" if may_stay(label) else "data"})
    ref = dict(owner, path=[*owner["path"], name])
    try:
        kind = about["kind"]
        if kind == "function":
            return (Coroutine if about["async"] is True else Function)(ref, label, receiver)
        if kind == "class":
            return class_stand_in(ref, label, about["class"])
        if kind == "exception":
            return exception_class(about["mro"], about.get("bases"))
        if kind == "module":
            return _module(about["name"], label)
        if kind in ("data", "object"):
            return decode_result(about["value"], label, receiver)
    except (KeyError, TypeError, Malformed) as error:
        raise CandidateGone("the candidate's answer is malformed: %s" % str(error)[:200]) from None
    raise CandidateGone("the candidate's answer is malformed: %s" % str(kind)[:40])


def call(ref: Ref, label: str, args: Any, kwargs: Dict[str, Any], receiver: Optional[Object]) -> Any:
    if "handle" in ref and receiver is not None:
        number(receiver)
    return result(
        "call",
        label,
        receiver,
        of=ref,
        args=[encode_argument(one, label) for one in args],
        kwargs=[[name, encode_argument(one, label)] for name, one in kwargs.items()],
    )


def operate(value: Object, what: str, *args: Any) -> Any:
    label = "%s.__%s__" % (value._name, what.rstrip("_"))
    return result("do", label, value, what=what, args=[encode_argument(one, label) for one in (value, *args)])


def boolean(value: Object, what: str, *args: Any) -> bool:
    return bool(operate(value, what, *args) is True)


def result(op: str, label: str, receiver: Optional[Object], **fields: Any) -> Any:
    fields["as"] = "object" if may_stay(label) else "data"
    answer = request(op, label, **fields)
    try:
        return decode_result(answer, label, receiver)
    except Malformed as error:
        raise CandidateGone("the candidate's answer is not data: %s" % error) from None


def request(op: str, label: str, **fields: Any) -> Any:
    """What came under `ok`; raises what was raised there, and says what cannot cross."""
    answer = LINK.ask(op, label=label, **fields)
    if "ok" in answer:
        return answer["ok"]
    if "refused" in answer:
        raise refusal(label, answer["refused"])
    try:
        error = exception(answer["raised"])
    except (Malformed, KeyError, TypeError, ValueError) as lie:
        raise CandidateGone("the candidate's answer is malformed: %s" % str(lie)[:200]) from None
    if isinstance(error, SystemExit) and not (op == "call" and _is_caught()):
        raise CandidateGone("%s raised SystemExit outside of a pytest or unittest test" % label)
    if fields.get("what") == "next" and is_stop_iteration(error):  # an iterator may end, nothing else
        raise StopIteration(*error.args)
    raise error


def _is_caught() -> bool:
    """Is a test under way that fails by whatever it does not expect? A script would end here, with an exit code that
    the candidate chose, and so would pytest while it collects.
    """
    frame: Any = sys._getframe()
    while frame is not None:
        if (frame.f_globals.get("__name__"), frame.f_code.co_name) in CATCHERS:
            return True
        frame = frame.f_back
    return False


def encode_argument(value: Any, label: str) -> Any:
    return encode(value, lambda other: _argument(other, label))


def decode_result(data: Any, label: str, receiver: Optional[Object] = None) -> Any:
    def other(tagged: Dict[str, Any]) -> Any:
        if tagged["$"] == "handle":
            return object_stand_in(tagged["v"], label, receiver)
        raise Malformed("an unknown kind of value")

    return decode(data, other)


def _argument(value: Any, label: str) -> Any:
    if type(type(value)) is Class:
        return {"$": "handle", "v": {"n": number(value)}}
    if isinstance(value, Function) or type(value) is Class:
        return {"$": "ref", "v": value.__dict__["_ref"]}
    if isinstance(value, pathlib.PurePath):
        raise CannotCross(
            "a path of the tests' own sandbox, given to %s: use candidate.write and .read" % label
        )
    if callable(value):
        raise CannotCross("a function given to %s: the candidate cannot call back" % label)
    raise CannotCross("a %s given to %s: it is not plain data" % (type(value).__name__, label))


def _module(name: Any, label: str) -> Any:
    if not isinstance(name, str) or not is_stood_in(name):
        raise refusal(label, "the module %s, which is not one of the candidate's" % str(name)[:100])
    return importlib.import_module(name)


def is_stood_in(name: str) -> bool:
    return name.partition(".")[0] in (*SETTINGS["first"], *SETTINGS["last"])


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the candidate's modules: those of the baseline before anything that is installed here, those that only
    the change has when there is nothing else of that name. A file of the tests' own in one of its packages is real.
    """

    def __init__(self, names: List[str]) -> None:
        self._names = set(names)

    def find_spec(self, fullname: str, path: Any = None, _target: Any = None) -> Any:
        top, _, below = fullname.partition(".")
        if top not in self._names:
            return None
        if below and self._is_here(fullname, path):
            return None
        spec = importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        # Where files of the tests' own may lie beside what is not here.
        spec.submodule_search_locations = [os.path.join(root, *fullname.split(".")) for root in ROOTS]
        return spec

    def create_module(self, spec: Any) -> Any:
        return Module(spec.name)

    def exec_module(self, module: Any) -> None:
        request("import", "importing %s" % module.__name__, module=module.__name__)

    @staticmethod
    def _is_here(fullname: str, path: Any) -> bool:
        found = importlib.machinery.PathFinder.find_spec(fullname, path)
        return found is not None and found.origin is not None and found.origin.endswith(".py")


def install() -> None:
    if not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, Finder(SETTINGS["first"]))
        sys.meta_path.append(Finder(SETTINGS["last"]))


def stand_in(name: str) -> None:
    """For the stub of a module: replace it by the proxy."""
    install()
    del sys.modules[name]
    elsewhere = [entry for entry in sys.path if os.path.abspath(entry) not in ROOTS]
    real = importlib.machinery.PathFinder.find_spec(name, elsewhere) if name in SETTINGS["last"] else None
    spec: Any = real or Finder([name]).find_spec(name)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
