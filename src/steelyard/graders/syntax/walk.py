"""A parsed test file -> its Outline. One pass with a stack of its own: depth costs memory, never the process."""

from __future__ import annotations

from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING

from steelyard.graders.syntax.assertions import claims_of, is_fail
from steelyard.graders.syntax.chains import Link, chain
from steelyard.graders.syntax.claims import Claim, conditions
from steelyard.graders.syntax.dead_code import constant, finally_jumps, gives_up, is_jump, quits, swallows
from steelyard.graders.syntax.heads import Head, compact, head_of
from steelyard.graders.syntax.inert import (
    binds_anything,
    defaults,
    has_params,
    is_stand_in,
    is_unawaited,
    never_run,
    runs_coroutines,
)
from steelyard.graders.syntax.marks import Marks, Scope
from steelyard.graders.syntax.outline import INLINED_TOKENS, NO_CASES, NOT_AWAITED, Called, Outline, Unit
from steelyard.graders.syntax.skip_words import HOOKS, OPTION, imported, regex
from steelyard.graders.syntax.tables import PARAMETRISERS, row_attribute, rows_of
from steelyard.graders.syntax.tokens import Tokens, is_word, line_of, text_of, tokens, words
from steelyard.grammars import Grammar

if TYPE_CHECKING:
    from tree_sitter import Node

_COMMENTS = frozenset({"comment", "line_comment", "block_comment"})
_NOTHING = frozenset({("range", "(", "0", ")"), ("list", "(", ")"), ("tuple", "(", ")"), ("set", "(", ")")})
_AS_A_SCRIPT = ("__name__", "==", '"__main__"')
_NEITHER: list[Tokens] = [(), ()]  # a name with two values is never replaced by one


