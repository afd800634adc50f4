"""Bytes of an answer -> the same bytes without the real key, also where it is cut in two by the chunks.

Some servers quote the key in their error messages. Only what may be the beginning of the key is held back.
"""

from __future__ import annotations

SHORTEST = 8  # a shorter key is a word
PLACEHOLDER = b"[key]"


class KeyScrubber:
    def __init__(self, key: str) -> None:
        self._key = key.encode() if len(key) >= SHORTEST else b""
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """What can be passed on now."""
        key = self._key
        if not key:
            return data
        data = self._held + data
        self._held = b""
        if key in data:
            data = data.replace(key, PLACEHOLDER)
        # The first byte of the key is looked for in the end of the data before anything is compared.
        start = data.find(key[:1], max(0, len(data) - len(key) + 1))
        while start >= 0:
            if key.startswith(data[start:]):
                self._held = data[start:]
                return data[:start]
            start = data.find(key[:1], start + 1)
        return data

    def end(self) -> bytes:
        held, self._held = self._held, b""
        return held
