"""`regrade`, end to end: a further grading of a sealed run, beside the result of record."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from authoring import Author, CliResult, Steelyard
from scripted_judge import judged_by

PASS: dict[str, Any] = {
    "json": {
        "verdict": "PASS",
        "scores": {"task_completion": 5, "instruction_adherence": 5, "efficiency": 5},
        "failure_mode": None,
        "reasoning": "It adds.",
        "facts": [],
    }
}
EXECUTING = [{"type": "command", "name": "again", "cmd": "sh check.sh", "required": True}]


def tried(steelyard: Steelyard, contract: Path, agent: str = "reference", *more: object) -> dict[str, Any]:
    result = steelyard("run", contract, "--agent", agent, "--json", *more)
    assert result.lines, result.err
    line: dict[str, Any] = result.line
    return line


def gradings(line: dict[str, Any]) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted(Path(line["folder"], "gradings").glob("*.json"))]


def regraded(steelyard: Steelyard, contract: Path, *arguments: object) -> CliResult:
    return steelyard("regrade", *arguments, "--contract", contract, "--json")


def test_a_regrade_is_appended_labelled_and_leaves_a_record_that_verifies(
    steelyard: Steelyard, author: Author
) -> None:
    contract = author.write(graders=EXECUTING)
    line = tried(steelyard, contract)
    report = Path(line["folder"], "report.json").read_bytes()
    result = regraded(steelyard, contract, line["run"])
    assert (result.code, result.line["verdict"]) == (0, "pass"), result.err
    assert line["grading"] == {"number": 1, "of": 1, "regrade": False}
    assert result.line["grading"] == {"number": 2, "of": 2, "regrade": True}
    assert [one["number"] for one in gradings(line)] == [1, 2]
    assert Path(line["folder"], "report.json").read_bytes() == report
    assert steelyard("verify", line["run"]).code == 0


def test_a_run_that_failed_fails_again_with_exit_1(steelyard: Steelyard, author: Author) -> None:
    contract = author.write()
    line = tried(steelyard, contract, "noop")
    assert regraded(steelyard, contract, line["run"]).code == 1


def test_show_tells_the_result_of_record_and_of_a_regrade_on_request(
    steelyard: Steelyard, author: Author
) -> None:
    contract = author.write()
    run = tried(steelyard, contract)["run"]
    assert "grading 1" not in steelyard("show", run).out
    regraded(steelyard, contract, run)
    assert "grading 1 of 2: the result of record" in steelyard("show", run).out
    assert "grading 2 of 2: a regrade" in steelyard("show", run, "--grading", "2").out
    assert steelyard("show", run, "--grading", "2", "--json").line["grading"]["regrade"] is True
    absent = steelyard("show", run, "--grading", "3")
    assert (absent.code, "there are 2" in absent.err) == (2, True)


def test_models_are_asked_only_what_was_not_answered(steelyard: Steelyard, author: Author) -> None:
    """A run without a judge is judged by a regrade; a second one asks no model, and the record stays unjudged."""
    contract = author.write()
    with judged_by(steelyard, PASS) as judged:
        line = judged("run", contract, "--agent", "reference", "--no-judge", "--json").line
        first = judged("regrade", line["run"], "--contract", contract, "--json").line
        asked = len(judged.questions)
        second = judged("regrade", line["run"], "--contract", contract, "--json").line
        none = judged("regrade", line["run"], "--contract", contract, "--no-judge", "--json").line
        assert (asked, len(judged.questions)) == (1, 1)
    assert [one["judge"]["opinions"][0]["reused"] for one in (first, second)] == [False, True]
    assert (line["judge"], none["judge"]) == (None, None)
    assert steelyard("show", line["run"], "--json").line["judge"] is None


def test_an_altered_record_is_refused_with_exit_1_and_gets_no_grading(
    steelyard: Steelyard, author: Author
) -> None:
    contract = author.write()
    bad, good = tried(steelyard, contract, "noop"), tried(steelyard, contract)
    Path(bad["folder"], "checks/adds/outcome.json").write_text('{"outcome": "pass"}')
    result = regraded(steelyard, contract, bad["run"], good["run"])
    assert result.code == 1
    assert [line.get("verdict", "broken") for line in result.lines] == ["pass", "broken"]
    assert "altered" in result.lines[1]["broken"]
    assert (len(gradings(bad)), len(gradings(good))) == (1, 2)


def test_another_contract_than_the_runs_is_refused_by_name(steelyard: Steelyard, author: Author) -> None:
    line = tried(steelyard, author.write())
    result = regraded(steelyard, author.write(brief="Other words."), line["run"])
    assert (result.code, len(gradings(line))) == (2, 1)
    assert line["contract"]["digest"] in result.err
    assert "grade --patch -" in result.err


def test_of_a_folder_of_runs_those_of_the_contract_are_regraded(
    steelyard: Steelyard, author: Author, tmp_path: Path
) -> None:
    runs = tmp_path / "runs"
    other = tried(steelyard, author.write(brief="Other words."), "noop", "--out", runs)
    contract = author.write()
    lines = [tried(steelyard, contract, agent, "--out", runs) for agent in ("noop", "reference", "noop")]
    Path(lines[2]["folder"], "seal.json").unlink()
    result = steelyard("regrade", runs, "--contract", contract)
    assert result.code == 1, result.err
    assert [len(gradings(line)) for line in (other, *lines)] == [1, 2, 2, 1]
    assert "2 runs regraded" in result.out
    assert "1 run of other contracts skipped" in result.out
    assert "1 run running or interrupted (no seal), skipped" in result.out


def test_a_run_without_a_seal_is_refused(steelyard: Steelyard, author: Author) -> None:
    contract = author.write()
    line = tried(steelyard, contract)
    Path(line["folder"], "seal.json").unlink()
    result = regraded(steelyard, contract, line["run"])
    assert (result.code, "was interrupted" in result.err) == (2, True)


def test_a_folder_without_runs_is_a_usage_error(steelyard: Steelyard, author: Author, tmp_path: Path) -> None:
    result = regraded(steelyard, author.write(), tmp_path)
    assert (result.code, "contains none" in result.err) == (2, True)


def test_a_sealed_run_that_was_never_graded_gets_its_result_of_record(
    steelyard: Steelyard, author: Author
) -> None:
    """It was killed between the seal and its first grading."""
    contract = author.write()
    line = tried(steelyard, contract)
    folder = Path(line["folder"])
    (folder / "gradings/0001.json").unlink()
    (folder / "gradings-head.json").unlink()
    (folder / "report.json").unlink()
    assert regraded(steelyard, contract, line["run"]).line["grading"]["regrade"] is False
    assert json.loads((folder / "report.json").read_text())["acceptance"] == "success"


def new_key(path: Path) -> Path:
    form = Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
    path.write_bytes(Ed25519PrivateKey.generate().private_bytes(*form))
    return path


def test_a_signed_run_takes_gradings_of_its_own_key_alone(
    steelyard: Steelyard, author: Author, tmp_path: Path
) -> None:
    contract, key = author.write(), new_key(tmp_path / "key.pem")
    line = tried(steelyard, contract, "reference", "--sign", key)
    without = regraded(steelyard, contract, line["run"])
    another = regraded(steelyard, contract, line["run"], "--sign", new_key(tmp_path / "other.pem"))
    assert (without.code, "--sign" in without.err) == (2, True)
    assert (another.code, "another key" in another.err) == (2, True)
    assert regraded(steelyard, contract, line["run"], "--sign", key).code == 0
    assert steelyard("verify", line["run"]).code == 0


def test_of_a_folder_a_signed_run_is_named_and_the_others_are_graded(
    steelyard: Steelyard, author: Author, tmp_path: Path
) -> None:
    contract, runs = author.write(), tmp_path / "runs"
    signed = tried(steelyard, contract, "reference", "--out", runs, "--sign", new_key(tmp_path / "key.pem"))
    other = tried(steelyard, contract, "reference", "--out", runs)
    result = steelyard("regrade", runs)
    assert result.code == 0, result.err
    assert f"skipped  {signed['run']}" in result.out
    assert "give --sign KEY" in result.out
    assert [len(gradings(line)) for line in (signed, other)] == [1, 2]
    lines = steelyard("regrade", runs, "--json").lines
    assert [line["run"] for line in lines if "skipped" in line] == [signed["run"]]


def test_of_a_folder_a_run_without_its_contract_is_named_and_the_others_are_graded(
    steelyard: Steelyard, author: Author, tmp_path: Path
) -> None:
    runs, elsewhere = tmp_path / "runs", {"STEELYARD_CACHE": str(tmp_path / "elsewhere")}
    lost = tried(steelyard, author.write(brief="Other words."), "noop", "--out", runs)
    kept = steelyard(
        "run", author.write(), "--agent", "reference", "--out", runs, "--json", env=elsewhere
    ).line
    result = steelyard("regrade", runs, env=elsewhere)
    assert result.code == 0, result.err
    assert f"skipped  {lost['run']}" in result.out
    assert [len(gradings(line)) for line in (lost, kept)] == [1, 2]


def test_a_grader_that_executes_does_so_again_in_the_sandbox_of_the_run(
    steelyard: Steelyard, author: Author, tmp_path: Path
) -> None:
    """Only without isolation does it see the host's file; without that file it fails, and the record stays."""
    seen = tmp_path / "seen"
    seen.touch()
    contract = author.write(graders=[{**EXECUTING[0], "cmd": f"test -e {seen}"}])
    line = tried(steelyard, contract, "reference", "--sandbox", "local")
    assert regraded(steelyard, contract, line["run"]).line["verdict"] == "pass"
    seen.unlink()
    result = steelyard("regrade", line["run"], "--contract", contract)
    assert result.code == 1, result.err
    assert "pass is the result of record; grading 3 says fail" in result.out
    assert steelyard("show", line["run"], "--json").line["verdict"] == "pass"
    assert steelyard("verify", line["run"]).code == 0


