"""The parts of a verifier's reward, and the errors that it, a judge or people named -> lines for a person.

    dimensions
      drop   0.95          x1
      unit   3 of 5        x2  the answer is in inches

    errors
      unit mismatch (mechanical)  mm, not m

A breakdown from `steelyard.rubric` has scores, maxima and weights; any other is shown as JSON. Errors are those beside the closed
list of `tags`: a task defines its own categories.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from rich.text import Text

from steelyard.report.plain import one_line

MOST_ROWS, NAME_WIDTH, ERROR_WIDTH = 30, 30, 60


def breakdown_of(result: Mapping[str, Any]) -> Iterator[Text]:
    parts = result.get("breakdown") or {}
    if not parts:
        return
    yield Text("\ndimensions", "bold")
    width = max(len(one_line(name, NAME_WIDTH)) for name in list(parts)[:MOST_ROWS])
    for name, part in list(parts.items())[:MOST_ROWS]:
        yield Text(f"  {one_line(name, NAME_WIDTH):<{width}}  {_part_text(part)}".rstrip())
    if len(parts) > MOST_ROWS:
        yield Text(f"  and {len(parts) - MOST_ROWS} more")


def _part_text(part: Any) -> str:
    if not isinstance(part, dict) or not _is_number(part.get("score")):
        return one_line(json.dumps(part, ensure_ascii=False), 120)
    most, weight = part.get("max_score", 1), part.get("weight", 1)
    of = f" of {most:g}" if _is_number(most) and most != 1 else ""
    times = f" x{weight:g}" if _is_number(weight) and weight != 1 else ""
    evidence = f"  {one_line(part['evidence'])}" if isinstance(part.get("evidence"), str) else ""
    return f"{part['score']:g}{of}{times}{evidence}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def own_errors(result: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Those that are not failure modes of the run."""
    tags = result.get("tags")
    modes = set(map(str, tags)) if isinstance(tags, list) else set()
    found = result.get("error_taxonomy")
    errors = [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
    return [
        one for one in errors if one.get("source") != "mechanical" or str(one.get("category")) not in modes
    ]


def error_name(error: Mapping[str, Any]) -> str:
    """`unit mismatch (mechanical)`, safe to print."""
    return f"{one_line(str(error.get('category')), ERROR_WIDTH)} ({one_line(str(error.get('source')), 20)})"


def errors_of(result: Mapping[str, Any]) -> Iterator[Text]:
    errors = own_errors(result)
    if not errors:
        return
    yield Text("\nerrors", "bold")
    for one in errors[:MOST_ROWS]:
        yield Text(f"  {error_name(one)}  {one_line(str(one.get('description') or ''))}".rstrip())
    if len(errors) > MOST_ROWS:
        yield Text(f"  and {len(errors) - MOST_ROWS} more")
