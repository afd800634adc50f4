"""The judge end to end, as a user meets it: a scripted model answers, and every word of it goes on record beside the rest."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from authoring import FIX, Author, Steelyard
from scripted_judge import answering, judged_by
from steelyard.contract.load import load_contract
from steelyard.contract.model import MODEL_PATTERN
from steelyard.evidence.evidence import load_evidence
from steelyard.evidence.folder.gradings import append_grading, read_gradings
from steelyard.gateway.scripted import FAIL, PASS
from steelyard.graders.catalogue import installed_catalogue
from steelyard.judge.provider import maker_of
from steelyard.report.result import result_line, result_schema
from steelyard.study.judging import Judging
from steelyard.study.record import grade_evidence

NO_JSON = {"text": "I would rather not say."}


def test_a_run_is_judged_after_its_checks_and_the_verdict_does_not_know(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    note = {"type": "llm_judge", "rubric": "The README says so too.", "required": True}
    contract = author.write(graders=[note])
    with judged_by(steelyard, FAIL) as judged:
        printed = judged("run", contract, "--agent", script(f"{FIX}echo I added it.\n"), "--json")
        shown = judged("show", printed.line["run"]).out
    line, (question,) = printed.line, judged.questions
    assert (printed.code, line["verdict"], line["checks"], line["badge"]) == (0, "pass", "PASS", "PASS")
    assert (line["judge"]["verdict"], line["disagreement"]) == ("FAIL", "checks_pass_judge_fail")
    for text in (
        "Make add() add.",
        "+echo $(($1 + $2))",
        "sh check.sh",
        "I added it.",
        "The README says so too.",
    ):
        assert text in question
    assert "every rule was kept, but what was asked for was not convincingly done" in shown
    assert "task completion 1.0  instruction adherence 2.0  efficiency 3.0" in shown
    jsonschema.validate(line, result_schema())
    assert judged("verify", line["run"]).code == 0
    evaluation = read_gradings(load_evidence(Path(line["folder"])).folder)[-1]["evaluation"]
    blamed = {"category": "incomplete", "description": "Half of it is missing.", "source": "judge"}
    assert evaluation["error_taxonomy"] == [blamed]
    assert evaluation["confidence"]["annotator_count"] == 1
    assert evaluation["reward"] == line["reward"] == 1.0


def test_a_judge_that_is_convinced_saves_nothing_that_failed(author: Author, steelyard: Steelyard) -> None:
    with judged_by(steelyard, PASS) as judged:
        printed = judged("run", author.write(), "--agent", "noop", "--repeats", 2)
        (line, _) = judged("show", "--json").lines
    assert (line["verdict"], line["reward"], line["disagreement"]) == ("fail", 0.0, "judge_pass_checks_fail")
    assert "judge PASS" in printed.out
    assert "2 of 2  100% [34%, 100%]" in printed.out


def test_no_model_is_asked_without_a_key_or_with_no_judge(author: Author, steelyard: Steelyard) -> None:
    contract = author.write()
    assert steelyard("run", contract, "--agent", "noop", "--json").line["judge"] is None
    with judged_by(steelyard, PASS) as judged:
        line = judged("run", contract, "--agent", "noop", "--no-judge", "--json").line
    assert (line["judge"], judged.questions) == (None, [])
    shown = steelyard("show", line["run"]).out
    assert "judge not asked" in shown


def test_a_contract_that_counts_on_a_judge_says_what_is_missing(author: Author, steelyard: Steelyard) -> None:
    line = steelyard("run", author.write(judge={}), "--agent", "reference", "--json").line
    assert (line["verdict"], line["judge"]["verdict"]) == ("pass", "N/A")
    assert "ANTHROPIC_API_KEY" in line["judge"]["why"]


@pytest.mark.parametrize("reply", [NO_JSON, {"status": 400}])
def test_what_cannot_be_read_is_recorded_and_fails_nothing(
    author: Author, steelyard: Steelyard, reply: Any
) -> None:
    with judged_by(steelyard, reply) as judged:
        printed = judged("run", author.write(), "--agent", "reference", "--json")
    assert (printed.code, printed.line["verdict"], printed.line["status"]) == (0, "pass", "scorable")
    assert (printed.line["judge"]["verdict"], printed.line["disagreement"]) == ("UNPARSEABLE", "none")
    jsonschema.validate(printed.line, result_schema())


def test_a_jury_that_is_split_is_a_fail_and_marked(author: Author, steelyard: Steelyard) -> None:
    contract = author.write(judge={"models": ["claude-a", "gpt-b"]})
    with judged_by(steelyard, by_model={"claude-a": [PASS], "gpt-b": [FAIL]}) as judged:
        line = judged("run", contract, "--agent", "reference", "--json").line
        shown = judged("show", line["run"]).out
    assert (line["judge"]["verdict"], line["judge"]["split"], line["judge"]["agreement"]) == (
        "FAIL",
        True,
        0.5,
    )
    assert "judge FAIL split: 1 of 2 agree" in shown
    evaluation = read_gradings(load_evidence(Path(line["folder"])).folder)[-1]["evaluation"]
    assert evaluation["confidence"]["inter_rater_agreement"] == 0.5


@pytest.mark.parametrize(
    ("reply", "verdict", "reward"),
    [(PASS, "pass", 1.0), (FAIL, "fail", 0.0), (NO_JSON, "ungraded", None)],
)
def test_an_answer_that_nothing_verifies_is_the_judges_to_decide(
    author: Author, steelyard: Steelyard, reply: Any, verdict: str, reward: float | None
) -> None:
    with judged_by(steelyard, reply) as judged:
        printed = judged("run", answering(author), "--agent", "command:echo It is forty-two.", "--json")
        assert judged("verify", printed.line["run"]).code == 0
    line = printed.line
    assert (line["verdict"], line["reward"], printed.code == 0) == (verdict, reward, reward == 1.0), (
        printed.out
    )
    assert (line["gates"], line["checks"], line["score"], line["disagreement"]) == (
        None,
        "UNGRADED",
        None,
        "none",
    )
    assert "It is forty-two." in judged.questions[0]
    assert line["assurance"]["runner"] == "judge"
    refused = steelyard("show", line["run"], "--require-assurance", "runner=exit_code", "--json").line
    assert (refused["refused"] is not None) == (verdict == "pass")  # a failure keeps its 0


@pytest.mark.parametrize(
    ("agent", "keys"),
    [
        ("noop", {}),
        ("command:echo", {}),
        ("command:echo 42", {"answer": "report.md"}),
        ("command:echo 42; printf ' \\n' > report.md", {"answer": "report.md"}),
    ],
)
def test_an_answer_that_was_not_given_fails_and_no_model_is_asked(
    author: Author, steelyard: Steelyard, agent: str, keys: dict[str, Any]
) -> None:
    with judged_by(steelyard, PASS) as judged:
        line = judged("run", answering(author, **keys), "--agent", agent, "--json").line
        assert judged("verify", line["run"]).code == 0
    assert (line["verdict"], line["reward"], line["reason"]) == ("fail", 0.0, "the agent gave no answer")
    assert (line["judge"]["verdict"], line["judge"]["why"], judged.questions) == (
        "N/A",
        "the agent gave no answer",
        [],
    )


def test_silence_may_be_a_refusal_and_the_judge_says_so(author: Author, steelyard: Steelyard) -> None:
    with judged_by(steelyard, PASS) as judged:
        contract = answering(author, expected_outcome="refusal")
        line = judged("run", contract, "--agent", "noop", "--json").line
    assert (line["verdict"], len(judged.questions)) == ("pass", 1)
    assert "(no answer)" in judged.questions[0]


def test_a_verifier_of_an_answer_has_the_last_word(author: Author, steelyard: Steelyard) -> None:
    check = {"id": "right", "type": "verifier", "script": "tests/test.sh", "timeout_s": 300}
    contract = answering(
        author, oracle={"checks": [check]}, graders=[{"type": "llm_judge", "rubric": "Be brief."}]
    )
    (contract / "tests").mkdir()
    (contract / "tests/test.sh").write_text("echo '{\"reward\": 0}' > /logs/verifier/reward.json\n")
    with judged_by(steelyard, PASS) as judged:
        line = judged("run", contract, "--agent", "command:echo 41", "--json").line
    assert (line["verdict"], line["reward"], line["disagreement"]) == ("fail", 0.0, "judge_pass_checks_fail")
    assert "Be brief." in judged.questions[0]


def test_without_a_key_an_answer_stays_ungraded_and_says_why(author: Author, steelyard: Steelyard) -> None:
    printed = steelyard("run", answering(author), "--agent", "command:echo 42", "--json")
    assert (printed.line["verdict"], printed.line["reward"]) == ("ungraded", None)
    assert "no key" in printed.line["reason"]


def test_the_judge_of_a_session_reads_all_of_it(author: Author, steelyard: Steelyard) -> None:
    contract = author.write(turns=["Which files?", "Thanks."])
    with judged_by(steelyard, PASS) as judged:
        judged("run", contract, "--agent", "command:echo answer {turn}", "--json")
    (question,) = judged.questions
    text = [
        "user: Make add",
        "assistant: answer 1",
        "user: Which files?",
        "assistant: answer 2",
        "user: Thanks.",
    ]
    places = [question.index(part) for part in [*text, "assistant: answer 3"]]
    assert places == sorted(places)
    assert "session" in question


def test_the_judge_of_steps_knows_which_was_which(author: Author, steelyard: Steelyard) -> None:
    steps = [{"name": name, "brief": f"Do {name}.", "checks": [{"cmd": "true"}]} for name in ("one", "two")]
    contract = author.write(steps=steps, brief=None, oracle={})
    with judged_by(steelyard, PASS) as judged:
        line = judged("run", contract, "--agent", "command:echo did {step}", "--json").line
    assert line["verdict"] == "pass", line
    (question,) = judged.questions
    for printed in (
        "user, step one: Do one.",
        "assistant, step one: did one",
        "assistant, step two: did two",
    ):
        assert printed in question


def test_a_run_that_was_stopped_is_not_judged(author: Author, steelyard: Steelyard) -> None:
    with judged_by(steelyard, PASS) as judged:
        line = judged("run", author.write(judge={}), "--agent", "command:exit 7", "--json").line
    assert (line["judge"]["verdict"], judged.questions) == ("N/A", [])
    assert "agent_crash" in line["judge"]["why"]


def test_a_second_grading_asks_no_model_again(
    author: Author, steelyard: Steelyard, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither does it pay again after a model that could not be read: that one alone is asked again."""
    monkeypatch.setenv("STEELYARD_CACHE", str(cache))
    rubric = {"type": "model_judge", "rubric": "Is it short?", "model": "claude-c"}
    contract = author.write(judge={"models": ["claude-a", "gpt-b"]}, graders=[rubric])
    score = {"json": {"score": 1, "reasoning": "It is."}}
    answers = {"claude-a": [FAIL, PASS], "gpt-b": [NO_JSON, FAIL], "claude-c": [score]}
    with judged_by(steelyard, by_model=answers) as judged:
        line = judged("run", contract, "--agent", "reference", "--json").line
        evidence = load_evidence(Path(line["folder"]))
        loaded = load_contract(contract, installed_catalogue())
        grade_evidence(loaded, evidence, judging=Judging(judged.env))
        assert judged("verify", line["run"]).code == 0
    asked = [one["body"]["model"] for one in judged.model.requests]
    assert sorted(asked) == ["claude-a", "claude-c", "gpt-b", "gpt-b"]
    result = result_line(evidence, read_gradings(evidence.folder)[-1])
    assert (result["verdict"], result["score"], result["grades"][-1]["data"]["reused"]) == ("pass", 1.0, True)
    second = result["judge"]
    assert [(one["verdict"], one["reused"]) for one in second["opinions"]] == [
        ("FAIL", True),
        ("FAIL", False),
    ]


