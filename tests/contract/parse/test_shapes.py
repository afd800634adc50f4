"""Tasks with turns, tasks of several steps and questions without a workspace: what each needs, and what none can have."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from contract_folders import Writer
from small_catalogue import SMALL

from steelyard.contract.schema import contract_schema

ACCEPT = {"checks": [{"id": "accept", "cmd": "make test"}]}


def step(name: str, **keys: Any) -> dict[str, Any]:
    return {"name": name, "brief": f"Do {name}.", "checks": [{"cmd": f"make {name}"}], **keys}


def stepped(*steps: dict[str, Any], **keys: Any) -> dict[str, Any]:
    return {"brief": ..., "oracle": ..., "steps": list(steps), **keys}


QUESTION: dict[str, Any] = {"workspace": "none", "judge": {}, "repository": ..., "build": ..., "oracle": ...}

# What is written -> the field that is named, and a part of what is said of it.
MISTAKES: list[tuple[dict[str, Any], str, str]] = [
    ({"repository": ...}, "repository", "is missing"),
    ({"oracle": ...}, "oracle", "is missing"),
    ({"oracle": {"mode": "twin"}}, "oracle.checks", "is missing"),
    ({"answer": "answer.md"}, "answer", "with a repository the output is the change"),
    ({"turns": [""]}, "turns[0]", "must not be empty"),
    ({"turns": ["more"] * 101}, "turns", "more than 100"),
    (stepped(step("one"), brief="All of it."), "brief", "each step has a brief of its own"),
    (stepped(step("one"), turns=["And now?"]), "turns", "each step has a brief of its own"),
    (stepped(step("one"), oracle=ACCEPT), "oracle.checks", "each step has checks of its own"),
    (
        stepped(step("one"), step("one", checks=[{"id": "other", "cmd": "x"}])),
        "steps[1].name",
        "two steps have the name",
    ),
    (stepped(step("one", brief=...)), "steps[0]", "exactly one of brief, brief_file"),
    (stepped(step("one", checks=[])), "steps[0].checks", "must not be empty"),
    (stepped(step("one", min_reward=1.5)), "steps[0].min_reward", "at most 1"),
    (stepped(step("one", wall_s=0)), "steps[0].wall_s", "more than 0"),
    (stepped(step("one", cheks=[])), "steps[0].cheks", "unknown key"),
    (stepped(step("one", brief=..., brief_file="none.md")), "steps[0].brief_file", "none.md"),
    (stepped(step("one", reference="none.patch")), "steps[0].reference", "none.patch"),
    (
        stepped(step("one", checks=[{"cmd": "x", "timeout_s": 0}])),
        "steps[0].checks[0].timeout_s",
        "at least 1",
    ),
    (stepped(step("one"), build=...), "steps", "no check is `under: build`"),
    (QUESTION | {"repository": {"tree": "repo"}}, "repository", "has none"),
    (QUESTION | {"build": "none"}, "build", "has none"),
    (QUESTION | {"oracle": ACCEPT}, "oracle.checks[0]", "allows only `verifier` checks"),
    (
        QUESTION | {"graders": [{"type": "allowed_paths", "patterns": ["*"]}]},
        "graders[0]",
        "allows only `verifier` checks",
    ),
    (
        QUESTION | {"policy": {"allowed_paths": ["*"]}},
        "policy.allowed_paths",
        "allows only `verifier` checks",
    ),
    (QUESTION | {"answer": "../answer"}, "answer", "a name"),
    (QUESTION | {"judge": None}, "judge", "nothing grades the answer"),
    ({"expected_outcome": "refusal"}, "expected_outcome", "only a judge can recognise a refusal"),
    ({"judge": {"models": ["gpt-1", "gpt-1"]}}, "judge.models", "is listed twice"),
    ({"judge": {"models": ["a"]}}, "judge.models[0]", "expected the name of a model"),
    ({"judge": {"models": [f"gpt-{n}" for n in range(16)]}}, "judge.models", "more than 15"),
    ({"judge": {"max_diff_bytes": 0}}, "judge.max_diff_bytes", "at least 1"),
    ({"judge": {"model": "a"}}, "judge.model", "unknown key"),
    (QUESTION | {"answer": "a.pyc"}, "answer", "matches `generated`"),
]


def clean(keys: dict[str, Any]) -> dict[str, Any]:
    steps = keys.get("steps", [])
    kept = [{key: value for key, value in one.items() if value is not ...} for one in steps]
    return {**keys, "steps": kept} if steps else keys


@pytest.mark.parametrize(
    ("keys", "field", "result"), MISTAKES, ids=[f"{row[1]}:{row[2]}" for row in MISTAKES]
)
def test_what_does_not_fit_together_is_reported(
    writer: Writer, keys: dict[str, Any], field: str, result: str
) -> None:
    writer.write(**clean(keys))
    problem = writer.problem()
    assert problem.field == field
    assert result in problem.message


def test_a_fault_in_a_step_is_reported_with_its_line(writer: Writer) -> None:
    writer.text("id: a\nrepository: {tree: repo}\nsteps:\n- name: one\n  brief: x\n  checks:\n  - cmd: 5\n")
    (writer.folder / "repo").mkdir()
    assert [problem.where.split("/")[-1] for problem in writer.problems()] == ["contract.yaml:7:5"]


def test_the_checks_of_steps_have_the_step_in_their_name(writer: Writer) -> None:
    own = [{"id": "fast", "cmd": "x"}, {"cmd": "y"}]
    writer.write(**stepped(step("one", checks=own), step("two", checks=own)))
    contract = writer.load()
    assert [check.name for check in contract.checks] == ["one.fast", "one.command", "two.fast", "two.command"]
    assert [[check.name for check in one.checks] for one in contract.steps] == [
        ["one.fast", "one.command"],
        ["two.fast", "two.command"],
    ]


def test_an_agent_gets_the_brief_and_then_the_turns(writer: Writer) -> None:
    writer.write(turns=["And the other one?", "Tidy up."])
    assert writer.load().messages == ("Mend it.", "And the other one?", "Tidy up.")


def test_an_agent_gets_one_brief_a_step(writer: Writer) -> None:
    inner = {key: value for key, value in step("two", brief_file="two.md").items() if key != "brief"}
    writer.write({"two.md": "Do the other.\n"}, **stepped(step("one"), inner))
    assert writer.load().messages == ("Do one.", "Do the other.\n")


@pytest.mark.parametrize(
    "change",
    [
        {"turns": ["More."]},
        {"steps": [step("one"), step("two", brief="Do something else.")]},
        {"steps": [step("one"), step("two", min_reward=0.5)]},
        {"steps": [step("one"), step("two", checks=[{"cmd": "false"}])]},
        {"steps": [step("two"), step("one")]},
        {"step_reward": "final"},
    ],
    ids=str,
)
def test_what_is_asked_in_turns_and_steps_is_in_the_digest(writer: Writer, change: dict[str, Any]) -> None:
    base: dict[str, Any] = {} if "turns" in change else stepped(step("one"), step("two"))
    writer.write(**base)
    before = writer.load().digest
    writer.write(**base | change)
    assert writer.load().digest != before


def test_a_brief_in_a_file_keeps_the_digest_of_a_stepped_contract(writer: Writer) -> None:
    writer.write(**stepped(step("one")))
    before = writer.load().digest
    inner = {key: value for key, value in step("one", brief_file="one.md").items() if key != "brief"}
    writer.write({"one.md": "Do one."}, **stepped(inner))
    assert writer.load().digest == before


def test_a_question_starts_from_nothing(writer: Writer) -> None:
    writer.write(**QUESTION)
    contract = writer.load()
    assert (dict(contract.snapshot.entries), contract.spec.answer_path) == ({}, "answer.txt")


def test_the_name_of_the_answer_is_in_the_digest(writer: Writer) -> None:
    writer.write(**QUESTION)
    before = writer.load().digest
    writer.write(**QUESTION, answer="answer.md")
    assert writer.load().digest != before


def test_a_later_message_with_the_solution_in_it_is_reported(writer: Writer) -> None:
    line = "total = max(price - discount, 0)"
    patch = f"--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-print(1)\n+{line}\n"
    keys: dict[str, Any] = {"oracle": {**ACCEPT, "reference": "r.patch"}}
    writer.write({"r.patch": patch}, turns=["Try again.", f"Say {line}"], **keys)
    assert writer.warnings() == ["turns[1]: contains lines of the reference"]
    steps = [step("one"), step("two", brief=f"Say {line}", reference="r.patch")]
    writer.write({"r.patch": patch}, **stepped(*steps))
    assert writer.warnings() == ["steps[1]: contains lines of the reference"]


def test_a_question_that_only_a_judge_decides_is_reported(writer: Writer) -> None:
    writer.write(**QUESTION)
    (shown,) = writer.warnings()
    assert (
        shown
        == "workspace: only a judge grades the answer, so every run is ungraded unless a model key is set"
    )


def test_the_schema_knows_the_shapes() -> None:
    schema = jsonschema.Draft202012Validator(contract_schema(SMALL))
    code = {"id": "a", "repository": {"tree": "r"}}
    steps = {**code, "steps": [step("one", min_reward=0.5, reference={"script": "solve.sh"})]}
    question = {"id": "a", "brief": "x", "workspace": "none", "answer": "a.md"}
    talk = {**code, "brief": "x", "turns": ["y"], "oracle": ACCEPT}
    for right in (steps, question, talk):
        schema.validate(right)
    wrong = [steps | {"brief": "x"}, question | {"repository": {"tree": "r"}}, talk | {"answer": "a.md"}]
    wrong += [{"id": "a", "brief": "x", "oracle": ACCEPT}, code | {"brief": "x"}, code | {"steps": []}]
    wrong += [code | {"steps": [{"name": "one", "brief": "x"}]}, code | {"steps": [step("one", chekcs=[])]}]
    assert not [one for one in wrong if schema.is_valid(one)]


def test_work_that_should_have_been_refused_needs_a_refusal(writer: Writer) -> None:
    writer.write(oracle={"checks": [{"id": "accept", "cmd": "make test"}], "compliance": "comply.patch"})
    (writer.folder / "comply.patch").write_text("")
    problem = writer.problem()
    assert (problem.field, problem.message) == ("oracle.compliance", "only where a refusal is right")
