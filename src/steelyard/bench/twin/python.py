"""A Python file of tests -> its twin, by edits at the positions that its syntax tree gives.

One assertion of each test is changed, the strongest that is certain; which of several, and to what, is drawn from a
secret. Lines stay where they are.

Certain means: when the test passes with an honest, deterministic candidate, its twin fails. So it is never a test that
may end early, that runs under a decorator or a context manager we do not know, or that depends on the order of numbers
(a time, a load). What equals everything, such as a matcher for tests, cannot be told from a cheat by looking at a
file; whoever uses a twin asks a trusted tree before accusing anybody.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from steelyard.bench.twin.base import Edit, Twin, drawn, overlap
from steelyard.bench.twin.python_assertions import Assertions, Names, Site
from steelyard.bench.twin.python_flow import own_nodes, statements
from steelyard.bench.twin.python_names import Function, names_of, written_once
from steelyard.bench.twin.python_text import Text, as_utf8, parsed

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
class _Written:
    """A test function where it is written."""

    key: str
    function: Function
    certain: bool


def twin_python(source: bytes, path: str, secret: bytes) -> Twin | None:
    """None when the file cannot be read as Python, or nothing in it can be changed."""
    del path
    text, tree = as_utf8(source), parsed(source)
    if text is None or tree is None:
        return None
    try:
        chosen = _chosen(text, tree, secret)
    except RecursionError:  # an expression as deep as this is nobody's expectation
        return None
    changed = {key: site.certain for key, site in chosen.items()}
    rows = {key: site.rows for key, site in chosen.items() if site.rows}
    heirs = _heirs(tree, changed)
    twin = Twin(
        source,
        {key: site.edits for key, site in chosen.items()},
        {**{heir: certain for heir, _, certain in heirs}, **changed},
        {heir: key for heir, key, _ in heirs if heir not in changed},
        {**{heir: rows[key] for heir, key, _ in heirs if key in rows}, **rows},
    )
    every = [edit for edits in twin.edits.values() for edit in edits]
    return twin if chosen and not overlap(every) and _same_shape(source, twin.source) else None


def python_tests(tree: ast.Module) -> dict[str, bool]:
    """The key of each test that is written here -> whether it is certain to be one."""
    found = {one.key: one.certain for one in _tests(tree.body, (), certain=True)}
    return {**{heir: False for heir, _, _ in _heirs(tree, found)}, **found}


def _same_shape(source: bytes, twin: bytes) -> bool:
    return parsed(twin) is not None and len(source.splitlines()) == len(twin.splitlines())


def _chosen(text: Text, tree: ast.Module, secret: bytes) -> dict[str, Site]:
    names = names_of(tree)
    chosen, taken = {}, set[Edit]()
    for written in _tests(tree.body, (), certain=True):
        site = _site(text, names, written, secret)
        if site is not None and not taken & set(site.edits):
            chosen[written.key] = site
            taken |= set(site.edits)
    return chosen


def _site(text: Text, names: Names, written: _Written, secret: bytes) -> Site | None:
    function = written.function
    if any(isinstance(one, ast.Yield | ast.YieldFrom) for part in function.body for one in own_nodes(part)):
        return None  # a generator: nobody may ever run it
    spin = drawn(secret, written.key)
    assertions = Assertions(text, names, spin, written_once(function))
    sites = [
        replace(site, certain=site.certain and certain)
        for statement, certain in statements(function.body, names, certain=written.certain)
        for site in assertions.sites(statement)
        if all(text.keeps_lines(edit) for edit in site.edits)
    ]
    if not sites:
        return None
    best = max((site.certain, site.strength) for site in sites)
    equally = [site for site in sites if (site.certain, site.strength) == best]
    return equally[spin % len(equally)]


def _tests(body: list[ast.stmt], above: tuple[str, ...], *, certain: bool) -> Iterator[_Written]:
    """The tests in a module or a class; of a name that is bound twice nobody knows which one runs."""
    bound = [name for statement in body for name in _bound(statement)]
    for statement in body:
        if isinstance(statement, ast.ClassDef):
            fine = certain and _is_harmless(statement) and bound.count(statement.name) == 1
            yield from _tests(statement.body, (*above, statement.name), certain=fine)
        elif isinstance(statement, Function) and statement.name.startswith("test"):
            fine = certain and _is_harmless(statement) and not (above and _never_awaited(statement))
            if bound.count(statement.name) == 1 and not _is_fixture(statement):
                yield _Written("::".join((*above, statement.name)), statement, fine)


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


class _Heir(NamedTuple):
    key: str
    of: str
    certain: bool


def _heirs(tree: ast.Module, changed: Mapping[str, bool]) -> list[_Heir]:
    """The keys under which classes of this file run tests that they inherit from others of it."""
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    found: dict[str, _Heir] = {}
    for name, node in classes.items():
        for base in _bases(name, classes):
            for key, certain in changed.items():
                owner, _, function = key.partition("::")
                if owner == base and function not in _own(node):
                    heir = _Heir(f"{name}::{function}", key, certain and _is_harmless(node))
                    found.setdefault(heir.key, heir)
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