def test_a_refusal_is_the_right_answer_where_a_contract_says_so(author: Author, steelyard: Steelyard) -> None:
    unchanged = {
        "checks": [{"id": "unchanged", "cmd": "grep -q -- - add.sh"}],
        "reference": "reference.patch",
    }
    contract = author.write(expected_outcome="refusal", judge={}, oracle=unchanged)
    with judged_by(steelyard, PASS) as judged:
        line = judged("run", contract, "--agent", "command:echo I will not do that.", "--json").line
    assert (line["verdict"], line["judge"]["verdict"]) == ("pass", "PASS")
    assert "The right outcome is a refusal" in judged.questions[0]


def test_what_a_check_printed_of_a_hidden_file_is_not_shown(author: Author, steelyard: Steelyard) -> None:
    files = {"hidden/secret.sh": "# the answer is plus\n"}
    checks = [
        {"id": "hidden", "cmd": "cat secret.sh", "inject": ["hidden/secret.sh"]},
        {"id": "open", "cmd": "cat README.md"},
    ]
    with judged_by(steelyard, PASS) as judged:
        contract = author.write(files, oracle={"checks": checks, "reference": "reference.patch"})
        judged("run", contract, "--agent", "noop", "--json")
    (question,) = judged.questions
    assert "the answer is plus" not in question
    assert "$1 + $2" not in question
    assert "add two numbers" in question


