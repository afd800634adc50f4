"""Trials that could not be run -> one message on stderr for each distinct fault, however many trials it cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.cli.console import say


def print_faults(results: Sequence[Mapping[str, Any]]) -> None:
    """`results` are the result lines of a command; those with a fault have no run."""
    costs = Counter(str(result["reason"]) for result in results if result.get("fault"))
    for reason, trials in costs.items():
        cost = f"{trials} of {len(results)} trials could not be run: " if len(results) > 1 else ""
        say(f"{cost}{reason}")
