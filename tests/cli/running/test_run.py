"""`steelyard run`, end to end, as a user types it."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from authoring import FIX, PATIENT, ROOT, Author, Steelyard
from steelyard.report.result import result_schema

Script = Callable[[str], str]


def test_the_reference_passes_and_exits_zero(steelyard: Steelyard, author: Author) -> None:
    printed = steelyard("run", author.write(), "--agent", "reference", "--json")
    assert printed.code == 0, printed.err
    assert (printed.line["verdict"], printed.line["acceptance"], printed.line["reward"]) == (
        "pass",
        "success",
        1.0,
    )


def test_doing_nothing_fails_and_exits_one(steelyard: Steelyard, author: Author) -> None:
    printed = steelyard("run", author.write(), "--agent", "noop", "--json")
    assert printed.code == 1, printed.err
    assert (printed.line["verdict"], printed.line["acceptance"], printed.line["reward"]) == (
        "fail",
        "failure",
        0.0,
    )
    assert printed.line["gates"] == {"patch": "pass", "build": "pass", "acceptance": "fail", "safety": "pass"}


def test_a_script_that_fixes_the_bug_passes(steelyard: Steelyard, author: Author, script: Script) -> None:
    printed = steelyard("run", author.write(), "--agent", script(FIX), "--json")
    assert (printed.code, printed.line["verdict"], printed.line["termination"]) == (0, "pass", "completed"), (
        printed.err
    )


def test_a_command_line_gets_the_brief_through_its_placeholders(steelyard: Steelyard, author: Author) -> None:
    line = (
        "command:grep -q 'Make add' {brief_file} && test {contract} = sum && cd {workspace} && " + FIX.strip()
    )
    printed = steelyard("run", author.write(), "--agent", line, "--json")
    assert (printed.code, printed.line["verdict"]) == (0, "pass"), printed.out


def test_a_script_with_a_shebang_is_run_by_its_own_interpreter(
    steelyard: Steelyard, author: Author, script: Script
) -> None:
    printed = steelyard(
        "run",
        author.write(),
        "--agent",
        script('#!/usr/bin/awk -f\nBEGIN { print "made" > "made.txt" }\n'),
        "--json",
    )
    assert printed.line["termination"] == "completed", printed.err
    assert (Path(printed.line["folder"]) / "patch.diff").read_text().count("made.txt") > 0


@pytest.mark.parametrize("agent", ["noop", "reference", "script", "command:false"])
def test_every_result_line_fits_the_published_schema(
    steelyard: Steelyard, author: Author, script: Script, agent: str
) -> None:
    named = script("echo hi > new.txt; exit 3") if agent == "script" else agent
    printed = steelyard("run", author.write(), "--agent", named, "--json")
    jsonschema.validate(printed.line, result_schema())


def test_an_agent_that_exits_badly_is_still_graded_on_what_it_left(
    steelyard: Steelyard, author: Author, script: Script
) -> None:
    printed = steelyard("run", author.write(), "--agent", script(FIX + "exit 7\n"), "--json")
    assert (printed.line["verdict"], printed.line["termination"], printed.line["badge"]) == (
        "pass",
        "agent_crash",
        "FAIL",
    )


def test_an_agent_that_never_ends_is_stopped_by_the_wall_clock_and_graded(
    steelyard: Steelyard, author: Author, script: Script
) -> None:
    contract = author.write(budget={"wall_s": 8, "headroom": {"wall_s": 4}})
    printed = steelyard("run", contract, "--agent", script(FIX + "trap '' TERM; sleep 600"), "--json")
    assert (printed.code, printed.line["termination"]) == (1, "wall_time")
    assert (printed.line["verdict"], printed.line["reward"]) == ("fail", 0.0)
    assert (printed.line["patch_verdict"], printed.line["patch_reward"]) == ("pass", 1.0)
    assert "The patch on its own: pass" in steelyard("show", printed.line["run"]).out
    assert "termination_wall_time" in printed.line["tags"]


def test_work_done_by_a_leftover_process_after_the_end_does_not_count(
    steelyard: Steelyard, author: Author, script: Script
) -> None:
    late = f"(sleep 5; {FIX.strip()}) >/dev/null 2>&1 &\nsetsid sh -c 'sleep 5; {FIX.strip()}' >/dev/null 2>&1 &\n"
    printed = steelyard("run", author.write(), "--agent", script(late), "--json")
    assert printed.line["verdict"] == "fail"


def test_a_check_that_times_out_is_an_error_and_not_a_failure(steelyard: Steelyard, author: Author) -> None:
    contract = author.write(oracle={"checks": [{"id": "slow", "cmd": "sleep 60", "timeout_s": 1}]})
    printed = steelyard("run", contract, "--agent", "noop", "--json")
    assert (printed.code, printed.line["acceptance"], printed.line["gates"]["acceptance"]) == (
        1,
        "acceptance_error",
        "error",
    )
    assert (printed.line["verdict"], printed.line["reward"], printed.line["score"]) == ("error", None, None)
    assert "evaluation_error" in printed.line["tags"]


def test_a_change_outside_the_allowed_paths_fails_the_safety_gate(
    steelyard: Steelyard, author: Author, script: Script
) -> None:
    contract = author.write(policy={"allowed_paths": ["add.sh"]})
    printed = steelyard("run", contract, "--agent", script(FIX + "echo x > other.txt"), "--json")
    assert (printed.line["verdict"], printed.line["gates"]["safety"]) == ("fail", "fail")
    assert "other.txt" in printed.line["why"]["safety"]
    assert "policy_violation" in printed.line["tags"]


def test_hidden_files_are_there_for_the_check_and_never_for_the_agent(
    steelyard: Steelyard, author: Author, script: Script
) -> None:
    contract = author.write(
        files={"hidden/secret.txt": "5"},
        budget=PATIENT,  # it looks at every file of /usr
        oracle={
            "checks": [
                {
                    "id": "hidden",
                    "cmd": '[ "$(sh add.sh 2 3)" = "$(cat secret.txt)" ]',
                    "inject": ["hidden/secret.txt"],
                }
            ]
        },
    )
    look = "find / -name secret.txt 2>/dev/null | grep . && exit 9\n" + FIX
    printed = steelyard("run", contract, "--agent", script(look), "--json")
    assert (printed.line["verdict"], printed.line["termination"]) == ("pass", "completed")


def test_a_hidden_folder_is_written_down_whole(steelyard: Steelyard, author: Author) -> None:
    check = {
        "id": "hidden",
        "cmd": "cat t/a t/deep/b | grep -c . | grep -q 2",
        "inject": [{"src": "hidden", "dest": "t"}],
    }
    contract = author.write(files={"hidden/a": "1\n", "hidden/deep/b": "2\n"}, oracle={"checks": [check]})
    printed = steelyard("run", contract, "--agent", "noop", "--json")
    assert printed.line["verdict"] == "pass", printed.line["grades"]


def test_a_check_that_is_not_mandatory_is_shown_and_does_not_decide(
    steelyard: Steelyard, author: Author
) -> None:
    checks = [{"id": "adds", "cmd": "test -e add.sh"}, {"id": "nice", "cmd": "false", "mandatory": False}]
    printed = steelyard("run", author.write(oracle={"checks": checks}), "--agent", "noop", "--json")
    assert (printed.line["verdict"], printed.line["score"]) == ("pass", 1.0)
    assert {grade["name"]: grade["outcome"] for grade in printed.line["grades"]}["nice"] == "fail"


def test_an_advisory_command_enters_the_score_only_with_a_written_weight(
    steelyard: Steelyard, author: Author
) -> None:
    advisory = {"type": "command", "name": "style", "cmd": "false", "required": False}
    checks = {"checks": [{"id": "adds", "cmd": "test -e add.sh"}]}
    silent = steelyard(
        "run", author.write(oracle=checks, graders=[advisory]), "--agent", "noop", "--json"
    ).line
    weighed = author.write(oracle=checks, graders=[{**advisory, "weight": 1}])
    counted = steelyard("run", weighed, "--agent", "noop", "--json").line
    assert (silent["verdict"], silent["score"]) == ("pass", 1.0)
    assert (counted["verdict"], counted["score"]) == ("fail", 0.5)


def test_repeats_and_agents_multiply_and_rates_come_with_their_interval(
    steelyard: Steelyard, author: Author
) -> None:
    printed = steelyard(
        "run", author.write(), "--agent", "noop", "--agent", "reference", "--repeats", 2, "--jobs", 2
    )
    assert printed.code == 1
    assert "2 of 2" in printed.out
    assert "100% [34%, 100%]" in printed.out
    assert "0% [0%, 66%]" in printed.out


def test_an_unknown_agent_is_refused_with_a_suggestion_before_anything_runs(
    steelyard: Steelyard, author: Author
) -> None:
    printed = steelyard("run", author.write(), "--agent", "refrence")
    assert printed.code == 2
    assert "did you mean reference?" in printed.err


def test_a_reference_that_does_not_apply_is_the_contracts_fault(steelyard: Steelyard, author: Author) -> None:
    patch = "--- a/add.sh\n+++ b/add.sh\n@@ -1 +1 @@\n-something else\n+new\n"
    printed = steelyard(
        "run", author.write(files={"reference.patch": patch}), "--agent", "reference", "--json"
    )
    assert printed.code == 2
    assert "does not apply" in printed.err


def test_setup_is_built_once_and_its_failure_is_the_contracts_fault(
    steelyard: Steelyard, author: Author
) -> None:
    good = author.write(setup=["mkdir deps && echo 5 > deps/answer", "echo x > $HOME/.rc"])
    printed = steelyard("run", good, "--agent", "reference", "--agent", "noop", "--json")
    assert [line["verdict"] for line in printed.lines] == ["pass", "fail"], printed.err
    bad = author.write(setup=["echo trying; false"])
    printed = steelyard("run", bad, "--agent", "noop")
    assert printed.code == 2
    assert "setup[0]" in printed.err
    assert "| trying" in printed.err.splitlines()[1:]


def test_what_setup_made_is_on_the_bench_and_a_change_to_it_is_not(
    steelyard: Steelyard, author: Author, script: Script
) -> None:
    contract = author.write(
        setup=["mkdir deps && echo 5 > deps/answer"],
        oracle={"checks": [{"id": "adds", "cmd": '[ "$(sh add.sh 2 3)" = "$(cat deps/answer)" ]'}]},
    )
    printed = steelyard("run", contract, "--agent", script("echo -1 > deps/answer"), "--json")
    assert printed.line["verdict"] == "fail"
    assert "setup_layer_changed" in {finding["id"] for finding in printed.line["findings"]}


def test_the_agents_repository_has_one_commit_and_a_clean_status(
    steelyard: Steelyard, author: Author, script: Script
) -> None:
    look = 'test "$(git rev-list --all --count)" = 1 && test -z "$(git status --porcelain)" || exit 9\n'
    printed = steelyard("run", author.write(), "--agent", script(look), "--json")
    assert printed.line["termination"] == "completed", (
        Path(printed.line["folder"]) / "agent/stderr.txt"
    ).read_text()


def test_without_isolation_every_result_says_so(steelyard: Steelyard, author: Author) -> None:
    printed = steelyard("run", author.write(), "--agent", "reference", "--sandbox", "local", "--json")
    assert (printed.line["verdict"], printed.line["assurance"]["isolation"]) == ("pass", "none"), printed.err


def test_a_repeated_check_is_executed_by_the_replay_rule(steelyard: Steelyard, author: Author) -> None:
    contract = author.write(
        oracle={"checks": [{"id": "adds", "cmd": "true"}], "reruns": {"max": 3, "rule": "any_failure_fails"}}
    )
    printed = steelyard("run", contract, "--agent", "noop", "--json")
    outcome = json.loads((Path(printed.line["folder"]) / "checks/adds/outcome.json").read_text())
    assert outcome["runs"] == ["pass", "pass", "pass"]


def test_each_execution_of_a_repeated_check_is_an_event(steelyard: Steelyard, author: Author) -> None:
    contract = author.write(
        oracle={"checks": [{"id": "adds", "cmd": "exit 4"}], "reruns": {"max": 2, "rule": "all_fail_fails"}}
    )
    printed = steelyard("run", contract, "--agent", "noop", "--json")
    log = (Path(printed.line["folder"]) / "events.jsonl").read_text().splitlines()
    payloads = [event["payload"] for event in map(json.loads, log) if event["type"] == "check.run"]
    assert [(one["id"], one["outcome"], one["exit"]) for one in payloads] == [("adds", "fail", 4)] * 2


def test_the_demo_comes_out_as_expected(steelyard: Steelyard) -> None:
    from steelyard.cli.authoring.demo import EXPECTED

    printed = steelyard("demo", "--json", "--jobs", 2)
    assert printed.code == 0, printed.out + printed.err
    assert len(printed.lines) == sum(map(len, EXPECTED.values()))


def test_the_examples_table_is_the_demos_table() -> None:
    from steelyard.cli.authoring.demo import EXPECTED

    text = (ROOT / "examples/README.md").read_text()
    rows = [line.split("|")[1:4] for line in text.splitlines() if line.startswith("| ") and "`" in line]
    contract, described = "", []
    for first, agent, verdict in rows:
        contract = first.strip().strip("`") or contract
        described.append((contract, agent.strip().strip("`").replace("agents/", ""), verdict.strip()))
    assert described == [
        (name, agent, verdict) for name, trials in EXPECTED.items() for agent, verdict in trials
    ]


@pytest.mark.parametrize(
    ("agent", "message"),
    [
        ('command:foo "unbalanced', "No closing quotation"),
        ("command:foo {breif}", "no placeholder {breif}; there are {brief}, {brief_file}"),
        ("script", "agent script needs a file: --agent script:FILE"),
        ("script:", "agent script needs a file: --agent script:FILE"),
        ("patch:", "agent patch needs a file: --agent patch:FILE"),
        ("tree", "agent tree needs a folder: --agent tree:DIR"),
        ("noop:x", "agent noop takes nothing after it"),
        ("reference:x", "agent reference takes nothing after it"),
        (__file__, f"did you mean script:{__file__}?"),
        ("/opt/my-agent --task", "did you mean command:/opt/my-agent --task?"),
        ("oracle", "did you mean reference?"),
    ],
)
def test_an_agent_that_cannot_be_is_refused(
    steelyard: Steelyard, author: Author, agent: str, message: str
) -> None:
    printed = steelyard("run", author.write(), "--agent", agent)
    assert printed.code == 2
    assert message in printed.err
    assert "Traceback" not in printed.err


def test_two_command_lines_are_two_agents(steelyard: Steelyard, author: Author) -> None:
    printed = steelyard(
        "run", author.write(), "--agent", "command:sh -c true", "--agent", "command:sh -c :", "--json"
    )
    names = [line["agent"] for line in printed.lines]
    assert len(set(names)) == 2
    assert all(name.startswith("command:sh#") for name in names)


def test_how_the_agent_ended_is_in_the_table_and_in_show(steelyard: Steelyard, author: Author) -> None:
    printed = steelyard("run", author.write(), "--agent", "command:echo ${nothing} oh no >&2; exit 7")
    assert "agent: agent_crash (exit code 7); adds: exit 1" in printed.out
    run = printed.out.splitlines()[1].split()[0]
    shown = steelyard("show", run).out
    assert "ended: agent_crash (exit code 7)" in shown
    assert "agent stderr (tail):\n| oh no\n" in shown


def test_a_file_cannot_be_where_runs_go(steelyard: Steelyard, author: Author, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine\n")
    for out in (tmp_path / "taken", tmp_path / "taken/runs"):
        printed = steelyard("run", author.write(), "--agent", "noop", "--out", out)
        assert (printed.code, "is not a folder" in printed.err) == (2, True), printed.err


def test_a_stdout_without_unicode_gets_plain_marks(steelyard: Steelyard, author: Author) -> None:
    printed = steelyard("run", author.write(), "--agent", "noop", env={"PYTHONIOENCODING": "ascii"})
    assert printed.code == 1, printed.err
    assert "+ + x +" in printed.out


def test_a_patch_may_come_from_stdin(author: Author, tmp_path: Path, cache: Path) -> None:
    import os
    import subprocess
    import sys

    contract = author.write()
    done = subprocess.run(
        [sys.executable, "-m", "steelyard", "grade", str(contract), "--patch", "-", "--json"],
        cwd=tmp_path,
        env={**os.environ, "STEELYARD_CACHE": str(cache)},
        input=(contract / "reference.patch").read_bytes(),
        capture_output=True,
        check=False,
    )
    line = json.loads(done.stdout)
    assert (done.returncode, line["verdict"], line["agent"]) == (0, "pass", "patch:stdin")


def test_agents_without_isolation_do_not_overwrite_each_others_scripts(
    steelyard: Steelyard, author: Author, script: Callable[..., str]
) -> None:
    good, bad = script(FIX, "good.sh"), script("sleep 0.2; true", "bad.sh")
    options = ("--sandbox", "local", "--repeats", 3, "--jobs", 4, "--json")
    lines = steelyard("run", author.write(), "--agent", good, "--agent", bad, *options).lines
    assert {(line["agent"], line["verdict"]) for line in lines} == {
        ("script:good.sh", "pass"),
        ("script:bad.sh", "fail"),
    }


@pytest.mark.parametrize(("network", "code"), [("none", 2), ("host", 0)])
def test_setup_reaches_the_network_only_when_the_contract_says_so(
    steelyard: Steelyard, author: Author, network: str, code: int
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        connect = f"python3 -c \"import socket; socket.create_connection(('127.0.0.1', {port}), 5)\""
        contract = author.write(
            environment={"toolchains": {"python": "3"}, "disk_mb": 64},
            setup=[connect],
            setup_network=network,
        )
        printed = steelyard("run", contract, "--agent", "reference", "--json")
    assert printed.code == code, printed.err
    assert network == "host" or "setup_network: host" in printed.err
