"""Paths that a change adds -> whether one would be imported in place of a library, a runner or a test.

json.py, src/random.py, tests/typing/__init__.py    importable by that name, first: yes
yaml.py, numpy/__init__.py, yaml.pyc                the same, where a Python of the bench has such a library
google/protobuf/__init__.py                         the same, below a namespace that is installed
shop/json.py, shop/types.py                         inside a package: no, they are shop.json and shop.types
json/data.txt                                       a folder without __init__ gives way to the library: no
tests/test_cart/__init__.py, tests/test_cart.so     beside the oracle's tests/test_cart.py: yes, they go first
tests/__init__.py                                   runs before the tests do: yes, unless there is nothing in it
app/yaml.py                                         beside app/tests/__init__.py, where pytest takes app for the top: yes
cases.py, src/cases/__init__.py                     while there is a tests/cases.py that tests import: yes
"""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Callable, Collection
from functools import cached_property

from steelyard.bench.transfer.names import installed as installed_packages
from steelyard.bench.transfer.oracle.files import OracleFiles
from steelyard.deferred.data_class import dataclass
from steelyard.deferred.pattern import deferred_pattern
from steelyard.filesystem.tree import is_within, prefixes

# Of other versions than ours, of pytest and its plugins (which a verifier may install when it starts), and of what
# starts with every interpreter. `test` is a common name.
_OTHERS = [
    "pytest",
    "_pytest",
    "pluggy",
    "iniconfig",
    "packaging",
    "pygments",
    "colorama",
    "tomli",
    "exceptiongroup",
    "typing_extensions",
    "importlib_metadata",
    "zipp",
    "attr",
    "attrs",
    "py",
    "xdist",
    "execnet",
    "coverage",
    "pytest_cov",
    "pytest_asyncio",
    "pytest_timeout",
    "pytest_mock",
    "pytest_json_ctrf",
    "pytest_jsonreport",
    "hypothesis",
    "_hypothesis_pytestplugin",
    "anyio",
    "mock",
    "nose",
    "nose2",
    "pip",
    "setuptools",
    "pkg_resources",
    "_distutils_hack",
    "asynchat",
    "asyncore",
    "binhex",
    "distutils",
    "formatter",
    "imp",
    "parser",
    "smtpd",
    "symbol",
    "compression",
    "annotationlib",
    "tomllib",
]
_NAMES = (sys.stdlib_module_names | frozenset(_OTHERS)) - {"test", "this", "antigravity", "__main__"}
_MODULE = deferred_pattern(r"(?P<stem>[^./]+)(\.pyc?|(\.[^/]*)?\.(so|pyd))")
_INIT = deferred_pattern(r"__init__(\.pyc?|(\.[^/]*)?\.(so|pyd))")
_NO_HELPER = deferred_pattern(r"(test_.*|.*_test|tests?|conftest|__init__|__main__|setup)\.py")
_TEST_FOLDERS = frozenset({"test", "tests", "spec", "specs"})
_QUIET = rb"(?:\s|#[^\r\n]*)*+"
_STRING = rb"""(?:\"{3}[^"\\]*\"{3}|"[^"\\\r\n]*")?"""
_IDLE = deferred_pattern(_QUIET + _STRING + _QUIET)


@dataclass(frozen=True)
class Surroundings:
    """What is around a change, and has names of its own. `installed` is asked for when it is needed, not before."""

    installed: Callable[[], installed_packages.InstalledNames] = lambda: installed_packages.NONE_INSTALLED
    brief: str = ""
    roots: frozenset[str] = frozenset()  # where commands start, or have PYTHONPATH lead to
    verifiers: frozenset[str] = frozenset()  # modules that verifiers bring or install by themselves
    runners: frozenset[str] = frozenset()  # words of commands of checks and of package.json
    # In a whole system the verifier may go anywhere, and what is installed can be the work.
    is_system: bool = False


ALONE: Surroundings = Surroundings()


