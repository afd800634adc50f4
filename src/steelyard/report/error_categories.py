"""A result line -> the errors that a verifier, a judge or people named, beside the closed list of `tags`.

    errors
      unit mismatch (mechanical)  mm, not m

A task defines its own categories, so there is no list of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.text import Text

from steelyard.report.plain import one_line

MOST_ROWS, NAME_WIDTH = 30, 60


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
    return f"{one_line(str(error.get('category')), NAME_WIDTH)} ({one_line(str(error.get('source')), 20)})"


def errors_of(result: Mapping[str, Any]) -> Iterator[Text]:
    errors = own_errors(result)
    if not errors:
        return
    yield Text("\nerrors", "bold")
    for one in errors[:MOST_ROWS]:
        yield Text(f"  {error_name(one)}  {one_line(str(one.get('description') or ''))}".rstrip())
    if len(errors) > MOST_ROWS:
        yield Text(f"  and {len(errors) - MOST_ROWS} more")
