"""What secrets look like: a table of shapes that their issuers publish, and what is only a placeholder.

A shape is tried only where one of its cues stands, so that megabytes of other text cost nearly nothing. There is
no entropy rule of its own: hashes in lock files, identifiers and fixtures are as random as keys. Randomness counts
only for what a line calls a password, a secret, a key or a token.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

MOST_CUES = 20_000  # of one kind in one text


class Hit(NamedTuple):
    kind: str
    start: int  # offset in the text
    value: str  # never leaves this folder


# kind, cues, and the shape that begins at a cue; group 1 is the secret where the shape has more.
SHAPES: tuple[tuple[str, tuple[str, ...], str], ...] = (
    (
        "private key",
        ("-----BEGIN ",),
        r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----([\s\\rn\"'+,]{1,40}[\w+/=:, -]{32,100})",
    ),
    ("AWS access key", ("AKIA", "ASIA", "ABIA", "ACCA"), r"\b[A-Z]{4}[A-Z0-9]{16}\b"),
    (
        "AWS secret key",
        ("aws", "AWS"),
        r"(?i:aws).{0,20}(?i:secret).{0,20}[\"'=:\s]([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
    ),
    ("GitHub token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"\bgh[pousr]_[A-Za-z0-9]{36,251}\b"),
    ("GitHub token", ("github_pat_",), r"\bgithub_pat_\w{60,100}"),
    ("GitLab token", ("glpat-", "gldt-", "glrt-", "glptt-"), r"\bgl[a-z]+-[\w-]{20,100}"),
    ("Slack token", ("xox",), r"\bxox[abeoprs]-[\w-]{10,200}"),
    ("Slack webhook", ("hooks.slack.com/",), r"hooks\.slack\.com/services/T\w{6,20}/B\w{6,20}/\w{16,40}"),
    ("Stripe key", ("sk_live_", "rk_live_"), r"\b[rs]k_live_[A-Za-z0-9]{16,200}"),
    ("Google key", ("AIza",), r"\bAIza[\w-]{35}(?![\w-])"),
    ("Google key", ("GOCSPX-", "ya29."), r"\b(?:GOCSPX-[\w-]{28}(?![\w-])|ya29\.[\w-]{30,300})"),
    ("npm token", ("npm_",), r"\bnpm_[A-Za-z0-9]{36}\b"),
    ("PyPI token", ("pypi-AgE",), r"\bpypi-AgE[\w-]{50,300}"),
    (
        "model provider key",
        ("sk-",),
        r"\bsk-(?:(?:proj|ant|svcacct|admin|or)-[\w-]{24,200}|[A-Za-z0-9]{48}\b)",
    ),
    ("model hub token", ("hf_",), r"\bhf_[A-Za-z0-9]{32,64}\b"),
    ("SendGrid key", ("SG.",), r"\bSG\.[\w-]{16,32}\.[\w-]{32,64}"),
    ("Telegram token", (":AA",), r"(?<=\d{8}):AA[\w-]{33}(?![\w-])"),
    ("Azure key", ("AccountKey=",), r"AccountKey=[A-Za-z0-9+/]{86}=="),
    ("signed web token", ("eyJ",), r"\beyJ[\w-]{10,2000}\.eyJ[\w-]{10,4000}\.[\w-]{20,700}"),
    (
        "password in a URL",
        ("://",),
        r"://[^\s:/@\"'{}$<>%()\[\]]{1,64}:([^\s:/@\"'{}$<>()\[\]]{6,128})@[\w.-]",
    ),
)
# A name that says secret, and a quoted or .env-like value.
NAMES = (
    "passw",
    "passphrase",
    "secret",
    "api_key",
    "apikey",
    "api-key",
    "access_key",
    "auth_token",
    "access_token",
)
_NAMED = (
    r"(?i)(?:password|passwd|passphrase|secret|api[_-]?key|access_key|auth_token|access_token)([\w-]{0,20})"
    r"[\"']?\]?\s{0,5}(?:=>|:=|=|:)\s{0,5}"
    r"(?:[\"']([^\"'\s]{16,200})[\"']|([^\"'\s(){}\[\]]{16,200})[ \t\r]{0,5}(?:\n|$))"
)
_HARMLESS = r"(?i)hash|digest|checksum|fingerprint|_?id\b|name|path|file|url|arn"
_PLACEHOLDER = (
    r"(?i)example|dummy|fake|sample|placeholder|change.?me|your[_-]|insert|redacted|mock|test|secret|password|passwd"
    r"|x{5,}|\*{3,}|\.{3}|1234567|abcdefg|0{6,}|deadbeef|<.*>|\$[({]|\{\{|%[({sd]"
)
_UUID = r"(?i)^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
_BITS = 3.5  # a character; English is below, random base64 above
_DISTINCT = 6

_pattern = cache(re.compile)


def hits(text: str) -> Iterator[Hit]:
    """Everything in a text that looks like a secret and not like a placeholder."""
    for kind, cues, shape in SHAPES:
        for start in _places(text, cues):
            found = _pattern(shape).match(text, start)
            if found:
                group = 1 if found.lastindex else 0
                if not _is_placeholder(found[group]):
                    yield Hit(kind, found.start(group), found[group])
    for start in _places(text.lower(), NAMES):
        found = _pattern(_NAMED).match(text, start)
        if found:
            group = 2 if found[2] else 3
            if not _pattern(_HARMLESS).search(found[1]) and _is_random(found[group]):
                yield Hit("value named as a secret", found.start(group), found[group])


def _places(text: str, cues: tuple[str, ...]) -> Iterator[int]:
    for cue in cues:
        at = text.find(cue)
        for _ in range(MOST_CUES):
            if at < 0:
                break
            yield at
            at = text.find(cue, at + 1)


def _is_placeholder(value: str) -> bool:
    return bool(_pattern(_PLACEHOLDER).search(value)) or len(set(value)) < _DISTINCT


def _is_random(value: str) -> bool:
    if _is_placeholder(value) or _pattern(_UUID).match(value) or "." in value.strip("."):
        return False
    if not (any(char.isdigit() for char in value) and any(char.isalpha() for char in value)):
        return False
    counts = Counter(value)
    bits = -sum(count / len(value) * math.log2(count / len(value)) for count in counts.values())
    return bits >= _BITS
