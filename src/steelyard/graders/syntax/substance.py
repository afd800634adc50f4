"""A parsed source file -> its pieces of code, without everything that does nothing.

    def add(a, b):                     "add": (def add ( a , b ) : { return a + b }), real
        "Adds."                        <- says nothing
        return a + b
        print("never")                 <- out of reach
    def later(): ...                   "later": stub

Comments, docstrings, `pass`, code after a `return` and under `if False` are gone; layout is, too. What can change a
meaning stays: brackets, `self.`, and where a block begins and ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from steelyard.graders.syntax.reading.chains import COMMENTS
from steelyard.graders.syntax.reading.dead_code import constant, is_jump, unwrap_statement
from steelyard.graders.syntax.reading.tokens import Tokens, names, text_of, tokens, unquote_string
from steelyard.graders.syntax.stubs import is_idle, weigh
from steelyard.grammars import Grammar

if TYPE_CHECKING:
    from tree_sitter import Node

# trivial: `return None` alone. shell: what stands around functions; only a change of it says anything.
Weight = Literal["real", "trivial", "shell", "stub"]


class Piece(NamedTuple):
    """A function, what a class says outside its functions, or what a file says outside both."""

    spelt: Tokens
    weight: Weight


Substance = dict[str, list[Piece]]

_ANONYMOUS = frozenset({"arrow_function", "function_expression", "generator_function"})
_NAMES_IT = {
    "variable_declarator": "name",
    "assignment_expression": "left",
    "pair": "key",
    "public_field_definition": "name",
    "field_definition": "property",
}
_FUNCTIONS = frozenset({"constructor_declaration", "compact_constructor_declaration"})
_CLASSES = names(
    "abstract_class_declaration class enum_declaration record_declaration interface_declaration "
    "trait_item impl_item mod_item internal_module module singleton_class"
)
_BODIES = frozenset(
    [
        "class_body",
        "interface_body",
        "enum_body",
        "enum_body_declarations",
        "constructor_body",
        "declaration_list",
    ]
)
# They say what there will be. A default method inside is found all the same.
_DECLARES = frozenset({"interface_declaration", "trait_item"})
_SIGNATURES = frozenset(
    [
        "ambient_declaration",
        "function_signature",
        "method_signature",
        "abstract_method_signature",
        "function_signature_item",
        "annotation_type_declaration",
    ]
)
_MARKS = frozenset({"attribute_item", "decorator"})
_BASES = frozenset({"argument_list", "superclass", "class_heritage", "super_interfaces"})
_NO_BASE = frozenset(["Protocol", "ABC", "object", "abc", "typing"])
_TUPLES = frozenset({"tuple", "tuple_expression", "tuple_pattern"})
MAX_DEPTH = 20  # of classes in classes; what is deeper is one piece with what is around it
_OPEN, _CLOSE = "\x02", "\x03"
_KEPT_AFTER_A_JUMP = frozenset({"rescue", "ensure", "else", "labeled_statement"})


def substance(root: Node, grammar: Grammar) -> Substance:
    """Every piece of a file, by its name; several of one name are kept apart."""
    return _Pieces(grammar).run(root)


def real_change(old: Substance, new: Substance) -> str | None:
    """The name of a piece that shows that code was written, or None. The file itself is called ""."""
    for name, pieces in new.items():
        before = old.get(name, [])
        was = {piece.weight for piece in before}
        for piece in pieces:
            counts = {"real": True, "trivial": "real" in was, "shell": bool(before), "stub": False}
            if counts[piece.weight] and piece not in before:
                return name
    return _deletion(old, new)


def _deletion(old: Substance, new: Substance) -> str | None:
    """A fix may be to take something away, as long as code is left."""
    if not any(piece.weight == "real" for pieces in new.values() for piece in pieces):
        return None
    for name, pieces in old.items():
        gone = Counter(pieces) - Counter(new.get(name, []))
        if len(new.get(name, [])) < len(pieces) and any(piece.weight == "real" for piece in gone):
            return name
    return None


class _Scope(NamedTuple):
    """A file or a class, to be looked into."""

    name: str
    body: Node
    head: Tokens = ()
    has_base: bool = False
    declares: bool = False
    depth: int = 0


class _Pieces:
    def __init__(self, grammar: Grammar) -> None:
        self.grammar = grammar
        self.found: Substance = {}

    def run(self, root: Node) -> Substance:
        waiting = [_Scope("", root)]
        while waiting:
            waiting += self._look_into(waiting.pop())
        return self.found

    def _look_into(self, scope: _Scope) -> list[_Scope]:
        """What a file or a class says itself; its classes are handed back."""
        inner: list[_Scope] = []
        tokens: list[str] = []
        for marks, outer in _marked(self._statements(scope.body)):
            node = _definition(outer)
            if self._is_class(node) and scope.depth < MAX_DEPTH:
                inner.append(self._class(scope, node))
            elif self._is_function(node):
                self._function(scope.name, node, outer)
            elif not self._shell(scope.name, node) and not scope.declares:
                tokens += [*(token for mark in marks for token in self.spell(mark)), *self.spell(node), ";"]
        if tokens or (scope.head and not scope.declares):
            weight: Weight = "real" if tokens or scope.has_base else "shell"
            self._add(scope.name, (*scope.head, *tokens), weight)
        return inner

    def _statements(self, body: Node) -> Iterator[Node]:
        for node in _reachable(body, self.grammar):
            signature = node.type in _SIGNATURES or _declares_interface(node)
            if not signature and node.is_named and node.type not in ("visibility_modifier", "self"):
                yield node

    def _is_class(self, node: Node) -> bool:
        return (node.type in _CLASSES or node.type in self.grammar.classes) and _has_body(node)

    def _is_function(self, node: Node) -> bool:
        return node.type in self.grammar.functions or node.type in _FUNCTIONS

    def _class(self, scope: _Scope, node: Node) -> _Scope:
        body = node.child_by_field_name("body")
        assert body is not None  # `_is_class` looked
        heads = [child for child in node.children if child != body and child.type not in COMMENTS]
        head = tuple(token for child in heads for token in self.spell(child))
        bases = [child for child in heads if child.type in _BASES]
        has_base = any(
            token.isidentifier() and token not in _NO_BASE
            for child in bases
            for token in tokens(child, self.grammar, 100)
        )
        name = f"{scope.name}.{_name(node)}".lstrip(".")
        return _Scope(name, body, head, has_base, node.type in _DECLARES, scope.depth + 1)

    def _function(self, scope: str, node: Node, outer: Node, name: str = "") -> None:
        weight = weigh(self._body(node), self.grammar)
        self._add(f"{scope}.{name or _name(node)}()", tuple(self.spell(outer)), weight)

    def _body(self, node: Node) -> list[Node]:
        body = node.child_by_field_name("body")
        if body is None:
            return []
        if body.type not in self.grammar.blocks and body.type not in _BODIES and body.type != "block":
            return [body]  # `x => x + 1`
        return [one for one in _reachable(body, self.grammar) if one.is_named]

    def _shell(self, scope: str, node: Node) -> bool:
        """`const f = () => {...}`: the function is a piece, and so is what is around it; False without one."""
        named = list(_named_functions(node))
        if not named:
            return False
        for name, one in named:
            self._function(scope, one, one, name)
        around = tuple(self.spell(node, without={one.id for _, one in named}))
        self._add(f"{scope} {' '.join(around[:3])}", around, "shell")
        return True

    def _add(self, name: str, spelt: Tokens, weight: Weight) -> None:
        self.found.setdefault(name, []).append(Piece(spelt, weight))

    def spell(self, top: Node, without: set[int] = frozenset()) -> Iterator[str]:  # type: ignore[assignment]
        """The tokens of a node, with the ends of its blocks. Iterative: nesting must not end our process."""
        waiting: list[Node | str] = [top]
        while waiting:
            node = waiting.pop()
            if isinstance(node, str):
                yield node
            elif node.type in COMMENTS or node.type in (";", "line_continuation") or node.id in without:
                continue
            elif node.type in self.grammar.strings:
                yield unquote_string(text_of(node))
            elif node.type in self.grammar.blocks or node.type in _BODIES:
                waiting += [_CLOSE, *reversed(list(_reachable(node, self.grammar))), _OPEN]
            elif not node.children:
                yield text_of(node)
            else:
                waiting += reversed(_without_trailing_comma(node))


def _reachable(block: Node, grammar: Grammar) -> Iterator[Node]:
    """The statements of a block that can do something."""
    if (
        block.type == "block"
        and block.named_child_count == 1
        and block.named_children[0].type == "statement_list"
    ):
        block = block.named_children[0]
    dead = False
    for node in block.children:
        if node.type in COMMENTS or node.type in ("{", "}", ";") or is_idle(node, grammar):
            continue
        hoisted = grammar.language == "javascript" and node.type in grammar.functions
        dead = dead and node.type not in _KEPT_AFTER_A_JUMP and node.type not in grammar.handlers
        if (dead and not hoisted) or _never(node, grammar):
            continue
        yield node
        dead = dead or is_jump(node, grammar)


def _never(node: Node, grammar: Grammar) -> bool:
    """`if False:` without an else."""
    inner = unwrap_statement(node)
    condition = inner.child_by_field_name("condition")
    conditional = inner.type in grammar.ifs or inner.type == "while_statement"
    if not conditional or condition is None or inner.child_by_field_name("alternative") is not None:
        return False
    return constant(tokens(condition, grammar, 10)) is False


def _marked(statements: Iterator[Node]) -> Iterator[tuple[Sequence[Node], Node]]:
    """Statements with the attributes before them; tests that live beside the code are left out."""
    marks: list[Node] = []
    for node in statements:
        if node.type in _MARKS:
            marks.append(node)
            continue
        if not any(mark.type == "attribute_item" and "test" in text_of(mark) for mark in marks):
            yield marks, node
        marks = []


def _definition(node: Node) -> Node:
    """What is inside `@decorated` and `export`."""
    while node.type in ("decorated_definition", "export_statement"):
        inner = node.child_by_field_name("definition") or node.child_by_field_name("declaration")
        if inner is None:
            return node
        node = inner
    return node


def _named_functions(top: Node) -> Iterator[tuple[str, Node]]:
    """The outermost functions in it that get their name from where they are put, with that name.

    No node is asked for its parent: the library searches for it from the root, and a tree may be very deep.
    """
    waiting: list[tuple[Node, Node]] = [(top, top)]
    while waiting:
        above, node = waiting.pop()
        if node.type in _ANONYMOUS and above.type in _NAMES_IT and _has_body(node):
            name = above.child_by_field_name(_NAMES_IT[above.type])
            yield text_of(name) if name is not None else "", node
        else:
            waiting += [(node, child) for child in reversed(node.children)]


def _has_body(node: Node) -> bool:
    return node.child_by_field_name("body") is not None


def _name(node: Node) -> str:
    if node.type == "impl_item":
        return " for ".join(
            text_of(part)
            for name in ("trait", "type")
            if (part := node.child_by_field_name(name)) is not None
        )
    name = node.child_by_field_name("name")
    receiver = node.child_by_field_name("receiver")
    return (text_of(receiver) if receiver is not None else "") + (text_of(name) if name is not None else "")


def _declares_interface(node: Node) -> bool:
    specs = node.named_children if node.type == "type_declaration" else []
    kinds = [spec.child_by_field_name("type") for spec in specs]
    return bool(kinds) and all(kind is not None and kind.type == "interface_type" for kind in kinds)


def _without_trailing_comma(node: Node) -> list[Node]:
    """`f(a,)` is `f(a)`; but `(a,)` is not `(a)`."""
    children = node.children
    comma = len(children) > 1 and children[-2].type == "," and children[-1].type in (")", "]", "}")
    return [*children[:-2], children[-1]] if comma and node.type not in _TUPLES else children