def test_json_and_the_folder_have_every_word(author: Author, steelyard: Steelyard) -> None:
    with judged_by(steelyard, PASS) as judged:
        line = judged("run", author.write(), "--agent", "reference", "--json").line
        again = judged("show", line["run"], "--json").line
    assert again["judge"] == line["judge"]
    (opinion,) = line["judge"]["opinions"]
    assert opinion["facts"] == [{"claim": "it is done", "supported": True, "evidence": "diff"}]
    assert opinion["at"].endswith("+00:00")
    grading = json.loads(Path(line["folder"], "gradings/0001.json").read_text())
    assert grading["verdict"]["judge"] == line["judge"]


def test_a_pass_that_no_judge_gave_is_found(author: Author, steelyard: Steelyard) -> None:
    """A forged grading, in which the answer passes, is appended with a correct digest."""
    with judged_by(steelyard, FAIL) as judged:
        line = judged("run", answering(author), "--agent", "command:echo 41", "--json").line
    folder = load_evidence(Path(line["folder"])).folder
    (grading,) = read_gradings(folder)
    append_grading(folder, {**grading, "verdict": {**grading["verdict"], "verdict": "pass"}})
    printed = steelyard("verify", line["run"])
    assert printed.code == 1
    assert "its verdict does not follow from its grades" in printed.out


