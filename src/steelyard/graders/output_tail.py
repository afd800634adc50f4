"""What to show of a check that did not pass: the tests that failed and why, then the end of what it printed."""

from __future__ import annotations

from steelyard.bench.outcome import Outcome

TAIL_CHARS = 2000
SHOWN_TESTS = 10


def output_tail(outcome: Outcome) -> str:
    streams = (outcome.stdout, outcome.stderr)
    printed = "".join(stream.prefix + stream.tail for stream in streams)[-TAIL_CHARS:]
    told = _told(outcome)
    return f"{told}\n{printed}" if told and printed else told or printed


def _told(outcome: Outcome) -> str:
    reported = outcome.reported
    if reported is None or outcome.outcome == "pass":
        return ""
    failed = [one for one in reported.results if one.outcome in ("failed", "error")]
    lines = [*reported.problems, *(f"{one.id}: {one.detail or one.outcome}" for one in failed[:SHOWN_TESTS])]
    if len(failed) > SHOWN_TESTS:
        lines.append(f"and {len(failed) - SHOWN_TESTS} more")
    return "".join(f"{line}\n" for line in lines)
