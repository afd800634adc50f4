"""Runs inside the sandbox, in the tests' process: who is who in the runner, and whether it still is at the end.

Identities are taken when the trusted tools are loaded and the tree is not. Only names that exist then are compared:
a module that gains one (`builtins._` by gettext) is nobody's trick. What a file of the author replaces by its own code
(a conftest, a test, a module that the change left alone) is the author's doing; what an installed package replaces
outside the runner (gevent, a frozen clock) is nobody's either.
"""

import ast
import builtins
import functools
import importlib._bootstrap_external as loading
import io
import operator
import os
import sys
import time
import types

EVERYWHERE = (
    (builtins, None),
    (
        time,
        ("time", "monotonic", "perf_counter", "process_time", "time_ns", "monotonic_ns", "perf_counter_ns"),
    ),
    (operator, ("eq", "ne", "is_", "contains", "not_", "truth")),
    (sys, ("exit", "settrace", "setprofile", "exc_info", "_getframe", "gettrace", "getprofile")),
    (os, ("_exit", "write", "getpid", "fork", "kill")),
    (ast, ("parse", "walk")),
    (io, ("open_code", "open")),
)
RUNNERS = ("_pytest", "pytest", "pluggy", "unittest")
HARMLESS = ("builtins.print", "builtins.input", "builtins.help")
CALLABLE = (types.FunctionType, types.BuiltinFunctionType, type, classmethod, staticmethod, property)


class Tripwire:
    def __init__(self, ours, origins):
        self.origins = origins
        self.cheap = [entry for module, names in EVERYWHERE for entry in _named(module, names)]
        loaded = sys.modules.copy().items()
        self.modules = [(name, module) for name, module in loaded if name.partition(".")[0] in RUNNERS]
        self.runner, self.classes = [], [(loading.SourceFileLoader, "importlib.SourceFileLoader")]
        for name, module in self.modules:
            self.runner += _named(module, None)
            held = vars(module).values()
            self.classes += [(one, name + "." + one.__name__) for one in held if _is_class_of(one, name)]
        self.classes += [(value, name) for name, value in ours.items() if isinstance(value, type)]
        self.runner += [entry for one, label in self.classes for entry in _members(one, label)]
        functions = [name for name, value in ours.items() if isinstance(value, types.FunctionType)]
        self.runner += [(ours, name, ours[name], code_of(ours[name]), name) for name in functions]
        self.names = [(one, label, frozenset(vars(one))) for one, label in self.classes]
        self.said = set()

    def differences(self, everything):
        """What is not as it was, each once."""
        found = [one[-1] for one in _changed(self.cheap) if not self.is_excused(*one, installed=True)]
        if everything:
            found += [one[-1] for one in _changed(self.runner) if not self.is_excused(*one, installed=False)]
            found += [label for one, label, names in self.names for label in self.gained(one, label, names)]
            found += [name for name, module in self.modules if sys.modules.get(name, module) is not module]
        new = [label for label in dict.fromkeys(found) if label not in self.said]
        self.said.update(new)
        return ["`" + label + "` was replaced" for label in new]

    def gained(self, owner, label, before):
        """A name that a class did not have may hide one that it inherits."""
        held = vars(owner)
        if len(held) == len(before):
            return []
        new = [name for name in held if name not in before and isinstance(held[name], CALLABLE)]
        return [label + "." + name for name in new if not self.is_another_name(owner, name, before, label)]

    def is_another_name(self, owner, name, before, label):
        """For a method that the class has (`assertItemsEqual`), or for one that the author wrote."""
        held = vars(owner)
        inherits = any(name in vars(base) for base in owner.__mro__[1:])
        if not inherits and any(held[name] is held.get(other) for other in before):
            return True
        return self.is_excused(name, None, held[name], label, installed=True)

    def is_excused(self, name, old, new, label, installed):
        """Whether the code of a replacement is the author's, or an installed package's if that is enough."""
        if label in HARMLESS or label.startswith("time."):
            while isinstance(new, functools.partial):
                new = new.func
            if new is old:
                return True
        where = self.origins.trusted_file(code_of(new) or code_of(vars(type(new)).get("__call__")))
        if is_installed(where):
            return installed
        return is_within(where, self.origins.root) and self.origins.assigns(where, name)


def _is_class_of(value, module):
    return isinstance(value, type) and value.__module__ == module


def _changed(entries):
    return [
        (name, value, holder.get(name), label)
        for holder, name, value, code, label in entries
        if holder.get(name) is not value or (code is not None and code_of(value) is not code)
    ]


def _named(module, names):
    held = vars(module)
    if names is None:
        names = [name for name, value in held.items() if isinstance(value, CALLABLE)]
    return [
        (held, name, held[name], code_of(held[name]), module.__name__ + "." + name)
        for name in names
        if name in held
    ]


def _members(owner, label):
    held = vars(owner)
    return [
        (held, name, value, code_of(value), label + "." + name)
        for name, value in held.items()
        if isinstance(value, CALLABLE)
    ]


def code_of(function):
    """The code object behind a function, a method or a property, or None."""
    if isinstance(function, property):
        function = function.fget
    return getattr(getattr(function, "__func__", function), "__code__", None)


def hook_of_the_tree(hook, origins):
    """Where a tracing or profiling function was written, unless in an installed tool such as coverage."""
    code = code_of(hook) or code_of(vars(type(hook)).get("__call__"))
    if code is None:
        return ""
    where = origins.file(code) or "code that no file has"
    return "" if is_installed(where) or is_within(where, origins.standard) else where


def look_again(tripwire, say, everything):
    for text in tripwire.differences(everything):
        say("tampering", text)
    for name in ("gettrace", "getprofile"):
        where = hook_of_the_tree(getattr(sys, name)(), tripwire.origins)
        if where:
            say("tampering", "sys.set" + name[3:] + " was left on by " + where)


def text_of(error, kind=None):
    """One line about an exception, whatever its own methods do."""
    try:
        lines = str(error).strip().splitlines()
    except BaseException:
        lines = []
    kind = type(error).__name__ if kind is None else kind
    return ": ".join(part for part in [kind] + lines[:1] if part)[:500]
