"""A node of a syntax tree -> its text, its values, and edits of its leaves: what Go, JavaScript and Rust have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from steelyard.bench.twin.base import Edit
from steelyard.bench.twin.plausible.strings import Words
from steelyard.bench.twin.sites import Odds

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_LEAVES = 4  # of one expression that are changed
_PER_LEAF = 3  # edits of one leaf, where there are several leaves

Vary = Callable[[str, Words], list[str]]


class Others(NamedTuple):
    """Edits that make another value, each by itself."""

    odds: Odds
    edits: list[Edit]


def text_of(node: Node | None) -> str:
    return "" if node is None else (node.text or b"").decode(errors="replace")


def values_of(node: Node) -> list[Node]:
    return [one for one in node.named_children if one.type != "comment"]


def replace_node(node: Node, text: str) -> Edit:
    return Edit(node.start_byte, node.end_byte, text)


def few(edits: Sequence[Edit]) -> list[Edit]:
    """Those of one leaf that are used where others are changed too."""
    return list(edits[:_PER_LEAF])


def edits_of_leaves(leaves: Sequence[Node], others_of: Callable[[Node], Iterable[Edit]]) -> list[Edit]:
    """The edits of the first leaves that can be changed."""
    found: list[Edit] = []
    changed = 0
    for leaf in leaves:
        edits = list(others_of(leaf))
        found += few(edits) if len(leaves) > 1 else edits
        changed += bool(edits)
        if changed == MAX_LEAVES:
            break
    return found
