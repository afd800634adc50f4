"""Why a run stopped: every code, and the class that decides what it counts as.

A resource stop is never an acceptance failure, and only `infrastructure` earns another run.
"""

from __future__ import annotations

from typing import Literal, get_args

Termination = Literal[
    "completed",
    "wall_time",
    "cpu_time",
    "token_cap",
    "cost_cap",
    "model_call_cap",
    "tool_call_cap",
    "failed_check_cap",
    "no_progress",
    "oscillation",
    "repeated_call",
    "dominance",
    "dependency_loop",
    "memory",
    "disk",
    "processes",
    "breaker_repeat",
    "safety",
    "operator",
    "agent_crash",
    "infrastructure",
]
CODES: tuple[str, ...] = get_args(Termination)

_CLASSES = {
    "completed": ("completed",),
    "resource": (
        "wall_time",
        "cpu_time",
        "token_cap",
        "cost_cap",
        "model_call_cap",
        "tool_call_cap",
        "failed_check_cap",
        "memory",
        "disk",
        "processes",
    ),
    "loop": ("no_progress", "oscillation", "repeated_call", "dependency_loop", "breaker_repeat"),
    "safety": ("safety",),
    "operator": ("operator", "dominance"),
    "agent": ("agent_crash",),
    "infrastructure": ("infrastructure",),
}
CLASS_OF = {code: name for name, codes in _CLASSES.items() for code in codes}
