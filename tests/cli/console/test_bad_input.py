"""Input that cannot work: one line that says why and what to type next, and the right exit code. Never a traceback."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from authoring import Author, CliResult, Steelyard
from steelyard.cli.console.output import check_out
from steelyard.contract.snapshot.work_tree import uncommitted_changes
from steelyard.errors import OperatorFault
from steelyard.evidence.folder.folder import SEAL, RunFolder
from steelyard.evidence.folder.seal import seal
from steelyard.importers.direct import find_folders


def refused(result: CliResult, code: int, *words: str) -> None:
    """One line on stderr, with all of the words."""
    assert result.code == code, result
    assert result.err.count("\n") == 1, result.err
    for word in words:
        assert word in result.err, result.err


def shell(line: str, cwd: Path, cache: Path) -> CliResult:
    """A command line in a shell of its own, for what only a shell can do to a process."""
    env = {**os.environ, "STEELYARD_CACHE": str(cache)}
    done = subprocess.run(
        ["/bin/sh", "-c", line.replace("steelyard", f"{sys.executable} -m steelyard", 1)],
        cwd=cwd,
        env=env,
        capture_output=True,
        check=False,
    )
    return CliResult(done.returncode, done.stdout.decode(), done.stderr.decode())


def repository(folder: Path, files: dict[str, str]) -> Path:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "init", "-q", folder], check=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    subprocess.run([*git, "add", "-A"], cwd=folder, check=True)
    subprocess.run([*git, "commit", "-q", "-m", "first"], cwd=folder, check=True)
    return folder


@pytest.mark.skipif(os.geteuid() == 0, reason="root can write everywhere")
def test_an_out_folder_that_the_user_cannot_write_is_refused_before_anything_runs(
    steelyard: Steelyard, author: Author, tmp_path: Path
) -> None:
    (tmp_path / "locked").mkdir(mode=0o500)
    refused(
        steelyard("run", author.write(), "--agent", "noop", "--out", tmp_path / "locked/runs"),
        2,
        "not writable",
    )


def test_a_contract_folder_that_the_user_cannot_read_is_named() -> None:
    """The message names the folder that was typed, not a file that might be in it."""
    user = os.geteuid()
    with tempfile.TemporaryDirectory() as parent:
        Path(parent).chmod(0o755)
        folder = Path(parent, "locked")
        folder.mkdir(mode=0)
        os.seteuid(65534 if user == 0 else user)
        try:
            with pytest.raises(OperatorFault, match="locked: permission denied: this user may not read"):
                find_folders([folder])
        finally:
            os.seteuid(user)


def test_an_out_folder_that_cannot_be_made_is_a_mistake_of_the_command(
    steelyard: Steelyard, author: Author
) -> None:
    result = steelyard("run", author.write(), "--agent", "noop", "--out", "/proc/runs")
    refused(result, 2, "--out /proc/runs: /proc ", "name another folder with --out DIR")


def test_looking_whether_an_out_folder_can_be_made_leaves_nothing(tmp_path: Path) -> None:
    check_out(tmp_path / "new/runs")
    assert list(tmp_path.iterdir()) == []


def test_a_plan_that_cannot_be_written_is_answered_with_another_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(OperatorFault, match=r"--out study\.yaml: .* name another file with --out FILE"):
        check_out(tmp_path, file=Path("study.yaml"))


def test_an_address_in_the_place_of_a_contract_is_answered_with_what_a_contract_is(
    steelyard: Steelyard,
) -> None:
    result = steelyard("run", "https://example.org/a/b", "--agent", "noop")
    refused(result, 2, "https://example.org/a/b: a contract is a folder on this machine; `git clone`")


@pytest.mark.parametrize("words", ["doctor", "show", "runs", "check contract"])
def test_a_closed_stdout_is_no_crash(words: str, author: Author, tmp_path: Path, cache: Path) -> None:
    author.write()
    result = shell(f"steelyard {words} >&-", tmp_path, cache)
    assert "Traceback" not in result.err
    assert result.err.count("stdout is closed, so nothing was printed") == 1, result


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("words", ["check contract", "--help", "--version", "run --help"])
def test_an_output_that_cannot_be_written_is_one_line_and_exit_3(
    author: Author, tmp_path: Path, cache: Path, words: str
) -> None:
    author.write()
    refused(
        shell(f"steelyard {words} >/dev/full", tmp_path, cache),
        3,
        "No space left on device",
    )


def test_a_run_with_closed_streams_has_its_own_exit_code(author: Author, tmp_path: Path, cache: Path) -> None:
    author.write()
    assert shell("steelyard run contract --agent reference >&- 2>&-", tmp_path, cache).code == 0


def test_a_run_that_the_disk_stopped_before_its_change_was_read_is_not_altered(
    steelyard: Steelyard, author: Author, tmp_path: Path
) -> None:
    """What a full disk leaves: sealed, ended by infrastructure, without change.json. `show` and `verify` agree on it."""
    line = steelyard("run", author.write(), "--agent", "noop", "--json").line
    folder = _without_change(Path(line["folder"]), tmp_path / "runs")
    assert "record altered" not in steelyard("show", folder.name, "--runs", folder.parent).out
    assert steelyard("verify", folder.name, "--runs", folder.parent).code == 0
    refused(steelyard("diff", folder.name, "--runs", folder.parent), 2, "no recorded change")


def _without_change(run: Path, runs: Path) -> Path:
    from steelyard.evidence.folder.folder import RunFolder
    from steelyard.evidence.trace.events import EventLog

    folder = runs / run.name
    shutil.copytree(
        run, folder, ignore=shutil.ignore_patterns("change.json", "patch.diff", "findings.json", SEAL)
    )
    for name in ("gradings-head.json", "report.json", "events.jsonl"):
        (folder / name).unlink()
    for name in ("gradings", "checks"):
        shutil.rmtree(folder / name)
        (folder / name).mkdir()
    with EventLog(folder / "events.jsonl") as events:
        events.append(
            "termination",
            "harness",
            {"code": "infrastructure", "class": "infrastructure", "rationale": "full"},
        )
    seal(RunFolder(folder))
    return folder


def test_a_tab_in_the_contract_is_named_with_its_line(steelyard: Steelyard, author: Author) -> None:
    (author.folder / "contract.yaml").write_text("id: x\nrepository:\n\ttree: repo\n")
    refused(
        steelyard("run", author.folder, "--agent", "noop"), 2, "line 3 is indented with a tab", "use spaces"
    )


def test_an_empty_contract_names_init(steelyard: Steelyard, author: Author) -> None:
    (author.folder / "contract.yaml").write_text("")
    refused(steelyard("run", author.folder, "--agent", "noop"), 2, "is empty", "steelyard init")


def test_check_finds_a_toolchain_that_this_machine_lacks(steelyard: Steelyard, author: Author) -> None:
    contract = author.write(environment={"toolchains": {"python": "2.999"}})
    result = steelyard("check", contract)
    assert (
        result.code,
        "cannot run here" in result.out,
        "python 2.999 is not on this machine" in result.out,
    ) == (
        3,
        True,
        True,
    )
    assert steelyard("check", contract, "--json").line["problems"]


@pytest.mark.parametrize("url", ["https://example.org/a.git", "git@example.org:a.git", "ssh://example.org/a"])
def test_a_url_given_to_init_is_answered_with_the_clone_command(steelyard: Steelyard, url: str) -> None:
    refused(steelyard("init", "new", "--git", url), 2, f"git clone --mirror {url}")


def test_a_repository_without_a_commit_is_answered_with_what_to_do(
    steelyard: Steelyard, tmp_path: Path
) -> None:
    subprocess.run(["git", "init", "-q", tmp_path / "bare"], check=True)
    refused(steelyard("init", "new", "--git", tmp_path / "bare"), 2, "has no commit yet", "git commit")


def test_a_folder_without_a_repository_is_named_as_it_was_typed(steelyard: Steelyard, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    refused(
        steelyard("init", "new", "--git", tmp_path / "plain"),
        2,
        f"steelyard: {tmp_path / 'plain'} is not a git repository",
        "--tree",
    )


def test_init_refuses_a_repository_whose_name_no_contract_can_hold(
    steelyard: Steelyard, tmp_path: Path
) -> None:
    folder = repository(Path(os.fsdecode(bytes(tmp_path) + b"/r\xff")), {"a": "1\n"})
    refused(steelyard("init", "new", "--git", folder), 2, "r\\xff: its name is not UTF-8", "rename it")


def test_a_plan_refuses_the_same_agent_twice_no_repeats_and_no_jobs(
    steelyard: Steelyard, author: Author
) -> None:
    contract = author.write()
    refused(steelyard("plan", contract, "--agent", "noop", "--agent", "noop"), 2, "noop is given twice")
    refused(
        steelyard("plan", contract, "--agent", "noop", "--repeats", 0),
        2,
        "steelyard: --repeats is at least 1",
    )
    refused(steelyard("plan", contract, "--agent", "noop", "--jobs", 0), 2, "steelyard: --jobs is at least 1")


def test_labels_that_cannot_be_read_are_refused_in_plain_words(steelyard: Steelyard, tmp_path: Path) -> None:
    (tmp_path / "labels").write_bytes(b"\xff\xfe")
    refused(
        steelyard("judge", "calibrate", "absent"), 2, "absent cannot be read: No such file or directory\n"
    )
    refused(
        steelyard("judge", "calibrate", tmp_path / "labels"), 2, "labels is not a file of labels: it is not"
    )


def test_a_tilde_that_no_shell_replaced_is_explained(steelyard: Steelyard, author: Author) -> None:
    refused(steelyard("run", author.write(), "--agent", "script:~/fix.sh"), 2, "~/fix.sh", "write $HOME")


@pytest.mark.parametrize("verb", ["show", "logs", "diff", "replay"])
def test_a_folder_that_is_no_run_is_called_that_and_not_an_interrupted_run(
    steelyard: Steelyard, tmp_path: Path, verb: str
) -> None:
    (tmp_path / "plain").mkdir()
    refused(steelyard(verb, tmp_path / "plain"), 2, f"{tmp_path / 'plain'} is not a run folder")


def test_a_list_of_prices_that_is_no_text_is_refused_in_plain_words(
    steelyard: Steelyard, author: Author, tmp_path: Path
) -> None:
    (tmp_path / "prices.csv").write_bytes(b"\xff\xfe\x00")
    words = ("run", author.write(), "--agent", "noop", "--cost-model", tmp_path / "prices.csv")
    refused(steelyard(*words), 2, "not a CSV file: it is not UTF-8 text")


@pytest.mark.parametrize(
    ("words", "same_as"),
    [(["help"], ["--help"]), (["help", "runs"], ["runs", "--help"]), (["version"], ["--version"])],
)
def test_help_and_version_are_also_understood_as_verbs(
    steelyard: Steelyard, words: list[str], same_as: list[str]
) -> None:
    assert steelyard(*words) == steelyard(*same_as)


def test_a_name_of_two_lines_is_one_line_in_a_message(steelyard: Steelyard, author: Author) -> None:
    refused(steelyard("run", author.write(), "--agent", "x\ny=noop"), 2, "x\\x0ay=noop: noop cannot be given")


def test_init_says_that_uncommitted_changes_are_left_out(steelyard: Steelyard, tmp_path: Path) -> None:
    folder = repository(tmp_path / "r", {"a": "1\n", "b": "1\n"})
    (folder / "b").write_text("2\n")
    (folder / "new").write_text("x\n")
    result = steelyard("init", "new", "--git", folder)
    assert (result.code, "uncommitted changes (1 changed, 1 untracked)" in result.err) == (0, True), (
        result.err
    )


def test_a_file_that_was_only_touched_is_no_uncommitted_change(tmp_path: Path) -> None:
    folder = repository(tmp_path / "r", {"a": "1\n"})
    os.utime(folder / "a", (1, 1))
    assert uncommitted_changes(folder) == ""


def test_check_warns_of_lfs_pointers(steelyard: Steelyard, author: Author) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n"
    result = steelyard("check", author.write(files={"repo/big.bin": pointer}))
    assert (result.code, "Git LFS pointers" in result.out, "git lfs pull" in result.out) == (0, True, True), (
        result.out
    )


def test_init_inside_a_repository_names_the_option_that_takes_it(
    steelyard: Steelyard, tmp_path: Path
) -> None:
    found = repository(tmp_path / "mine", {"a.py": ""})
    result = steelyard("init", found / "contract")
    assert f"`steelyard init FOLDER --git {found}` makes a contract from it" in result.out


@pytest.mark.parametrize("place", ["absent/study.yaml", "file/study.yaml"])
def test_a_plan_in_a_folder_that_is_not_there_is_refused_before_anything_is_computed(
    steelyard: Steelyard, author: Author, tmp_path: Path, place: str
) -> None:
    (tmp_path / "file").write_text("")
    result = steelyard("plan", author.write(), "--agent", "noop", "--out", tmp_path / place)
    refused(result, 2, "there is no folder")


def test_git_ignores_the_runs_of_the_default_folder(tmp_path: Path) -> None:
    RunFolder.create(tmp_path / ".steelyard" / "runs", "1-a")
    RunFolder.create(tmp_path / "elsewhere" / "runs", "1-a")
    assert (tmp_path / ".steelyard" / ".gitignore").read_text() == "*\n"
    assert not (tmp_path / "elsewhere" / ".gitignore").exists()


def test_the_same_agent_twice_is_answered_with_repeats(steelyard: Steelyard, author: Author) -> None:
    result = steelyard("run", author.write(), "--agent", "noop", "--agent", "noop")
    refused(result, 2, "given twice", "--repeats 2")


def test_two_agents_of_one_name_are_refused(steelyard: Steelyard, author: Author, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.sh").write_text(f"echo {name}\n")
    words = [f"--agent=script:{tmp_path / name}/x.sh" for name in ("a", "b")]
    refused(steelyard("run", author.write(), *words), 2, "the same name, script:x.sh")


def test_a_run_of_another_version_is_named_as_one(
    steelyard: Steelyard, author: Author, tmp_path: Path
) -> None:
    line = steelyard("run", author.write(), "--agent", "noop", "--json").line
    folder = tmp_path / "runs" / line["run"]
    shutil.copytree(line["folder"], folder)
    grading = folder / "gradings/0001.json"
    data = json.loads(grading.read_text())
    del data["verdict"]["mean_score"]
    data["harness"]["version"] = "0.0.1"
    grading.write_text(json.dumps(data))
    result = steelyard("show", line["run"], "--runs", folder.parent)
    assert result.code == 1
    assert "Traceback" not in result.err
    assert "0.0.1" in result.out, result.out


@pytest.mark.parametrize(
    ("verb", "meant"),
    [("shwo", "show"), ("rnu", "run"), ("ls", "runs"), ("validate", "check"), ("export", "runs")],
)
def test_a_misspelt_verb_is_answered_with_the_one_that_was_meant(
    steelyard: Steelyard, verb: str, meant: str
) -> None:
    refused(steelyard(verb), 2, f"did you mean `steelyard {meant}`?")


def test_a_misspelt_option_is_answered_with_the_one_that_was_meant(steelyard: Steelyard) -> None:
    refused(
        steelyard("run", "contract", "--agnet", "noop"), 2, "did you mean --agent? `steelyard run --help`"
    )


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("run contract", "required: --agent"),
        ("run contract --agent noop --repeats many", "--repeats 'many': not a whole number"),
        ("cache prune --older-than x", "--older-than 'x': not a number"),
        ("grade contract", "one of the arguments --patch --tree --predictions is required"),
        ("compare noop", "required: B"),
        ("study", "required: run|resume|"),
        ("store", "required: rebuild|sync"),
        ("schema nothing", "schema 'nothing' does not exist; there are contract, result"),
        ("study go", "study: the action 'go' does not exist; there are run, resume"),
        ("study statsu", "study: the action 'statsu' does not exist; did you mean status?"),
        ("compare a b study.yaml", "arguments: study.yaml; a study is chosen with --study study.yaml;"),
        ("compare a b --json study.yml", "a study is chosen with --study study.yml;"),
        ("compare a b c", "unrecognized arguments: c;"),
        ("power --rate 5x", "--rate '5x': not a number or a percentage"),
        ("agents instal claude_code", "action 'instal' does not exist; did you mean install?"),
    ],
)
def test_a_mistake_in_the_options_is_one_line_that_names_help(
    steelyard: Steelyard, words: str, why: str
) -> None:
    verb = words.split(maxsplit=1)[0]
    refused(steelyard(*words.split()), 2, why, f"`steelyard {verb} --help` shows the options")


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("run", "", "--agent", "noop"), "run: CONTRACT"),
        (("run", "contract", "--agent", "noop", "--out", ""), "run: --out/--runs"),
        (("check", ""), "check: CONTRACT"),
        (("grade", "contract", "--patch="), "grade: --patch"),
        (("grade", "contract", "--tree", ""), "grade: --tree"),
        (("certify", ""), "certify: CONTRACT"),
        (("init", ""), "init: FOLDER"),
    ],
)
def test_an_empty_path_is_refused_and_not_taken_for_the_current_folder(
    steelyard: Steelyard, author: Author, words: tuple[str, ...], named: str
) -> None:
    author.write()
    refused(
        steelyard(*words), 2, f"steelyard {named}: the path is empty; is a variable of the shell not set?"
    )


@pytest.mark.parametrize("verb", ["logs", "diff"])
def test_without_a_name_the_newest_run_is_meant(steelyard: Steelyard, verb: str) -> None:
    refused(steelyard(verb), 2, "there are no runs in .steelyard/runs yet")


def test_a_filter_that_matches_no_run_says_how_many_there_are(steelyard: Steelyard, author: Author) -> None:
    assert steelyard("run", author.write(), "--agent", "noop", "--sandbox", "local").code == 1
    assert steelyard("runs", "--agent", "absent").out == "no run in .steelyard/runs matches, of 1\n"


def test_last_without_any_run_is_one_line(steelyard: Steelyard) -> None:
    for verb in ("show", "logs", "diff", "verify"):
        refused(steelyard(verb, "last"), 2, "there are no runs in .steelyard/runs yet")


@pytest.mark.parametrize(("option", "kind"), [("--patch", "file"), ("--tree", "folder")])
def test_a_change_that_is_not_there_is_refused_in_one_line(
    steelyard: Steelyard, author: Author, tmp_path: Path, option: str, kind: str
) -> None:
    result = steelyard("grade", author.write(), option, tmp_path / "absent", "--out", tmp_path / "runs")
    refused(result, 2, f"{option} {tmp_path}/absent", f"there is no such {kind}")
    assert not result.out


def test_a_cap_without_a_number_says_how_to_write_one(steelyard: Steelyard, tmp_path: Path) -> None:
    refused(steelyard("rescore", tmp_path, "--cap", "wall_s"), 2, "write --cap wall_s=60")


def test_an_empty_repository_is_a_warning(steelyard: Steelyard, author: Author) -> None:
    folder = author.write()
    shutil.rmtree(folder / "repo")
    (folder / "repo").mkdir()
    result = steelyard("check", folder)
    assert "repository.tree: the repository has no file" in result.out
