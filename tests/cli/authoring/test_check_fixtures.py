"""`check --fixtures` and `check --reference`: a contract's own material, on its own bench."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from authoring import ROOT, Author, CliResult, Steelyard
from steelyard.cli.authoring.self_test import table
from steelyard.contract.parse.files import contract_files
from steelyard.report.stored.certificate import read_certificate
from steelyard.study.self_test import SelfTestResult

# Half a point for a number, all of it for the right one; it crashes where there is no answer.
VERIFIER = """
read answer < /workspace/answer.txt || exit 3
case $answer in 5) reward=1.0;; [0-9]) reward=0.5;; 55) reward=0.7;; NaN) reward=NaN;; *) reward=0;; esac
echo "{\\"reward\\": $reward}" > /logs/verifier/reward.json
"""
CHECK = {
    "id": "verify",
    "type": "verifier",
    "script": "tests/test.sh",
    "expected_output_path": "/workspace/answer.txt",
    "timeout_s": 30,
}
Try = Callable[..., CliResult]


@pytest.fixture
def tried(author: Author, steelyard: Steelyard) -> Try:
    """Check a contract with these fixtures; `pass/a: 5` is a file."""

    def run(
        fixtures: dict[str, str], *arguments: object, check: dict[str, Any] | None = None, **keys: Any
    ) -> CliResult:
        files = {f"fixtures/{name}": text for name, text in fixtures.items()}
        keys = {"oracle": {"checks": [{**CHECK, **(check or {})}]}, **keys}
        folder = author.write({"tests/test.sh": VERIFIER, **files}, **keys)
        return steelyard("check", folder, "--fixtures", *arguments)

    return run


def came(result: CliResult) -> dict[str, tuple[str, str]]:
    return {one["name"].removeprefix("fixtures/"): (one["got"], one["came"]) for one in result.line["tried"]}


def test_fixtures_that_score_as_they_must_are_fine_and_certify_the_contract(
    tried: Try, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fixtures = {
        "pass/a.txt": "5\n",
        "pass/whole/answer.txt": "5\n",
        "fail/half.txt": "4\n",
        "fail/.gitkeep": "",
    }
    result = tried(fixtures, "--json")
    assert (result.code, result.line["ok"]) == (0, True), result.err
    assert came(result) == {
        "pass/a.txt": ("1", "as_expected"),
        "pass/whole": ("1", "as_expected"),
        "fail/half.txt": ("0.5", "as_expected"),
    }
    monkeypatch.setenv("STEELYARD_CACHE", str(cache))
    (part,) = read_certificate(result.line["digest"]).values()
    assert (part.holds, len(part.results)) == (True, 3)


def test_each_fixture_that_scores_otherwise_is_a_mistake(tried: Try) -> None:
    result = tried({"pass/half.txt": "4\n", "fail/much.txt": "55\n", "fail/none.txt": "x\n"}, "--json")
    assert (result.code, result.line["ok"]) == (2, False)
    assert came(result) == {
        "pass/half.txt": ("0.5", "otherwise"),
        "fail/much.txt": ("0.7", "otherwise"),
        "fail/none.txt": ("0", "as_expected"),
    }


def test_the_contract_says_which_scores_are_enough(tried: Try) -> None:
    scores = {"fixtures": {"pass_at_least": 0.7, "fail_at_most": 0.0}}
    result = tried({"pass/much.txt": "55\n", "fail/half.txt": "4\n"}, "--json", check=scores)
    assert came(result) == {"pass/much.txt": ("0.7", "as_expected"), "fail/half.txt": ("0.5", "otherwise")}
    assert [one["wanted"] for one in result.line["tried"]] == ["at least 0.7", "at most 0"]


def test_a_verifier_that_crashes_or_writes_nonsense_is_reported_as_such(tried: Try) -> None:
    result = tried({"fail/other/other.txt": "x\n", "fail/nan.txt": "NaN\n"})
    assert result.code == 2
    assert result.out.startswith("wrong")
    rows = {line.split()[0]: line for line in result.out.splitlines()[1:]}
    assert "the verifier wrote no reward (exit 3)" in next(line for line in rows.values() if "other" in line)
    assert "NaN is not a number" in next(line for line in rows.values() if "nan.txt" in line)


@pytest.mark.parametrize(
    ("fixtures", "check", "result"),
    [
        ({}, {}, "the contract has a verifier but no fixtures"),
        ({"passing/a.txt": "5\n"}, {}, "is neither fixtures/pass nor fixtures/fail"),
        ({"pass/a.txt": "5\n"}, {"expected_output_path": None}, "no `expected_output_path` that says"),
        ({"pass/whole/add.sh/x": "5\n"}, {}, "the snapshot has something else at this path"),
        ({"pass/a.txt": "5\n"}, {"fixtures": {"pass_at_least": 0.4}}, "must be below"),
        ({"pass/a.txt": "5\n"}, {"fixtures": {"pass_at_last": 0.4}}, "did you mean pass_at_least?"),
    ],
)
def test_what_cannot_be_tried_is_a_mistake(
    fixtures: dict[str, str], check: dict[str, Any], result: str, tried: Try
) -> None:
    found = tried(fixtures, check=check)
    assert found.code == 2
    assert result in found.out


def test_fixtures_need_a_verifier(author: Author, steelyard: Steelyard) -> None:
    result = steelyard("check", author.write({"fixtures/pass/a/x": "1"}), "--fixtures")
    assert (result.code, "there is no verifier that could grade them" in result.out) == (2, True)


def test_nothing_to_try_is_no_success(author: Author, steelyard: Steelyard) -> None:
    result = steelyard("check", author.write(), "--fixtures")
    assert (result.code, "nothing to test" in result.err) == (2, True)


def test_a_fixture_never_follows_a_link_of_the_snapshot(author: Author, steelyard: Steelyard) -> None:
    folder = author.write(
        {"tests/test.sh": VERIFIER, "fixtures/pass/a/out/x": "5\n", "repo/in/x": "1"},
        oracle={"checks": [CHECK]},
    )
    (folder / "repo/out").symlink_to("in")
    assert "out/x cannot be written" in steelyard("check", folder, "--fixtures").out


def test_fixtures_of_another_folder_are_not_listed(
    author: Author, steelyard: Steelyard, tmp_path: Path
) -> None:
    folder = author.write({"tests/test.sh": VERIFIER}, oracle={"checks": [CHECK]})
    (tmp_path / "away").mkdir()
    (tmp_path / "away/diary.txt").write_text("5\n")
    (folder / "fixtures").mkdir()
    (folder / "fixtures/pass").symlink_to(tmp_path / "away")
    result = steelyard("check", folder, "--fixtures")
    assert (result.code, "leads out of the contract's folder" in result.out) == (2, True)
    assert "diary" not in result.out + result.err


def test_a_fixture_that_no_disk_holds_is_refused_unread(tried: Try, author: Author) -> None:
    tried({"pass/a.txt": "5\n"})
    os.truncate(author.folder / "fixtures/pass/a.txt", 1 << 40)
    with pytest.raises(ValueError, match="larger than 2 GiB"):
        contract_files(author.folder, "fixtures/pass/a.txt")


def test_fixtures_do_not_change_the_digest(tried: Try) -> None:
    one = tried({"pass/a.txt": "5\n"}, "--json").line["digest"]
    scores = {"fixtures": {"pass_at_least": 0.9}}
    assert tried({"pass/b.txt": "5\n"}, "--json", check=scores).line["digest"] == one


def test_runs_are_kept_where_they_are_asked_for(tried: Try, tmp_path: Path) -> None:
    result = tried({"pass/a.txt": "5\n"}, "--json", "--out", tmp_path / "kept")
    assert Path(result.line["tried"][0]["folder"], "manifest.json").is_file()


def test_a_reference_that_passes_and_a_noop_that_fails_are_sound(
    author: Author, steelyard: Steelyard
) -> None:
    result = steelyard("check", author.write(), "--reference", "--json")
    assert (result.code, came(result)) == (
        0,
        {"reference": ("pass", "as_expected"), "noop": ("fail", "as_expected")},
    )


def test_a_contract_that_asks_for_nothing_is_reported_before_money_is_spent(
    author: Author, steelyard: Steelyard
) -> None:
    folder = author.write({"repo/check.sh": "exit 0\n"})
    result = steelyard("check", folder, "--reference", "--json")
    assert (result.code, came(result)["noop"]) == (2, ("pass", "otherwise"))


def test_a_reference_that_fails_is_reported_with_the_reason_and_the_output(
    author: Author, steelyard: Steelyard
) -> None:
    result = steelyard("check", author.write({"repo/check.sh": "echo no such sum; exit 4\n"}), "--reference")
    assert result.code == 2
    _, problem, output, *rest = result.out.splitlines()
    assert problem.endswith("oracle.reference: must pass, but the result is fail: adds: exit 4, expected 0")
    assert output == "  | no such sum"
    assert "NOT as expected" in "".join(rest)


def test_a_setup_that_fails_is_reported_line_by_line(author: Author, steelyard: Steelyard) -> None:
    result = steelyard("check", author.write(setup=["echo one; echo two; exit 3"]), "--reference")
    assert result.code == 2
    _, problem, *output = result.out.splitlines()
    assert "setup[0]: `echo one; echo two; exit 3` ended with exit code 3 (setup runs offline" in problem
    assert output == ["  | one", "  | two"]


def test_a_noop_that_only_breaks_the_verifier_has_not_failed(author: Author, steelyard: Steelyard) -> None:
    folder = author.write(
        {"tests/test.sh": VERIFIER}, oracle={"checks": [CHECK], "reference": "reference.patch"}
    )
    result = steelyard("check", folder, "--reference", "--json")
    assert (result.code, came(result)["noop"]) == (2, ("error", "error"))


def test_no_reference_is_no_success(author: Author, steelyard: Steelyard) -> None:
    result = steelyard("check", author.write(oracle={"checks": [{"cmd": "sh check.sh"}]}), "--reference")
    assert (result.code, "the contract has no reference (reference: " in result.out) == (2, True)
    assert "noop" in result.out


def test_the_reference_of_a_question_is_an_answer_and_no_patch(author: Author, steelyard: Steelyard) -> None:
    folder = author.write(repository=None, build=None, oracle={}, workspace="none", judge={})
    assert "reference: right.txt" in steelyard("check", folder, "--reference").out
    assert "reference: right.txt" in steelyard("run", folder, "--agent", "reference").err


def test_the_contract_of_the_tutorial_is_sound(steelyard: Steelyard, tmp_path: Path) -> None:
    page = (ROOT / "docs/tutorial/first-contract.md").read_text()
    shutil.copytree(ROOT / "examples/python-discount", tmp_path / "my")
    for name, language in (("contract.yaml", "yaml contract"), ("hidden/test_hidden.py", "python")):
        text = page.partition(f"```{language}\n")[2].partition("```")[0]
        (tmp_path / "my" / name).write_text(text)
    result = steelyard("check", tmp_path / "my", "--reference", "--json")
    assert (result.code, result.line["problems"]) == (0, [])


def test_what_was_tried_is_whole_on_a_narrow_terminal() -> None:
    why = "the engine that runs containers went away in the middle of it, and did not come back"
    name = "fixtures/pass/" + "a" * 30
    tried = (
        SelfTestResult(name, "at least 0.95", "0.5", "otherwise"),
        SelfTestResult("noop", "fail", "invalid", "invalid", why),
    )
    file = io.StringIO()
    Console(width=60, file=file).print(table(tried))
    text = file.getvalue()
    for whole in ("tried", "must get", name, "at least 0.95", "NOT as expected", why):
        assert whole in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 60