def test_the_contract_that_was_run_is_found_in_the_cache(steelyard: Steelyard, author: Author) -> None:
    contract = author.write({"hidden/more.sh": "sh add.sh 2 3\n"}, graders=EXECUTING)
    line = tried(steelyard, contract)
    shutil.rmtree(contract)
    result = steelyard("regrade", line["run"], "--json")
    assert (result.code, result.line["verdict"]) == (0, "pass"), result.err
    assert result.line["grading"] == {"number": 2, "of": 2, "regrade": True}


def test_a_run_whose_contract_is_in_no_cache_asks_for_it(
    steelyard: Steelyard, author: Author, tmp_path: Path
) -> None:
    line = tried(steelyard, author.write())
    result = steelyard("regrade", line["run"], env={"STEELYARD_CACHE": str(tmp_path / "empty")})
    assert (result.code, "name its folder with --contract" in result.err) == (2, True)
    assert len(gradings(line)) == 1


def test_a_folder_of_runs_of_several_contracts_is_regraded(
    steelyard: Steelyard, author: Author, tmp_path: Path
) -> None:
    runs = tmp_path / "runs"
    lines = [
        tried(steelyard, author.write(brief=words), "reference", "--out", runs)
        for words in ("Some words.", "Other words.")
    ]
    assert steelyard("regrade", runs).code == 0
    assert [len(gradings(line)) for line in lines] == [2, 2]
