"""Runs inside the sandbox, in the tests' process: names in the oracle's modules that the code under test rebinds.

A test that measures time calls the `time` of its own module. `sys._getframe(1).f_globals["time"] = Clock()` in the tested
code makes slow code fast, and no function of `time` was replaced. So the names of test modules, of conftest files and of
the modules in folders of tests are remembered when they are loaded and compared after each test. The version that the
interpreter keeps of each dictionary is compared first: it is cheap, and it also shows names that were put back.

Functions of installed libraries that the tests use are looked at too: none of them may be the change's.

Names that the tests themselves rebind are the author's: `global`, `mock.patch("tests.test_x.name")`, `request.module`.
"""

import ast
import builtins
import ctypes
import functools
import gc
import operator
import os
import re
import sys
import types

_is_not, _walk, _parse = operator.is_not, ast.walk, ast.parse
GONE = object()
FUNCTIONS = (types.FunctionType, classmethod, staticmethod, property)
TEST_FOLDER = re.compile(r"(?i)(^|/)(tests?|testing|specs?)/")
IMPORTS = re.compile(
    r"^(?:import[ \t]+([\w., \t]+)|from[ \t]+([\w.]+)[ \t]+import[ \t]*(\([^)]*\)|[^\n#;]*))", re.MULTILINE
)
# How code gets hold of the module that it is in, and how code elsewhere gets hold of the module of a test.
OWN_MODULE = (
    "modules",
    "module",
    "import_module",
    "__import__",
    "reload",
    "__globals__",
    "f_globals",
    "getmodule",
)
OTHER_MODULE = ("module", "__globals__", "f_globals")
SETTERS = ("setattr", "delattr", "object", "multiple")
HOOKS = ("excepthook", "displayhook", "unraisablehook", "showwarning")  # there to be replaced
PUTS_NAMES_INTO_EVERY_MODULE = re.compile(r"freez|pyfakefs|assertWarns")


