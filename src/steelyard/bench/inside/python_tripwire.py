"""Runs inside the sandbox, in the tests' process: who is who in the runner, and whether it still is at the end.

Identities are taken when the trusted tools are loaded and the tree is not. Only names that exist then are compared:
a module that gains one (`builtins._` by gettext) is nobody's trick.
"""

import builtins
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
)
FOR_PYTEST = (
    *("_pytest.runner", "_pytest.python", "_pytest.reports", "_pytest.outcomes", "_pytest.skipping"),
    *("_pytest.assertion", "_pytest.assertion.rewrite", "_pytest.assertion.util", "_pytest.main"),
    *("_pytest.unittest", "_pytest.python_api", "_pytest.raises", "_pytest.nodes", "_pytest.fixtures"),
    *(
        "pluggy._callers",
        "pluggy.callers",
        "pluggy._hooks",
        "pluggy.hooks",
        "pluggy._manager",
        "pluggy._result",
    ),
)
FOR_UNITTEST = ("unittest.case", "unittest.result", "unittest.runner", "unittest.suite", "unittest.loader")
CALLABLE = (types.FunctionType, types.BuiltinFunctionType, type, classmethod, staticmethod, property)


class Tripwire:
    def __init__(self, ours):
        modules = [sys.modules[name] for name in FOR_PYTEST + FOR_UNITTEST if name in sys.modules]
        self.cheap = [entry for module, names in EVERYWHERE for entry in _named(module, names)]
        self.all = self.cheap + [entry for module in modules for entry in _identities(module)]
        self.all += [entry for one in ours for entry in _members(one, one.__name__)]
        self.modules = [(module.__name__, module) for module in modules]
        self.said = set()

    def differences(self, cheap):
        """What is not as it was, each once."""
        found = [
            label
            for holder, name, value, code, label in (self.cheap if cheap else self.all)
            if holder.get(name) is not value or _code(value) is not code
        ]
        found += [name for name, module in self.modules if sys.modules.get(name, module) is not module]
        new = [label for label in found if label not in self.said]
        self.said.update(new)
        return ["`" + label + "` was replaced" for label in new]


def _named(module, names):
    held = vars(module)
    if names is None:
        names = [name for name, value in held.items() if isinstance(value, CALLABLE)]
    return [
        (held, name, held[name], _code(held[name]), module.__name__ + "." + name)
        for name in names
        if name in held
    ]


def _identities(module):
    """The functions that a module defines, and the members of its classes."""
    for name, value in list(vars(module).items()):
        if getattr(value, "__module__", None) == module.__name__ and isinstance(
            value, (types.FunctionType, type)
        ):
            yield vars(module), name, value, _code(value), module.__name__ + "." + name
            if isinstance(value, type):
                for entry in _members(value, module.__name__ + "." + name):
                    yield entry


def _members(owner, label):
    for name, value in list(vars(owner).items()):
        if isinstance(value, CALLABLE):
            yield vars(owner), name, value, _code(value), label + "." + name


def _code(value):
    if isinstance(value, property):
        value = value.fget
    return getattr(getattr(value, "__func__", value), "__code__", None)


def code_of(function):
    """The code object behind a test function or a bound method, or None."""
    return getattr(getattr(function, "__func__", function), "__code__", None)


def hook_of_the_tree(hook, root):
    """A tracing or profiling function that was written in the tree, by name; coverage tools come from elsewhere."""
    code = code_of(hook) or code_of(vars(type(hook)).get("__call__"))
    where = getattr(code, "co_filename", "")
    return where if where.startswith(root + "/") and "site-packages" not in where else ""
