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


def told(line: dict[str, Any]) -> list[tuple[str, str, float | None]]:
    return [(one["name"], one["outcome"], one["reward"]) for one in line["steps"]]


def test_steps_build_on_one_another(author: Author, steelyard: Steelyard, script: Any) -> None:
    said = steelyard("run", stepped(author), "--agent", script(WORKS), "--json")
    assert (said.code, said.line["verdict"], said.line["reward"]) == (0, "pass", 1.0), said.out + said.err
    assert told(said.line) == [("one", "pass", 1.0), ("two", "pass", 1.0)]
    briefs = payloads(said.line, "brief")
    assert [(one["role"], one["conversation"], one["index"], one["step"]) for one in briefs] == [
        ("user", 1, 0, "one"),
        ("user", 2, 0, "two"),
    ]
    changed = [
        [entry["path"] for entry in json.loads(Path(said.line["folder"], name).read_text())["entries"]]
        for name in ("steps/one/change.json", "steps/two/change.json", "change.json")
    ]
    assert changed == [["one.txt"], ["one.txt", "two.txt"], ["one.txt", "two.txt"]]
    assert [one["path"] for one in payloads(said.line, "workspace.change")] == ["one.txt", "two.txt"]
    assert steelyard("verify", said.line["run"]).code == 0
    shown = steelyard("show", said.line["run"]).out
    assert "step one" in shown
    assert "step two" in shown


def test_a_step_below_its_minimum_ends_the_sequence(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    line = steelyard("run", stepped(author), "--agent", script("echo second > two.txt\n"), "--json").line
    assert told(line) == [("one", "fail", 0.0), ("two", "not_run", 0.0)]
    assert (line["verdict"], line["acceptance"], line["reward"]) == ("fail", "failure", 0.0)
    assert line["steps"][1]["why"] == "not run: step one earned 0.00 and needed 1.00"
    assert len(payloads(line, "brief")) == 1
    assert steelyard("verify", line["run"]).code == 0


def test_a_failed_step_may_be_followed_and_is_no_pass(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    contract = stepped(author, step("one", min_reward=0), step("two", checks=[ALONE]))
    line = steelyard("run", contract, "--agent", script("echo second > two.txt\n"), "--json").line
    assert told(line) == [("one", "fail", 0.0), ("two", "pass", 1.0)]
    assert (line["verdict"], line["reward"]) == ("fail", 0.5)


def test_the_final_reward_is_the_last_steps(author: Author, steelyard: Steelyard, script: Any) -> None:
    contract = stepped(author, step("one", min_reward=0), step("two", checks=[ALONE]), step_reward="final")
    line = steelyard("run", contract, "--agent", script("echo second > two.txt\n"), "--json").line
    assert (line["verdict"], line["reward"]) == ("fail", 1.0)


def test_a_crashed_step_is_an_error_and_earns_nothing(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    line = steelyard("run", stepped(author), "--agent", script(f"{WORKS}exit 3\n"), "--json").line
    assert told(line) == [("one", "error", 0.0), ("two", "not_run", 0.0)]
    assert (line["verdict"], line["acceptance"], line["reward"]) == ("fail", "acceptance_error", 0.0)
    assert (line["termination"], line["rationale"]) == ("agent_crash", "step one: exit code 3")


def test_a_last_step_that_crashes_is_not_averaged_away(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    agent = script(f'{WORKS}test "$STEELYARD_STEP" = one || exit 3\n')
    line = steelyard("run", stepped(author), "--agent", agent, "--json").line
    assert told(line) == [("one", "pass", 1.0), ("two", "error", 0.0)]
    assert (line["verdict"], line["reward"]) == ("fail", 0.5)


def test_a_step_that_runs_out_of_time_is_judged_and_the_last(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    contract = stepped(author, step("one", wall_s=5), step("two"))
    line = steelyard("run", contract, "--agent", script(f"{WORKS}sleep 30\n"), "--json").line
    assert told(line) == [("one", "pass", 1.0), ("two", "not_run", 0.0)]
    assert (line["termination"], line["verdict"], line["reward"]) == ("wall_time", "fail", 0.5)


def test_what_a_step_left_running_is_dead_before_its_checks_and_in_the_next(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    late = "setsid sh -c 'trap \"\" TERM HUP; sleep 1; echo first > one.txt' >/dev/null 2>&1 &\n"
    wait = 'test "$STEELYARD_STEP" = one || { sleep 2; test ! -e one.txt || exit 9; }\n'
    contract = stepped(author, step("one", min_reward=0), step("two", checks=[ALONE]))
    agent = script(f'{wait}if test "$STEELYARD_STEP" = two; then echo second > two.txt; exit; fi\n{late}')
    line = steelyard("run", contract, "--agent", agent, "--json").line
    assert (line["termination"], told(line)) == ("completed", [("one", "fail", 0.0), ("two", "pass", 1.0)])


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
    assert (told(line), line["reward"]) == (steps, reward)
    assert line["verdict"] == ("pass" if reward == 1.0 else "fail")


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
    assert (line["verdict"], told(line)) == ("pass", [("one", "pass", 1.0), ("two", "pass", 1.0)])
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
    said = steelyard("run", stepped(author, *steps, files=files), "--agent", "reference", "--json")
    assert said.line["verdict"] == "pass", said.out


def test_an_agent_that_does_nothing_passes_no_step(author: Author, steelyard: Steelyard) -> None:
    line = steelyard("run", stepped(author), "--agent", "noop", "--json").line
    assert (line["verdict"], line["reward"]) == ("fail", 0.0)


def test_steps_continue_in_the_same_container(author: Author, steelyard: Steelyard, script: Any) -> None:
    contract = stepped(author, environment={**SMALL, "sandbox": "docker", "image": image().id})
    agent = script(f'test "$STEELYARD_STEP" = one && echo x > ~/memory\ncat ~/memory || exit 9\n{WORKS}')
    said = steelyard("run", contract, "--agent", agent, "--json")
    assert (said.line["verdict"], told(said.line)[1]) == ("pass", ("two", "pass", 1.0)), said.out