class OracleNames:
    """The names of the modules that judge, as they were when they were loaded."""

    def __init__(self, origins):
        self.origins = origins
        self.spaces = {}  # id of a module's names -> the module's and its classes' namespaces
        self.shared = []  # of conftest files and helper modules: any test may use them
        self.files = {}  # file -> the last part of its module's name
        self.known = {}  # (file, module) -> what that file may rebind
        self.reported = set()
        self.libraries = Libraries(origins)
        self.fakes_files = any(name.partition(".")[0] == "pyfakefs" for name in list(sys.modules))

    def watch(self, module, shared=False):
        """A module that the change adds is left out: it decides nothing."""
        held = getattr(module, "__dict__", None)
        where = self.file_of(module)
        if type(held) is not dict or not where or id(held) in self.spaces:
            return []
        held.setdefault("__warningregistry__", {})  # the first warning would add it
        kinds = [one for one in list(held.values()) if isinstance(one, type)]
        own = [Namespace(held, where, "")]
        own += [
            Namespace(dictionary_of(one), where, one.__name__, one)
            for one in kinds
            if one.__module__ == held.get("__name__")
        ]
        self.spaces[id(held)] = own
        self.files[where] = str(held.get("__name__")).rpartition(".")[2]
        self.shared += own if shared else []
        self.libraries.watch(self.text(where))
        return self.strange_imports(held, where) + self.new(self.libraries.replaced())

    def file_of(self, module):
        where = getattr(module, "__file__", None) or ""
        inside = isinstance(where, str) and is_within(where, self.origins.root) and not is_installed(where)
        is_changed = self.origins.relative(where) in self.origins.changed if inside else True
        return (
            ""
            if is_changed or os.path.basename(where) == "__init__.py" or self.origins.is_new(where)
            else where
        )

    def watch_helpers(self):
        """Modules in folders of tests, which the tests have imported."""
        found = []
        for module in list(sys.modules.values()):
            where = getattr(module, "__file__", None)
            if isinstance(where, str) and TEST_FOLDER.search(self.origins.relative(where)):
                found += self.watch(module, shared=True)
        return found

    def differences(self, module=None):
        """What was rebound in the module of a test and in those that all tests share; or, with no module, anywhere."""
        if module is None:
            spaces = [space for own in self.spaces.values() for space in own]
        else:
            spaces = self.spaces.get(id(getattr(module, "__dict__", None)), []) + self.shared
        found = []
        for space in spaces:
            if space.has_changed():
                found += self.rebound(space)
        return self.new(found + self.libraries.replaced())

    def new(self, texts):
        new = [text for text in dict.fromkeys(texts) if text not in self.reported]
        self.reported.update(new)
        return new

    def rebound(self, space):
        changed, gained = space.changes()
        space.accept()
        names = [name for name in changed + gained if not self.is_the_authors(space, name)]
        place = self.origins.relative(space.file)
        if names:
            return ["`" + space.label(name) + "` in " + place + " was rebound" for name in names]
        if changed or gained or space.owner is not None or self.authors_rebind(space):
            return []
        return ["names in " + place + " were rebound for a while"]

    def is_the_authors(self, space, name):
        value = space.holder.get(name)
        code = code_of(value) or code_of(vars(type(value)).get("__call__"))
        if isinstance(value, type):
            code = next((code_of(one) for one in vars(value).values() if code_of(one)), None)
        where = self.origins.trusted_file(code) if code is not None else ""
        if space.owner is not None:
            return self.wrote(where, name)
        if is_installed(where) and self.is_named(where):
            return True
        return any(one.anything or name in one.names for one in self.rebinding(space))

    def authors_rebind(self, space):
        if self.fakes_files or any(
            one.anything or one.names & set(space.before) for one in self.rebinding(space)
        ):
            return True
        return any(PUTS_NAMES_INTO_EVERY_MODULE.search(self.text(file)) for file in self.files)

    def rebinding(self, space):
        """Of each file of the oracle: what it may rebind in this module."""
        target = self.files[space.file]
        for file in list(self.files):
            key = file, target
            if key not in self.known:
                self.known[key] = Rebinding(self.tree(file), target, file == space.file)
            yield self.known[key]

    def tree(self, file):
        try:
            return _parse(self.origins.text(file), file)
        except Exception:
            return ast.Module([], [])

    def wrote(self, where, name):
        """Whether the code of a method is the author's or an installed package's, or a text of the author's assigns it.

        A method of unittest counts as trusted: `assertEqual` may be another of its assertions.
        """
        if where and not self.origins.is_runners(where):
            return is_within(where, self.origins.root) or is_installed(where)
        shape = re.compile(r"\b%s\b['\"]?\s*[=,]" % re.escape(name))
        return any(shape.search(self.text(file)) for file in self.files)

    def hidden_methods(self, instance):
        """Methods of a test's class, such as `assertEqual`, that its instance hides behind code of neither the author nor a package."""
        try:
            held, kind = object.__getattribute__(instance, "__dict__"), type(instance)
        except Exception:
            return []
        hiding = [name for name in list(held) if isinstance(getattr(kind, name, None), types.FunctionType)]
        found = [(name, self.origins.trusted_file(code_of(held.get(name)))) for name in hiding]
        return [kind.__name__ + "." + name for name, where in found if not self.wrote(where, name)]

    def is_named(self, where):
        """Whether a file of the oracle names the installed package that this file is of."""
        package = re.split(r"/(?:site|dist)-packages/", where)[-1].partition("/")[0].partition(".")[0]
        shape = re.compile(r"\b%s\b" % re.escape(package))
        return any(shape.search(self.text(file)) for file in self.files)

    def text(self, file):
        return self.origins.text(file).decode("utf-8", "replace")

    def strange_imports(self, held, where):
        """Names that the text imports from the standard library or the runner, and that are something else."""
        text = self.text(where)
        found = []
        for name, module, attribute in imported_names(text):
            value = held.get(name, GONE)
            home = sys.modules.get(module)
            if value is GONE or home is None or not self.is_standard(module, home):
                continue
            expected = home
            if attribute:
                expected = vars(home).get(attribute, sys.modules.get(module + "." + attribute, value))
            if value is not expected and not self.is_expected(value, home, name, text):
                found.append("`" + name + "` in " + self.origins.relative(where) + " was rebound")
        return self.new(found)

    def is_standard(self, module, home):
        where = getattr(home, "__file__", None) or ""
        if module.partition(".")[0] in ("pytest", "_pytest"):
            return is_installed(where)
        return not where or (is_within(where, self.origins.standard) and not is_installed(where))

    def is_expected(self, value, home, name, text):
        """Another binding of the name in the text, or a value of the library or of an installed package."""
        if isinstance(value, types.BuiltinFunctionType) and value.__self__ is home:
            return True
        bound = r"(?m)(?:\b(?:def|class|as|for|global|import)[ \t]+%s\b)|\b%s[ \t]*(?::[^=\n]+)?=(?!=)"
        if len(re.findall(bound % (re.escape(name), re.escape(name)), text)) > 1:
            return True
        code = code_of(value)
        if isinstance(value, type):
            code = next((code_of(one) for one in vars(value).values() if code_of(one)), None)
        where = self.origins.trusted_file(code) if code is not None else ""
        return bool(where) and (is_installed(where) or not is_within(where, self.origins.root))


