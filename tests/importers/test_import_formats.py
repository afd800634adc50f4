"""Each format of tasks: what becomes of its keys, and which of them are refused, with file, line and key."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from steelyard.errors import ContractFault, OperatorFault, Problem
from steelyard.importers import scorers, swebench
from steelyard.importers.find import Format, find
from steelyard.importers.harbor import task as harbor
from steelyard.importers.harbor.network import NO_HOSTS
from steelyard.importers.task import Options, Task, contract_text
from steelyard.importers.touchstone import case as touchstone
from steelyard.importers.write import write_task


class Wrong(NamedTuple):
    """A change that makes a good task a bad one, and what is said of it."""

    change: tuple[str, str]
    where: str
    field: str
    said: str


def put(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def refusal(convert: Callable[..., Task], *arguments: Any) -> Problem:
    with pytest.raises(ContractFault) as refused:
        convert(*arguments)
    (problem,) = refused.value.problems
    return problem


def assert_told(problem: Problem, wrong: Wrong) -> None:
    assert problem.field == wrong.field
    assert wrong.said in problem.message
    assert wrong.where in problem.where


# SWE-bench

ROW = {
    "instance_id": "ann__cart-1",
    "repo": "ann/cart",
    "base_commit": "a" * 40,
    "problem_statement": "total() is always 0",
    "patch": "--- a/x\n+++ b/x\n",
    "test_patch": "--- a/t\n+++ b/t",
    "FAIL_TO_PASS": '["t.py::test_a"]',
    "PASS_TO_PASS": ["t.py::test_b", "t.py::test_b"],
}


@pytest.fixture
def repos(tmp_path: Path) -> Options:
    (tmp_path / "repos/ann/cart.git").mkdir(parents=True)
    return Options(repos=tmp_path / "repos")


def test_lists_of_ids_may_be_text_and_patches_end_with_a_line(repos: Options) -> None:
    task = swebench.convert(ROW, "rows.jsonl:1", repos)
    (check,) = task.contract["oracle"]["checks"]
    assert (check["fail_to_pass"], check["pass_to_pass"]) == (["t.py::test_a"], ["t.py::test_b"])
    assert task.files["test.patch"].endswith(b"+++ b/t\n")


def test_a_row_may_need_an_image_instead_of_this_machine(repos: Options) -> None:
    image = f"localhost/cart@sha256:{'1' * 64}"
    task = swebench.convert(ROW, "rows.jsonl:1", replace(repos, image=image, install=("pip install -e .",)))
    assert task.contract["environment"] == {"sandbox": "docker", "image": image}
    assert task.contract["setup"] == ["pip install -e ."]


PATCHED = "--- a/t/test_x.py\n+++ b/t/test_x.py\n--- a/x.json\n+++ b/x.json\n--- a/t/a.py\n+++ /dev/null\n"


@pytest.mark.parametrize(
    ("ids", "prefix", "command"),
    [
        (["test_a"], "pytest -q", "pytest -q t/test_x.py"),
        (["it adds two"], "pytest t/test_x.py", "pytest t/test_x.py"),
        (["t/test_x.py::test_a"], "pytest", "pytest"),
        (["test_a (t.test_x.Case)", "It adds."], "python3 runtests.py", "python3 runtests.py"),
    ],
)
def test_ids_that_name_no_place_are_looked_for_in_the_files_of_the_test_patch(
    repos: Options, ids: list[str], prefix: str, command: str
) -> None:
    row = {**ROW, "FAIL_TO_PASS": ids, "PASS_TO_PASS": [], "test_patch": PATCHED}
    task = swebench.convert(row, "rows.jsonl:1", replace(repos, cmd_prefix=prefix))
    assert task.contract["oracle"]["checks"][0]["cmd_prefix"] == command


def test_columns_may_be_left_out_by_a_pattern(repos: Options) -> None:
    row = {**ROW, "image_assets": [], "image_name": "x"}
    assert swebench.convert(row, "rows.jsonl:1", replace(repos, ignore=frozenset({"image_*"})))
    assert swebench.convert(row, "rows.jsonl:1", replace(repos, ignore=frozenset({"*"}))).id == "ann__cart-1"


@pytest.mark.parametrize(
    "name", ["ann/cart", "ann/cart.git", "ann__cart", "ann__cart.bundle", "cart", "cart.git"]
)
def test_a_clone_has_one_of_several_names(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir(parents=True)
    task = swebench.convert(ROW, "rows.jsonl:1", Options(repos=tmp_path))
    assert task.contract["repository"]["git"] == str(tmp_path / name)


@pytest.mark.parametrize(
    ("columns", "field", "said"),
    [
        ({"instance_id": ""}, "instance_id", "is missing"),
        ({"instance_id": None}, "instance_id", "is missing"),
        ({"instance_id": "../up"}, "instance_id", "cannot be the id"),
        ({"instance_id": "a\nb"}, "instance_id", "cannot be the id"),
        ({"repo": "ann/gone"}, "repo", "has no ann/gone"),
        ({"repo": "../../etc"}, "repo", "owner/name"),
        ({"repo": "ann/.."}, "repo", "owner/name"),
        ({"base_commit": "abc"}, "base_commit", "full commit id"),
        ({"problem_statement": " "}, "problem_statement", "is empty"),
        ({"problem_statement": "\ud800"}, "problem_statement", "half a character"),
        ({"FAIL_TO_PASS": "[]"}, "FAIL_TO_PASS", "must not be empty"),
        ({"FAIL_TO_PASS": "['a']"}, "FAIL_TO_PASS", "not a list in JSON"),
        ({"PASS_TO_PASS": [1]}, "PASS_TO_PASS[0]", "expected text"),
        ({"PASS_TO_PASS": ["t.py::test_a"]}, "PASS_TO_PASS", "in FAIL_TO_PASS too"),
        ({"image_assets": []}, "image_assets", "not a column"),
        ({"image_assets": [], "hints": ""}, "image_assets, hints", "not columns"),
        ({"PASS_TO_PASS": "[" * 500 + "]" * 500}, "PASS_TO_PASS", "too deep"),
    ],
)
def test_a_wrong_row_is_refused_by_its_column(
    repos: Options, columns: dict[str, Any], field: str, said: str
) -> None:
    problem = refusal(swebench.convert, {**ROW, **columns}, "rows.jsonl:7", repos)
    assert_told(problem, Wrong(("", ""), "rows.jsonl:7", field, said))


# touchstone

CASE = """\
id: cart
task:
  prompt: Make total() add.
  instruction_files: [notes.md]
