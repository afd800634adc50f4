"""A parsed test file -> its Outline: one way through the file, with what surrounds each place on a stack."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from steelyard.graders.syntax.claims import Claim, conditions
from steelyard.graders.syntax.reading.assertions import claims_of, is_fail
from steelyard.graders.syntax.reading.chains import Link, chain, chain_name, text_of_field
from steelyard.graders.syntax.reading.heads import Head, call_head, compact, definition_head
from steelyard.graders.syntax.reading.outline import (
    INLINED_TOKENS,
    NO_CASES,
    NOT_AWAITED,
    CallSite,
    Outline,
    Skip,
    Unit,
)
from steelyard.graders.syntax.reading.regions import WHY, RegionMark, region_marks
from steelyard.graders.syntax.reading.skip_words import (
    HOOKS,
    MARK,
    MARKERS,
    NAMES,
    OPTION,
    import_aliases,
    regex,
)
from steelyard.graders.syntax.reading.tables import PARAMETRISERS, is_empty, row_attribute, rows_of
from steelyard.graders.syntax.reading.tokens import Tokens, is_word, line_of, names, text_of, tokens, words
from steelyard.grammars import Grammar

if TYPE_CHECKING:
    from tree_sitter import Node

_GENERATOR = "it is a generator now, so its body never runs"
_RUNS_COROUTINES = re.compile(
    r"asyncio|anyio|trio|tornado|gen_test|twisted|inlineCallbacks|async_test|curio|aio"
)
_FUNCTIONS = frozenset({"lambda", "arrow_function", "function_expression"})
_MOCKS = names("Mock MagicMock AsyncMock mock jest vi sinon")
_PROMISED = frozenset({"rejects", "resolves", "doesNotReject", "eventually", "rejectedWith", "throwsAsync"})
_LATER = frozenset({"then", "setTimeout", "setImmediate", "nextTick", "queueMicrotask"})
# A test that says one of these waits, or lets the time pass itself.
_WAITS = names("await done runAllTimers runAllTicks advanceTimersByTime tick useFakeTimers")
_NEITHER: list[Tokens] = [(), ()]  # a name with two values is never replaced by one


class Scope(NamedTuple):
    """What surrounds a place."""

    unit: Unit | None = None
    path: tuple[str, ...] = ()
    collects: bool = True
    body: int = 0  # where the body of the unit begins; before it are decorators and parameters
    guards: int = 0
    dead: str = ""
    nested: str = ""
    awaits: bool = False  # in a class whose coroutines are run
    failing: bool = False  # inside `if got != want { t.Fatal() }`, which is one claim
    text: bool = False  # inside a string

    def never(self, why: str) -> Scope:
        return self._replace(dead=self.dead or why) if self.unit is not None else self


class Reader:
    def __init__(self, path: str, grammar: Grammar, *, collected: bool) -> None:
        self.grammar, self.collected = grammar, collected
        self.outline = Outline(path)
        self.read: set[int] = set()  # nodes that were read as a part of another
        self.aliases: dict[str, str] = {}  # from pytest import skip; linux = pytest.mark.skipif(...)

    def run(self, root: Node) -> Outline:
        stack = [(root.end_byte, Scope())]
        for place in region_marks(root, self.grammar):
            while len(stack) > 1 and stack[-1][0] <= place.start:
                stack.pop()
            scope = stack[-1][1]
            if not scope.text and place.node.id not in self.read:
                inner = self._pass(place, scope)
                if inner is not None:
                    stack.append((place.end, inner))
        self._drop_shadowed()
        if any(
            _RUNS_COROUTINES.search(token)
            for value in self.outline.values.get("pytestmark", ())
            for token in value
        ):
            for unit in self.outline.units:
                unit.inert = "" if unit.inert == NOT_AWAITED else unit.inert
        return self.outline

    def _drop_shadowed(self) -> None:
        """A second definition, an assignment or a `del` of the same name leaves the first one unrun."""
        if self.grammar.language in ("python", "ruby"):
            last = {unit.qual: unit for unit in self.outline.units}
            for unit in self.outline.units:
                unit.collected &= last[unit.qual] is unit and unit.qual not in self.outline.values

    def _pass(self, place: RegionMark, scope: Scope) -> Scope | None:  # noqa: C901, PLR0911, PLR0912  # one role a line
        node, role = place.node, place.role
        if role in ("function", "group"):
            return self._begin(
                definition_head(node, self.grammar, collects=scope.collects and self.collected), scope
            )
        if role in ("call", "member"):
            return self._call(node, scope)
        if role == "string":
            return scope._replace(text=True)
        if role in ("guard", "guard_from"):
            return scope._replace(guards=scope.guards + 1)
        if role in ("never", "script") and scope.unit is None:
            return scope._replace(collects=False, guards=scope.guards + 1)  # no runner sees the tests in it
        if role in WHY:
            return scope.never(WHY[role])
        if role == "failing":
            negated = not place.match["at"][0].type.startswith("unless")
            self._condition(place, scope, negated=negated)
            return scope._replace(failing=scope.unit is not None)
        if role == "nested":
            return scope._replace(nested=text_of(place.match["name"][0])) if scope.unit is not None else None
        if role == "unawaited":
            return scope.never("it is not awaited") if self._is_unawaited(node, scope) else None
        if role == "assert":
            self._condition(place, scope, negated=False)
        elif role == "assignment":
            self._assign(node, scope)
        elif role == "loop":
            self._loop(place, scope)
        elif role == "import":
            self.aliases |= import_aliases(text_of(node))
            self.outline.imports |= set(words(tokens(node, self.grammar))) - {"import", "from", "as"}
        elif role == "delete" and scope.unit is None:
            self.outline.values.update(dict.fromkeys(words(tokens(node, self.grammar)), _NEITHER))
        elif role == "yield" and scope.unit is not None and place.start >= scope.body and not scope.nested:
            scope.unit.inert = _GENERATOR if scope.unit.collected else ""
        elif role == "word":
            self._skip_by_name([Link(text_of(node), ())], node, scope)
        elif role == "comment":
            self._skip_by_text(node, scope)
        return None

    # --- functions, tests and groups

    def _begin(self, head: Head, scope: Scope) -> Scope:
        self.read.add((head.node.child_by_field_name("definition") or head.node).id)
        path = (*scope.path, head.name)
        if head.kind == "group":
            self.outline.groups.add(" > ".join(path))
            awaits = scope.awaits or "Async" in compact(head.node)[: len(head.name) + 200].partition(":")[0]
            inner = scope._replace(path=path, collects=scope.collects and head.collects, awaits=awaits)
        elif scope.unit is not None:
            scope.unit.test_doubles |= {head.name} if head.kind == "function" else set()
            inner = scope._replace(nested=head.name) if head.kind == "function" else scope
        else:
            begins = head.body.start_byte if head.body is not None else head.node.end_byte
            inner = Scope(self._unit(head, path, scope), path, scope.collects, begins)
            if self.grammar.language == "python" and regex(HOOKS).match(head.name):
                self._skip(f"the hook {head.name}", head.node, inner, conditional=True)
        target = inner if scope.unit is None else scope
        for mark in head.marks:
            self._skip_by_text(mark, target)
            bare = mark.named_children[0] if mark.named_children else mark
            if bare.type == "identifier" and text_of(bare) in self.aliases:
                self._skip_by_name([Link(text_of(bare), None)], mark, target)
            if target.unit is not None and mark.type != "decorator":
                target.unit.rows += row_attribute(mark, self.grammar)
        return inner

    def _unit(self, head: Head, path: tuple[str, ...], scope: Scope) -> Unit:
        unit = Unit(head.name, " > ".join(path), self.outline.path, line_of(head.node), head.kind == "test")
        unit.inert = self._never_run(head, awaits=scope.awaits) if unit.collected else ""
        # Whether the callback of a test takes `done`, by which it says when it ends.
        params = head.body and (
            head.body.child_by_field_name("parameters") or head.body.child_by_field_name("parameter")
        )
        unit.has_params = params is not None and (params.type == "identifier" or bool(params.named_children))
        for child in head.params.named_children if head.params is not None else ():
            if child.type in ("default_parameter", "typed_default_parameter"):
                # Neither a fixture nor an import gives it
                unit.test_doubles.add(text_of_field(child, ("name",)))
        if not unit.collected and not scope.path:
            self.outline.test_doubles.add(head.name)
        if head.name == "__eq__" and scope.path and head.body is not None:
            always = tokens(head.body, self.grammar, 5) == ("return", "True")
            self.outline.equals_all |= {scope.path[-1]} if always else set()
        for node in (head.node, *head.marks):
            unit.bag.update(tokens(node, self.grammar))
        if head.params is not None:
            unit.values.update(dict.fromkeys(words(tokens(head.params, self.grammar)), _NEITHER))
        self.outline.units.append(unit)
        return unit

    def _never_run(self, head: Head, *, awaits: bool) -> str:
        """Why calling the test runs nothing of it: it is a generator, or a coroutine that nothing awaits."""
        if head.body is not None and head.body.type == "generator_function":
            return _GENERATOR
        inner = head.node.child_by_field_name("definition") or head.node
        is_coroutine = self.grammar.language == "python" and inner.children[0].type == "async"
        runs = awaits or any(_RUNS_COROUTINES.search(compact(mark)) for mark in head.marks)
        return NOT_AWAITED if is_coroutine and not runs else ""

    def _begin_call(self, head: Head, links: list[Link], scope: Scope) -> Scope:
        """`it.skip(...)`, `test("x", {skip: true}, ...)`, `test.each(rows)(...)`, and a test without a body."""
        inner = self._begin(head, scope)
        target = inner if scope.unit is None else scope
        self._skip_by_name(links, head.node, target)
        if head.body is None and not any(link.name == "todo" for link in links):
            self._skip("a test without a body", head.node, target, conditional=False)
        for link in links:
            if link.name in PARAMETRISERS and link.args and link.args[0].node is not None:
                self._cases(link.args[0].node, target)
        options = [
            arg for arg in (links[-1].args or ())[1:] if arg.node is not None and arg.node != head.body
        ]
        written = [
            f"{arg.name}:" * bool(arg.name) + compact(arg.node) for arg in options if arg.node is not None
        ]
        if found := regex(OPTION).search(",".join(["", *written])):
            self._skip(f"the option {found[1] or found[3]}", head.node, target, conditional=False)
        return inner

    # --- what switches a test off

    def _skip_by_name(self, links: list[Link], node: Node, scope: Scope) -> None:
        """A call or an attribute whose name skips."""
        name = self._full_name(links)
        for row in NAMES[self.grammar.language]:
            if regex(row.pattern).search(name) and not (row.at_top and (scope.unit or scope.guards)):
                chosen = self.grammar.language == "javascript" and links[-1].args is None  # x ? it : it.skip
                self._skip(name, node, scope, conditional=row.conditional or chosen)
                return

    def _skip_by_text(self, node: Node, scope: Scope) -> None:
        """A decorator, an attribute, an annotation, an assignment or a comment that skips."""
        written = compact(node)
        row = next(
            (row for row in MARKERS[self.grammar.language] if regex(row.pattern).search(written)), None
        )
        if row is not None:
            self._skip(written[:60], node, scope, conditional=row.conditional, only_if_old=row.only_if_old)

    def _skip(
        self, marker: str, node: Node, scope: Scope, *, conditional: bool, only_if_old: bool = False
    ) -> None:
        target = scope.unit.qual if scope.unit is not None else " > ".join(scope.path)
        self.outline.skips.append(
            Skip(marker, target, line_of(node), conditional or scope.guards > 0, only_if_old)
        )

    def _full_name(self, links: list[Link]) -> str:
        root, dot, rest = chain_name(links)[:200].partition(".")
        return self.aliases.get(root, root) + dot + rest

    # --- statements

    def _condition(self, place: RegionMark, scope: Scope, *, negated: bool) -> None:
        condition = place.match["condition"][0]
        at = place.match.get("at", [place.node])[0]
        self._claim(conditions(tokens(condition, self.grammar), negated=negated), at, scope)

    def _loop(self, place: RegionMark, scope: Scope) -> None:
        if scope.unit is not None:
            self._table(place.match["rows"][0], scope)
            names = words(tokens(place.match["names"][0], self.grammar))
            scope.unit.values.update(dict.fromkeys(names, _NEITHER))

    def _assign(self, node: Node, scope: Scope) -> None:
        self._skip_by_text(node, scope)
        name = next(filter(None, map(node.child_by_field_name, ("left", "name", "pattern"))), None)
        value = node.child_by_field_name("right") or node.child_by_field_name("value")
        if name is None:
            return
        found = words(tokens(name, self.grammar))
        owner = scope.unit or self.outline
        if len(found) != 1 or tokens(name, self.grammar) != found or value is None:
            owner.values.update(dict.fromkeys(found, _NEITHER))
        else:
            # One token more than is ever inlined: a long value is known to be long.
            short = tokens(value, self.grammar, INLINED_TOKENS + 1)
            owner.values[found[0]] = [*owner.values.get(found[0], [])[:2], short]
            owner.tables |= {found[0]: rows} if (rows := rows_of(value, self.grammar)) else {}
        if value is not None:
            self._note_value(found, value, scope)

    def _note_value(self, names: Tokens, value: Node, scope: Scope) -> None:
        """A function or a mock that is written where it is assigned, an import, a marker that gets a name."""
        is_call = value.type in self.grammar.calls
        first = set(tokens(value, self.grammar, 1))
        if value.type in _FUNCTIONS or (is_call and _MOCKS & first):
            (scope.unit or self.outline).test_doubles.update(names)
        if scope.unit is not None:
            return
        if first == {"require"}:
            self.outline.imports |= set(names)
        if (
            self.grammar.language == "python"
            and names != ("pytestmark",)
            and (is_call or value.type in self.grammar.members)
        ):
            nodes = {value.id}
            marker = self._full_name(chain(value, self.grammar, nodes))
            if regex(MARK).match(marker):  # it hides nothing yet; `@on_linux` does
                self.aliases |= dict.fromkeys(names, marker)
                self.read |= nodes

    # --- calls

    def _call(self, node: Node, scope: Scope) -> Scope | None:
        links = chain(node, self.grammar, self.read)
        if self.grammar.language in ("javascript", "ruby") and node.type in self.grammar.calls:
            head = call_head(node, links, self.grammar)
            if head is not None:
                return self._begin_call(head, links, scope)
        self._skip_by_name(links, node, scope)
        if scope.unit is not None:
            made = claims_of(links, self.grammar)
            if made:
                self._claim(made, node, scope)
            elif is_fail(links, self.grammar):
                self._claim([] if scope.failing else [Claim("call", tokens(node, self.grammar))], node, scope)
            elif links[-1].args is not None:
                found = partial(tokens, node, self.grammar, 200)
                scope.unit.calls.append(
                    CallSite(links[-1].name, found, line_of(node), scope.guards, scope.dead, scope.nested)
                )
            if links[-1].name in PARAMETRISERS:
                self._each(node, links, scope)
        return None

    def _is_unawaited(self, call: Node, scope: Scope) -> bool:
        """`expect(f()).rejects.toThrow();` as a statement: the test is over before the promise is."""
        if scope.unit is None:
            return False
        names = [link.name for link in chain(call, self.grammar)]
        if _PROMISED & set(names[1:]):
            return True
        return names[-1] in _LATER and not scope.unit.has_params and not _WAITS & scope.unit.bag.keys()

    def _each(self, node: Node, links: list[Link], scope: Scope) -> None:
        """`parametrize("a,b", ROWS)`, `[1, 2].each do`, `rows.forEach(...)`."""
        given = links[-1].args or ()
        if links[-1].name == "parametrize":
            if len(given) > 1 and given[1].node is not None:
                self._cases(given[1].node, scope)
            return
        callee = node.child_by_field_name("function") or node
        table = callee.child_by_field_name("object") or callee.child_by_field_name("receiver")
        if table is not None:
            self._table(table, scope)

    def _table(self, node: Node, scope: Scope) -> None:
        if scope.unit is not None:
            rows = rows_of(node, self.grammar)
            scope.unit.rows += rows or []
            if rows is None:
                scope.unit.table_names += [one for one in tokens(node, self.grammar, 40) if is_word(one)]

    def _cases(self, node: Node, scope: Scope) -> None:
        """The table of a whole test; over an empty one it never runs."""
        self._table(node, scope)
        if scope.unit is not None and is_empty(node, self.grammar):
            scope.unit.inert = scope.unit.inert or NO_CASES

    def _claim(self, made: list[Claim], node: Node, scope: Scope) -> None:
        if scope.unit is not None:
            scope.unit.claims += [
                claim._replace(line=line_of(node), guards=scope.guards, dead=scope.dead, nested=scope.nested)
                for claim in made
            ]
