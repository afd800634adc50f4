"""A limit that was reached -> a `monitor.alert`, and the `intervention` that followed from it.

    monitor.alert  {"code": "memory", "stage": "write", "severity": "resource", "why": "out of memory",
                    "signals": {"oom_kills": 2}, "threshold": {"limit_mb": 512}, "events": [9, 14]}
    intervention   {"action": "kill", "code": "memory", "alert": 17}

An alert is a function of what it names as signals; `events` has the `seq` of the last events of the kinds that it follows
from; its intervention names the alert by its `seq`. A limit that ends the
run asks for a stop, as everything does that stops a run: `request_stop` records that intervention.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from steelyard.agents.base import Ending
from steelyard.bench.outcome import REACHED, Limit, Outcome
from steelyard.errors import InfraFault
from steelyard.evidence.trace.termination import Termination
from steelyard.execution.live_run import LiveRun
from steelyard.execution.stop import StopRequest
from steelyard.sandboxes.base import ExitStats
from steelyard.sandboxes.limits.time_allowance import TimeAllowance

if TYPE_CHECKING:
    from steelyard.gateway.caps import CapReached

# What follows from a limit that stops no run: a process is killed, or the kernel refuses a write or a fork.
Action = Literal["kill", "refuse"]
# Alert -> the kinds of events that it follows from.
FOLLOWS: Mapping[str, tuple[str, ...]] = {
    "wall_time": ("stage.enter", "brief"),
    "memory": ("stage.enter", "sandbox.sample"),
    "disk": ("stage.enter", "sandbox.sample"),
    "processes": ("stage.enter", "sandbox.sample"),
    "token_cap": ("model.request", "cost"),
    "cost_cap": ("model.request", "cost"),
    "model_call_cap": ("model.request",),
    "output": ("stage.enter", "tool.result"),
}
CHECK_FOLLOWS = ("check.start", "check.run")  # of every alert about a check
CHECKS_TOOK_TOO_LONG = "the checks took the time that the study has for the checks of one run"
TIME_IS_UP = "the wall-clock budget of the run was used up"
OUT_OF: Mapping[str, str] = {
    "memory": "out of memory",
    "disk": "the disk quota is used up",
    "processes": "the process limit was reached",
}


def raise_alert(run: LiveRun, code: str, why: str, measured: Mapping[str, Any], action: Action | None) -> int:
    """The alert's `seq`. `measured` has its signals and its threshold, and names the check that it is about."""
    is_of_check = "check" in measured
    kinds = CHECK_FOLLOWS if is_of_check else FOLLOWS[code]
    events = sorted(run.last_events[kind] for kind in kinds if kind in run.last_events)
    stage = "acceptance" if is_of_check else run.stages.current
    severity = "advisory" if code == "output" else "resource"
    about = {"code": code, "stage": stage, "severity": severity, "why": why}
    payload = {**about, **measured, "events": events}
    seq = run.events.append("monitor.alert", "monitor", payload)
    if action is not None:
        run.events.append("intervention", "harness", {"action": action, "code": code, "alert": seq})
    return seq


def stop_for_time(run: LiveRun, wall_s: float, spent_s: float) -> None:
    """The agent's time is used up: it was ended, or was not started again."""
    if run.stop.current is None:
        measured = {"signals": {"spent_s": round(spent_s, 3)}, "threshold": {"wall_s": wall_s}}
        seq = run.alerts["wall_time"] = raise_alert(run, "wall_time", TIME_IS_UP, measured, None)
        run.request_stop(StopRequest("wall_time", TIME_IS_UP, "budget wall_s", measured, seq))


def end_for_checks(run: LiveRun, allowance: TimeAllowance, check: str) -> None:
    """The checks took the time that the study has for them: a resource stop, unless the run was stopped before."""
    measured = {
        "signals": {"spent_s": round(allowance.spent_s, 3)},
        "threshold": {"acceptance_s": allowance.total_s},
        "check": check,
    }
    seq = raise_alert(run, "wall_time", CHECKS_TOOK_TOO_LONG, measured, "kill")
    if run.ending is not None and run.ending.code == "completed":
        run.alerts["wall_time"] = seq
        run.ending = replace(run.ending, code="wall_time", rationale=CHECKS_TOOK_TOO_LONG)


def stop_for_models(run: LiveRun, cap: CapReached) -> None:
    """A cap on tokens, cost or model calls is reached. Called by the gateway, from its own thread."""
    measured = {"signals": {cap.budget: cap.used}, "threshold": {cap.budget: cap.cap}}
    # A log that cannot be written is reported by the run itself, at its next event
    with suppress(InfraFault):
        seq = run.alerts[cap.code] = raise_alert(run, cap.code, str(cap), measured, None)
        run.request_stop(StopRequest(cap.code, str(cap), f"budget {cap.budget}", measured, seq))


def stop_for_limits(run: LiveRun, ending: Ending, exit_stats: ExitStats) -> None:
    """A crash or a lost sandbox that the kernel explains by a limit: running out of a resource is the agent's failure."""
    found = _exhausted_resource(ending, exit_stats)
    if found is not None:
        code, why = found
        measured = dict(run.measured.get(code, {}))
        by = f"limit {code}"
        run.request_stop(StopRequest(code, f"{why}; {ending.rationale}", by, measured, run.alerts.get(code)))


def _exhausted_resource(ending: Ending, exit_stats: ExitStats) -> tuple[Termination, str] | None:
    if ending.code not in {"agent_crash", "infrastructure"}:
        return None
    if exit_stats.oom_kills:
        return "memory", OUT_OF["memory"]
    if ending.code == "agent_crash" and exit_stats.disk_full:
        return "disk", OUT_OF["disk"]
    if ending.code == "agent_crash" and exit_stats.processes_refused:
        return "processes", OUT_OF["processes"]
    return None


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
            run.measured[code] = measured
            run.alerts[code] = raise_alert(run, code, OUT_OF[code], measured, action)


def alerts_of_check(run: LiveRun, executed: Outcome) -> None:
    """One execution of a check that reached its time limit, or a limit of its sandbox."""
    of = {"check": executed.id}
    if executed.started and executed.exit is None and executed.observed_s >= executed.ceiling_s:
        signals, threshold = {"observed_s": round(executed.observed_s, 3)}, {"ceiling_s": executed.ceiling_s}
        measured = {**of, "signals": signals, "threshold": threshold}
        why = f"check {executed.id} ran for more than {executed.ceiling_s:g} s"
        raise_alert(run, "check_time", why, measured, "kill")
    limits = run.trial.contract.spec.environment
    rows: tuple[tuple[Limit, str, int, Action], ...] = (
        ("memory", "limit_mb", limits.memory_mb.limit, "kill"),
        ("disk", "disk_mb", limits.disk_mb, "refuse"),
        ("processes", "processes", limits.processes, "refuse"),
    )
    for code, name, limit, action in rows:
        if REACHED[code] in executed.notes:
            measured = {**of, "signals": {REACHED[code].replace(" ", "_"): True}, "threshold": {name: limit}}
            raise_alert(run, code, f"check {executed.id}: {OUT_OF[code]}", measured, action)


def alert_of_output(run: LiveRun, stream: str, size: int, cut: int) -> None:
    """More was printed than a run keeps; nothing is done about it."""
    if cut:
        measured = {"stream": stream, "signals": {"bytes": size}, "threshold": {"kept_bytes": size - cut}}
        raise_alert(run, "output", f"{stream} is longer than what a run keeps", measured, None)
