"""Runs inside the sandbox, in the tests' process: the identity of the runner's functions, compared again at the end.

Identities are taken when the trusted tools are loaded and the tree is not. Only names that exist then are compared:
a module that gains a name (`builtins._` by gettext) is not reported. What a file of the author replaces by its own code
(a conftest, a test, a module that the change left alone) is allowed; so is what an installed package replaces
outside the runner (gevent, a frozen clock).

Compared after each test: the functions that tests rely on, the parts of the runner that run a test, and the harness's own
functions. At the end: the whole runner. The interpreter counts the changes of each dictionary, so most comparisons compare one number.
"""

import ast
import builtins
import functools
import gc
import importlib._bootstrap_external as loading
import io
import math
import operator
import os
import re
import sys
import time
import timeit
import types

EVERYWHERE = (
    (builtins, None),
    (
        time,
        ("time", "monotonic", "perf_counter", "process_time", "time_ns", "monotonic_ns", "perf_counter_ns"),
    ),
    (timeit, ("default_timer", "timeit", "repeat", "Timer")),
    (operator, ("eq", "ne", "is_", "contains", "not_", "truth", "lt", "le", "gt", "ge")),
    (math, ("isclose", "isnan", "fabs")),
    (sys, ("exit", "settrace", "setprofile", "exc_info", "_getframe", "gettrace", "getprofile")),
    (os, ("_exit", "write", "getpid", "fork", "kill")),
    (ast, ("parse", "walk")),
    (io, ("open_code", "open")),
)
RUNNERS = ("_pytest", "pytest", "pluggy", "unittest")
# What a test goes through. No honest code changes these while tests run, not even for a moment.
RUNS_TESTS = (
    *("_pytest.runner", "_pytest.reports", "_pytest.python", "_pytest.unittest", "_pytest.skipping"),
    *("_pytest.python_api", "_pytest.raises"),
    *("pluggy._callers", "pluggy._result", "pluggy._hooks", "pluggy._manager"),
    *("unittest.case", "unittest.result", "unittest.suite", "unittest.runner"),
)
TEST_FILE = re.compile(r"/(test_[^/]*|[^/]*_test|tests|conftest)\.py$")
HARMLESS = ("builtins.print", "builtins.input", "builtins.help")
CALLABLE = (types.FunctionType, types.BuiltinFunctionType, type, classmethod, staticmethod, property)


class Tripwire:
    def __init__(self, ours, origins):
        self.origins = origins
        self.cheap = [entry for module, names in EVERYWHERE for entry in _named(module, names)]
        self.cheap += [
            (sys.modules, module.__name__, module, None, "sys.modules." + module.__name__)
            for module, _ in EVERYWHERE
        ]
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
        self.reporters = []
        self.reported = set()
        self.holders = self.critical_holders(ours)

    def critical_holders(self, ours):
        """What is looked at after each test, a dictionary at a time."""
        by_holder = {}
        for entry in self.cheap:
            by_holder.setdefault(id(entry[0]), (entry[0], [], "", True))[1].append(entry)
        by_holder[id(ours)] = (ours, [one for one in self.runner if one[0] is ours], "", False)
        for name, module in self.modules:
            if name in RUNS_TESTS:
                by_holder[id(vars(module))] = vars(module), _named(module, None), name, False
        for one, label in self.classes:
            if label.rpartition(".")[0] in RUNS_TESTS or "." not in label:
                held = dictionary_of(one)
                by_holder[id(held)] = held, _members(one, label, held), label, False
        return [Holder(*one) for one in by_holder.values()]

    def remember_reporter(self, reporter, changing):
        """Watch an object of the harness: its attributes stay the same, and nothing hides its methods."""
        held = vars(reporter)
        label = type(reporter).__name__
        entries = [
            (held, name, value, None, label + "." + name)
            for name, value in held.items()
            if name not in changing
        ]
        self.reporters.append((reporter, type(reporter), frozenset(held) | set(changing), entries, label))

    def differences(self, everything):
        """What is not as it was, each once."""
        changed = [holder for holder in self.holders if holder.read() != holder.version]
        found = [text for holder in changed for text in self.changed_in(holder)]
        for reporter, kind, names, entries, label in self.reporters:
            found += [one[-1] for one in _changed(entries)]
            found += [label] if type(reporter) is not kind else []
            found += [
                label + "." + name for name in vars(reporter) if name not in names and hasattr(kind, name)
            ]
        if everything:
            found += [one[-1] for one in _changed(self.cheap) if not self.is_excused(*one, installed=True)]
            found += [one[-1] for one in _changed(self.runner) if not self.is_excused(*one, installed=False)]
            found += [label for one, label, names in self.names for label in self.gained(one, label, names)]
            found += [name for name, module in self.modules if sys.modules.get(name, module) is not module]
        new = [label for label in dict.fromkeys(found) if label not in self.reported]
        self.reported.update(new)
        return ["`" + label + "` was replaced" for label in new]

    def changed_in(self, holder):
        changed = _changed(holder.entries)
        for_a_while = holder.label and not changed and holder.is_as_before()
        holder.accept()
        if for_a_while:  # a function that was put back before the test ended
            return [holder.label]
        return [one[-1] for one in changed if not self.is_excused(*one, installed=holder.is_everybodys)]

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