source: {path: ./source}
graders:
  - {type: tests, weight: 4.0, cmd: "make test", inject: ["./hidden/test_hidden.py"]}
  - {type: implemented, gate: true, weight: 3}
  - {type: implemented}
  - {type: efficiency, target_tool_calls: 20}
expect: {pass_threshold: 0.9}
"""


@pytest.fixture
def case(tmp_path: Path) -> Path:
    return put(
        tmp_path / "case", {"case.yaml": CASE, "notes.md": "n", "source/a": "a", "hidden/test_hidden.py": ""}
    )


def test_weights_gates_and_thresholds_are_those_of_the_case(case: Path) -> None:
    contract = touchstone.convert(case, Options()).contract
    (check,) = contract["oracle"]["checks"]
    assert (check["id"], check["weight"], check["mandatory"], check["timeout_s"]) == (
        "tests",
        4.0,
        False,
        300,
    )
    assert contract["graders"] == [
        {"type": "implemented", "gate": True},
        {"type": "implemented", "weight": 1.0, "gate": False},
        {"type": "efficiency", "weight": 1.0, "target_tool_calls": 20},
    ]
    assert contract["pass_threshold"] == 0.9


def test_a_case_that_runs_nothing_has_a_check_that_counts_nothing(case: Path) -> None:
    (case / "case.yaml").write_text("id: a\ntask: {prompt: p}\ngraders: [{type: files, patterns: [x]}]\n")
    task = touchstone.convert(case, Options())
    assert task.contract["oracle"]["checks"] == [
        {"id": "nothing", "cmd": "true", "mandatory": False, "weight": 0}
    ]
    assert "none of its graders runs anything" in task.notes


@pytest.mark.parametrize(
    "wrong",
    [
        Wrong(("task:", "fixtures: {repo: a/b, commit: c}\ntask:"), ":2:1", "fixtures", "not supported yet"),
        Wrong(("task:", "container: {image: a}\ntask:"), ":2:1", "container", "not supported yet"),
        Wrong(("  prompt:", "  turns: [more]\n  prompt:"), ":3:3", "task.turns", "not supported yet"),
        Wrong(("  prompt:", "  system_prompt: x\n  prompt:"), ":3:3", "task.system_prompt", "system prompt"),
        Wrong(("id: cart", "id: cart\nname: x"), ":2:1", "name", "unknown key"),
        Wrong(("id: cart", "id: a/b"), ":1:1", "id", "cannot be the id"),
        Wrong(("{path: ./source}", "{path: a, repo: a/b}"), ":5:1", "source", "exactly one"),
        Wrong(("./source", "../../etc"), ":5:10", "source.path", "(..)"),
        Wrong(("./source", "gone"), ":5:10", "source.path", "does not exist"),
        Wrong(("./source", "notes.md"), ":5:10", "source.path", "not a folder"),
        Wrong(("notes.md", "/etc/passwd"), ":4:23", "task.instruction_files", "relative"),
        Wrong(("./hidden/test_hidden.py", "../x.py"), ":7:", "graders[0].inject[0]", "(..)"),
        Wrong(("./hidden/test_hidden.py", "source/../case.yaml"), ":7:", "graders[0].inject[0]", "(..)"),
        Wrong(("type: efficiency", "type: tool_correctness"), ":10:", "graders[3].type", "not supported"),
        Wrong(("type: efficiency", "type: efficient"), ":10:", "graders[3].type", "unknown grader"),
        Wrong(("target_tool_calls: 20", "forbid: 1"), ":10:", "graders[3].forbid", "not supported for efficiency"),
        Wrong(("pass_threshold: 0.9", "pass_threshold: 2"), ":11:", "expect.pass_threshold", ""),
    ],
)  # fmt: skip
def test_what_a_contract_cannot_say_of_a_case_is_refused(case: Path, wrong: Wrong) -> None:
    (case / "case.yaml").write_text(CASE.replace(*wrong.change))
    assert_told(refusal(touchstone.convert, case, Options()), wrong._replace(where=f"case.yaml{wrong.where}"))


# Scorers

SCORERS = """\
- {name: Unit tests, type: command, command: make test, timeout_s: 60}
- {name: scope, type: allowed_paths, patterns: ["*.py"]}
- {name: small, type: max_files_changed, limit: 2}
- {name: no new skips, type: no_new_skips}
"""


@pytest.mark.parametrize(
    "wrong",
    [
        Wrong(("type: no_new_skips", "type: no_skips"), ":4:24", "scorers[3].type", "unknown scorer"),
        Wrong(("limit: 2", "limits: 2"), ":3:42", "scorers[2].limits", "unknown key"),
        Wrong(("name: scope, ", ""), ":2:3", "scorers[1].name", "is missing"),
        Wrong(("name: scope", "name: small"), ":3:4", "scorers[2].name", "small is taken"),
        Wrong(("- {name: small", "- 3\n- {name: small"), ":3:3", "scorers[2]", "a scorer is a mapping"),
    ],
)
def test_a_wrong_scorer_is_refused_with_its_line(tmp_path: Path, wrong: Wrong) -> None:
    put(tmp_path, {"s.yaml": SCORERS.replace(*wrong.change), "brief.md": "b", "tree/a": "a"})
    options = Options(tree=tmp_path / "tree", brief=tmp_path / "brief.md")
    assert_told(refusal(scorers.convert, tmp_path / "s.yaml", options), wrong)


# Harbor

TASK = """\
version = "1.0"

