"""The same log always gives the same alerts, byte for byte; a log with other alerts is found out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from event_logs import ENTER, LEAVE, Step, call, change, process, response, result, sample, watched
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.monitors.watchdog import replay_alerts

POLICY: dict[str, Any] = {
    "deny_commands": ["curl"],
    "breakers": {
        "repeated_call": {"times": 2, "action": "throttle"},
        "oscillation": {"times": 2, "action": "alert"},
        "idle_tests": {"times": 2, "action": "throttle"},
        "reinstall": {"times": 2, "action": "alert"},
        "no_progress": {"minutes": 0.1, "calls": 3, "action": "pause"},
        "burst": {"calls": 3, "within_s": 5, "action": "throttle"},
        "repeat": {"times": 2, "action": "terminate"},
        "sampled": True,
    },
}
BUDGET = {
    "tokens": 10,
    "tool_calls": 5,
    "failed_checks": 1,
    "dependency_installs": 1,
    "cpu_s": 2.0,
    "command_s": 2.0,
}
STEPS: list[Step] = [
    *(call("ls"), call("pytest"), call("pip install x"), call("curl x"), call("sudo id"), call("cat 'open")),
    *(
        process("sh", "-c", "pip install x", key="4-4"),
        process("pytest", key="5-5", parent="4-4"),
        process("\ud800"),
    ),
    *(
        change("f", "a", "b"),
        change("f", "b", "a"),
        change("g", None, "1"),
        result(0),
        result(1),
        LEAVE,
        ENTER,
    ),
    *(
        sample(),
        sample(cpu_s=3.0),
        response("I will use sudo.", 6),
        ("cost", {"usd": 3.0}),
        ("workspace.changes", {"rows": [["a", None, None, "x"]]}),
    ),
]


@given(st.lists(st.sampled_from(STEPS), max_size=40), st.sampled_from([0.01, 1.0, 20.0]))
@settings(max_examples=150)
def test_replaying_any_log_gives_byte_identical_alerts(steps: list[Step], every_s: float) -> None:
    manifest, log = watched([ENTER, *steps], policy=POLICY, budget=BUDGET, every_s=every_s)
    replay = replay_alerts(manifest, log)
    assert replay.is_possible
    assert replay.why == ""
    assert replay.alerts == sum(event.type == "monitor.alert" for event in log)


def test_an_altered_alert_is_found_out() -> None:
    manifest, log = watched([ENTER, call("sudo id"), call("ls")])
    altered = [
        replace(event, payload={**event.payload, "severity": "violation"})
        if event.type == "monitor.alert"
        else event
        for event in log
    ]
    assert "another alert" in replay_alerts(manifest, altered).why


def test_an_alert_that_no_monitor_raises_is_found_out() -> None:
    manifest, log = watched([ENTER, call("ls"), ("monitor.alert", {"monitor": "policy", "code": "made_up"})])
    assert "no monitor raises this alert" in replay_alerts(manifest, log).why


def test_a_missing_alert_is_found_out() -> None:
    manifest, log = watched([ENTER, call("sudo id"), call("ls")])
    cut = [event for event in log if event.type != "monitor.alert"]
    assert "missing" in replay_alerts(manifest, cut).why


def test_an_alert_of_the_harness_is_not_replayed() -> None:
    """It follows from a clock or from the kernel, not from the log."""
    manifest, log = watched([ENTER, ("monitor.alert", {"code": "wall_time"})])
    assert replay_alerts(manifest, log) == (0, "", True)


def test_a_run_that_other_monitors_watched_cannot_be_replayed() -> None:
    manifest, log = watched([ENTER, call("sudo id")])
    manifest["configuration"]["monitors"] = {"version": "monitors/0"}
    assert not replay_alerts(manifest, log).is_possible
