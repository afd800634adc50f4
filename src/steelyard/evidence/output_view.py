"""A stream of a check, as `outcome.json` has it -> a text for people, in which every cut is marked.

    {"digest": "<64 hex>", "bytes": 90000, "prefix": "...", "tail": "...", "blob": "<64 hex>", "cut": 0}

`prefix` and `tail` are the first and the last 4 KiB. Of a longer stream the whole is in `blobs/<blob>`; `cut` says how many
bytes of it are in no file of the run, because it was longer than the run may keep.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SHOWN_BYTES = 4096  # of each end


def output_text(stream: Mapping[str, Any] | None) -> str:
    """Both ends, and how much is missing between them."""
    fields = stream or {}
    left_out = max(0, int(fields.get("bytes", 0)) - 2 * SHOWN_BYTES)
    middle = f"\n[... {left_out} bytes ...]\n" if left_out else ""
    return f"{fields.get('prefix', '')}{middle}{fields.get('tail', '')}"


def end_of(text: str, most: int) -> str:
    """The last `most` characters; a line before them says what is missing."""
    cut = len(text) - most
    return f"[... {cut} characters ...]\n{text[cut:]}" if cut > 0 else text
