"""`fallback/1`: what tool calls and stored files cost in abstract units, where no price is known.

    a tool call      1 + 0.1 x seconds
    stored files     0.01 x MB

Requests to models are in `providers.prices`: 1 + 0.001 x characters of the answer. The coefficients are policy choices of this version.
"""

from __future__ import annotations

FALLBACK = "fallback/1"
UNITS_CALL, UNITS_SECOND = 1.0, 0.1
UNITS_MB = 0.01


def units_of_calls(calls: int, seconds: float) -> float:
    """Of so many tool calls that took so long together."""
    return calls * UNITS_CALL + seconds * UNITS_SECOND
