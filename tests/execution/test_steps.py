"""`steps:` end to end: a sequence over one workspace, each step judged by itself, and nothing averaged into a pass."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from containers import image

from authoring import Author, Steelyard, payloads

# Two files to write, one a step; the check of each looks at its own only.
CHECKS = {"one": "grep -q first one.txt", "two": "grep -q second two.txt && test -e one.txt"}
ALONE = {"id": "there", "cmd": "grep -q second two.txt", "timeout_s": 60}
WORKS = "case $STEELYARD_STEP in one) echo first > one.txt;; two) echo second > two.txt;; esac\n"
REWARD = 'echo "{\\"reward\\": $(cat reward.txt)}" > /logs/verifier/reward.json\n'
SMALL = {"memory_mb": {"guaranteed": 64, "limit": 512}, "disk_mb": 64, "processes": 64}


def step(name: str, **keys: Any) -> dict[str, Any]:
    checks = [{"id": "there", "cmd": CHECKS.get(name, "true"), "timeout_s": 60}]
    return {"name": name, "brief": f"Write {name}.txt.", "checks": checks, **keys}


def stepped(author: Author, *steps: dict[str, Any], files: dict[str, str] | None = None, **keys: Any) -> Path:
    folder: Path = author.write(
        files, **{"oracle": {}, "steps": list(steps or (step("one"), step("two"))), **keys}
    )
    text = (folder / "contract.yaml").read_text().replace("brief: Make add() add.\n", "", 1)
    (folder / "contract.yaml").write_text(text)
    return folder


def step_rows(line: dict[str, Any]) -> list[tuple[str, str, float | None]]:
    return [(one["name"], one["outcome"], one["reward"]) for one in line["steps"]]


def test_steps_build_on_one_another(author: Author, steelyard: Steelyard, script: Any) -> None:
    result = steelyard("run", stepped(author), "--agent", script(WORKS), "--json")
    assert (result.code, result.line["verdict"], result.line["reward"]) == (0, "pass", 1.0), (
        result.out + result.err
    )
    assert step_rows(result.line) == [("one", "pass", 1.0), ("two", "pass", 1.0)]
    briefs = payloads(result.line, "brief")
    assert [(one["role"], one["conversation"], one["index"], one["step"]) for one in briefs] == [
        ("user", 1, 0, "one"),
        ("user", 2, 0, "two"),
    ]
    changed = [
        [entry["path"] for entry in json.loads(Path(result.line["folder"], name).read_text())["entries"]]
        for name in ("steps/one/change.json", "steps/two/change.json", "change.json")
    ]
    assert changed == [["one.txt"], ["one.txt", "two.txt"], ["one.txt", "two.txt"]]
    assert [one["path"] for one in payloads(result.line, "workspace.change")] == ["one.txt", "two.txt"]
    assert steelyard("verify", result.line["run"]).code == 0
    shown = steelyard("show", result.line["run"]).out
    assert "step one" in shown
    assert "step two" in shown


def test_a_step_below_its_minimum_ends_the_sequence(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    line = steelyard("run", stepped(author), "--agent", script("echo second > two.txt\n"), "--json").line
    assert step_rows(line) == [("one", "fail", 0.0), ("two", "not_run", 0.0)]
    assert (line["verdict"], line["acceptance"], line["reward"]) == ("fail", "failure", 0.0)
    assert line["steps"][1]["why"] == "not run: step one earned 0.00, needed 1.00"
    assert len(payloads(line, "brief")) == 1
    assert steelyard("verify", line["run"]).code == 0


def test_a_failed_step_may_be_followed_and_is_no_pass(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    contract = stepped(author, step("one", min_reward=0), step("two", checks=[ALONE]))
    line = steelyard("run", contract, "--agent", script("echo second > two.txt\n"), "--json").line
    assert step_rows(line) == [("one", "fail", 0.0), ("two", "pass", 1.0)]
    assert (line["verdict"], line["reward"]) == ("fail", 0.5)


def test_the_final_reward_is_the_last_steps(author: Author, steelyard: Steelyard, script: Any) -> None:
    contract = stepped(author, step("one", min_reward=0), step("two", checks=[ALONE]), step_reward="final")
    line = steelyard("run", contract, "--agent", script("echo second > two.txt\n"), "--json").line
    assert (line["verdict"], line["reward"]) == ("fail", 1.0)


def test_a_crashed_step_is_an_error_and_earns_nothing(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    line = steelyard("run", stepped(author), "--agent", script(f"{WORKS}exit 3\n"), "--json").line
    assert step_rows(line) == [("one", "error", 0.0), ("two", "not_run", 0.0)]
    assert (line["verdict"], line["acceptance"], line["reward"]) == ("fail", "failure", 0.0)
    assert (line["termination"], line["rationale"]) == ("agent_crash", "step one: exit code 3")


def test_a_last_step_that_crashes_is_not_averaged_away(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    agent = script(f'{WORKS}test "$STEELYARD_STEP" = one || exit 3\n')
    line = steelyard("run", stepped(author), "--agent", agent, "--json").line
    assert step_rows(line) == [("one", "pass", 1.0), ("two", "error", 0.0)]
    assert (line["verdict"], line["reward"]) == ("fail", 0.5)


def test_a_step_that_runs_out_of_time_is_judged_and_the_last(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    contract = stepped(author, step("one", wall_s=10), step("two"))
    line = steelyard("run", contract, "--agent", script(f"{WORKS}sleep 600\n"), "--json").line
    assert step_rows(line) == [("one", "pass", 1.0), ("two", "not_run", 0.0)]
    assert (line["termination"], line["verdict"], line["reward"]) == ("wall_time", "fail", 0.0)
    assert (line["patch_verdict"], line["patch_reward"]) == ("fail", 0.5)


def test_what_a_step_left_running_is_dead_before_its_checks_and_in_the_next(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    late = "setsid sh -c 'trap \"\" TERM HUP; until test -e /tmp/two; do sleep 0.1; done; echo first > one.txt' >/dev/null 2>&1 &\n"
    wait = 'test "$STEELYARD_STEP" = one || { touch /tmp/two; sleep 2; test ! -e one.txt || exit 9; }\n'
    contract = stepped(author, step("one", min_reward=0), step("two", checks=[ALONE]))
    agent = script(f'{wait}if test "$STEELYARD_STEP" = two; then echo second > two.txt; exit; fi\n{late}')
    line = steelyard("run", contract, "--agent", agent, "--json").line
    assert (line["termination"], step_rows(line)) == (
        "completed",
        [("one", "fail", 0.0), ("two", "pass", 1.0)],
    )


def test_what_a_step_left_ignored_or_in_its_home_is_there_in_the_next(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    agent = script(
        'if test "$STEELYARD_STEP" = one; then mkdir __pycache__; echo x > __pycache__/a.pyc; echo y > ~/memory\n'
        "git add -A; git -c user.name=a -c user.email=a@example.org commit -qm mine\n"
        "else test -e __pycache__/a.pyc && test -e ~/memory && git log | grep -q mine || exit 9; fi\n" + WORKS
    )
    line = steelyard("run", stepped(author), "--agent", agent, "--json").line
    assert (line["termination"], line["verdict"]) == ("completed", "pass"), line["rationale"]


def verified(name: str, **keys: Any) -> dict[str, Any]:
    return step(name, checks=[{"id": "verify", "type": "verifier", "script": "tests/test.sh"}], **keys)


@pytest.mark.parametrize(
    ("written", "steps", "reward"),
    [
        ("0.6", [("one", "fail", 0.6), ("two", "pass", 1.0)], 0.8),
        ("0.4", [("one", "fail", 0.4), ("two", "not_run", 0.0)], 0.2),
        ("x", [("one", "error", None), ("two", "not_run", 0.0)], None),
        ("1.0", [("one", "pass", 1.0), ("two", "pass", 1.0)], 1.0),
    ],
)
def test_the_reward_is_the_mean_of_what_the_verifiers_wrote(
    author: Author, steelyard: Steelyard, written: str, steps: Any, reward: float | None
) -> None:
    contract = stepped(
        author,
        verified("one", min_reward=0.5),
        verified("two"),
        files={"tests/test.sh": REWARD},
        reward="verifier",
    )
    agent = f"command:test {{step}} = one && echo {written} > reward.txt || echo 1.0 > reward.txt"
    line = steelyard("run", contract, "--agent", agent, "--json").line
    assert (step_rows(line), line["reward"]) == (steps, reward)
    assert line["verdict"] == {None: "error", 1.0: "pass"}.get(reward, "fail")


def test_a_violation_takes_the_reward_of_all_steps(author: Author, steelyard: Steelyard, script: Any) -> None:
    contract = stepped(author, policy={"allowed_paths": ["one.txt"]})
    line = steelyard("run", contract, "--agent", script(WORKS), "--json").line
    assert ([one["outcome"] for one in line["steps"]], line["verdict"]) == (["pass", "pass"], "fail")
    assert line["reward"] == 0.0


def patch(name: str, text: str) -> str:
    return f"diff --git a/{name} b/{name}\nnew file mode 100644\n--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+{text}\n"


def test_each_step_may_have_its_own_reference(author: Author, steelyard: Steelyard) -> None:
    files = {"one.patch": patch("one.txt", "first"), "two.patch": patch("two.txt", "second")}
    steps = [step(name, reference=f"{name}.patch") for name in ("one", "two")]
    line = steelyard("run", stepped(author, *steps, files=files), "--agent", "reference", "--json").line
    assert (line["verdict"], step_rows(line)) == ("pass", [("one", "pass", 1.0), ("two", "pass", 1.0)])
    first = json.loads(Path(line["folder"], "steps/one/change.json").read_text())["entries"]
    assert [entry["path"] for entry in first] == ["one.txt"]


def test_one_reference_for_all_steps_is_delivered_in_the_first(author: Author, steelyard: Steelyard) -> None:
    files = {"reference.patch": patch("one.txt", "first") + patch("two.txt", "second")}
    contract = stepped(author, files=files, oracle={"reference": "reference.patch"})
    assert steelyard("run", contract, "--agent", "reference", "--json").line["verdict"] == "pass"


def test_references_of_steps_may_be_scripts(author: Author, steelyard: Steelyard) -> None:
    names = {"one": "first", "two": "second"}
    files = {f"{name}/solve.sh": "cp /solution/data.txt $STEELYARD_STEP.txt\n" for name in names}
    files |= {f"{name}/data.txt": f"{text}\n" for name, text in names.items()}
    steps = [step(name, reference={"script": f"{name}/solve.sh"}) for name in names]
    result = steelyard("run", stepped(author, *steps, files=files), "--agent", "reference", "--json")
    assert result.line["verdict"] == "pass", result.out


def test_an_agent_that_does_nothing_passes_no_step(author: Author, steelyard: Steelyard) -> None:
    line = steelyard("run", stepped(author), "--agent", "noop", "--json").line
    assert (line["verdict"], line["reward"]) == ("fail", 0.0)


def test_steps_continue_in_the_same_container(author: Author, steelyard: Steelyard, script: Any) -> None:
    contract = stepped(author, environment={**SMALL, "sandbox": "docker", "image": image().id})
    agent = script(f'test "$STEELYARD_STEP" = one && echo x > ~/memory\ncat ~/memory || exit 9\n{WORKS}')
    result = steelyard("run", contract, "--agent", agent, "--json")
    assert (result.line["verdict"], step_rows(result.line)[1]) == ("pass", ("two", "pass", 1.0)), result.out


# What comes with a step

BRINGS = {
    "one": {"brief": "Write one.txt.", "files": "given/one"},
    "two": {"brief": "Write two.txt.", "files": "given/two"},
}
GIVEN = {"given/one/data/a.txt": "a\n", "given/two/b.txt": "b\n", "given/two/data/c.txt": "c\n"}
LOOKS = {
    "one": "grep -q first one.txt && grep -qx a data/a.txt && test ! -e b.txt",
    "two": "grep -q second two.txt && grep -qx b b.txt && grep -qx c data/c.txt",
}


def bringing(author: Author, **keys: Any) -> Path:
    steps = [
        {"name": name, **BRINGS[name], "checks": [{"id": "there", "cmd": look, "timeout_s": 60}]}
        for name, look in LOOKS.items()
    ]
    return stepped(author, *steps, files=GIVEN, **keys)


def test_what_comes_with_a_step_is_there_and_no_change_of_the_agents(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    needs = "case $STEELYARD_STEP in one) test ! -e b.txt && test -f data/a.txt;; two) test -f b.txt;; esac || exit 1\n"
    result = steelyard("run", bringing(author), "--agent", script(needs + WORKS), "--json")
    assert (result.line["verdict"], result.line["reward"]) == ("pass", 1.0), result.out + result.err
    folder = Path(result.line["folder"])
    changed = [entry["path"] for entry in json.loads((folder / "change.json").read_text())["entries"]]
    assert changed == ["one.txt", "two.txt"]
    assert json.loads((folder / "step_files.json").read_text())["kept"] == [
        "b.txt",
        "data/a.txt",
        "data/c.txt",
    ]
    assert steelyard("verify", result.line["run"]).code == 0


def test_what_is_done_to_files_that_came_is_a_change_of_them(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    work = WORKS + "case $STEELYARD_STEP in two) echo B > b.txt; rm data/a.txt;; esac\n"
    result = steelyard("run", bringing(author), "--agent", script(work), "--json")
    assert step_rows(result.line) == [("one", "pass", 1.0), ("two", "fail", 0.0)]
    patch = (Path(result.line["folder"]) / "patch.diff").read_text()
    assert "-b\n+B\n" in patch
    assert "deleted file mode 100644" in patch
    assert json.loads((Path(result.line["folder"]) / "step_files.json").read_text())["kept"] == ["data/c.txt"]


PLANTED = {
    "a link instead of a file": "ln -s /etc/passwd b.txt",
    "a folder instead of a file": "mkdir -p b.txt/deep",
    "a pipe instead of a file": "mkfifo b.txt",
    "a locked file": "echo x > b.txt; chmod 000 b.txt",
}


@pytest.mark.parametrize("planted", PLANTED, ids=str)
def test_whatever_was_planted_where_a_file_comes_is_replaced(
    author: Author, steelyard: Steelyard, script: Any, planted: str
) -> None:
    work = WORKS + f"case $STEELYARD_STEP in one) {PLANTED[planted]};; esac\n"
    lenient = bringing(author)
    text = (lenient / "contract.yaml").read_text().replace(" && test ! -e b.txt", "")
    (lenient / "contract.yaml").write_text(text)
    result = steelyard("run", lenient, "--agent", script(work), "--json")
    assert result.line["verdict"] == "pass", result.out + result.err


SHUT = {
    "a locked folder": "chmod 500 data",
    "a pipe above a file": "rm -r data; mkfifo data",
}


@pytest.mark.parametrize("shut", SHUT, ids=str)
def test_an_agent_that_blocks_the_next_step_fails_that_step(
    author: Author, steelyard: Steelyard, script: Any, shut: str
) -> None:
    work = WORKS + f"case $STEELYARD_STEP in one) {SHUT[shut]};; esac\n"
    contract = bringing(author)
    path = contract / "contract.yaml"
    path.write_text(path.read_text().replace(" && grep -qx a data/a.txt", ""))
    result = steelyard("run", contract, "--agent", script(work), "--json")
    assert step_rows(result.line) == [("one", "pass", 1.0), ("two", "not_run", 0.0)], result.out + result.err
    assert (result.line["status"], result.line["verdict"]) == ("scorable", "fail")


def test_a_link_above_a_file_that_comes_misleads_only_the_agent(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    work = WORKS + "case $STEELYARD_STEP in one) mv data elsewhere; ln -s elsewhere data;; esac\n"
    result = steelyard("run", bringing(author), "--agent", script(work), "--json")
    assert result.line["steps"][1]["outcome"] == "pass", (
        result.out + result.err
    )  # through the link, on the bench too


def test_a_step_waits_until_it_is_ready(author: Author, steelyard: Steelyard, script: Any) -> None:
    ready = {"cmd": "test -e one.txt", "retries": 1}
    contract = stepped(
        author, step("one"), step("two", ready=ready), step("three", ready={**ready, "cmd": "echo no; false"})
    )
    result = steelyard("run", contract, "--agent", script(WORKS), "--json")
    assert step_rows(result.line) == [("one", "pass", 1.0), ("two", "pass", 1.0), ("three", "not_run", 0.0)]
    assert "never ready: exit code 1: no" in result.out


def test_a_first_step_that_is_never_ready_is_the_contracts_fault(
    author: Author, steelyard: Steelyard
) -> None:
    contract = stepped(author, step("one", ready={"cmd": "false", "retries": 1}), step("two"))
    result = steelyard("run", contract, "--agent", "noop")
    assert result.code == 2
    assert "steps[0].ready: never ready" in result.err


@pytest.mark.parametrize(
    ("files", "step_rows"),
    [
        ({"given/x/.git/config": ""}, "contains a .git"),
        ({"given/x": "a file\n"}, "is not a folder with files"),
    ],
)
def test_what_cannot_come_with_a_step_is_refused_when_it_is_read(
    author: Author, steelyard: Steelyard, files: dict[str, str], step_rows: str
) -> None:
    result = steelyard("check", stepped(author, step("one", files="given/x"), step("two"), files=files))
    assert f"steps[0].files: given/x {step_rows}" in result.out


def test_what_comes_with_a_step_is_in_the_digest(author: Author, steelyard: Steelyard) -> None:
    contract = bringing(author)
    before = steelyard("check", contract, "--json").line["digest"]
    (contract / "given/two/b.txt").write_text("other\n")
    assert steelyard("check", contract, "--json").line["digest"] != before