class Holder:
    """A dictionary with functions that tests go through."""

    __slots__ = ("before", "entries", "held", "is_everybodys", "label", "read", "version")

    def __init__(self, held, entries, label, is_everybodys):
        self.held, self.entries, self.label, self.is_everybodys = held, entries, label, is_everybodys
        # Where nothing is counted, each time is another version.
        self.read = version_of(held).tobytes if VERSIONED else object
        self.accept()

    def accept(self):
        self.before = list(self.held.values()) if self.label else None
        self.version = self.read()

    def is_as_before(self):
        """Whether a dictionary with another version has the same values."""
        same = len(self.before) == len(self.held) and all(map(operator.is_, self.before, self.held.values()))
        return same and VERSIONED


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


def _members(owner, label, held=None):
    held = vars(owner) if held is None else held
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
    where = origins.file(code) or "code from no file"
    return "" if is_installed(where) or is_within(where, origins.standard) else where


def look_again(tripwire, say, everything):
    for text in tripwire.differences(everything):
        say("tampering", text)
    for name in ("gettrace", "getprofile"):
        where = hook_of_the_tree(getattr(sys, name)(), tripwire.origins)
        if where:
            say("tampering", "sys.set" + name[3:] + " was left on by " + where)


def hide_from_the_collector():
    """`gc.get_objects()` shows nothing that is older than this."""
    if hasattr(gc, "freeze"):
        gc.freeze()


def unchanged_parts(ours, say):
    """A function that returns whether a name of the harness was changed, even if it was changed back.

    It looks up no name, so that there is none to rebind.
    """
    ours.setdefault("__warningregistry__", {})  # the first warning about our code would add it
    kinds = [(dictionary_of(one), name) for name, one in ours.items() if isinstance(one, type)]
    held = [(ours, "the runner's own names")] + kinds if VERSIONED else []

    def intact(held=None, say=None):
        for version, before, label in held:
            if version.tobytes() != before:
                say("tampering", "`" + label + "` was replaced")

    versions = [(version_of(one), label) for one, label in held]
    give(intact, held=tuple((one, one.tobytes(), label) for one, label in versions), say=say)
    return intact


def watch_functions(tripwire, names, say):
    """The code of a function of the runner, of a test or of a helper, replaced in place and maybe put back.

    An audit hook cannot be removed, and is called when it happens.
    """
    if not hasattr(sys, "addaudithook"):
        return

    def hear(event, arguments, parts=None):
        if event != "object.__setattr__":  # first: each import, open and compilation comes here
            return
        watched, function, is_allowed, frame_of, say = parts
        if arguments[1] not in watched or type(arguments[0]) is not function:
            return
        if not is_allowed(arguments[0].__code__, frame_of(1)):
            say("tampering", "the code of `" + arguments[0].__qualname__ + "` was replaced")

    watched = ("__code__", "__defaults__", "__kwdefaults__")
    parts = (watched, types.FunctionType, Functions(tripwire.origins, names).may_change, sys._getframe, say)
    give(hear, parts=parts)
    sys.addaudithook(hear)


class Functions:
    """Whose function it is, and who changes it."""

    def __init__(self, origins, names):
        self.origins, self.names = origins, names

    def may_change(self, code, frame):
        where = code.co_filename
        if code in self.origins.ours or self.origins.is_runners(where):
            return False
        is_a_test = is_within(where, self.origins.root) and TEST_FILE.search(where) is not None
        if where not in self.names.files and not is_a_test:
            return True
        while frame is not None:  # a library acts in the name of its caller
            by = self.origins.trusted_file(frame.f_code)
            if not by or (is_within(by, self.origins.root) and not is_installed(by)):
                return bool(by)
            frame = frame.f_back
        return False


def text_of(error, kind=None):
    """One line about an exception, whatever its own methods do."""
    try:
        lines = str(error).strip().splitlines()
    except BaseException:
        lines = []
    kind = type(error).__name__ if kind is None else kind
    return ": ".join(part for part in [kind] + lines[:1] if part)[:500]
