"""A streamed chat completion -> the same stream without the event that only reports usage.

The gateway asks for that event where the client did not, and some clients stop at an event without a choice.
"""

from __future__ import annotations

import orjson

MOST_HELD_BYTES = 8 << 20


class UsageFilter:
    def __init__(self) -> None:
        self._held = b""

    def feed(self, chunk: bytes) -> bytes:
        """Whole events; the beginning of one is held back, unless it is too large to be the one that is looked for."""
        data = self._held + chunk
        end = data.rfind(b"\n\n")
        cut = end + 2 if end >= 0 else 0
        if len(data) - cut > MOST_HELD_BYTES:
            cut = len(data)
        self._held = data[cut:]
        return self._without(data[:cut])

    def end(self) -> bytes:
        held, self._held = self._held, b""
        return self._without(held)

    def _without(self, data: bytes) -> bytes:
        if b'"usage"' not in data:
            return data
        events = data.split(b"\n\n")
        return b"\n\n".join(event for event in events if not _is_usage_only(event))


def _is_usage_only(event: bytes) -> bool:
    if not event.startswith(b"data:") or b'"usage"' not in event:
        return False
    try:
        data = orjson.loads(event[5:])
    except ValueError:
        return False
    return isinstance(data, dict) and data.get("choices") == [] and isinstance(data.get("usage"), dict)
