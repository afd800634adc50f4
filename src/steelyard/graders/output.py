"""What a check printed: the end of it for its grade, and whether it may show a hidden file.

A test that fails prints its own source and the values that it expected. Such output stays in the run folder
(`checks/<id>/`, `gradings/`), which is the operator's; result lines, exports and judges do not get it.
"""

from __future__ import annotations

from steelyard.bench.outcome import Outcome
from steelyard.contract.catalogue import GraderEntry
from steelyard.contract.contract import Contract
from steelyard.evidence.output_view import end_of, output_text

TAIL_CHARS = 2000


def output_tail(outcome: Outcome) -> str:
    streams = (outcome.stdout, outcome.stderr)
    return end_of("".join(output_text(stream.to_json()) for stream in streams), TAIL_CHARS)


def may_show_hidden(contract: Contract, entry: GraderEntry) -> bool:
    """On a live bench every check works in one tree, so each of them may print what another was given."""
    if contract.spec.bench == "live":
        return any(one.options_files for one in (*contract.checks, *contract.graders))
    return bool(entry.options_files)
