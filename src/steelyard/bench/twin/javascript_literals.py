"""An expected value in JavaScript, as it is written -> an edit that makes it another value.

    3               7                   a literal, or one in an array, an object, a new Set([...])
    expected        [expected, 'xq']    anything else: no array is equal to its first element

Every edit is *certain*: what equalled the old value, strictly or loosely, shallowly or deeply, does not equal the
new one.
"""

from __future__ import annotations

import string
from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeVar

from steelyard.bench.twin.base import Edit

if TYPE_CHECKING:
    from tree_sitter import Node

T = TypeVar("T")
_CLASSES = (string.digits[1:], string.ascii_lowercase, string.ascii_uppercase)
_FIXED = {"true": "false", "false": "true", "null": "0", "undefined": "0"}
_LITERALS = frozenset(["number", "string", "template_string", "true", "false", "null", "undefined"])
_COLLECTIONS = ("Set", "Map")


def text_of(node: Node) -> str:
    return (node.text or b"").decode(errors="replace")


def wrong(node: Node, spin: int) -> Edit:
    """Another value of the same kind where it can be told, else an array around it."""
    return wrong_literal(node, spin) or wrapped(node)


def wrapped(node: Node) -> Edit:
    return Edit(node.start_byte, node.end_byte, f"[{text_of(node)}, 'xq']")


def wrong_literal(node: Node, spin: int) -> Edit | None:
    """Another value of the same kind, or None when this is no literal."""
    taken = {text_of(leaf) for leaf in _leaves(node)}
    for leaf in _turned(list(_leaves(node)), spin):
        other = _other(leaf, spin)
        # A value that is elsewhere in the same collection might make it the same collection.
        if other is not None and other not in taken:
            return Edit(leaf.start_byte, leaf.end_byte, other)
    return None


def _leaves(node: Node) -> Iterator[Node]:
    """The literals that make the value; none when a part of it might hide another."""
    if node.type in _LITERALS or text_of(node) == "undefined":
        yield node
    elif node.type == "new_expression":
        yield from _in_collection(node)
    else:
        for part in _parts(node):
            yield from _leaves(part)


def _parts(node: Node) -> list[Node]:
    children = [one for one in node.named_children if one.type != "comment"]
    match node.type:
        case "parenthesized_expression":
            return children
        case "unary_expression" if text_of(node).startswith("-"):
            return children
        case "array" if all(one.type != "spread_element" for one in children):
            return children
        case "object" if _is_plain(node):
            return [value for one in children if (value := one.child_by_field_name("value")) is not None]
    return []


def _is_plain(node: Node) -> bool:
    """Whether each key is written once and in full."""
    keys = []
    for child in node.named_children:
        key = child.child_by_field_name("key") if child.type == "pair" else None
        if child.type == "shorthand_property_identifier":
            key = child
        if child.type == "comment":
            continue
        if key is None or key.type == "computed_property_name":
            return False
        keys.append(text_of(key).strip("'\""))
    return len(set(keys)) == len(keys) and "__proto__" not in keys


def _in_collection(node: Node) -> Iterator[Node]:
    name, arguments = node.child_by_field_name("constructor"), node.child_by_field_name("arguments")
    if name is not None and arguments is not None and text_of(name) in _COLLECTIONS:
        for child in arguments.named_children[:1]:
            # Of a Map only the values: two keys that become one would hide the first value.
            yield from _leaves(child) if text_of(name) == "Set" else _values_of(child)


def _values_of(pairs: Node) -> Iterator[Node]:
    for pair in pairs.named_children:
        if pair.type == "array" and len(pair.named_children) == 2:
            yield from _leaves(pair.named_children[1])


def _other(leaf: Node, spin: int) -> str | None:
    text = text_of(leaf)
    if text in _FIXED:
        return _FIXED[text]
    if leaf.type == "number":
        return _other_number(text, spin)
    if leaf.type == "template_string" and any(one.type == "template_substitution" for one in leaf.children):
        return f"`x{text[1:]}"
    return _other_string(leaf, text, spin)


def _other_number(text: str, spin: int) -> str | None:
    """Another leading digit that counts: far away, also for large numbers."""
    if not set(text) <= set("0123456789._n"):
        return "7" if not text.endswith("n") else "7n"  # 0xff, 1e3: written otherwise, and none of them is 7
    place = next((at for at, one in enumerate(text) if one in "123456789"), None)
    if place is None:
        return "1n" if text.endswith("n") else "1"
    others = [digit for digit in _CLASSES[0] if digit != text[place]]
    return text[:place] + others[spin % len(others)] + text[place + 1 :]


def _other_string(leaf: Node, text: str, spin: int) -> str:
    """One letter or digit changed, or one added; never in an escape."""
    fragments = [one for one in leaf.named_children if one.type in {"string_fragment", "template_chars"}]
    for fragment in _turned(fragments, spin):
        inner = text_of(fragment)
        start = len(text_of(leaf).encode()[: fragment.start_byte - leaf.start_byte].decode(errors="replace"))
        for at in _turned(list(range(len(inner))), spin):
            letters = next((some for some in _CLASSES if inner[at] in some), "")
            others = [letter for letter in letters if letter != inner[at]]
            if others:
                place = start + at
                return text[:place] + others[spin % len(others)] + text[place + 1 :]
    return f"{text[0]}x{text[1:]}"


def _turned(items: list[T], spin: int) -> list[T]:
    turn = spin % len(items) if items else 0
    return items[turn:] + items[:turn]
