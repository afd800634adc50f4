"""The end of what a check printed, for its grade."""

from __future__ import annotations

from steelyard.bench.outcome import Outcome
from steelyard.evidence.output_view import end_of, output_text

TAIL_CHARS = 2000


def output_tail(outcome: Outcome) -> str:
    streams = (outcome.stdout, outcome.stderr)
    return end_of("".join(output_text(stream.to_json()) for stream in streams), TAIL_CHARS)
