"""The links of a call -> the claims that it makes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from steelyard.graders.syntax.claims import NEGATED, Claim, comparison_claim, conditions
from steelyard.graders.syntax.reading.assertion_words import (
    CALLS,
    FAILS,
    FLUENT_ROOTS,
    MATCHERS,
    NEGATIONS,
    RECEIVERS,
    SUFFIXES,
    TARGETS,
    Rule,
)
from steelyard.graders.syntax.reading.chains import Arg, Link, chain, subject_tokens
from steelyard.graders.syntax.reading.tokens import Tokens, is_literal_token, tokens
from steelyard.grammars import Grammar

_TOLERANCES = frozenset({"abs", "rel", "delta", "places", "rtol", "atol", "decimal", "epsilon", "match"})
_NEVER_A_PROPERTY = re.compile(r"^to[A-Z]")  # jest's matchers are all called
_GO_HANDLES = frozenset({"t", "tb", "b", "s", "suite", "T"})


def claims_of(links: Sequence[Link], grammar: Grammar) -> list[Claim]:  # noqa: PLR0911  # one style a line
    """What a call claims; nothing for most calls."""
    last = links[-1]
    if len(links) > 1 and links[0].name in FLUENT_ROOTS and links[0].args is not None:
        return _fluent(links, grammar)
    if grammar.language == "javascript" and any(link.name == "expect" and link.args for link in links[1:]):
        return _requested(links)
    if last.args is None:
        return []
    if last.name == "assertThat" and len(last.args) > 1 and last.args[-1].node is not None:
        matcher = chain(last.args[-1].node, grammar)  # Hamcrest: assertThat(x, is(2))
        return [_matched(matcher[-1], last.args[-2].value, negated=matcher[0].name == "not")]
    if last.name in SUFFIXES and len(links) > 1:
        return [_suffix(links)]
    rule = CALLS[grammar.language].get(last.name)
    if rule is not None and _is_meant(links, grammar):
        return _by_rule(rule, _positional(last.args, grammar), last)
    if grammar.language == "javascript" and [link.name for link in links] == ["assert"]:
        return conditions(last.args[0].value) if last.args else []
    return []


def is_fail(links: Sequence[Link], grammar: Grammar) -> bool:
    """`t.Fatal(...)`, `pytest.fail()`: whatever leads here must not happen."""
    name = links[-1].name
    if links[-1].args is None or name not in FAILS:
        return False
    return grammar.language == "go" or name in ("fail", "flunk", "panic")


def _is_meant(links: Sequence[Link], grammar: Grammar) -> bool:
    receivers = RECEIVERS.get(grammar.language)
    if receivers is None:
        return True
    return len(links) > 1 and links[0].name in receivers


def _positional(args: Sequence[Arg], grammar: Grammar) -> list[Tokens]:
    values = [arg.value for arg in args if not arg.name]
    if grammar.language == "go" and values and values[0][-1:] and (values[0][0] in _GO_HANDLES):
        values = values[1:]
    if grammar.language == "java" and len(values) >= 3 and _is_text(values[0]) and not _is_text(values[2]):
        values = values[1:]  # JUnit 4 has the message first
    return values


def _is_text(value: Tokens) -> bool:
    return len(value) == 1 and value[0].startswith('"')


def _by_rule(rule: Rule, values: list[Tokens], link: Link) -> list[Claim]:
    def at(index: int | None) -> Tokens:
        return values[index] if index is not None and index < len(values) else ()

    subject, expected = at(rule.subject), (rule.value,) if rule.value else at(rule.expected)
    if rule.op in ("cond", "not"):
        return conditions(subject, negated=rule.op == "not") if subject else []
    extra = _tolerance(rule, values, link)
    if rule.op == "==" and extra and not rule.value:
        return [Claim("approx", subject, expected, extra)]  # assertEquals(1.0, x, 0.01)
    if rule.op in ("==", "!=", "in", "not in"):
        return [comparison_claim(rule.op, subject, expected)]
    return [Claim(rule.op, subject, expected, extra)]


def _tolerance(rule: Rule, values: list[Tokens], link: Link) -> Tokens:
    named = [token for arg in link.args or () if arg.name in _TOLERANCES for token in (arg.name, *arg.value)]
    if rule.op == "approx" and len(values) > 2:
        named += [
            "places" if link.name.startswith(("assertAlmost", "assert_almost")) else "delta",
            *values[2],
        ]
    elif (
        link.name == "assertEquals" and len(values) > 2 and len(values[2]) == 1 and values[2][0][0].isdigit()
    ):
        named += ["delta", *values[2]]
    return tuple(named)


def _requested(links: Sequence[Link]) -> list[Claim]:
    """`request(app).get("/").expect("Vary", "Accept").expect(200, done)`: two claims about one response."""
    first = next(index for index, link in enumerate(links) if index and link.name == "expect")
    subject = subject_tokens(links[:first])
    found = []
    for link in links[first:]:
        arguments = [
            arg
            for arg in link.args or ()
            if not (arg.value in (("done",), ("cb",)) or "function" in arg.value)
        ]
        if link.name == "expect" and arguments:
            found.append(Claim("==", subject, _join(arguments)))
    return found


def _suffix(links: Sequence[Link]) -> Claim:
    last = links[-1]
    rule = SUFFIXES[last.name]
    subject = links[0].args[0].value if links[0].name in FLUENT_ROOTS and links[0].args else None
    right = (rule.value,) if rule.value else _join(last.args or ())
    return Claim(rule.op, subject or subject_tokens(links[:-1]), right if rule.expected is not None else ())


def _join(args: Sequence[Arg]) -> Tokens:
    found = [token for arg in args for token in (*((arg.name, "=") if arg.name else ()), *arg.value, ",")]
    return tuple(found[:-1])


def _fluent(links: Sequence[Link], grammar: Grammar) -> list[Claim]:
    root = links[0]
    subject = root.args[0].value if root.args else ()
    if not subject and root.block is not None:
        subject = tokens(root.block, grammar)
    negated = any(link.name in NEGATIONS for link in links)
    found = []
    for link in links[1:]:
        named = _matcher(link, grammar)
        if named is not None:
            found.append(_matched(named, subject, negated=negated))
    if links[-1].args is None and _NEVER_A_PROPERTY.match(links[-1].name):
        return [Claim("vacuous", subject)]  # expect(x).toBe;
    if found or links[-1].args is None:
        return found
    return [Claim("call", subject, (links[-1].name, *_join(links[-1].args)))]  # a matcher of the project


def _matcher(link: Link, grammar: Grammar) -> Link | None:
    if link.name in TARGETS and link.args and link.args[0].node is not None:
        inner = chain(link.args[0].node, grammar)  # expect(x).to eq(2)
        return next((one for one in inner if one.name in MATCHERS), Link(inner[0].name, inner[0].args))
    return link if link.name in MATCHERS else None


def _matched(link: Link, subject: Tokens, *, negated: bool) -> Claim:
    rule = MATCHERS.get(link.name, Rule("call", 0, 0))
    values = [arg.value for arg in link.args or ()]
    expected = (rule.value,) if rule.value else (values[0] if values and rule.expected is not None else ())
    op = NEGATED.get(rule.op, rule.op) if negated else rule.op
    if rule.value and negated:
        return Claim("defined", subject)
    if rule.op == "approx":
        digits = tuple(token for value in values[1:] for token in value)
        return Claim(
            op, subject, expected, ("places", *digits) if link.name == "toBeCloseTo" and digits else digits
        )
    if rule.op == "==" and expected:
        return comparison_claim(op, subject, expected)
    if rule.op in ("truthy", "falsy") and len(subject) == 1 and is_literal_token(subject[0]):
        return Claim("vacuous", subject)
    if rule.op == "call":
        return Claim(op, subject, (link.name, *_join(link.args or ())))
    return Claim(op, subject, expected)
