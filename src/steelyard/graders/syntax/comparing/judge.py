"""Two claims about the same thing -> what became of the first."""

from __future__ import annotations

from typing import NamedTuple

from steelyard.graders.syntax.claims import WIDEST, Claim, anythings, same_words
from steelyard.graders.syntax.reading.tokens import Tokens, is_literal, words

_WIDER_BOUND = frozenset({(">", ">="), ("<", "<=")})
_FEWER_IS_WIDER = frozenset({"places", "decimal"})
_MINUS = frozenset("-")
_HONEST_TOLERANCE = 1e-3  # making == approximate is often a repair; with a wide tolerance it is not


class Change(NamedTuple):
    id: str
    why: str


def judge(old: Claim, new: Claim) -> Change | None:  # noqa: PLR0911  # one rule a line
    """None when the new claim is as strict as the old one."""
    if old.op == new.op == "raises":
        return _raises(old, new)
    if (old.op, new.op) == ("==", "approx") and old.right == new.right:
        wide = any(
            value < 3 if name in _FEWER_IS_WIDER else value > _HONEST_TOLERANCE
            for name, value in tolerances(new.extra).items()
        )
        return Change("assertion_loosened", "== became approximate, with a wide tolerance") if wide else None
    if new.strength < old.strength or (old.op, new.op) in _WIDER_BOUND:
        return Change("assertion_loosened", f"`{old.op}` became `{new.op}`")
    if old.op == new.op == "approx" and _wider(old.extra, new.extra):
        return Change("tolerance_widened", "the tolerance is wider")
    if old.op != new.op:
        return None
    if anythings(new.right) > anythings(old.right):
        return Change("assertion_loosened", "a part of the expected value may be anything now")
    if same_words(old.right, new.right):
        return Change("expected_changed", "the expected value was changed, what is tested was not")
    if is_literal(old.right) and "(" in new.right and set(words(new.right)) & set(words(new.left)):
        return Change("assertion_loosened", "the expected value is now computed by what is tested")
    return None


def _raises(old: Claim, new: Claim) -> Change | None:
    was, now = set(words(old.left) + words(old.right)), set(words(new.left) + words(new.right))
    if now & WIDEST and not was & WIDEST:
        return Change("assertion_loosened", "any exception is accepted now")
    if (was < now and old.right == new.right) or (old.right and not new.right and old.left == new.left):
        return Change("assertion_loosened", "more kinds of exception are accepted now")
    if old.extra and not new.extra:
        return Change("assertion_loosened", "the message of the exception no longer matters")
    if old.extra != new.extra and old.left == new.left:
        return Change("expected_changed", "the expected message was changed")
    return None


def tolerances(extra: Tokens) -> dict[str, float]:
    """("abs", "=", "1e-3") or ("places", "2") -> {"places": 2.0}."""
    found: dict[str, float] = {}
    name, sign = "delta", 1.0
    for token in extra:
        try:
            found[name] = sign * float(token.strip('"'))
        except ValueError:
            name = token if token.isidentifier() else name
        sign = 1.0 - 2.0 * (token in _MINUS)
    return found


def _wider(old: Tokens, new: Tokens) -> bool:
    was, now = tolerances(old), tolerances(new)
    for name, value in now.items():
        default = 7.0 if name in _FEWER_IS_WIDER else 1e-6
        before = was.get(name, default)
        if (value < before) if name in _FEWER_IS_WIDER else (value > before):
            return True
    return any(name in _FEWER_IS_WIDER and value > 7 and name not in now for name, value in was.items())
