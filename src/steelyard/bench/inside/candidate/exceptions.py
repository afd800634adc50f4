"""What the candidate raised -> an exception in the tests' process, so that `except` and `raises` work.

A builtin exception is the builtin of that name, and so are some of the standard library's. One of the candidate's
own is a class made here, once for each name, with the same bases; nothing of it runs. Exceptions with which test
frameworks steer (skip, exit) never come to be: neither unittest's nor pytest's are on the list. Nor do those that
Python itself takes for the end of something: a StopIteration in `map(share, cases)` would end the loop of a test.
"""

import builtins
import importlib
from typing import Any, Dict, List, Tuple

from .values import FIELD, Malformed, decode

STANDARD = frozenset(
    [
        "json.decoder",
        "decimal",
        "configparser",
        "zipfile",
        "tarfile",
        "urllib.error",
        "socket",
        "struct",
        "zlib",
        "binascii",
        "_csv",
        "csv",
        "sqlite3",
        "subprocess",
        "http.client",
        "xml.etree.ElementTree",
        "xml.parsers.expat",
        "argparse",
        "re",
        "queue",
        "_queue",
        "shutil",
        "statistics",
        "dataclasses",
        "lzma",
        "_lzma",
        "ipaddress",
        "email.errors",
        "concurrent.futures._base",
        "asyncio.exceptions",
        "copy",
        "pickle",
        "_pickle",
    ]
)
MAX_CLASSES = 1000
MAX_MRO = 60
MAX_KINDS = 2  # an error that is a ValueError, a TypeError and a KeyError is whatever a test expects
Name = Tuple[str, str]

_classes: Dict[Name, type] = {}


class Raised(Exception):
    """The base of every exception class of the candidate's own."""

    def __init__(self, *args: Any) -> None:
        pass  # a builtin base may want other arguments

    def __str__(self) -> str:
        return str(self.__dict__.get("_text", "")) or super().__str__()


class Stop(Raised, RuntimeError):
    """The base of what stands for exceptions that end a loop, a generator or a program, and says so."""

    def __str__(self) -> str:
        text = super().__str__()
        name = type(self).__name__
        return "the candidate raised %s: %s" % (name, text) if text else "the candidate raised " + name


STOPS: Dict[Name, type] = {
    ("builtins", name): type(name, (Stop,), {})
    for name in ("StopIteration", "StopAsyncIteration", "GeneratorExit", "KeyboardInterrupt")
}


def is_stop_iteration(error: BaseException) -> bool:
    return isinstance(error, STOPS["builtins", "StopIteration"])


def exception_class(mro: Any, bases: Any = None) -> type:
    """The class here for a class there, described by its mro and the positions of each class's bases in it."""
    names = _names(mro)
    _require_few_kinds(names)
    above = _checked_bases(bases, len(names)) if bases is not None else [[at + 1] for at in range(len(names))]
    made: Dict[int, type] = {}
    for at in reversed(range(len(names))):
        found = [made[base] for base in above[at] if base in made]
        made[at] = _class(names[at], found)
    return made[0]


def _require_few_kinds(names: List[Name]) -> None:
    known = {_standard(*name) for name in names} - {None, Exception}
    lowest = [one for one in known if not any(other is not one and issubclass(other, one) for other in known)]
    if len(lowest) > MAX_KINDS:
        raise Malformed("an exception with too many bases")


def exception(raised: Any) -> BaseException:
    if not isinstance(raised, dict) or not {"mro", "args", "text", "attrs"} <= set(raised):
        raise Malformed("an exception without its parts")
    kind = exception_class(raised["mro"], raised.get("bases"))
    args, text = [decode(one, _no_object) for one in raised["args"]], str(raised["text"])
    try:
        error = kind(*args)
    except Exception:  # a class that wants other arguments than its instances show
        error = _derived(kind.__name__, (kind,))(*args)
    if isinstance(error, Raised):
        error.__dict__["_text"] = text
        error.args = tuple(args)
    for name, value in raised["attrs"]:
        if isinstance(name, str) and FIELD.match(name) and not hasattr(error, name):
            error.__dict__[name] = decode(value, _no_object)
    return error  # type: ignore[no-any-return]


def _names(mro: Any) -> List[Name]:
    if not isinstance(mro, list) or not 0 < len(mro) <= MAX_MRO:
        raise Malformed("a class without its bases")
    for one in mro:
        if not isinstance(one, list) or len(one) != 2 or not all(isinstance(part, str) for part in one):
            raise Malformed("a class without a name")
    return [(module[:200], name[:200]) for module, name in mro]


def _checked_bases(bases: Any, count: int) -> List[List[int]]:
    for at, one in enumerate(bases if isinstance(bases, list) else [None]):
        if not isinstance(one, list) or not all(type(base) is int and at < base < count for base in one):
            raise Malformed("a class with impossible bases")
    if len(bases) != count:
        raise Malformed("a class with impossible bases")
    return bases  # type: ignore[no-any-return]


def _class(name: Name, bases: List[type]) -> type:
    known: Any = STOPS.get(name) or _standard(*name)
    if known is not None:
        return known  # type: ignore[no-any-return]
    if name in _classes:
        return _classes[name]
    made = _derived(name[1], tuple(bases))
    made.__module__ = name[0]
    if len(_classes) < MAX_CLASSES:
        _classes[name] = made
    return made


def _derived(name: str, bases: Tuple[type, ...]) -> type:
    short = name.rpartition(".")[2]
    for above in ((Raised, *bases), (Raised, *bases[:1]), (Raised,)):
        unique = [
            base for at, base in enumerate(above) if not any(issubclass(one, base) for one in above[at + 1 :])
        ]
        try:
            return type(short, tuple(unique), {})
        except TypeError:  # bases that do not go together
            continue
    return Raised


def _standard(module: str, name: str) -> Any:
    """The class of that name here, if it is an ordinary exception of Python's own."""
    if module == "builtins":
        found = getattr(builtins, name, None)
    elif module in STANDARD:
        found = getattr(importlib.import_module(module), name, None)
    else:
        return None
    if isinstance(found, type) and issubclass(found, (Exception, SystemExit)):
        return found
    return Exception if name == "BaseException" else None


def _no_object(value: Any) -> Any:
    raise Malformed("an object in an exception: %s" % str(value)[:60])
