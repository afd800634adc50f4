"""SWE-bench rows: which ids are kept, what the command runs, and where the environment of a row comes from."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from steelyard.contract.load import examine_contract
from steelyard.errors import ContractFault, OperatorFault
from steelyard.filesystem.cache import Cache
from steelyard.graders.catalogue import installed_catalogue
from steelyard.importers import swebench
from steelyard.importers.environments import read_environments
from steelyard.importers.find import find, select_tasks
from steelyard.importers.swebench_ids import NO_FILE, is_no_id
from steelyard.importers.task import Options, Task
from steelyard.importers.write import write_task

TEST_PATCH = (
    "--- a/t/test_a.py\n+++ b/t/test_a.py\n@@ -1 +1 @@\n-x\n+y\n"
    "--- /dev/null\n+++ b/t/test_new.py\n@@ -0,0 +1 @@\n+z\n"
    "--- a/t/test_gone.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
)


def git(folder: Path, *words: str) -> str:
    own = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "protocol.file.allow=always"]
    done = subprocess.run(["git", *own, "-C", folder, *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def make_clone(folder: Path, files: Mapping[str, str]) -> str:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "one")
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def options(tmp_path: Path) -> Options:
    return Options(repos=tmp_path / "repos", install=("true",), cmd_prefix="pytest")


@pytest.fixture
def row(tmp_path: Path) -> dict[str, Any]:
    files = {"t/test_a.py": "x\n", "t/test_gone.py": "x\n", "pkg/t/test_deep.py": "x\n"}
    return {
        "instance_id": "ann__cart-1",
        "repo": "ann/cart",
        "version": "2.0",
        "base_commit": make_clone(tmp_path / "repos/ann__cart", files),
        "problem_statement": "total() is always 0",
        "patch": "--- a/x\n+++ b/x\n",
        "test_patch": TEST_PATCH,
        "FAIL_TO_PASS": ["t/test_new.py::test_z"],
        "PASS_TO_PASS": [],
    }


def check_of(task: Task) -> dict[str, Any]:
    (check,) = task.contract["oracle"]["checks"]
    return dict(check)


# Ids


@pytest.mark.parametrize("text", ["[100%]", "[ 45%]", "...", "PASSED", " ", "="])
def test_marks_of_progress_are_no_ids(text: str) -> None:
    assert is_no_id(text)


@pytest.mark.parametrize("text", ["test_x", "test_x[100%]", "Adds one.", "t.py::test", "ö", "it returns [1]"])
def test_names_and_titles_are_ids(text: str) -> None:
    assert not is_no_id(text)


def test_ids_without_a_test_or_a_file_are_left_out_of_pass_to_pass_with_a_note(
    row: dict[str, Any], options: Options
) -> None:
    kept = ["t/test_a.py::test_b", "t/test_new.py::test_c", "t/test_deep.py::test_d", "pkg/t/*::test_e"]
    lost = ["[100%]", "t/test_gone.py::test_f", "t/nowhere.py::test_g"]
    task = swebench.convert({**row, "PASS_TO_PASS": [*kept, *lost]}, "rows.jsonl:1", options)
    assert check_of(task)["pass_to_pass"] == kept
    assert task.notes == (
        "left out of PASS_TO_PASS (not the id of a test): [100%]",
        f"left out of PASS_TO_PASS ({NO_FILE}): t/test_gone.py::test_f, t/nowhere.py::test_g",
    )


def test_fail_to_pass_is_never_shortened(row: dict[str, Any], options: Options) -> None:
    ids = ["[100%]", "t/nowhere.py::test_g"]
    task = swebench.convert({**row, "FAIL_TO_PASS": ids}, "rows.jsonl:1", options)
    assert check_of(task)["fail_to_pass"] == ids


def test_a_bundle_tells_its_files_as_a_clone_does(
    row: dict[str, Any], options: Options, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "cache"))
    git(tmp_path / "repos/ann__cart", "bundle", "create", "-q", str(tmp_path / "b.bundle"), "HEAD")
    (tmp_path / "bundles").mkdir()
    (tmp_path / "b.bundle").rename(tmp_path / "bundles/cart.bundle")
    ids = ["t/test_a.py::test_b", "t/nowhere.py::test_g"]
    task = swebench.convert(
        {**row, "PASS_TO_PASS": ids}, "rows.jsonl:1", replace(options, repos=tmp_path / "bundles")
    )
    assert check_of(task)["pass_to_pass"] == ids[:1]


def test_drop_id_leaves_ids_of_pass_to_pass_out(row: dict[str, Any], options: Options) -> None:
    ids = ["t/test_a.py::test_b[1]", "t/test_a.py::test_c[1]", "t/test_a.py::test_c[2]"]
    drop = ("t/test_a.py::test_b[1]", "t/test_a.py::test_c[*]")
    task = swebench.convert({**row, "PASS_TO_PASS": ids}, "rows.jsonl:1", replace(options, drop_ids=drop[:1]))
    assert check_of(task)["pass_to_pass"] == ids[1:]
    task = swebench.convert({**row, "PASS_TO_PASS": ids}, "rows.jsonl:1", replace(options, drop_ids=drop))
    assert check_of(task)["pass_to_pass"] == []
    assert task.notes == (f"left out of PASS_TO_PASS (--drop-id): {', '.join(ids)}",)


def test_drop_id_does_not_touch_fail_to_pass(row: dict[str, Any], options: Options) -> None:
    with pytest.raises(ContractFault) as refused:
        swebench.convert(row, "rows.jsonl:1", replace(options, drop_ids=("*test_z",)))
    (problem,) = refused.value.problems
    assert (problem.field, problem.where) == ("FAIL_TO_PASS", "rows.jsonl:1")
    assert "decides what a solution is" in problem.message


# The command

TWO_RUNNERS = (
    "--- a/test/specs/x.spec.js\n+++ b/test/specs/x.spec.js\n--- a/test/unit/y.js\n+++ b/test/unit/y.js\n"
)


@pytest.mark.parametrize(
    ("prefix", "command"),
    [
        ("npx mocha --exit test/unit/y.js", "npx mocha --exit test/unit/y.js"),
        ("npx mocha --exit ./test/unit/y.js -g 'a b'", "npx mocha --exit ./test/unit/y.js -g 'a b'"),
        ("npx mocha 'test/unit/**/*.js'", "npx mocha 'test/unit/**/*.js'"),
        ("npx mocha --exit", "npx mocha --exit test/specs/x.spec.js test/unit/y.js"),
        ("npx mocha it's", "npx mocha it's test/specs/x.spec.js test/unit/y.js"),
    ],
)
def test_nothing_is_appended_to_a_command_that_names_a_file_of_the_test_patch(
    row: dict[str, Any], options: Options, prefix: str, command: str
) -> None:
    titles = {"FAIL_TO_PASS": ["http adds"], "test_patch": TWO_RUNNERS}
    task = swebench.convert({**row, **titles}, "rows.jsonl:1", replace(options, cmd_prefix=prefix))
    assert check_of(task)["cmd_prefix"] == command


def test_the_time_and_the_report_of_a_command_are_options(row: dict[str, Any], options: Options) -> None:
    plain = check_of(swebench.convert(row, "rows.jsonl:1", options))
    assert (plain["timeout_s"], plain.get("junit_xml")) == (1800, None)
    result = replace(options, timeout_s=60.0, junit_xml="out/*.xml")
    check = check_of(swebench.convert(row, "rows.jsonl:1", result))
    assert (check["timeout_s"], check["junit_xml"]) == (60.0, "out/*.xml")


# Environments

ENVIRONMENTS = """\
ann/cart:
  "2.0":
    python: "3.9"
    pins: [Werkzeug==2.0.3, "it's==1"]
    install: [python3 -m venv .venv, .venv/bin/pip install -e .]
    setup_network: host
    command: .venv/bin/python -m pytest -q
    timeout_s: 60
  "*": {image: "localhost/cart@sha256:%s"}
