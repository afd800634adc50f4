"""`rules.yaml` -> compiled rules; a text and its format -> the rules that it matches.

The digest is over the bytes of the file: it stands in the manifest, and a log is only replayed with the same rules.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from steelyard.contract.model import RuleClass
from steelyard.deferred.data_class import dataclass
from steelyard.deferred.named_tuple import NamedTuple
from steelyard.deferred.pattern import deferred_pattern
from steelyard.monitors.shell import ParsedShell, parse_argv, parse_shell

Format = Literal["shell", "code", "text"]
FORMATS: tuple[Format, ...] = ("shell", "code", "text")
MOST_CHARS = 65_536  # of one text
EXCERPT_CHARS = 200

_VERSION = deferred_pattern(rb"(?m)^version: (\S+)$")
_COMMENT = deferred_pattern(r"(?m)(?:(?<=\s)|^)(?:#|//)[^\n]*")
_FENCE = deferred_pattern(r"```([\w+-]*)[^\n]*\n(.*?)(?:```|\Z)", re.DOTALL)
_LITERAL = deferred_pattern(r"""("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')""")
_STARTS = deferred_pattern(
    r"""\b(?:system|popen|Popen|run|call|check_call|check_output|getoutput|exec|execSync|spawn|spawnSync|execl?p?)\(\s*f?"""
    r"""(?:\[(?P<words>[^\]]*)\]|(?P<line>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'))"""
)
_QUOTED = deferred_pattern(r"`([^`\n]+)`")
_SENTENCE = deferred_pattern(r"(?<=[.!?])\s+|\n+")
_NEGATION = deferred_pattern(
    r"\b(?:not|never|no need|no longer|without|avoid(?:s|ed|ing)?|refus\w+|declin\w+|instead of|rather than|cannot|can't|"
    r"don't|doesn't|won't|shouldn't|mustn't|must not|forbid\w*|prohibit\w*|den(?:y|ies|ied)|prevent\w*|block(?:s|ed|ing)?|reject\w*|"
    r"unsafe|dangerous to)\b"
)
_SHELL_FENCES = frozenset({"sh", "bash", "shell", "console", "zsh", "shell-session"})


@dataclass(frozen=True, slots=True)
class Rule:
    """One risky operation."""

    id: str
    rule_class: RuleClass
    why: str
    patterns: Mapping[str, re.Pattern[str]]
    sources: Mapping[str, tuple[str, ...]]
    match: Mapping[str, tuple[str, ...]]
    no_match: Mapping[str, tuple[str, ...]]
    # Processes that are harmless where the agent is given no secret
    without_secrets: frozenset[str] = frozenset()


class Match(NamedTuple):
    rule: Rule
    format: Format
    excerpt: str  # the command, line or sentence that matched