[metadata]
difficulty = "easy"
made = 2026-03-07

[verifier]
timeout_sec = 120.0

[agent]
timeout_sec = 900.0

[environment]
cpus = 1
memory_mb = 4096
storage = "10G"
"""
DOCKERFILE = (
    "FROM debian:12\nRUN apt-get install -y python3\nWORKDIR /app\nCOPY data/ data/\nCOPY main.py .\n"
)
HARBOR = {
    "task.toml": TASK,
    "instruction.md": "Write hello to /app/hello.txt\n",
    "environment/Dockerfile": DOCKERFILE,
    "environment/data/x": "1\n",
    "environment/main.py": "print(1)\n",
    "tests/test.sh": "echo 1 > /logs/verifier/reward.txt\n",
    "solution/solve.sh": "echo hello > /app/hello.txt\n",
    "notes.txt": "mine\n",
}


@pytest.fixture
def task(tmp_path: Path) -> Path:
    return put(tmp_path / "hello", HARBOR)


def test_what_of_the_system_is_the_work_is_said_by_the_task_or_the_operator(task: Path) -> None:
    path = task / "task.toml"
    text = path.read_text()
    path.write_text(f'{text}\n[metadata.steelyard]\nexports = ["/etc/greet/**"]\n')
    found = harbor.convert(task, Options(exports=("/usr/local/bin/greet", "/etc/greet/**")))
    assert found.contract["exports"] == ["/etc/greet/**", "/usr/local/bin/greet"]
    (task / "environment/Dockerfile").write_text(PLAIN)
    assert "outside of the working folder needs docker" in refusal(harbor.convert, task, HERE).message
    path.write_text(f'{text}\n[metadata.steelyard]\nexports = "/etc/greet/**"\n')
    assert refusal(harbor.convert, task, Options()).field == "metadata.steelyard.exports"


def test_a_harbor_task_becomes_a_contract_in_a_container(task: Path) -> None:
    found = harbor.convert(task, Options())
    contract = found.contract
    assert contract["environment"] == {
        "sandbox": "docker",
        "scope": "system",
        "build": "environment",
        "allow_unpinned": True,
        "cpu": 1.0,
        "memory_mb": {"guaranteed": 1024, "limit": 4096},
        "disk_mb": 10240,
    }
    assert contract["oracle"]["checks"] == [
        {"id": "verify", "type": "verifier", "script": "tests/test.sh", "timeout_s": 120.0}
    ]
    assert contract["oracle"]["reference"] == {"script": "solution/solve.sh"}
    assert (contract["reward"], contract["setup_network"]) == ("verifier", "host")
    assert contract["budget"] == {"wall_s": 1020.0, "headroom": {"wall_s": 120.0}}
    assert contract["metadata"] == {"harbor": {"metadata": {"difficulty": "easy", "made": "2026-03-07"}}}
    assert "left behind: notes.txt" in found.notes


def below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_everything_of_a_task_is_taken_as_it_is(task: Path, tmp_path: Path) -> None:
    write_task(harbor.convert(task, Options()), tmp_path / "out")
    assert below(tmp_path / "out/hello") == [
        "brief.md",
        "contract.yaml",
        "environment/Dockerfile",
        "environment/data/x",
        "environment/main.py",
        "solution/solve.sh",
        "tests/test.sh",
    ]
    assert (tmp_path / "out/hello/environment/Dockerfile").read_text() == DOCKERFILE


HERE = Options(sandbox="bubblewrap")
PLAIN = DOCKERFILE.replace("RUN apt-get install -y python3\n", "ENV A=1\n") + "RUN make\n"


def test_without_an_image_its_files_are_the_repository_and_its_commands_the_setup(
    task: Path, tmp_path: Path
) -> None:
    put(task, {"environment/Dockerfile": PLAIN})
    found = harbor.convert(task, HERE)
    environment = found.contract["environment"]
    assert (environment["sandbox"], environment["workdir"], environment["env"]) == (
        "bubblewrap",
        "/app",
        {"A": "1"},
    )
    assert (found.contract["setup"], found.contract["setup_network"]) == (["make"], "host")
    assert any("stands in for its image debian:12" in note for note in found.notes)
    write_task(found, tmp_path / "out")
    files = ["brief.md", "contract.yaml", "repo/data/x", "repo/main.py", "solution/solve.sh", "tests/test.sh"]
    assert below(tmp_path / "out/hello") == files


def test_a_misspelt_instruction_does_not_need_docker(task: Path) -> None:
    put(task, {"environment/Dockerfile": f"{PLAIN}RUNN make\n"})
    problem = refusal(harbor.convert, task, HERE)
    assert problem.message == "RUNN is no instruction"


@pytest.mark.parametrize(
    "dockerfile",
    [
        DOCKERFILE,
        PLAIN.replace("/app", "/root"),
        PLAIN.replace("WORKDIR /app", "WORKDIR /"),
        PLAIN.replace("WORKDIR /app", ""),
        PLAIN.replace("COPY main.py .", "COPY main.py /opt/"),
        f"FROM x AS y\n{PLAIN}",
    ],
)
def test_what_is_about_the_system_needs_docker(task: Path, dockerfile: str) -> None:
    put(task, {"environment/Dockerfile": dockerfile})
    problem = refusal(harbor.convert, task, HERE)
    assert "needs docker" in problem.message
    assert "environment/Dockerfile" in problem.where
    harbor.convert(task, Options())


def test_an_agent_has_exactly_the_time_of_its_task(task: Path) -> None:
    from steelyard.contract.model import Budget

    for own in (1.0, 90.0, 120.0, 900.0):
        (task / "task.toml").write_text(TASK.replace("900.0", str(own)))
        budget = harbor.convert(task, Options()).contract["budget"]
        assert Budget.model_validate(budget).agent_wall_s == own


def test_an_image_is_taken_by_its_name_and_a_workdir(task: Path) -> None:
    (task / "task.toml").write_text(TASK + 'docker_image = "example/hello:1"\nworkdir = "/app"\n')
    environment = harbor.convert(task, Options()).contract["environment"]
    assert (environment["image"], environment["workdir"], environment["allow_unpinned"]) == (
        "example/hello:1",
        "/app",
        True,
    )


def test_a_task_that_wants_a_network_goes_without_only_by_an_option(task: Path) -> None:
    (task / "task.toml").write_text(TASK + "allow_internet = true\n")
    fix = refusal(harbor.convert, task, Options()).fix
    assert "--offline" in fix
    assert "--network HOST:PORT" in fix
    assert any("network" in note for note in harbor.convert(task, Options(offline=True)).notes)


def allowed_hosts(task: Path, said: str, *network: str, **options: Any) -> tuple[Any, Any]:
    """What the agent and the verifier of a task may reach that says this."""
    at, _, line = said.rpartition(": ")
    header = f"[{at}]\n" if at else ""
    text = TASK.replace(header, f"{header}{line}\n") if header in TASK and at else f"{TASK}{header}{line}\n"
    (task / "task.toml").write_text(text)
    contract = harbor.convert(task, Options(network=network, **options)).contract
    return contract["environment"].get("network"), contract["oracle"].get("network")


def test_a_task_that_asks_for_the_internet_gets_the_hosts_of_the_operator(task: Path) -> None:
    given = ["mirror.example:443"]
    for said in ("allow_internet = true", 'network_mode = "public"', ""):
        assert allowed_hosts(task, said, *given) == (given, given)
    assert allowed_hosts(task, "allow_internet = false", *given) == (None, None)
    assert allowed_hosts(task, 'verifier: network_mode = "no-network"', *given) == (given, None)
    assert allowed_hosts(task, 'agent: network_mode = "no-network"', *given) == (None, given)


def test_an_allow_list_of_a_task_becomes_its_allowed_hosts(task: Path) -> None:
    both = ["a.example:443", "a.example:80"]
    hosts = 'network_mode = "allowlist"\nallowed_hosts = ["A.example."]'
    assert allowed_hosts(task, hosts) == (both, both)
    assert allowed_hosts(task, hosts, offline=True) == (None, None)
    assert allowed_hosts(task, 'verifier: allowed_hosts = ["a.example"]') == (None, both)
    assert allowed_hosts(task, 'allowed_hosts = ["*.example"]', "b.example:443") == (["b.example:443"],) * 2


def test_an_allow_list_without_hosts_reaches_nothing_and_says_so(task: Path) -> None:
    assert allowed_hosts(task, 'verifier: network_mode = "allowlist"', "b.example:443") == (
        ["b.example:443"],
        None,
    )
    shown = [note for note in harbor.convert(task, Options()).notes if "allowed_hosts" in note]
    assert shown == [NO_HOSTS.format("verifier")]
    assert NO_HOSTS.format("verifier") not in harbor.convert(task, Options(offline=True)).notes


def test_steps_reach_what_their_task_reaches(task: Path) -> None:
    stepped(task, STEPS.replace("{timeout_sec = 30}", '{network_mode = "no-network"}'))
    assert "network" not in harbor.convert(task, Options()).contract["environment"]
    said = refusal(harbor.convert, task, Options(network=("a.example:443",)))
    assert (said.field, said.message) == (
        "steps[0].agent.network_mode",
        "every agent of a task reaches the same here",
    )


def separate(task: Path, *changes: tuple[str, str], **files: str) -> Any:
    text = TASK
    for change in changes:
        assert change[0] in text
        text = text.replace(*change)
    put(task, {"task.toml": text, **{name.replace("__", "/"): body for name, body in files.items()}})
    return harbor.convert(task, Options()).contract["oracle"]["checks"][0].get("separate")


APART = ("[verifier]", '[verifier]\nenvironment_mode = "separate"')


def test_a_verifier_apart_has_the_image_that_its_task_says(task: Path) -> None:
    outputs = ("version =", 'artifacts = ["/app/x", {source = "/app/y", exclude = ["*.o"]}]\nversion =')
    artifacts = [{"source": "/app/x"}, {"source": "/app/y", "exclude": ["*.o"]}]
    same = separate(task, APART, outputs)
    assert same["artifacts"] == artifacts
    assert not {"image", "build", "brings_tests"} & set(same)
    own = (
        "[agent]",
        '[verifier.environment]\ndocker_image = "x/y:1"\nmemory_mb = 64\nenv = {A = "1"}\n[agent]',
    )
    found = separate(task, own, outputs)
    assert (found["image"], found["allow_unpinned"], found["brings_tests"]) == ("x/y:1", True, True)
    assert (found["memory_mb"], found["env"]) == (64, {"A": "1"})
    built = separate(task, APART, tests__Dockerfile="FROM x\n")
    assert (built["build"], built["brings_tests"]) == ("tests", True)
    assert separate(task) is None
    hook = ("[agent]", '[[verifier.collect]]\ncommand = "dump"\ntimeout_sec = 5\n[agent]')
    assert separate(task, APART, hook)["collect"] == [{"cmd": "dump", "timeout_s": 5.0}]


def test_an_artifact_of_a_verifier_apart_has_an_absolute_path(task: Path) -> None:
    text = TASK.replace(*APART).replace("version =", 'artifacts = ["out"]\nversion =')
    (task / "task.toml").write_text(text)
    assert "no absolute path" in refusal(harbor.convert, task, Options()).message
    assert (
        "needs docker" in refusal(harbor.convert, put(task, {"environment/Dockerfile": PLAIN}), HERE).message
    )


def test_users_of_a_task_are_those_of_the_image(task: Path) -> None:
    def users(text: str, dockerfile: str = DOCKERFILE, sandbox: str | None = None) -> tuple[Any, Any]:
        put(task, {"task.toml": text, "environment/Dockerfile": dockerfile})
        contract = harbor.convert(task, Options(sandbox=sandbox)).contract
        return contract["environment"].get("user"), contract["oracle"]["checks"][0].get("user")

    assert users(TASK.replace("[agent]", '[agent]\nuser = "ann"')) == ("ann", None)
    assert users(TASK.replace("[verifier]", "[verifier]\nuser = 1234")) == (None, 1234)
    assert users(TASK, f"{DOCKERFILE}USER bob\nUSER ann:staff\n") == ("ann:staff",) * 2
    assert users(TASK.replace("[agent]", '[agent]\nuser = "root"'), f"{DOCKERFILE}USER ann\n") == (
        None,
        "ann",
    )
    assert users(TASK, f"{DOCKERFILE}USER $WHO\n") == (None, None)
    assert users(TASK.replace("[agent]", '[agent]\nuser = "ann"'), PLAIN, "bubblewrap") == (None, None)


def test_what_a_task_says_of_itself_may_be_more_than_is_known(task: Path) -> None:
    (task / "task.toml").write_text(f'{TASK}\n[task]\nname = "ann/hello"\nworkstream = "w"\n')
    described = harbor.convert(task, Options()).contract["metadata"]["harbor"]["task"]
    assert described == {"name": "ann/hello", "workstream": "w"}


def test_a_schema_that_is_not_known_is_read_by_its_keys(task: Path) -> None:
    (task / "task.toml").write_text(TASK.replace('"1.0"', '"2.0"'))
    assert "says schema 2.0, and was read as 1.4" in harbor.convert(task, Options()).notes


def test_a_version_beside_the_schema_version_is_the_tasks_own(task: Path) -> None:
    (task / "task.toml").write_text(TASK.replace("version =", 'schema_version = "1.3"\nversion ='))
    found = harbor.convert(task, Options())
    assert found.contract["metadata"]["harbor"]["version"] == "1.0"
    assert not any("schema" in note for note in found.notes)


def test_sources_of_a_task_are_kept_and_decide_nothing(task: Path) -> None:
    (task / "task.toml").write_text(f'{TASK}\n[[sources]]\nurl = "https://a.example"\nlicense = "MIT"\n')
    described = harbor.convert(task, Options()).contract["metadata"]["harbor"]
    assert described["sources"] == [{"url": "https://a.example", "license": "MIT"}]


def test_every_problem_of_a_task_is_reported_at_once(task: Path) -> None:
    changed = TASK.replace(
        "cpus = 1", 'network_mode = "public"\nenv = {A = "${A}", B = "${B}"}\nmemory = "1G"'
    )
    (task / "task.toml").write_text(f'{changed}\n[solution.env]\nC = "${{C}}"\n')
    put(
        task, {"environment/docker-compose.yaml": "x\n", "environment/Dockerfile": f"{DOCKERFILE}VOLUME /x\n"}
    )
    for name in ("tests/test.sh", "instruction.md"):
        (task / name).unlink()
    with pytest.raises(ContractFault) as refused:
        harbor.convert(task, Options())
    said = [problem.field or Path(problem.where).name for problem in refused.value.problems]
    assert said == [
        "docker-compose.yaml",
        "environment.network_mode",
        "Dockerfile:6",
        "environment.env.A",
        "environment.env.B",
        "environment.memory",
        "test.sh",
        "instruction.md",
        "solution.env.C",
    ]


def test_files_are_looked_at_although_a_key_is_wrong(task: Path) -> None:
    (task / "task.toml").write_text(TASK.replace("cpus = 1", "cpu = 1\ngpus = 1"))
    put(task, {"environment/docker-compose.yaml": "x\n"})
    with pytest.raises(ContractFault) as refused:
        harbor.convert(task, Options())
    assert len(refused.value.problems) == 3


def test_a_compose_file_by_another_name_is_a_file_of_the_task(task: Path) -> None:
    """Harbor reads `docker-compose.yaml` only."""
    put(task, {"environment/docker-compose.yml": "services: {}\n"})
    copied = harbor.convert(task, Options()).copied["environment"]
    assert (copied.source / "docker-compose.yml").is_file()
    assert not copied.leave


@pytest.mark.parametrize(
    "wrong",
    [
        Wrong(("[metadata]", "[metadat]"), ":3:1", "metadat", "unknown key"),
        Wrong(("cpus = 1", "cpu = 1"), ":14:1", "environment.cpu", "unknown key"),
        Wrong(("cpus = 1", 'cpus = "1"'), ":14:1", "environment.cpus", "expected a number"),
        Wrong(("cpus = 1", "gpus = 1"), ":14:1", "environment.gpus", "GPUs are not supported"),
        Wrong(("cpus = 1", 'gpu_types = ["T4"]'), ":14:1", "environment.gpu_types", "GPUs"),
        Wrong(("cpus = 1", 'os = "windows"'), ":14:1", "environment.os", "only Linux"),
        Wrong(("cpus = 1", 'skills_dir = "/s"'), ":14:1", "environment.skills_dir", "skills"),
        Wrong(("cpus = 1", 'memory = "1G"'), ":14:1", "environment.memory", "contradicts memory_mb"),
        Wrong(("cpus = 1", 'network_mode = "public"'), ":14:1", "environment.network_mode", "network"),
        Wrong(("cpus = 1", 'network_mode = "allowlist"\nallowed_hosts = ["*.example"]'), ":15:1", "environment.allowed_hosts", "has a wildcard"),
        Wrong(("cpus = 1", 'network_mode = "allowlist"\nallowed_hosts = ["10.0.0.1"]'), ":15:1", "environment.allowed_hosts", "an address"),
        Wrong(("cpus = 1", 'network_mode = "public"\nallowed_hosts = ["a.example"]'), ":15:1", "environment.allowed_hosts", "contradicts"),
        Wrong(("cpus = 1", 'allow_internet = false\nallowed_hosts = ["a.example"]'), ":15:1", "environment.allowed_hosts", "contradicts allow_internet = false"),
        Wrong(("cpus = 1", 'network_mode = "no-network"\nallow_internet = true'), ":15:1", "environment.allow_internet", "contradicts"),
        Wrong(("cpus = 1", 'env = {KEY = "${KEY}"}'), ":14:1", "environment.env.KEY", "from this machine"),
        Wrong(("cpus = 1", 'env = {KEY = "a ${KEY} b"}'), ":14:1", "environment.env.KEY", "from this machine"),
        Wrong(("cpus = 1", "build_timeout_sec = 90000"), ":14:1", "environment.build_timeout_sec", ""),
        Wrong(("cpus = 1", 'workdir = "app"'), ":14:1", "environment.workdir", ""),
        Wrong(("cpus = 1", 'mcp_servers = [{name = "a"}]'), ":14:1", "environment.mcp_servers", "MCP"),
        Wrong(("cpus = 1", 'healthcheck = {command = "x", cmd = "x"}'), ":14:1", "environment.healthcheck.cmd", "unknown key"),
        Wrong(("timeout_sec = 120.0", 'env = {A = "${A}"}'), ":8:1", "verifier.env.A", "from this machine"),
        Wrong(("timeout_sec = 120.0", "environment = {gpus = 1}"), "", "verifier.environment.gpus", "GPUs"),
        Wrong(("timeout_sec = 120.0", 'collect = [{command = "x"}]'), ":8:1", "verifier.collect", "of its own"),
        Wrong(("timeout_sec = 120.0", "timeout_sec = 90000"), ":8:1", "verifier.timeout_sec", ""),
        Wrong(("version =", 'artifacts = [{source = "/app/x", to = "x"}]\nversion ='), ":1:1", "artifacts[0].to", "unknown key"),
        Wrong(("version =", "min_reward = 0.5\nversion ="), ":1:1", "min_reward", "unknown key"),
        Wrong(("version =", 'multi_step_reward_strategy = "mean"\nversion ='), ":1:1", "multi_step_reward_strategy", "no steps"),
        Wrong(("[agent]", '[[steps]]\nname = "a"\n[agent]'), ":10:1", "steps[0].name", "there is no steps/a"),
        Wrong(("[agent]", '[solution.env]\nA = "${A}"\n[agent]'), ":11:1", "solution.env.A", "from this machine"),
        Wrong(("cpus = 1", "cpus = = 1"), ":14:8", "", "not valid TOML"),
        Wrong(("cpus = 1", "cpus = nan"), "task.toml", "", "not valid TOML"),
    ],
)  # fmt: skip
def test_what_a_contract_cannot_say_of_a_task_is_refused(task: Path, wrong: Wrong) -> None:
    changed = TASK.replace(*wrong.change)
    assert changed != TASK
    (task / "task.toml").write_text(changed)
    assert_told(refusal(harbor.convert, task, Options()), wrong)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("instruction.md", None, "does not exist"),
        ("instruction.md", " \n", "is empty"),
        ("tests/test.sh", None, "does not exist"),
        ("environment/Dockerfile", None, "does not exist"),
        ("environment/Dockerfile", "# nothing\n", "has no FROM"),
        ("environment/Dockerfile", DOCKERFILE + "VOLUME /data\n", "VOLUME is not supported"),
        ("environment/Dockerfile", DOCKERFILE + 'ENTRYPOINT ["/start"]\n', "ENTRYPOINT is not supported"),
        ("environment/docker-compose.yaml", "x\n", "several containers"),
        ("steps/one/instruction.md", "x\n", "names no steps"),
    ],
)
def test_a_file_that_is_missing_or_too_much_is_named(
    task: Path, name: str, text: str | None, said: str
) -> None:
    if text is None:
        (task / name).unlink()
    else:
        put(task, {name: text})
    problem = refusal(harbor.convert, task, Options())
    assert said in problem.message
    assert name.split("/", maxsplit=1)[0] in problem.where


@pytest.mark.parametrize("line", ['ENTRYPOINT ["/usr/bin/tini", "--"]', "ENTRYPOINT []", "HEALTHCHECK NONE"])
def test_what_starts_nothing_of_its_own_is_no_obstacle(task: Path, line: str) -> None:
    put(task, {"environment/Dockerfile": f"{PLAIN}{line}\n"})
    harbor.convert(task, Options())
    harbor.convert(task, HERE)


@pytest.mark.parametrize(
    "line",
    [
        'ENTRYPOINT ["tini", "--", "/start"]',
        "ENTRYPOINT /start",
        'ENTRYPOINT ["sh", 1]',
        "HEALTHCHECK CMD true",
    ],
)
def test_what_starts_something_of_its_own_is_refused(task: Path, line: str) -> None:
    put(task, {"environment/Dockerfile": f"{DOCKERFILE}{line}\n"})
    assert "is not supported" in refusal(harbor.convert, task, Options()).message


def test_nothing_is_read_through_links_that_lead_out(task: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret\n")
    for name in ("instruction.md", "task.toml"):
        (task / name).rename(tmp_path / "kept")
        (task / name).symlink_to(tmp_path / "secret")
        assert "symlink" in refusal(harbor.convert, task, Options()).message
        (task / name).unlink()
        (tmp_path / "kept").rename(task / name)


@pytest.mark.parametrize("folder", ["tests", "solution", "environment"])
def test_a_folder_that_is_a_link_out_is_not_copied(task: Path, tmp_path: Path, folder: str) -> None:
    (task / folder).rename(tmp_path / "elsewhere")
    (task / folder).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ContractFault, match=r"symlink|leads out"):
        write_task(harbor.convert(task, Options()), tmp_path / "out")
    assert not list((tmp_path / "out").iterdir() if (tmp_path / "out").exists() else [])


def test_a_pipe_in_the_place_of_a_file_does_not_hang(task: Path) -> None:
    (task / "instruction.md").unlink()
    os.mkfifo(task / "instruction.md")
    assert "is not a file" in refusal(harbor.convert, task, Options()).message


# Steps

STEPS = (
    TASK
    + """