def test_an_answer_in_several_turns_is_read_with_what_led_to_it(author: Author, steelyard: Steelyard) -> None:
    contract = answering(author, turns=["Are you sure?"])
    with judged_by(steelyard, PASS) as judged:
        judged("run", contract, "--agent", "command:echo answer {turn}", "--json")
    (question,) = judged.questions
    assert "assistant: answer 1" in question
    assert re.search(r"EVIDENCE answer \w+>>>\n\| answer 2", question)


def test_a_contract_that_wants_a_refusal_is_tried_with_an_agent_that_does_nothing(
    author: Author, steelyard: Steelyard
) -> None:
    checks = {"checks": [{"id": "unchanged", "cmd": "grep -q -- - add.sh"}]}
    contract = author.write(expected_outcome="refusal", judge={}, oracle=checks)
    printed = steelyard("check", contract, "--reference")
    assert (printed.code, "as expected" in printed.out) == (0, True), printed.out
    comply = {**checks, "compliance": "reference.patch"}
    printed = steelyard(
        "check", author.write(expected_outcome="refusal", judge={}, oracle=comply), "--reference"
    )
    assert (printed.code, "compliance" in printed.out) == (0, True), printed.out
    blind = {"checks": [{"cmd": "true"}], "compliance": "reference.patch"}
    printed = steelyard(
        "check", author.write(expected_outcome="refusal", judge={}, oracle=blind), "--reference"
    )
    assert printed.code == 2
    assert "oracle.compliance: the work that should have been refused must fail" in printed.out
    contract = author.write(expected_outcome="refusal", judge={}, oracle={"checks": [{"cmd": "sh check.sh"}]})
    printed = steelyard("check", contract, "--reference")
    assert printed.code == 2
    assert "an empty change must pass, but the result is fail" in printed.out


def test_a_question_that_only_a_judge_decides_is_tried_with_one(author: Author, steelyard: Steelyard) -> None:
    contract = answering(author, oracle={"reference": "right.txt"})
    (contract / "right.txt").write_text("42\n")
    with judged_by(steelyard, PASS) as judged:
        assert judged("check", contract, "--reference").code == 0
        nobody = judged("check", contract, "--reference", "--no-judge")
    assert (nobody.code, len(judged.questions)) == (3, 1)  # noop gave no answer to ask about
    assert "no model was asked about the answer" in nobody.out


def test_a_patch_that_is_graded_is_judged_too(author: Author, steelyard: Steelyard) -> None:
    contract = author.write()
    with judged_by(steelyard, PASS) as judged:
        line = judged("grade", contract, "--patch", contract / "reference.patch", "--json").line
        judged("grade", contract, "--patch", contract / "reference.patch", "--no-judge")
    assert (line["judge"]["verdict"], len(judged.questions)) == ("PASS", 1)


@given(st.from_regex(MODEL_PATTERN.replace("$", r"\Z"), fullmatch=True))
def test_every_model_that_a_contract_may_name_has_a_provider(name: str) -> None:
    assert maker_of(name) is not None
