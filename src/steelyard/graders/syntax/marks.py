"""Where the walk is, and what switches a test off there."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from steelyard.graders.syntax.chains import Link, chain, dotted
from steelyard.graders.syntax.heads import compact
from steelyard.graders.syntax.outline import Outline, Skip, Unit
from steelyard.graders.syntax.skip_words import MARK, MARKERS, NAMES, regex
from steelyard.graders.syntax.tokens import line_of, text_of
from steelyard.grammars import Grammar

if TYPE_CHECKING:
    from tree_sitter import Node


class Scope(NamedTuple):
    unit: Unit | None = None
    path: tuple[str, ...] = ()
    collects: bool = True
    guards: int = 0
    dead: str = ""
    nested: str = ""
    awaits: bool = False  # in a class whose coroutines are run
    failing: bool = False  # inside `if got != want { t.Fatal() }`, which is one claim


class Marks:
    """Collects the skips of one file."""

    def __init__(self, outline: Outline, grammar: Grammar) -> None:
        self.outline, self.grammar = outline, grammar
        self.aliases: dict[
            str, str
        ] = {}  # from pytest import skip; import pytest as pt; linux = pytest.mark.skipif(...)

    def names(self, links: list[Link], node: Node, scope: Scope) -> None:
        """A call or an attribute whose name skips."""
        name = self._full(links)
        for row in NAMES[self.grammar.language]:
            if regex(row.pattern).search(name) and not (row.at_top and (scope.unit or scope.guards)):
                chosen = self.grammar.language == "javascript" and links[-1].args is None  # x ? it : it.skip
                self.skip(name, node, scope, conditional=row.conditional or chosen)
                return

    def marker(self, node: Node, scope: Scope) -> None:
        """A decorator, an attribute, an annotation, an assignment or a comment that skips."""
        rows = MARKERS[self.grammar.language]
        written = compact(node) if rows else ""
        for row in rows:
            if regex(row.pattern).search(written):
                self.skip(written[:60], node, scope, conditional=row.conditional, only_if_old=row.only_if_old)
                return

    def decorator(self, node: Node, scope: Scope) -> None:
        """A bare `@name`, which may stand for a marker that was given a name."""
        inner = node.named_children[0] if node.named_children else node
        if inner.type == "identifier" and text_of(inner) in self.aliases:
            self.names([Link(text_of(inner), None)], node, scope)

    def is_named(self, node: Node, scope: Scope) -> bool:
        """`on_linux = pytest.mark.skipif(...)` hides nothing yet; `@on_linux` does."""
        name, value = node.child_by_field_name("left"), node.child_by_field_name("right")
        if self.grammar.language != "python" or scope.unit is not None or name is None or value is None:
            return False
        if text_of(name) == "pytestmark" or value.type not in self.grammar.calls | self.grammar.members:
            return False
        marker = self._full(chain(value, self.grammar))
        if not regex(MARK).match(marker):
            return False
        self.aliases[text_of(name)] = marker
        return True

    def skip(
        self, marker: str, node: Node, scope: Scope, *, conditional: bool, only_if_old: bool = False
    ) -> None:
        target = scope.unit.qual if scope.unit is not None else " > ".join(scope.path)
        self.outline.skips.append(
            Skip(marker, target, line_of(node), conditional or scope.guards > 0, only_if_old)
        )

    def _full(self, links: list[Link]) -> str:
        root, dot, rest = dotted(links)[:200].partition(".")
        return self.aliases.get(root, root) + dot + rest