class Shadows:
    """`baseline` and `changed` are paths; `hidden` is where checks write their files."""

    def __init__(
        self,
        baseline: Collection[str],
        changed: Collection[str],
        hidden: Collection[str],
        around: Surroundings = ALONE,
    ) -> None:
        self._baseline = baseline
        self._changed = changed
        self._hidden = hidden
        self._around = around

    def by_name(self, path: str, *, link: bool) -> bool:
        """Whether an added path is what an import of a well-known name, or of a test, would find."""
        module = module_at(path, link=link)
        if module is None or path in self._baseline:
            return False
        folder, stem = posixpath.split(module)
        is_known = any(known in self._baseline for known in (f"{module}.py", f"{module}/__init__.py"))
        if stem in _NAMES and self._is_root(folder):
            return not is_known and not is_named(path, self._around.brief)
        if path != f"{module}.py" and self._is_oracles(f"{module}.py"):
            return True
        if module in self._hidden_test_folders and not _INIT.fullmatch(posixpath.basename(path)):
            return not is_named(
                path, self._around.brief
            )  # `python3 -m tests.check` finds tests.py before the folder
        return not is_known and self._is_installed(module) and not is_named(path, self._around.brief)

    def _is_installed(self, module: str) -> bool:
        """Whether a library has that name; asked only of what an import could find."""
        parts = module.split("/")
        for at in range(len(parts)):
            dotted, root = ".".join(parts[at:]), "/".join(parts[:at])
            if parts[at] in self._own or not (self._is_root(root) or self._is_found_root(root)):
                continue
            if dotted in self._around.verifiers or dotted in self._around.installed().modules:
                return True
        return False

    def _is_found_root(self, folder: str) -> bool:
        """Where a Python of the bench looks: PYTHONPATH, or a `.pth` that setup left."""
        return f"{folder}/__init__.py" not in self._baseline and folder in self._around.installed().roots

    @cached_property
    def _own(self) -> frozenset[str]:
        return installed_packages.own_names(self._baseline)

    def helper(self, path: str, *, link: bool) -> str | None:
        """The module of the tests' own in whose place an added path would be imported: `import cases` finds the root
        before it finds the folder of tests, or the other way round, as a command line has it.
        """
        module = module_at(path, link=link)
        if module is None or path in self._baseline or path in self._hidden or path in self._tests:
            return None
        if any(known in self._baseline for known in (f"{module}.py", f"{module}/__init__.py")):
            return None
        names = [module.removeprefix(root) for root in ("", "src/", "lib/") if module.startswith(root)]
        return next((self._helpers[name] for name in names if name in self._helpers), None)

    def is_of_tests(self, path: str) -> bool:
        """Whether it is the `__init__` of a folder of tests: it runs before them."""
        folder, name = posixpath.split(path)
        return bool(_INIT.fullmatch(name)) and (path in self._tests or folder in self._hidden_test_folders)

    def holds_tests(self, path: str) -> bool:
        """Whether tests lie beside that path or further down."""
        folder = posixpath.dirname(path)
        return any(is_within(one, folder) for one in self._test_folders)

    @cached_property
    def _tests(self) -> OracleFiles:
        return OracleFiles((*self._baseline, *self._hidden))

    @cached_property
    def _test_folders(self) -> frozenset[str]:
        return frozenset(
            posixpath.dirname(path) for path in (*self._baseline, *self._hidden) if path in self._tests
        )

    @cached_property
    def _tops(self) -> frozenset[str]:
        """Where pytest looks for modules: the first folder above a test that is no package, with or without the change."""
        found: set[str] = set()
        for folder in self._test_folders:
            for place in (folder, *reversed(prefixes(folder)[:-1])):
                package = f"{place}/__init__.py"
                if package not in self._baseline:
                    found.add(place)
                    if package not in self._changed and package not in self._hidden:
                        break
        return frozenset(found)

    @cached_property
    def _helpers(self) -> dict[str, str]:
        """Each name, with slashes for dots, by which a module beside tests or a package of it can be imported."""
        found: dict[str, str] = {}
        for path in (*self._baseline, *self._hidden):
            if not self._is_helper(path):
                continue
            parts = path.removesuffix(".py").split("/")
            for start in range(self._first_own(path), len(parts)):
                for end in range(start + 1, len(parts) + 1):
                    found.setdefault("/".join(parts[start:end]), path)
        return found

    def _is_helper(self, path: str) -> bool:
        folder, name = posixpath.split(path)
        if not name.endswith(".py") or _NO_HELPER.fullmatch(name):
            return False
        beside_tests = (
            folder != "" and folder in self._test_folders and f"{folder}/__init__.py" not in self._baseline
        )
        return path in self._tests or path in self._hidden or beside_tests

    def _first_own(self, path: str) -> int:
        """The first part of a helper's path that is the tests' and not the product's: `tests` in shop/tests/cases.py."""
        parts = path.split("/")
        for at in range(len(parts) - 1):
            folder = "/".join(parts[: at + 1])
            if f"{folder}/x" in self._tests or (path in self._hidden and folder not in self._folders):
                return at
        return len(parts) - 1

    @cached_property
    def _folders(self) -> frozenset[str]:
        return frozenset(folder for path in self._baseline for folder in prefixes(path)[:-1])

    @cached_property
    def _hidden_folders(self) -> frozenset[str]:
        return frozenset(folder for path in self._hidden for folder in (path, posixpath.dirname(path)))

    @cached_property
    def _hidden_test_folders(self) -> frozenset[str]:
        """Folders of tests that hidden files lie in, also where no file is called like a test, and that are no packages."""
        folders = {folder for path in self._hidden for folder in prefixes(path)[:-1]}
        return frozenset(
            one
            for one in folders
            if posixpath.basename(one) in _TEST_FOLDERS
            if f"{one}/__init__.py" not in self._baseline and f"{one}/__init__.py" not in self._hidden
        )

    def _is_root(self, folder: str) -> bool:
        """Whether a runner puts that folder on the path of imports."""
        if folder == "" or f"{folder}/x" in self._tests:
            return True
        package = f"{folder}/__init__.py"
        if folder in self._around.roots or folder in self._tops:
            return True
        if (
            folder in {"src", "lib"}
            or folder in self._test_folders
            or f"{folder}/conftest.py" in self._baseline
        ):
            return package not in self._baseline
        return (
            folder in self._hidden_folders and package not in self._baseline and package not in self._changed
        )

    def _is_oracles(self, path: str) -> bool:
        return path in self._hidden or (path in self._baseline and path in self._tests)


def module_at(path: str, *, link: bool) -> str | None:
    """`a/json.py`, `a/json.cpython-311-x86_64-linux-gnu.so` and `a/json/__init__.py` are all `a/json`."""
    folder, name = posixpath.split(path)
    if _INIT.fullmatch(name):
        return folder or None
    found = _MODULE.fullmatch(name)
    if found:
        return posixpath.join(folder, found["stem"])
    return path if link and "." not in name else None  # a link to a folder can be a package


def shadows_library(path: str, installed: Collection[str], *, link: bool) -> bool:
    """Whether a path of a folder that modules are imported from would be imported in place of a library."""
    module = module_at(path, link=link)
    return module is not None and (module in _NAMES or module.replace("/", ".") in installed)


def is_named(path: str, brief: str) -> bool:
    """Whether a brief asks for this file by its path: what was asked for is the work."""
    return bool(brief) and re.search(rf"(?<![\w/.~-])(\./)?{re.escape(path)}(?![\w-])", brief) is not None


def is_idle(content: bytes | None) -> bool:
    """Whether a source has nothing in it but comments and a string; one with a say about its coding could be anything."""
    return content is not None and b"coding" not in content and bool(_IDLE.fullmatch(content))
