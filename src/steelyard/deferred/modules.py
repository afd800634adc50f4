"""`from steelyard.bench import run_check` -> a module whose code runs when one of its names is first used.

    from steelyard.bench.verifier import run_verifier       deferred: a module is imported, none of its names is used yet
    from steelyard.bench.run_check import run_check         at once: a name of the module is used

The command line and the first use of the Python API (`steelyard.grade`) defer; a program that imports modules of Steelyard itself
imports them as Python does. A part that most commands do not need is imported as a module at the top of a file, and costs nothing
until it is used.
"""

from __future__ import annotations

import builtins
import sys
import threading
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import spec_from_file_location
from os.path import isfile
from types import ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from importlib.abc import Loader
    from typing import Any

PACKAGE = "steelyard."
# Of libraries: for a terminal, for a table that few commands draw, for names that are wrong, for files that few tasks have.
LIBRARIES = frozenset(
    {
        *(
            "ctypes",
            "decimal",
            "difflib",
            "importlib.metadata",
            "importlib.resources",
            "inspect",
            "ipaddress",
            "random",
            "shlex",
            "tempfile",
            "tomllib",
            "traceback",
        ),
        *("rich.console", "rich.live", "rich.spinner", "rich.table", "rich.text"),
    }
)
# Modules of libraries that compile regular expressions for cases that few commands meet: they compile when they are used.
# Of their patterns these modules use methods alone, which is all that a deferred pattern has.
PATTERNS = frozenset({"platform", "yaml.constructor", "yaml.reader", "yaml.resolver"})
_STATE = "__deferred__"
# What the import system asks of a module that it has just found.
_IMPORT_NAMES = frozenset(
    {
        "__class__",
        "__dict__",
        "__file__",
        "__loader__",
        "__name__",
        "__package__",
        "__path__",
        "__spec__",
        _STATE,
    }
)


class _State:
    """Whether the code of a module ran. The lock is the module's own, so threads wait for it and for nothing else."""

    __slots__ = ("is_running", "lock")

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.is_running = False


class _DeferredModule(ModuleType):
    def __getattribute__(self, name: str) -> Any:
        if name not in _IMPORT_NAMES:
            _load(self)
        return ModuleType.__getattribute__(self, name)  # no `super()`: the class is another one by now

    def __setattr__(self, name: str, value: object) -> None:
        if name not in _IMPORT_NAMES:
            _load(self)
        ModuleType.__setattr__(self, name, value)


def _load(module: ModuleType) -> None:
    """Run the code of a module, once; another thread waits until it ran."""
    state: _State | None = module.__dict__.get(_STATE)
    if state is None:
        return
    with state.lock:
        if state.is_running or _STATE not in module.__dict__:
            return
        state.is_running = True
        try:
            loader = module.__spec__.loader  # type: ignore[union-attr]  # the finder made it
            loader.inner.exec_module(module)  # type: ignore[union-attr]
        finally:
            state.is_running = False
        del module.__dict__[_STATE]
        module.__class__ = ModuleType


class _DeferringLoader:
    def __init__(self, inner: Loader) -> None:
        self.inner = inner

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return ModuleType(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__[_STATE] = _State()
        module.__class__ = _DeferredModule

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)  # sources and resources


class _OwnFinder:
    """Finds the modules of Steelyard; packages run at once, as they hold nothing or a table."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not name.startswith(PACKAGE):
            return None
        spec = _own_spec(name, path or ()) or PathFinder.find_spec(name, path, target)
        return spec if spec is None or spec.submodule_search_locations is not None else _deferred(spec)


class _LibraryFinder:
    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name in PATTERNS:
            return _with_deferred_patterns(PathFinder.find_spec(name, path, target))
        return _deferred(PathFinder.find_spec(name, path, target)) if name in LIBRARIES else None


def _deferred(spec: ModuleSpec | None) -> ModuleSpec | None:
    if spec is not None and spec.loader is not None:
        spec.loader = _DeferringLoader(spec.loader)  # type: ignore[assignment]  # all that the import system calls
    return spec


def _with_deferred_patterns(spec: ModuleSpec | None) -> ModuleSpec | None:
    if spec is not None and isinstance(spec.loader, SourceFileLoader):
        spec.loader = _PatternLoader(spec.loader.name, spec.loader.path)
    return spec


class _PatternLoader(SourceFileLoader):
    """Gives a module another `re` than the others have: its `compile` waits for the first use."""

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["__builtins__"] = {**vars(builtins), "__import__": _import_deferring}
        super().exec_module(module)


def _import_deferring(name: str, *details: Any) -> ModuleType:
    found = __import__(name, *details)
    if name != "re":
        return found
    import re  # noqa: PLC0415  # loaded above

    from steelyard.deferred.pattern import deferred_pattern  # noqa: PLC0415  # loads `typing`

    proxy = ModuleType("re")
    proxy.__dict__.update(vars(re), compile=deferred_pattern)
    return proxy


def _own_spec(name: str, folders: Iterable[str]) -> ModuleSpec | None:
    """A module or a package of ours, by the name of its file: the search of `PathFinder` takes four times as long."""
    tail = name.rpartition(".")[2]
    for folder in folders:
        for file, inside in (
            (f"{folder}/{tail}.py", None),
            (f"{folder}/{tail}/__init__.py", [f"{folder}/{tail}"]),
        ):
            if isfile(file):  # noqa: PTH113  # pathlib takes longer to load than this to run
                return spec_from_file_location(
                    name, file, loader=SourceFileLoader(name, file), submodule_search_locations=inside
                )
    return None


def defer_modules() -> None:
    """From now on, modules of Steelyard and some of libraries run when they are first used."""
    defer_own_modules()
    if _LibraryFinder not in sys.meta_path:
        sys.meta_path.insert(1, _LibraryFinder)


def defer_own_modules() -> None:
    """From now on, modules of Steelyard run when they are first used; all others are imported as Python does it."""
    if _OwnFinder not in sys.meta_path:
        sys.meta_path.insert(0, _OwnFinder)


def has_run(name: str) -> bool:
    """Whether the code of a module ran: a deferred one is in `sys.modules` before."""
    module = sys.modules.get(name)
    return module is not None and _STATE not in module.__dict__