class Libraries:
    """Functions and classes of libraries that the tests use: what they check with must not be what they check."""

    def __init__(self, origins):
        self.origins = origins
        self.used = {}  # (id of a module, name) -> [module, name, what was there]

    def watch(self, text):
        """What a file of the oracle imports from a library, or names as a part of one."""
        for name, module, attribute in imported_names(text):
            home = sys.modules.get(module)
            if attribute:
                self.add(home, attribute, text)
                continue
            for dotted in set(re.findall(r"\b%s\.([\w.]+)" % re.escape(name), text)):
                self.add_path(home, dotted.split("."), text)

    def add_path(self, home, parts, text):
        for part in parts:
            inner = vars(home).get(part) if isinstance(home, types.ModuleType) else None
            if not isinstance(inner, types.ModuleType):
                self.add(home, part, text)
                return
            home = inner

    def add(self, home, name, text):
        where = getattr(home, "__file__", None) if isinstance(home, types.ModuleType) else None
        if not isinstance(where, str) or name in HOOKS or not where.endswith(".py"):
            return
        if is_within(where, self.origins.root) and not is_installed(where):
            return
        own = self.origins.text(where).decode("utf-8", "replace")
        shapes = r"\b(?:def|class)[ \t]+%s\b|\bimport\b[^\n]*\b%s\b|\bimport[ \t]+\*"
        assigned = r"\b%s\s*=(?!=)|[.'\"]%s['\"]"
        word = re.escape(name)
        if re.search(shapes % (word, word), own) and not re.search(assigned % (word, word), text):
            self.used.setdefault((id(home), name), [home, name, GONE])

    def replaced(self):
        found = []
        for one in self.used.values():
            home, name, before = one
            value = vars(home).get(name, GONE)
            if value is not before:
                one[2] = value
                if self.is_the_changes(value):
                    found.append("`" + home.__name__ + "." + name + "` was replaced by the code under test")
        return found

    def is_the_changes(self, value):
        """Whether a function, a class or an object is made by a file of the change."""
        for _ in range(4):
            value = value.func if type(value) is functools.partial else value
        if isinstance(value, types.FunctionType):
            files = [value.__globals__.get("__file__"), value.__code__.co_filename]
        else:
            kind = value if isinstance(value, type) else type(value)
            files = [getattr(sys.modules.get(kind.__module__), "__file__", None)]
        return any(
            isinstance(one, str) and self.origins.relative(one) in self.origins.changed for one in files
        )


class Namespace:
    """The names of a module, or those of a class in it that are its methods or hide inherited ones."""

    __slots__ = ("before", "count", "file", "holder", "owner", "title", "values", "version", "versions")

    def __init__(self, holder, file, title, owner=None):
        self.holder, self.file, self.title, self.owner = holder, file, title, owner
        self.versions = version_of(holder)
        self.accept()

    def accept(self):
        held = self.holder.copy()  # in one step: other threads may write to it
        self.before = {name: value for name, value in held.items() if self.counts(name, value)}
        self.values = list(held.values())
        self.count = len(self.values)
        self.version = None if self.versions is None else self.versions.tobytes()

    def counts(self, name, value):
        if self.owner is not None:
            return isinstance(value, FUNCTIONS)
        return not (name.startswith("__") and name.endswith("__")) or name == "__builtins__"

    def has_changed(self):
        if self.versions is not None:
            return self.versions.tobytes() != self.version
        held = self.holder
        return len(held) != self.count or any(map(_is_not, held.values(), self.values))

    def changes(self):
        held, before = self.holder, self.before
        changed = [name for name, value in before.items() if held.get(name, GONE) is not value]
        return changed, [name for name in list(held) if name not in before and self.hides(name)]

    def hides(self, name):
        if self.owner is None:
            return hasattr(builtins, name) and name != "__doc__" and self.counts(name, None)
        inherited = [vars(base)[name] for base in self.owner.__mro__[1:] if name in vars(base)]
        return any(isinstance(value, FUNCTIONS) for value in inherited)

    def label(self, name):
        return self.title + "." + name if self.title else name


