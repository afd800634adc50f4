"""A file of tests -> the tests that are written in it, found by syntax and without running anything.

The keys are those of twins: `Class::function`, `suite > title`. `required` are the ones that any run of the file
reports, whatever became of them.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Callable

from steelyard.bench.suite.go_packages import is_for_one_system
from steelyard.bench.suite.suite import Suite
from steelyard.bench.twin.catalogue import TWINS
from steelyard.bench.twin.golang import twin as golang
from steelyard.bench.twin.javascript import twin as javascript
from steelyard.bench.twin.python.text import parse_source
from steelyard.bench.twin.python.twin import python_tests
from steelyard.bench.twin.rust import twin as rust
from steelyard.deferred.data_class import dataclass
from steelyard.filesystem.tree import is_within

_LEAVES_OUT = re.compile(rb"skip|xfail|todo|expectedFailure|mark\.|expectFailure")
_RUN_BY_NAME = re.compile(
    r"(^|/)(test_[^/]*|[^/]*_test)\.py$|\.test\.[cm]?js$|_test\.go$|(^|/)tests/[^/]+\.rs$"
)
_CHOOSING = re.compile(
    r"::|(^| )(-k|-m (?!pytest|unittest)|--deselect|--ignore|--test-name|--last|--lf|--ff|-x|-f)"
)
_WHOLE_CARGO = frozenset(
    [
        *("--workspace", "--all", "--all-features", "--all-targets", "--tests", "--offline", "--locked"),
        *("--frozen", "--release", "-q", "--quiet", "-v", "--verbose", "--no-fail-fast"),
    ]
)
_ONLY = re.compile(rb"\.only\b|\bonly\s*:")


@dataclass(frozen=True, slots=True)
class WrittenTests:
    """Keys of tests, and whether one of them may be left out by its own file."""

    keys: frozenset[str] = frozenset()
    required: frozenset[str] = frozenset()
    may_skip: bool = True
    subtests: bool = False  # `TestAdd/by_2` belongs to the key `TestAdd`

    def has(self, key: str) -> bool:
        return (key.partition("/")[0] if self.subtests else key) in self.keys | self.required


@functools.lru_cache(maxsize=64)
def written_tests(path: str, source: bytes, runner: str) -> WrittenTests:
    may_skip = bool(_LEAVES_OUT.search(source))
    if path.endswith(".py"):
        tree = parse_source(source)
        if tree is None:
            return WrittenTests()
        found, runs = python_tests(tree), _finding(tree, runner)
        required = frozenset(key for key, certain in found.items() if certain and runs(key))
        return WrittenTests(frozenset(found), required, may_skip)
    if path.endswith(".go"):
        keys = golang.go_tests(source) if path.endswith("_test.go") else frozenset()
        registered = frozenset() if is_for_one_system(path, source) else keys
        return WrittenTests(keys, registered, may_skip=b".Skip" in source, subtests=True)
    if path.endswith(".rs"):
        return WrittenTests(*rust.rust_tests(source))
    if not path.endswith(tuple(TWINS)):
        return WrittenTests()
    keys, registered = javascript.javascript_tests(source, path)
    if runner == "mocha":
        registered = frozenset(map(javascript.full_title, registered))
    return WrittenTests(keys, frozenset() if _ONLY.search(source) else registered, may_skip)


def is_surely_run(path: str, suite: Suite) -> bool:
    """Whether a command runs this file as a whole, as far as its words tell."""
    if not _RUN_BY_NAME.search(path) or not suite.argv or _CHOOSING.search(suite.command):
        return False
    below = path.removeprefix(f"{suite.cwd}/") if suite.cwd else path
    if path.endswith(".go"):
        return _is_run_by_go(below, suite.argv)
    if path.endswith(".rs"):
        return _is_run_by_cargo(below, suite.argv)
    words = [word.removeprefix("./").rstrip("/") for word in suite.argv[1:]]
    named = [word for word in words if word in below or "/" in word]
    return not named or any(is_within(below, word) for word in named)


def _is_run_by_go(path: str, argv: tuple[str, ...]) -> bool:
    """Whether the packages that the command names, or the package in which it runs, have this file."""
    options = [word for word in argv if word.startswith("-")]
    if argv[:2] != ("go", "test") or any(
        re.match(r"--?(run|skip|list|c|tags|exec)\b", word) for word in options
    ):
        return False
    folder = path.rpartition("/")[0]
    named = [word.removeprefix("./").rstrip("/") for word in argv[2:] if not word.startswith("-")]
    below = [word.removesuffix("...").rstrip("/") for word in named if word.endswith("...")]
    return any(not word or is_within(path, word) for word in below) or folder in [
        word.strip(".") for word in named or [""]
    ]


def _is_run_by_cargo(path: str, argv: tuple[str, ...]) -> bool:
    """Whether the command runs all integration tests, or the program that this file is; a plain word chooses some tests."""
    words = list(argv[2:])
    if argv[:2] not in {("cargo", "test"), ("cargo", "t")}:
        return False
    if "--test" in words[:-1]:
        place = words.index("--test")
        if f"tests/{words[place + 1]}.rs" != path:
            return False
        del words[place : place + 2]
    return all(word in _WHOLE_CARGO for word in words)


def _finding(tree: ast.Module, runner: str) -> Callable[[str], bool]:
    """Whether the runner finds a test by its own rules, as they are by default."""
    classes = [one for one in tree.body if isinstance(one, ast.ClassDef)]
    cases = {one.name for one in classes if any(ast.unparse(base).endswith("TestCase") for base in one.bases)}
    odd = {one.name for one in classes if _sets(one, {"__init__", "__test__"})}
    loads = any(isinstance(one, ast.FunctionDef) and one.name == "load_tests" for one in tree.body)

    def finds(key: str) -> bool:
        owner, found, function = key.rpartition("::")
        if loads or not function.startswith("test_") or "::" in owner:
            return False
        if not found:
            return runner != "unittest"
        return owner not in odd and (owner in cases or (runner != "unittest" and owner.startswith("Test")))

    return finds


def _sets(owner: ast.ClassDef, names: set[str]) -> bool:
    return any(
        (isinstance(one, ast.FunctionDef) and one.name in names)
        or (isinstance(one, ast.Name) and one.id in names)
        for one in ast.walk(owner)
    )
