"""A limit that was reached -> a `monitor.alert`, and the `intervention` that followed from it.

    monitor.alert  {"code": "memory", "stage": "write", "signals": {"oom_kills": 2}, "threshold": {"limit_mb": 512}}
    intervention   {"action": "kill", "code": "memory", "alert": 17}

An alert is a function of what it names as signals; its intervention names the alert by its `seq`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from steelyard.agents.base import Ending
from steelyard.bench.outcome import Outcome
from steelyard.execution.live_run import LiveRun
from steelyard.sandboxes.base import ExitStats

# What follows from a limit: the run's agent is ended, a process is killed, or the kernel refuses a write or a fork.
Action = Literal["terminate", "kill", "refuse"]


def raise_alert(
    run: LiveRun, code: str, stage: str, measured: Mapping[str, Any], action: Action | None
) -> int:
    """The alert's `seq`. `measured` has its signals and its threshold, and names the check that it is about."""
    seq = run.events.append("monitor.alert", "monitor", {"code": code, "stage": stage, **measured})
    if action is not None:
        run.events.append("intervention", "harness", {"action": action, "code": code, "alert": seq})
    return seq


def alert_of_time(run: LiveRun, ending: Ending, wall_s: float) -> None:
    """The agent's time is used up: it was ended, or was not started again."""
    if ending.code == "wall_time":
        measured = {"signals": {"spent_s": round(run.spent_s, 3)}, "threshold": {"wall_s": wall_s}}
        run.alerts["wall_time"] = raise_alert(run, "wall_time", "write", measured, "terminate")


def alerts_of_exit(run: LiveRun, exit_stats: ExitStats) -> None:
    """What the kernel counted while the agent's sandbox lived, whether the agent ended by it or not."""
    limits = run.trial.contract.spec.environment
    counted: tuple[tuple[str, int, dict[str, Any], dict[str, Any], Action], ...] = (
        (
            "memory",
            exit_stats.oom_kills,
            {"oom_kills": exit_stats.oom_kills, "peak_memory_bytes": exit_stats.peak_memory_bytes},
            {"limit_mb": limits.memory_mb.limit},
            "kill",
        ),
        (
            "disk",
            exit_stats.disk_full,
            {"disk_full": exit_stats.disk_full},
            {"disk_mb": limits.disk_mb},
            "refuse",
        ),
        (
            "processes",
            exit_stats.processes_refused,
            {"processes_refused": exit_stats.processes_refused},
            {"processes": limits.processes},
            "refuse",
        ),
    )
    for code, reached, signals, threshold, action in counted:
        if reached and code not in run.alerts:
            measured = {"signals": signals, "threshold": threshold}
            run.alerts[code] = raise_alert(run, code, "write", measured, action)


def alerts_of_check(run: LiveRun, executed: Outcome) -> None:
    """One execution of a check that its time limit or its memory ended."""
    of = {"check": executed.id}
    if executed.started and executed.exit is None and executed.observed_s >= executed.ceiling_s:
        signals, threshold = {"observed_s": round(executed.observed_s, 3)}, {"ceiling_s": executed.ceiling_s}
        measured = {**of, "signals": signals, "threshold": threshold}
        raise_alert(run, "check_time", "acceptance", measured, "kill")
    if "out of memory" in executed.notes:
        limit_mb = run.trial.contract.spec.environment.memory_mb.limit
        measured = {**of, "signals": {"out_of_memory": True}, "threshold": {"limit_mb": limit_mb}}
        raise_alert(run, "memory", "acceptance", measured, "kill")


def alert_of_output(run: LiveRun, stream: str, size: int, cut: int) -> None:
    """More was printed than a run keeps; nothing is done about it."""
    if cut:
        measured = {"stream": stream, "signals": {"bytes": size}, "threshold": {"kept_bytes": size - cut}}
        raise_alert(run, "output", "write", measured, None)