class Rules:
    """The rules of a file. It is read when a text is first searched: most short runs have none that needs it."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.digest = hashlib.sha256(data).hexdigest()

    @functools.cached_property
    def version(self) -> str:
        found = _VERSION.search(self._data)
        assert found is not None
        return found[1].decode()

    @functools.cached_property
    def _listed(self) -> Mapping[str, Any]:
        import yaml  # noqa: PLC0415  # slow to load

        listed: Mapping[str, Any] = yaml.load(self._data, getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506  # both are safe
        assert listed["version"] == self.version
        return listed

    @functools.cached_property
    def rules(self) -> tuple[Rule, ...]:
        return tuple(_rule(one, self._listed["names"]) for one in self._listed["rules"])

    @functools.cached_property
    def any_of(self) -> Mapping[str, re.Pattern[str]]:
        """Format -> a pattern that matches wherever one of the rules does."""
        rules, names = self._listed["rules"], self._listed["names"]
        return {
            name: deferred_pattern("|".join(f"(?:{_pattern(one[name], name, names)})" for one in rules))
            for name in FORMATS
        }

    def find(self, text: str, format_: Format) -> Iterator[Match]:
        """Every rule that the text matches, each once."""
        text = text[:MOST_CHARS]
        if format_ == "shell":
            yield from _once(self._in_parsed(parse_shell(text)))
        elif format_ == "code":
            yield from _once(self._in_code(text))
        else:
            yield from _once(self._in_text(text))

    def find_argv(self, argv: tuple[str, ...], *, has_secrets: bool = True) -> Iterator[Match]:
        """`has_secrets`: whether the environment of the process holds a secret."""
        found = self._in_parsed(parse_argv(argv))
        yield from _once(one for one in found if has_secrets or one.excerpt not in one.rule.without_secrets)

    def _in_parsed(self, parsed: ParsedShell) -> Iterator[Match]:
        for command in parsed.commands:
            yield from self._search(" | ".join((*command.piped_from, command.line)), "shell")
        for code in parsed.code:
            yield from self._in_code(code)

    def _in_code(self, code: str) -> Iterator[Match]:
        code = _COMMENT.sub("", code)
        yield from self._search(code, "code")
        for match in self._in_started(code):
            yield match._replace(format="code")

    def _in_started(self, code: str) -> Iterator[Match]:
        """Commands that the code would start: `run(["a", "b"])`, `system("a b")`."""
        for found in _STARTS.finditer(code):
            words = tuple(_unquote(word) for word in _LITERAL.findall(found["words"] or ""))
            line = _unquote(found["line"]) if found["line"] else ""
            for command in parse_argv(words).commands if words else parse_shell(line).commands:
                yield from self._search(" | ".join((*command.piped_from, command.line)), "shell")

    def _in_text(self, text: str) -> Iterator[Match]:
        for language, block in _FENCE.findall(text):
            if language.lower() in _SHELL_FENCES:
                yield from self._in_parsed(parse_shell(block))
            else:
                yield from self._in_code(block)
        for sentence in _SENTENCE.split(_FENCE.sub("\n", text)):
            yield from self._search(sentence.lower(), "text")
            for quoted in _QUOTED.finditer(sentence):
                if _NEGATION.search(sentence[: quoted.start()].lower()):
                    continue
                for match in self._in_parsed(parse_shell(quoted[1])):
                    yield match._replace(format="text", excerpt=_cut(sentence))

    def _search(self, text: str, format_: Format) -> Iterator[Match]:
        if not self.any_of[format_].search(text):
            return
        for rule in self.rules:
            found = rule.patterns[format_].search(text)
            # "I will not use sudo" announces nothing; "use sudo instead of asking" does.
            is_negated = found is not None and format_ == "text" and _NEGATION.search(text[: found.start()])
            if found is not None and not is_negated:
                at = max(0, found.start() - EXCERPT_CHARS // 4) if format_ == "code" else 0
                yield Match(rule, format_, _cut(text[at:]))


def _unquote(literal: str) -> str:
    return re.sub(r"\\(.)", r"\1", literal[1:-1])


def _cut(text: str) -> str:
    return text.strip()[:EXCERPT_CHARS]


def _once(matches: Iterator[Match]) -> Iterator[Match]:
    seen: set[str] = set()
    for match in matches:
        if match.rule.id not in seen:
            seen.add(match.rule.id)
            yield match


@functools.cache
def built_in_rules() -> Rules:
    """The rules that come with this version."""
    return Rules(Path(__file__).with_name("rules.yaml").read_bytes())


def _rule(data: Mapping[str, Any], names: Mapping[str, str]) -> Rule:
    return Rule(
        data["id"],
        data["class"],
        data["why"],
        {name: deferred_pattern(_pattern(data[name], name, names)) for name in FORMATS},
        {name: tuple(data[name]) for name in FORMATS},
        {name: tuple(data["match"][name]) for name in FORMATS},
        {name: tuple(data["no_match"][name]) for name in FORMATS},
        frozenset(data.get("without_secrets", ())),
    )


def _pattern(sources: list[str], format_: str, names: Mapping[str, str]) -> str:
    whole = "|".join(sources)
    for name, pattern in names.items():
        whole = whole.replace(f"{{{name}}}", pattern)
    return rf"(?:^|\| )(?:{whole})" if format_ == "shell" else f"(?:{whole})"
