"""A Python file of tests -> its twin, by edits at the positions that its syntax tree gives.

One assertion of each test is changed, one of the strongest that are certain; which of them, and to what, is drawn from
a secret. Lines stay where they are.

Certain means: when the test passes with an honest, deterministic candidate, its twin fails. So it is never a test that
may end early, that runs under a decorator or a context manager we do not know, or that depends on the order of numbers
(a time, a load). An object that equals everything, such as a matcher for tests, cannot be distinguished from a cheat by looking at a
file; so a trusted tree is run before a change is accused.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from steelyard.bench.twin.base import Edit, Twin, apply_edits, overlap
from steelyard.bench.twin.messages import companion_edits, marked_units, name_has_value
from steelyard.bench.twin.python.assertions import Assertions, Names
from steelyard.bench.twin.python.flow import own_nodes, statements
from steelyard.bench.twin.python.ids import word_in_id
from steelyard.bench.twin.python.names import Function, names_of, written_values
from steelyard.bench.twin.python.remarks import Remarks, id_edits, remarks
from steelyard.bench.twin.python.text import Text, as_utf8, parse_source
from steelyard.bench.twin.readings import Readings
from steelyard.bench.twin.sites import Site, Ways, ways_of
from steelyard.deferred.data_class import dataclass

# Decorators that neither swallow a failure nor replace the function by something of their own.
_HARMLESS = frozenset(
    [
        "patch",
        "patch.object",
        "patch.dict",
        "mock.patch",
        "mock.patch.object",
        "mock.patch.dict",
        "unittest.mock.patch",
        "unittest.skipIf",
        "unittest.skipUnless",
        "unittest.skip",
        "skipIf",
        "skipUnless",
        "given",
        "settings",
        "example",
        "hypothesis.given",
        "hypothesis.settings",
        "staticmethod",
        "override_settings",
        "freeze_time",
        "parameterized.expand",
    ]
)


@dataclass(frozen=True, slots=True)
class _TestFunction:
    """A test function where it is written."""

    key: str
    function: Function
    certain: bool


@dataclass(frozen=True, slots=True)
class _Reading:
    """A file, read once: how each test can be changed, and the keys under which other classes run it."""

    ways: Mapping[str, Ways]
    inherited: Sequence[_InheritedTest]
    remarks: Remarks


_READINGS: Readings[_Reading] = Readings()


def twin_python(source: bytes, path: str, secret: bytes) -> Twin | None:
    """None when the file cannot be read as Python, or nothing in it can be changed."""
    del path
    reading = _READINGS.of(source, _read)
    if reading is None:
        return None
    drawn = {key: ways.draw(secret, key) for key, ways in reading.ways.items()}
    changed = {key: ways.certain for key, ways in reading.ways.items()}
    edits = {key: tuple(one.edit for one in changes) for key, changes in drawn.items()}
    every = [edit for some in edits.values() for edit in some]
    beside, words = _companions(source, every, reading.remarks)
    rows = {
        key: found
        for key, changes in drawn.items()
        if (found := tuple(row for one in changes if (row := words.get(one.edit, one.row))))
    }
    inherited = reading.inherited
    return Twin(
        source,
        edits,
        {**{test: certain for test, _, certain in inherited}, **changed},
        {test: key for test, key, _ in inherited if test not in changed},
        {**{test: rows[key] for test, key, _ in inherited if key in rows}, **rows},
        marked=marked_units(source, edits, [key for key, ways in reading.ways.items() if ways.shows]),
        companions=beside,
    )


def _companions(
    source: bytes, every: Sequence[Edit], found_remarks: Remarks
) -> tuple[Mapping[Edit, tuple[Edit, ...]], Mapping[Edit, tuple[str, str]]]:
    """(the edits that go with each edit, how those that are in an id change it). Two rows with one id stay as they are."""
    found = companion_edits(source, every, found_remarks.messages)
    in_ids = list(id_edits(source, (one for some in found.values() for one in some), found_remarks.ids))
    dropped = {one.edit for apart, one in in_ids if not apart}
    kept = {one.edit: (word_in_id(one.old), word_in_id(one.new)) for apart, one in in_ids if apart}
    beside = {edit: tuple(one for one in some if one not in dropped) for edit, some in found.items()}
    words = {
        edit: (old, new)
        for edit, some in beside.items()
        for old, new in (kept[one] for one in some if one in kept)
        if old is not None and new is not None
    }
    return beside, words


def python_tests(tree: ast.Module) -> dict[str, bool]:
    """The key of each test that is written here -> whether it is certain to be one."""
    found = {one.key: one.certain for one in _tests(tree.body, (), certain=True)}
    return {**{test: False for test, _, _ in _inherited(tree, found)}, **found}


def _read(source: bytes) -> _Reading | None:
    text, tree = as_utf8(source), parse_source(source)
    if text is None or tree is None:
        return None
    names = names_of(text, tree)
    try:
        tests = list(_tests(tree.body, (), certain=True))
        found = {one.key: _drop_values_in_name(text, one.key, _ways(text, names, one)) for one in tests}
    except RecursionError:  # no expectation is an expression as deep as this
        return None
    ways = {key: some for key, some in found.items() if some is not None}
    if not ways or not _is_sound(text, ways.values()):
        return None
    found_remarks = remarks(text, [one.function for one in tests if one.key in ways], names.tables)
    return _Reading(
        ways, _inherited(tree, {key: found.certain for key, found in ways.items()}), found_remarks
    )


def _ways(text: Text, names: Names, written: _TestFunction) -> Ways | None:
    function = written.function
    if b"yield" in text.source and any(
        isinstance(one, ast.Yield | ast.YieldFrom) for part in function.body for one in own_nodes(part)
    ):
        return None  # a generator: it may never run
    assertions = Assertions(
        text, names, cache(lambda: written_values(function, names.tables)), text.of(function)
    )
    reached = list(statements(function.body, names, certain=written.certain))

    def found(look: Callable[[ast.stmt], Iterator[Site]]) -> Iterator[Site]:
        return (
            site.if_reached(reached=certain) for statement, certain in reached for site in look(statement)
        )

    return ways_of(found(assertions.sites), lambda: found(assertions.opposites))


def _drop_values_in_name(text: Text, key: str, ways: Ways | None) -> Ways | None:
    """Without the expectations that the name of the test has, where there are others."""
    if ways is None:
        return None
    kept = [
        way for way in ways.ways if not name_has_value(text.source, key, [place[0].edit for place in way])
    ]
    return ways._replace(ways=tuple(kept or ways.ways))


def _is_sound(text: Text, ways: Iterable[Ways]) -> bool:
    """Whether the file can be read with every test changed, and each change is at a place of its own."""
    edits = [place[0].edit for one in ways for place in one.ways[0]]
    if overlap(edits):
        return False
    changed = apply_edits(text.source, edits)
    return parse_source(changed) is not None and len(text.source.splitlines()) == len(changed.splitlines())


def _tests(body: list[ast.stmt], above: tuple[str, ...], *, certain: bool) -> Iterator[_TestFunction]:
    """The tests in a module or a class; of a name that is bound twice it is not known which one runs."""
    bound = Counter(name for statement in body for name in _bound(statement))
    for statement in body:
        if isinstance(statement, ast.ClassDef):
            fine = certain and _is_harmless(statement) and bound[statement.name] == 1
            yield from _tests(statement.body, (*above, statement.name), certain=fine)
        elif isinstance(statement, Function) and statement.name.startswith("test"):
            fine = certain and _is_harmless(statement) and not (above and _never_awaited(statement))
            if bound[statement.name] == 1 and not _is_fixture(statement):
                yield _TestFunction("::".join((*above, statement.name)), statement, fine)


def _bound(statement: ast.stmt) -> Iterator[str]:
    for node in own_nodes(statement):
        if isinstance(node, Function | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            yield node.id
        elif isinstance(node, ast.alias):
            yield node.asname or node.name


def _is_harmless(statement: Function | ast.ClassDef) -> bool:
    names = [ast.unparse(decorator).partition("(")[0] for decorator in statement.decorator_list]
    return all(
        name in _HARMLESS or (name.startswith("pytest.mark.") and name != "pytest.mark.xfail")
        for name in names
    )


def _is_fixture(function: Function) -> bool:
    return any("fixture" in ast.unparse(decorator) for decorator in function.decorator_list)


def _never_awaited(function: Function) -> bool:
    """A method that makes a coroutine: unittest's plain TestCase throws it away and calls it a pass."""
    return isinstance(function, ast.AsyncFunctionDef)


class _InheritedTest(NamedTuple):
    key: str
    of: str
    certain: bool


def _inherited(tree: ast.Module, changed: Mapping[str, bool]) -> list[_InheritedTest]:
    """The keys under which classes of this file run tests that they inherit from others of it."""
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    found: dict[str, _InheritedTest] = {}
    for name, node in classes.items():
        for base in _bases(name, classes):
            for key, certain in changed.items():
                owner, _, function = key.partition("::")
                if owner == base and function not in _own(node):
                    test = _InheritedTest(f"{name}::{function}", key, certain and _is_harmless(node))
                    found.setdefault(test.key, test)
    return list(found.values())


def _bases(name: str, classes: Mapping[str, ast.ClassDef]) -> list[str]:
    found: list[str] = []
    left = [name]
    while left:
        for base in classes[left.pop()].bases:
            if isinstance(base, ast.Name) and base.id in classes and base.id not in (*found, name):
                found.append(base.id)
                left.append(base.id)
    return found


def _own(node: ast.ClassDef) -> set[str]:
    return {name for statement in node.body for name in _bound(statement)}
