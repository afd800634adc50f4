"""What a check with hidden files prints stays with the operator.

A failing hidden test prints the values that it expected. Whoever trains or loops an agent over result lines would hand
those values to the agent, and the next attempt would return them from a table.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from authoring import FIX, Author, CliResult, Steelyard
from scripted_judge import judged_by
from steelyard.gateway.scripted import FAIL

EXPECTED = "expected 4711 for 2 and 3"
PRINTS = f"echo '{EXPECTED}' >&2; exit 1\n"
HIDDEN = {"inject": [{"src": "hidden/check.sh", "dest": "hidden.sh"}], "cmd": "sh hidden.sh", "timeout_s": 60}
VISIBLE = {"id": "visible", "cmd": "echo said in the open; sh check.sh && false", "timeout_s": 60}


def contract(author: Author, *checks: dict[str, Any], **keys: Any) -> Path:
    oracle = {"checks": list(checks), "reference": "reference.patch"}
    folder: Path = author.write({"hidden/check.sh": PRINTS}, oracle=oracle, **keys)
    return folder


def printed(result: CliResult, check: str) -> str:
    return Path(result.line["folder"], "checks", check, "outcome.json").read_text()


def test_a_hidden_checks_output_is_in_the_run_folder_and_not_in_the_result_line(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    folder = contract(author, VISIBLE, {"id": "hidden", **HIDDEN})
    result = steelyard("run", folder, "--agent", script(FIX), "--json")
    tails = {grade["name"]: (grade["hidden"], grade["output_tail"]) for grade in result.line["grades"]}
    assert tails["hidden"] == (True, "")
    assert tails["visible"] == (False, "said in the open\n")
    assert EXPECTED not in result.out
    assert EXPECTED in printed(result, "hidden")
    assert EXPECTED not in steelyard("show", result.line["run"], "--json").out


def test_the_operator_reads_a_hidden_checks_output_with_show(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    result = steelyard("run", contract(author, {"id": "hidden", **HIDDEN}), "--agent", script(FIX), "--json")
    shown = steelyard("show", result.line["run"]).out
    assert EXPECTED in shown
    assert "checks/hidden/" in shown


def test_a_grader_with_hidden_files_keeps_its_output_in_the_grading(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    grader = {"type": "command", "name": "hidden", **HIDDEN}
    folder = contract(author, VISIBLE, graders=[grader])
    result = steelyard("run", folder, "--agent", script(FIX), "--json")
    assert EXPECTED not in result.out
    assert EXPECTED in Path(result.line["folder"], "gradings/0001.json").read_text()
    assert EXPECTED in steelyard("show", result.line["run"]).out


def test_a_verifiers_output_is_not_in_the_result_line(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    check = {"id": "verify", "type": "verifier", "script": "hidden/check.sh", "timeout_s": 60}
    result = steelyard("run", contract(author, check), "--agent", script(FIX), "--json")
    assert EXPECTED not in result.out
    assert EXPECTED in printed(result, "verify")


def test_on_a_live_bench_a_check_without_hidden_files_may_print_those_of_another(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    prints = {"id": "prints", "cmd": "cat hidden.sh; false", "timeout_s": 60}
    folder = contract(author, {"id": "hidden", **HIDDEN}, prints, bench="live")
    result = steelyard("run", folder, "--agent", script(FIX), "--json")
    assert EXPECTED in printed(result, "prints")
    assert EXPECTED not in result.out


def test_a_judge_does_not_read_a_hidden_checks_output(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    folder = contract(author, VISIBLE, {"id": "hidden", **HIDDEN})
    with judged_by(steelyard, FAIL) as judged:
        judged("run", folder, "--agent", script(FIX), "--json")
    (question,) = judged.questions
    assert "said in the open" in question
    assert EXPECTED not in question


def test_harbors_folder_of_a_trial_has_no_output_of_a_hidden_check(
    author: Author, steelyard: Steelyard, script: Any, tmp_path: Path
) -> None:
    folder = contract(author, VISIBLE, {"id": "hidden", **HIDDEN})
    out = tmp_path / "jobs"
    result = steelyard("run", folder, "--agent", script(FIX), "--harbor-result", out, "--json")
    files = [path for path in (out / result.line["run"]).rglob("*") if path.is_file()]
    assert not [path for path in files if EXPECTED in path.read_text()]
    assert "said in the open" in (out / result.line["run"] / "verifier/test-stdout.txt").read_text()
    assert "checks/hidden/outcome.json" in (out / result.line["run"] / "verifier/test-stderr.txt").read_text()


def test_the_agent_of_a_later_step_finds_no_output_of_an_earlier_hidden_check(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    """It reads every file and variable that it can reach."""
    first = {"name": "one", "brief": "One.", "checks": [{"id": "hidden", **HIDDEN}], "min_reward": 0.0}
    second = {"name": "two", "brief": "Two.", "checks": [VISIBLE]}
    files = {"hidden/check.sh": PRINTS}
    folder = author.write(files, oracle={}, steps=[first, second])
    written = folder / "contract.yaml"
    written.write_text(written.read_text().replace("brief: Make add() add.\n", "", 1))
    look = "env; find / -xdev -type f -size -200k ! -path '/proc/*' ! -path '/usr/*' 2>/dev/null | xargs -d '\\n' cat 2>/dev/null; true\n"
    result = steelyard("run", folder, "--agent", script(look), "--json")
    assert EXPECTED in json.dumps(json.loads(printed(result, "one.hidden")))
    second_output = Path(result.line["folder"], "agent/stdout-2.txt").read_text(errors="replace")
    assert "STEELYARD_STEP=two" in second_output
    assert "4711" not in second_output