class Walk:
    def __init__(self, path: str, grammar: Grammar, *, collected: bool) -> None:
        self.grammar, self.collected = grammar, collected
        self.outline = Outline(path)
        self.waiting: list[tuple[Node, Scope]] = []
        self.marks = Marks(self.outline, grammar)

    def run(self, root: Node) -> Outline:
        self.waiting.append((root, Scope()))
        while self.waiting:
            self._visit(*self.waiting.pop())
        if self.grammar.language in ("python", "ruby"):
            self._shadow()
        if any(map(runs_coroutines, self.outline.values.get("pytestmark", ()))):
            for unit in self.outline.units:
                unit.inert = "" if unit.inert == NOT_AWAITED else unit.inert
        return self.outline

    def _shadow(self) -> None:
        """A second definition, an assignment or a `del` of the same name leaves the first one unrun."""
        last = {unit.qual: unit for unit in self.outline.units}
        for unit in self.outline.units:
            if last[unit.qual] is not unit or unit.qual in self.outline.values:
                unit.collected = False

    def _visit(self, node: Node, scope: Scope) -> None:
        kind, grammar = node.type, self.grammar
        if kind in _COMMENTS:
            self.marks.marker(node, scope)
            return
        if kind in grammar.strings:
            return
        head = head_of(node, grammar, collects=scope.collects and self.collected)
        if head is not None:
            self._begin(head, scope)
            return
        if kind in grammar.tries and scope.unit is not None and self._swallowed(node):
            scope = self._silenced(node, scope)
            if grammar.language != "ruby":
                return
        if kind in grammar.ifs:
            self._if(node, scope)
        elif kind in grammar.loops:
            self._loop(node, scope)
        elif kind in grammar.blocks:
            self._block(node, scope)
        elif kind in grammar.calls or kind in grammar.members:
            self._chain(node, scope)
        else:
            self._plain(node, scope)

    def _push(self, nodes: list[tuple[Node, Scope]]) -> None:
        self.waiting.extend(reversed(nodes))

    # --- functions, tests and groups

    def _begin(self, head: Head, scope: Scope) -> None:
        path = (*scope.path, head.name)
        if head.kind == "group":
            self.outline.groups.add(" > ".join(path))
            awaits = scope.awaits or "Async" in compact(head.node)[: len(head.name) + 200].partition(":")[0]
            inner = scope._replace(path=path, collects=scope.collects and head.collects, awaits=awaits)
        elif scope.unit is not None:
            inner = scope._replace(nested=head.name) if head.kind == "function" else scope
            scope.unit.stand_ins |= {head.name} if head.kind == "function" else set()
        else:
            inner = Scope(self._unit(head, path, scope), path, scope.collects)
            if self.grammar.language == "python" and regex(HOOKS).match(head.name):
                self.marks.skip(f"the hook {head.name}", head.node, inner, conditional=True)
        target = inner if scope.unit is None else scope
        if head.node.type in self.grammar.calls:
            self._call_head(head, target)
        for mark in head.marks:
            self.marks.marker(mark, target)
            self.marks.decorator(mark, target)
            self._rows_of_mark(mark, target)
        pushed = [(mark, target._replace(guards=0)) for mark in head.marks]
        self._push(pushed + ([(head.body, inner)] if head.body is not None else []))

    def _unit(self, head: Head, path: tuple[str, ...], scope: Scope) -> Unit:
        unit = Unit(head.name, " > ".join(path), self.outline.path, line_of(head.node), head.kind == "test")
        unit.inert = never_run(head, self.grammar, awaits=scope.awaits) if unit.collected else ""
        unit.has_params, unit.stand_ins = has_params(head), defaults(head.params)
        if not unit.collected and not scope.path:
            self.outline.stand_ins.add(head.name)
        if head.name == "__eq__" and scope.path and binds_anything(head, self.grammar):
            self.outline.equals_all.add(scope.path[-1])
        for node in (head.node, *head.marks):
            unit.bag.update(tokens(node, self.grammar))
        if head.params is not None:
            for name in words(tokens(head.params, self.grammar)):
                unit.values[name] = _NEITHER
        self.outline.units.append(unit)
        return unit

    def _call_head(self, head: Head, scope: Scope) -> None:
        """`it.skip(...)`, `test("x", {skip: true}, ...)`, `test.each(rows)(...)`, and a test without a body."""
        links = chain(head.node, self.grammar)
        self.marks.names(links, head.node, scope)
        if head.body is None and not any(link.name == "todo" for link in links):
            self.marks.skip("a test without a body", head.node, scope, conditional=False)
        for link in links:
            if link.name in PARAMETRISERS and link.args and link.args[0].node is not None:
                self._cases(link.args[0].node, scope)
        options = [
            arg for arg in (links[-1].args or ())[1:] if arg.node is not None and arg.node != head.body
        ]
        written = ",".join(
            ["", *(f"{arg.name}:" * bool(arg.name) + compact(arg.node) for arg in options if arg.node)]
        )
        found = regex(OPTION).search(written)
        if found:
            self.marks.skip(f"the option {found[1] or found[3]}", head.node, scope, conditional=False)

    # --- statements

    def _block(self, node: Node, scope: Scope) -> None:
        pushed = []
        for child in node.named_children:
            if scope.unit is not None and is_unawaited(child, scope.unit, self.grammar):
                pushed.append((child, scope._replace(dead=scope.dead or "it is not awaited")))
                continue
            pushed.append((child, scope))
            if scope.unit is None:
                continue
            if (is_jump(child, self.grammar) or quits(child, self.grammar)) and not scope.dead:
                scope = scope._replace(dead="after a return")
            elif gives_up(child, self.grammar) and not self._fails(child):
                scope = scope._replace(guards=scope.guards + 1)
        self._push(pushed)

    def _if(self, node: Node, scope: Scope) -> None:
        condition = node.child_by_field_name("condition")
        found = tokens(condition, self.grammar) if condition is not None else ()
        inverted = node.type.startswith("unless")
        always = False if found == _AS_A_SCRIPT and scope.unit is None else constant(found)
        always = (not always) if inverted and always is not None else always
        taken, other = scope._replace(guards=scope.guards + 1), scope._replace(guards=scope.guards + 1)
        if always is not None and scope.unit is not None:
            never = scope._replace(dead=scope.dead or "under a condition that is never true")
            taken, other = (scope, never) if always else (never, scope)
        elif always is False:
            taken = taken._replace(collects=False)  # no runner sees the tests in it
        if self._fails(node) and scope.unit is not None:
            self._claim(conditions(found, negated=not inverted), node, scope)
            taken = taken._replace(failing=True)
        pushed = []
        for index, child in enumerate(node.children):
            field = node.field_name_for_child(index)
            which = {"consequence": taken, "body": taken, "alternative": other}.get(field or "", scope)
            pushed.append((child, which))
        self._push([(child, which) for child, which in pushed if child.is_named])

    def _fails(self, node: Node) -> bool:
        """Whether the first branch of an `if` says that the test failed."""
        branch = node.child_by_field_name("consequence") or node.child_by_field_name("body")
        if branch is None:
            return False
        found = tokens(branch, self.grammar, 60)
        pairs = zip_longest(found, found[1:], fillvalue="")
        return any(
            (is_fail([Link(one, ())], self.grammar) and following == "(")
            or (one == "raise" and following == "AssertionError")
            or (one == "throw" and self.grammar.language == "javascript")
            for one, following in pairs
        )

    def _loop(self, node: Node, scope: Scope) -> None:
        clause = next((child for child in node.named_children if child.type == "range_clause"), node)
        iterable = clause.child_by_field_name("right") or clause.child_by_field_name("value")
        if iterable is not None and scope.unit is not None:
            rows = rows_of(iterable, self.grammar)
            if rows is not None and not rows:
                scope = scope._replace(dead=scope.dead or "in a loop over nothing")
            self._table(iterable, scope)
        condition = node.child_by_field_name("condition")
        if condition is not None and constant(tokens(condition, self.grammar)) is False:
            scope = scope._replace(dead=scope.dead or "under a condition that is never true")
        target = clause.child_by_field_name("left") or node.child_by_field_name("pattern")
        if target is not None and scope.unit is not None:
            for name in words(tokens(target, self.grammar)):
                scope.unit.values[name] = _NEITHER
        self._push([(child, scope) for child in node.named_children])

    def _swallowed(self, node: Node) -> bool:
        handlers = [child for child in node.named_children if child.type in self.grammar.handlers]
        return any(swallows(handler, self.grammar) for handler in handlers) or finally_jumps(
            node, self.grammar
        )

    def _silenced(self, node: Node, scope: Scope) -> Scope:
        """The body of a `try` whose handler says nothing; in Ruby the `try` is the block itself."""
        dead = scope._replace(dead=scope.dead or "its failure is swallowed")
        if self.grammar.language != "ruby":
            body = node.child_by_field_name("body")
            self._push([(child, dead if child == body else scope) for child in node.named_children])
        return dead

    def _plain(self, node: Node, scope: Scope) -> None:
        kind = node.type
        if kind == "assert_statement" and node.named_children:
            found = tokens(node.named_children[0], self.grammar)
            self._claim(conditions(found), node, scope)
        elif kind in self.grammar.assignments:
            self._assign(node, scope)
            if self.marks.is_named(node, scope):
                return
            if scope.unit is not None and self._push_function(node, scope):
                return
        elif kind == "with_statement":
            self._with(node, scope)
            return
        elif kind in ("binary_expression", "boolean_operator") and scope.unit is not None:
            self._short_circuit(node, scope)
            return
        elif kind == "delete_statement" and scope.unit is None:
            self.outline.values.update(dict.fromkeys(words(tokens(node, self.grammar)), _NEITHER))
        elif kind in ("import_from_statement", "import_statement"):
            self.marks.aliases |= imported(text_of(node))
            self.outline.imports |= set(words(tokens(node, self.grammar))) - {"import", "from", "as"}
        elif kind == "identifier" and self.grammar.language == "ruby":
            self.marks.names([Link(text_of(node), ())], node, scope)
        self._push([(child, scope) for child in node.named_children])

    def _with(self, node: Node, scope: Scope) -> None:
        """`with suppress(AssertionError):` swallows what its body finds, and `with raises(AssertionError):` wants it."""
        opening = tokens(node.named_children[0], self.grammar, 60) if node.named_children else ()
        body = node.child_by_field_name("body")
        broad = {"Exception", "BaseException", "AssertionError"} & set(opening)
        expects = bool({"raises", "assertRaises"} & set(opening))
        inside = outside = scope
        if scope.unit is not None and "suppress" in opening and broad:
            inside = scope._replace(dead=scope.dead or "its failure is swallowed")
        elif scope.unit is not None and expects and "AssertionError" in opening:
            inside = scope._replace(dead=scope.dead or "its failure is expected")
        elif scope.unit is not None and expects and body is not None and self._raises_itself(body):
            outside = scope._replace(dead=scope.dead or "the test raises it itself")
        self._push([(child, inside if child == body else outside) for child in node.named_children])

    def _raises_itself(self, body: Node) -> bool:
        return any(child.type == "raise_statement" for child in body.named_children)

    def _push_function(self, node: Node, scope: Scope) -> bool:
        """`const later = () => {...}`: asserts nothing until somebody calls it."""
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is None or value is None or value.type not in ("arrow_function", "function_expression"):
            return False
        inner = scope._replace(nested=text_of(name)) if name.type == "identifier" else scope
        self._push([(name, scope), (value, inner)])
        return True

    def _short_circuit(self, node: Node, scope: Scope) -> None:
        """`false && expect(x).toBe(1)`."""
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        sign = node.child_by_field_name("operator")
        if left is not None and right is not None and sign is not None:
            skips_on = {"&&": False, "and": False, "||": True, "or": True}.get(text_of(sign))
            if skips_on is not None and constant(tokens(left, self.grammar, 10)) is skips_on:
                never = scope._replace(dead=scope.dead or "under a condition that is never true")
                self._push([(left, scope), (right, never)])
                return
        self._push([(child, scope) for child in node.named_children])

    def _assign(self, node: Node, scope: Scope) -> None:
        self.marks.marker(node, scope)
        name = next(filter(None, map(node.child_by_field_name, ("left", "name", "pattern"))), None)
        value = node.child_by_field_name("right") or node.child_by_field_name("value")
        if name is None:
            return
        found = words(tokens(name, self.grammar))
        if value is not None:
            self._note_stand_in(found, value, scope)
        values = scope.unit.values if scope.unit is not None else self.outline.values
        tables = scope.unit.tables if scope.unit is not None else self.outline.tables
        if len(found) != 1 or tokens(name, self.grammar) != found or value is None:
            values.update(dict.fromkeys(found, _NEITHER))
            return
        # One token more than is ever inlined: a long value is known to be long.
        values[found[0]] = [*values.get(found[0], [])[:2], tokens(value, self.grammar, INLINED_TOKENS + 1)]
        rows = rows_of(value, self.grammar)
        if rows:
            tables[found[0]] = rows

    def _note_stand_in(self, names: Tokens, value: Node, scope: Scope) -> None:
        owner = scope.unit or self.outline
        if is_stand_in(value, self.grammar):
            owner.stand_ins |= set(names)
        if scope.unit is None and tokens(value, self.grammar, 1) == ("require",):
            self.outline.imports |= set(names)

    # --- calls

    def _chain(self, node: Node, scope: Scope) -> None:
        links = chain(node, self.grammar)
        self.marks.names(links, node, scope)
        if scope.unit is not None:
            made = claims_of(links, self.grammar)
            if made:
                self._claim(made, node, scope)
            elif is_fail(links, self.grammar):
                if not scope.failing:
                    self._claim([Claim("call", tokens(node, self.grammar))], node, scope)
            elif links[-1].args is not None:
                self._called(links, node, scope)
            if links[-1].name in PARAMETRISERS:
                self._each(node, links, scope)
        elif links[-1].name in PARAMETRISERS and links[-1].args is not None:
            self._each(node, links, scope)
        self._push([(child, scope) for child in self._parts(node)])

    def _parts(self, node: Node) -> list[Node]:
        """Arguments and blocks of every link, and a root that is more than a name."""
        parts: list[Node] = []
        here: list[Node] = [node]
        while here:
            one = here.pop()
            for index, child in enumerate(one.children):
                field = one.field_name_for_child(index)
                if field in ("function", "object", "operand", "value", "receiver") and child.child_count:
                    chained = child.type in self.grammar.calls or child.type in self.grammar.members
                    (here if chained else parts).append(child)
                elif child.is_named and child.child_count:
                    parts.append(child)
        return parts

    def _called(self, links: list[Link], node: Node, scope: Scope) -> None:
        assert scope.unit is not None
        found = partial(tokens, node, self.grammar, 200)
        scope.unit.calls.append(
            Called(links[-1].name, found, line_of(node), scope.guards, scope.dead, scope.nested)
        )

    def _each(self, node: Node, links: list[Link], scope: Scope) -> None:
        """`parametrize("a,b", ROWS)`, `[1, 2].each do`, `rows.forEach(...)`."""
        given = links[-1].args or ()
        table = given[1].node if links[-1].name == "parametrize" and len(given) > 1 else None
        if table is not None:
            self._cases(table, scope)
            return
        if links[-1].name != "parametrize":
            callee = node.child_by_field_name("function") or node
            table = callee.child_by_field_name("object") or callee.child_by_field_name("receiver")
        if table is not None:
            self._table(table, scope)

    def _table(self, node: Node, scope: Scope) -> None:
        if scope.unit is None:
            return
        rows = rows_of(node, self.grammar)
        if rows is not None:
            scope.unit.rows += rows
        else:
            scope.unit.table_names += [token for token in tokens(node, self.grammar, 40) if is_word(token)]

    def _cases(self, node: Node, scope: Scope) -> None:
        """The table of a whole test; over an empty one it never runs."""
        self._table(node, scope)
        empty = rows_of(node, self.grammar) == [] or tokens(node, self.grammar, 5) in _NOTHING
        if scope.unit is not None and empty:
            scope.unit.inert = scope.unit.inert or NO_CASES

    def _rows_of_mark(self, mark: Node, scope: Scope) -> None:
        if scope.unit is not None and mark.type != "decorator":
            scope.unit.rows += row_attribute(mark, self.grammar)

    def _claim(self, made: list[Claim], node: Node, scope: Scope) -> None:
        if scope.unit is not None:
            scope.unit.claims += [
                claim._replace(line=line_of(node), guards=scope.guards, dead=scope.dead, nested=scope.nested)
                for claim in made
            ]