"*": {"*": {command: make test}}
""" % ("1" * 64)  # braces are YAML's


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "env.yaml"
    path.write_text(ENVIRONMENTS)
    return path


def test_the_environment_of_a_row_is_that_of_its_repository_and_version(
    row: dict[str, Any], options: Options, file: Path
) -> None:
    task = swebench.convert(row, "rows.jsonl:1", options, read_environments(file))
    assert task.contract["environment"] == {"toolchains": {"python": "3.9"}}
    named = 'export PIP_CONSTRAINT="$HOME/pins.txt" UV_CONSTRAINT="$HOME/pins.txt"'
    assert task.contract["setup"] == [
        "printf '%s\\n' Werkzeug==2.0.3 'it'\"'\"'s==1' > \"$HOME/pins.txt\"",
        f"{named}; python3 -m venv .venv",
        f"{named}; .venv/bin/pip install -e .",
    ]
    assert task.contract["setup_network"] == "host"
    check = check_of(task)
    assert (check["cmd_prefix"], check["timeout_s"]) == (".venv/bin/python -m pytest -q", 60)


@pytest.mark.parametrize("version", ["1.9", None, 3])
def test_an_entry_for_any_version_serves_the_others_with_the_options_beside_it(
    row: dict[str, Any], options: Options, file: Path, version: object
) -> None:
    result = replace(options, python="3.11")
    task = swebench.convert({**row, "version": version}, "rows.jsonl:1", result, read_environments(file))
    assert task.contract["environment"] == {"sandbox": "docker", "image": f"localhost/cart@sha256:{'1' * 64}"}
    assert (task.contract["setup"], check_of(task)["cmd_prefix"]) == (["true"], "pytest")


def test_a_row_that_the_file_does_not_mention_is_refused(
    row: dict[str, Any], options: Options, file: Path
) -> None:
    file.write_text('ann/cart: {"1.0": {python: "3.9"}}\n')
    with pytest.raises(ContractFault) as refused:
        swebench.convert(row, "rows.jsonl:1", options, read_environments(file))
    (problem,) = refused.value.problems
    assert problem.message == f"{file} has no entry for ann/cart 2.0"


@pytest.mark.parametrize(
    ("text", "where", "field", "result"),
    [
        ("a/b: 3\n", ":1:1", "a/b", "mapping of versions"),
        ('a/b: {"1": 3}\n', ":1:7", "a/b.1", "expected a mapping"),
        ('a/b:\n  "1": {pyton: "3.9"}\n', ":2:9", "pyton", "unknown key"),
        ('a/b:\n  "1": {python: 3.9}\n', ":2:9", "python", "expected text"),
        ('a/b:\n  "1": {python: "3.9", image: x}\n', ":2:24", "a/b.1.image", "not both"),
    ],
)
def test_a_wrong_entry_is_refused_with_its_line(
    tmp_path: Path, text: str, where: str, field: str, result: str
) -> None:
    (tmp_path / "env.yaml").write_text(text)
    with pytest.raises(ContractFault) as refused:
        read_environments(tmp_path / "env.yaml")
    (problem,) = refused.value.problems
    assert problem.where == f"{tmp_path}/env.yaml{where}"
    assert problem.field == field
    assert result in problem.message


# One task of many


def test_only_selects_tasks_by_name(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(
        '{"instance_id": "a-1"}\n{"instance_id": "a-2"}\n{"instance_id": "b-1"}\n'
    )
    (tmp_path / "tasks/one").mkdir(parents=True)
    (tmp_path / "tasks/one/task.toml").write_text("")

    def names(*only: str) -> list[str]:
        sources = [tmp_path / "rows.jsonl", tmp_path / "tasks"]
        return [found.name for found in select_tasks(find(sources, Options()), only)]

    assert names() == ["a-1", "a-2", "b-1", "one"]
    assert names("a-*", "one") == ["a-1", "a-2", "one"]
    with pytest.raises(OperatorFault, match="--only c-1: no task here has that name"):
        names("a-1", "c-1")


# Submodules


@pytest.fixture
def nested(tmp_path: Path, row: dict[str, Any]) -> dict[str, Any]:
    """ann/cart with bob/lib at lib, which has ann/deep at deep."""
    repos = tmp_path / "repos"
    make_clone(repos / "deep", {"d.txt": "d\n"})
    make_clone(repos / "bob__lib", {"l.txt": "l\n"})
    git(repos / "bob__lib", "submodule", "--quiet", "add", str(repos / "deep"), "deep")
    git(repos / "bob__lib", "config", "-f", ".gitmodules", "submodule.deep.url", "https://h.example/ann/deep")
    git(repos / "bob__lib", "commit", "-qam", "two")
    git(repos / "ann__cart", "submodule", "--quiet", "add", str(repos / "bob__lib"), "lib")
    git(repos / "ann__cart", "config", "-f", ".gitmodules", "submodule.lib.url", "../../bob/lib.git")
    git(repos / "ann__cart", "commit", "-qam", "two")
    return {**row, "base_commit": git(repos / "ann__cart", "rev-parse", "HEAD")}


def test_submodules_come_from_clones_beside_the_repository(
    nested: dict[str, Any], options: Options, tmp_path: Path
) -> None:
    task = swebench.convert(nested, "rows.jsonl:1", replace(options, submodules=True))
    repos = tmp_path / "repos"
    assert task.contract["repository"]["submodules"] == {
        "lib": str(repos / "bob__lib"),
        "lib/deep": str(repos / "deep"),
    }
    write_task(task, tmp_path / "out")
    contract, _ = examine_contract(
        tmp_path / "out/ann__cart-1", installed_catalogue(), Cache(tmp_path / "cache")
    )
    assert {"lib/l.txt", "lib/deep/d.txt"} <= {*contract.snapshot.entries}


def test_submodules_are_left_empty_without_the_option(nested: dict[str, Any], options: Options) -> None:
    assert "submodules" not in swebench.convert(nested, "rows.jsonl:1", options).contract["repository"]


def test_a_submodule_without_a_clone_is_named(
    nested: dict[str, Any], options: Options, tmp_path: Path
) -> None:
    (tmp_path / "repos/deep").rename(tmp_path / "elsewhere")
    with pytest.raises(ContractFault) as refused:
        swebench.convert(nested, "rows.jsonl:1", replace(options, submodules=True))
    (problem,) = refused.value.problems
    assert problem.message == "the submodule lib/deep needs a clone of ann/deep"