def version_of(holder):
    """Where the interpreter counts the changes of a dictionary, or None where it does not."""
    if not VERSIONED:
        return None
    return memoryview((ctypes.c_char * 8).from_address(id(holder) + 24))


def has_versions():
    """Whether that is so here: tried out, as versions of Python differ."""
    if ctypes.sizeof(ctypes.c_void_p) != 8 or sys.implementation.name != "cpython":
        return False
    tried = {"a": 1}
    version = memoryview((ctypes.c_char * 8).from_address(id(tried) + 24))
    seen = [version.tobytes()]
    for value in (1, 2, 1):  # Python 3.7 also counts a value that a name has already
        tried["a"] = value
        seen.append(version.tobytes())
    return seen[0] == seen[1] and len(set(seen)) == 3


VERSIONED = has_versions()


def dictionary_of(owner):
    """The dictionary of a class itself, not the view that it gives."""
    found = [one for one in gc.get_referents(vars(owner)) if type(one) is dict]
    return found[0] if found else {}


def imported_names(text):
    """(name, module, attribute or "") of each import at the beginning of a line."""
    for match in IMPORTS.finditer(text):
        plain, module, names = match.groups()
        for part in (plain or names.strip("() \t")).split(","):
            words = part.split("#")[0].split()
            if not words or (len(words) > 1 and words[1] != "as") or words[0] == "*":
                continue
            if module:
                yield words[-1], module, words[0]
            elif len(words) > 1:
                yield words[-1], words[0], ""
            else:
                yield words[0].partition(".")[0], words[0].partition(".")[0], ""


class Rebinding:
    """What the code of a file may rebind in the module `target`; `own`: the file is that module."""

    def __init__(self, tree, target, own):
        self.target, self.own = target, own
        self.names, self.anything = set(), False
        nodes = list(_walk(tree))
        self.others = {"self", "cls"}  # names that are surely not the module
        for node in nodes:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                found = [one for one in node.names if one.name.rpartition(".")[2] != target]
                self.others.update((one.asname or one.name).partition(".")[0] for one in found)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                self.others.add(node.id)
        for node in nodes:
            look = getattr(self, "look_at_" + type(node).__name__.lower(), self.look_at_text)
            look(node)
        if own and not self.anything:
            self.look_into_functions(nodes)

    def look_at_global(self, node):
        self.names.update(node.names if self.own else ())

    def look_at_attribute(self, node):
        self.anything = self.anything or node.attr in (OWN_MODULE if self.own else OTHER_MODULE)
        if not isinstance(node.ctx, ast.Load) and self.may_be_the_module(node.value):
            self.names.add(node.attr)

    def look_at_name(self, node):
        known = OWN_MODULE if self.own else OTHER_MODULE
        self.anything = self.anything or node.id in known[2:]

    def look_at_call(self, node):
        called = getattr(node.func, "attr", getattr(node.func, "id", ""))
        self.anything = self.anything or (self.own and any(map(_is_call_of_globals, node.args)))
        if called not in SETTERS or not node.args or not self.may_be_the_module(node.args[0]):
            return
        self.names.update(word.arg for word in node.keywords if word.arg)
        name = _text_of(node.args[1]) if len(node.args) > 1 else ""
        if name is not None:
            self.names.add(name)
        elif "mod" in node.args[0].id.lower() or node.args[0].id == self.target:
            self.anything = True

    def may_be_the_module(self, node):
        return isinstance(node, ast.Name) and node.id not in self.others

    def look_at_text(self, node):
        """A text such as "tests.test_x.name", as it is given to `mock.patch`."""
        value = _text_of(node) or ""
        before, dot, name = value.rpartition(".")
        joined = self.own and (not before or before.endswith(("%s", "}")))
        if dot and name.isidentifier() and (before.rpartition(".")[2] == self.target or joined):
            self.names.add(name)

    def look_into_functions(self, nodes):
        kinds = ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda
        inner = (one for node in nodes if isinstance(node, kinds) for one in _walk(node))
        self.anything = any(getattr(node, "id", "") in ("globals", "exec") for node in inner)


def _text_of(node):
    value = getattr(node, "value", None) if hasattr(node, "value") else getattr(node, "s", None)
    return value if isinstance(value, str) else None


def _is_call_of_globals(node):
    return isinstance(node, ast.Call) and getattr(node.func, "id", "") == "globals"
