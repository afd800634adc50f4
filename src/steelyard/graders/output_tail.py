"""The end of what a check printed, for its grade."""

from __future__ import annotations

from steelyard.bench.outcome import Outcome

TAIL_CHARS = 2000


def output_tail(outcome: Outcome) -> str:
    streams = (outcome.stdout, outcome.stderr)
    return "".join(stream.prefix + stream.tail for stream in streams)[-TAIL_CHARS:]