[[steps]]
name = "one"
min_reward = {reward = 0.5}
agent = {timeout_sec = 30}

[[steps]]
name = "two"
verifier = {timeout_sec = 7, env = {A = "1"}}
"""
)


def stepped(task: Path, text: str = STEPS) -> Path:
    return put(
        task,
        {
            "task.toml": text,
            "tests/shared.sh": "",
            **{f"steps/{name}/instruction.md": f"Do {name}.\n" for name in ("one", "two")},
            "steps/one/tests/test.sh": "one\n",
            "steps/two/solution/solve.sh": "two\n",
        },
    )


def test_steps_have_their_own_instruction_tests_and_solution(task: Path, tmp_path: Path) -> None:
    found = harbor.convert(stepped(task), Options())
    one, two = found.contract["steps"]
    assert (one["name"], one["min_reward"], one["wall_s"]) == ("one", 0.5, 30.0)
    assert (two["min_reward"], two["wall_s"]) == (0.0, 900.0)
    assert two["reference"] == {"script": "steps/two/solution/solve.sh"}
    (check,) = two["checks"]
    assert (check["timeout_s"], check["env"], check["script"]) == (7.0, {"A": "1"}, "steps/two/tests/test.sh")
    assert not {"brief_file", "oracle"} & set(found.contract)
    write_task(found, tmp_path / "out")
    texts = {
        name: (tmp_path / f"out/hello/steps/{name}/tests/test.sh").read_text() for name in ("one", "two")
    }
    assert texts == {"one": "one\n", "two": HARBOR["tests/test.sh"]}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("{reward = 0.5}", "{style = 0.5}"), "only the reward decides"),
        (("{timeout_sec = 30}", '{user = "ann"}'), "the same user"),
        (("{timeout_sec = 30}", '{allowed_hosts = ["a.example"]}'), "reaches the same"),
    ],
)
def test_what_a_step_cannot_ask_is_refused(task: Path, change: tuple[str, str], said: str) -> None:
    problem = refusal(harbor.convert, stepped(task, STEPS.replace(*change)), Options())
    assert said in problem.message
    assert problem.field.startswith("steps[")


def test_files_and_health_checks_come_with_a_step(task: Path, tmp_path: Path) -> None:
    text = STEPS.replace('name = "two"', 'name = "two"\nhealthcheck = {command = "true", retries = 7}')
    put(stepped(task, text), {"steps/one/workdir/x/y": "data\n"})
    found = harbor.convert(task, Options())
    one, two = found.contract["steps"]
    assert one["files"] == "steps/one/workdir"
    assert (two["ready"]["cmd"], two["ready"]["retries"], "files" in two) == ("true", 7, False)
    write_task(found, tmp_path / "out")
    assert (tmp_path / "out/hello/steps/one/workdir/x/y").read_text() == "data\n"


def test_a_script_that_sets_up_a_step_is_refused(task: Path) -> None:
    put(stepped(task), {"steps/one/workdir/setup.sh": "make\n"})
    assert "sets up a step" in refusal(harbor.convert, task, Options()).message


# aec-bench

AEC = TASK + 'extensions = []\n\n[tools]\nscripts = ["calc.py"]\n\n[generation]\nseed = 7\n'


def test_an_aec_task_says_where_its_output_goes(task: Path) -> None:
    text = "See /workspace/in.csv. Write `/workspace/out/answer.md`.\n"
    put(
        task,
        {
            "task.toml": AEC,
            "instruction.md": text,
            "environment/Dockerfile": "FROM debian\nWORKDIR /workspace\n",
        },
    )
    found = harbor.convert(task, Options())
    (check,) = found.contract["oracle"]["checks"]
    assert (found.kind, check["expected_output_path"]) == ("an aec-bench task", "/workspace/out/answer.md")
    assert found.contract["metadata"]["aec_bench"]["generation"] == {"seed": 7}
    assert found.contract["environment"]["scope"] == "system"


def test_keys_of_aec_bench_are_unknown_to_harbor(task: Path) -> None:
    (task / "task.toml").write_text(AEC)
    with pytest.raises(ContractFault, match="unknown key"):
        harbor.convert(task, Options(), as_aec=False)


# Finding


def found(*sources: Path, wanted: Format | None = None) -> list[tuple[str, str]]:
    return [(one.format, Path(one.where).name) for one in find(sources, Options(), wanted)]


def test_tasks_are_found_by_their_files(task: Path, case: Path, tmp_path: Path) -> None:
    put(tmp_path, {"old/task.yaml": "", "deep/er/one/task.toml": "", "hello/tests/task.toml": ""})
    assert found(tmp_path) == [
        ("touchstone", "case"),
        ("harbor", "one"),
        ("harbor", "hello"),
        ("terminal-bench", "old"),
    ]
    assert found(tmp_path, wanted="touchstone") == [("touchstone", case.name)]
    assert found(task / "task.toml") == [("harbor", "hello")]


def test_an_old_terminal_bench_task_is_refused_by_name(tmp_path: Path) -> None:
    put(tmp_path, {"task.yaml": "instruction: x\n"})
    (one,) = find([tmp_path], Options())
    assert "terminal-bench 1" in refusal(one.convert).message


def test_a_place_without_tasks_is_the_operators_mistake(tmp_path: Path) -> None:
    put(tmp_path, {"empty/x": "", "x.csv": ""})
    for source, said in (
        (tmp_path / "gone", "does not exist"),
        (tmp_path / "empty", "has no"),
        (tmp_path / "x.csv", "--format"),
    ):
        with pytest.raises(OperatorFault, match=said):
            list(find([source], Options()))


def test_no_link_is_followed_to_tasks(task: Path, tmp_path: Path) -> None:
    (tmp_path / "hello/loop").symlink_to(tmp_path)
    (tmp_path / "linked").symlink_to(task)
    assert found(tmp_path) == [("harbor", "hello")]


def test_notes_cannot_leave_their_comment(task: Path) -> None:
    put(task, {"a\nid: stolen": ""})
    text = contract_text(harbor.convert(task, Options())).decode()
    assert "\nid: stolen" not in text
