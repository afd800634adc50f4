"""Text that goes into a log -> the same text without anything that has the form of a key.

    redact_keys(b"token ghp_abc...") -> b"token [redacted:github_token]", {"github_token": 1}

The rules are data: a name, literals of which one must be there (so that a text without keys costs next to nothing), and a
regular expression. They are the same for every run of one version, so the same text always gives the same bytes. Contents of
changed files are never redacted by form: what an agent put into the repository is what is graded.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections import Counter

from steelyard.deferred.named_tuple import NamedTuple

VERSION = "steelyard.redaction/1"


# At the beginning of a word, also behind a line end as JSON writes it.
_START = rb"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))"


class KeyRule(NamedTuple):
    name: str
    literals: tuple[bytes, ...]
    pattern: bytes


RULES: tuple[KeyRule, ...] = (
    KeyRule("anthropic_key", (b"sk-ant-",), rb"sk-ant-[A-Za-z0-9_-]{20,200}"),
    KeyRule("openai_key", (b"sk-",), _START + rb"sk-(?:proj-|svcacct-)?[A-Za-z0-9_-]{32,200}"),
    KeyRule("google_key", (b"AIza",), _START + rb"AIza[0-9A-Za-z_-]{35}"),
    KeyRule("github_token", (b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_"), _START + rb"gh[pousr]_[A-Za-z0-9]{36,255}"),
    KeyRule("github_token", (b"github_pat_",), _START + rb"github_pat_[A-Za-z0-9_]{50,255}"),
    KeyRule("aws_key", (b"AKIA", b"ASIA"), _START + rb"(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    KeyRule("slack_token", (b"xox",), _START + rb"xox[abprs]-[A-Za-z0-9-]{10,200}"),
    KeyRule("json_web_token", (b"eyJ",), _START + rb"eyJ[A-Za-z0-9_-]{10,2000}\.eyJ[A-Za-z0-9_-]{10,4000}\.[A-Za-z0-9_-]{10,1000}"),
    # No "--" inside: a text of many beginnings is then searched once, and not once for each of them. (A diff adds one.)
    KeyRule(
        "private_key",
        (b"PRIVATE KEY-----",),
        rb"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----(?:[A-Za-z0-9+/=\\nr\s:,]|-(?!-)){0,16000}?-{5,6}END [A-Z ]{0,30}PRIVATE KEY-----",
    ),
)  # fmt: skip
_LITERALS = tuple(dict.fromkeys(literal for rule in RULES for literal in rule.literals))


class RedactedBytes(NamedTuple):
    data: bytes
    spans: dict[str, int]  # rule -> how often; empty when nothing was replaced


@functools.cache
def _either() -> re.Pattern[bytes]:
    return re.compile(b"|".join(b"(?P<r%d>%b)" % (index, rule.pattern) for index, rule in enumerate(RULES)))


def redact_keys(data: bytes) -> RedactedBytes:
    if not any(literal in data for literal in _LITERALS):
        return RedactedBytes(data, {})
    spans: Counter[str] = Counter()

    def replaced(match: re.Match[bytes]) -> bytes:
        name = RULES[int(str(match.lastgroup)[1:])].name
        spans[name] += 1
        return b"[redacted:%b]" % name.encode()

    return RedactedBytes(_either().sub(replaced, data), dict(spans))


def rules_digest() -> str:
    """For the manifest: two runs with one digest redact alike."""
    text = "\n".join(f"{rule.name} {rule.pattern.decode()}" for rule in RULES)
    return hashlib.sha256(f"{VERSION}\n{text}".encode()).hexdigest()
