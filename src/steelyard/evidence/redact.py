"""A text with secrets -> the same text with placeholders, and the digest of what it was.

    redact("key=hunter2 ok", {"API_KEY": "hunter2"}).text == "key=[redacted:API_KEY] ok"

Deterministic: the same text and rules always give the same bytes. The longest secret wins where two overlap.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import NamedTuple


class Redacted(NamedTuple):
    text: str
    sha256: str  # of the unredacted text
    spans: int


def redact(text: str, secrets: Mapping[str, str], patterns: Mapping[str, str] | None = None) -> Redacted:
    """Replace every value in `secrets` and every match of `patterns` (name -> regular expression)."""
    digest = hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
    values = sorted(
        ((value, name) for name, value in secrets.items() if value), key=lambda pair: (-len(pair[0]), pair)
    )
    rules = [(name, re.escape(value)) for value, name in values] + sorted((patterns or {}).items())
    if not rules:
        return Redacted(text, digest, 0)
    # One pass over the text: a placeholder is never searched for the next secret.
    either = re.compile(
        "|".join(f"(?P<rule{index}>{expression})" for index, (_, expression) in enumerate(rules))
    )
    safe, spans = either.subn(lambda match: f"[redacted:{_rule(match, rules)}]", text)
    return Redacted(safe, digest, spans)


def _rule(match: re.Match[str], rules: list[tuple[str, str]]) -> str:
    return next(name for index, (name, _) in enumerate(rules) if match[f"rule{index}"] is not None)
