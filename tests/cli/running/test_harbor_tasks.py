"""Task folders in Harbor's format, run as they are: the reference earns 1, doing nothing 0, and cheats do not pass."""

from __future__ import annotations

import contextlib
import functools
import shutil
import socket
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml
from containers import container_engine, image

from authoring import ROOT, Steelyard

TASKS = ROOT / "tests/harbor_tasks"
HERE = ("hello-file", "many-rewards", "settings", "two-steps")  # what goes without an image
ATTACKED = ("apart", "whole-system")
ALL = (*HERE, "image-only", "own-user", *ATTACKED)

CHEATS = {
    "reward.sh": (
        "mkdir -p /logs/verifier; echo 1 > /logs/verifier/reward.txt; echo '{\"reward\": 1}' > /logs/verifier/reward.json"
    ),
    "tests.sh": (
        "mkdir -p /tests; for f in test.sh test_outputs.py check.sh lib/checks.sh; do\n"
        "  echo 'echo 1 > /logs/verifier/reward.txt; passed() { :; }; exit 0' > /tests/$f; done; chmod 755 /tests/test.sh"
    ),
    "tools.sh": (
        "printf '#!/bin/sh\\necho 1 > /logs/verifier/reward.txt\\nexit 0\\n' > tool; chmod 755 tool\n"
        'for d in /usr/local/bin /usr/bin "$HOME/.local/bin" "$HOME/bin" .; do mkdir -p $d\n'
        "  for t in python3 pytest bash sh cat grep sed git stat nproc greet; do cp tool $d/$t; done; done\n"
        "for f in .bashrc .profile .bash_profile; do echo 'echo 1 > /logs/verifier/reward.txt' > $HOME/$f; done\n"
        "echo 'raise SystemExit(0)' | tee unittest.py sitecustomize.py conftest.py > json.py\n"
        "cp $HOME/.bashrc /etc/profile; cp $HOME/.bashrc /etc/bash.bashrc; cp tool /root/greet"
    ),
    "process.sh": (
        "setsid bash -c 'while :; do mkdir -p /logs/verifier; echo 1 > /logs/verifier/reward.txt; sleep 0.01; done' "
        ">/dev/null 2>&1 & sleep 0.1"
    ),
}  # fmt: skip


@functools.cache
def tagged() -> None:
    """The tests' image by the name that the task folders have for it."""
    query = {"repo": "localhost/steelyard-tests", "tag": "tasks"}
    container_engine().call("POST", f"/images/{image().id}/tag", None, query)


def test_what_a_link_of_a_task_leads_to_is_in_its_digest(steelyard: Steelyard, tmp_path: Path) -> None:
    folder = tmp_path / "linked"
    shutil.copytree(TASKS / "hello-file", folder)
    (folder / "tests").rename(folder / "real")
    (folder / "tests").symlink_to("real")

    def digest() -> str:
        return str(steelyard("check", folder, "--sandbox", "bubblewrap", "--json").line["digest"])

    before = digest()
    script = folder / "real/test.sh"
    script.write_text(f"{script.read_text()}\n# stricter\n")
    assert digest() != before


def trials(
    steelyard: Steelyard, tmp_path: Path, task: str, sandbox: str, cheats: Iterable[str] = CHEATS
) -> dict[str, dict[str, Any]]:
    """The reference, nothing, and each cheat: agent -> its result."""
    agents = ["reference", "noop"]
    for name in cheats:
        (tmp_path / name).write_text(f"{CHEATS[name]}\nexit 0\n")
        agents.append(f"script:{tmp_path / name}")
    words = [word for agent in agents for word in ("--agent", agent)]
    result = steelyard("run", TASKS / task, *words, "--sandbox", sandbox, "--json", "--jobs", "2")
    assert len(result.lines) == len(agents), result.err
    return {line["agent"]: line for line in result.lines}


@pytest.mark.parametrize("task", ALL)
def test_a_task_runs_in_its_container(steelyard: Steelyard, tmp_path: Path, task: str) -> None:
    """A task that also goes without its image is attacked there; every cheat is tried where a container makes the most difference."""
    tagged()
    some = ["tools.sh", "process.sh"] if task in {"image-only", "own-user"} else []
    judge(trials(steelyard, tmp_path, task, "docker", CHEATS if task in ATTACKED else some))


BUILDKIT = """# syntax=docker/dockerfile:1
FROM localhost/steelyard-tests:tasks
ENV WHO=ann
RUN --mount=type=cache,target=/var/cache/x --mount=type=bind,source=seed.txt,target=/tmp/seed.txt <<EOF
mkdir -p /app
cat /tmp/seed.txt > /app/seed
EOF
RUN cat <<'END' > /app/raw && echo more >> /app/raw
$WHO
END
COPY <<EOF /app/who
$WHO
EOF
WORKDIR /app
"""
VERIFIER = """[ "$(cat seed raw who)" = "$(printf 'seed\\n$WHO\\nmore\\nann')" ] && [ ! -e /tmp/seed.txt ] && [ -f hello ]
echo $((1 - $?)) > /logs/verifier/reward.txt
"""


def test_here_documents_and_mounts_of_a_dockerfile_are_built(steelyard: Steelyard, tmp_path: Path) -> None:
    tagged()
    folder = tmp_path / "task"
    shutil.copytree(TASKS / "hello-file", folder)
    (folder / "environment/Dockerfile").write_text(BUILDKIT)
    (folder / "environment/seed.txt").write_text("seed\n")
    (folder / "tests/test.sh").write_text(VERIFIER)
    (folder / "solution/solve.sh").write_text("touch /app/hello\n")
    result = steelyard("run", folder, "--agent", "reference", "--json")
    assert result.code == 0, result.out + result.err


@pytest.mark.parametrize("task", HERE)
def test_a_task_runs_without_its_image(steelyard: Steelyard, tmp_path: Path, task: str) -> None:
    judge(trials(steelyard, tmp_path, task, "bubblewrap"))


def judge(results: dict[str, dict[str, Any]]) -> None:
    reference, idle = results.pop("reference"), results.pop("noop")
    assert (reference["verdict"], reference["reward"]) == ("pass", 1.0), reference
    assert (idle["verdict"], idle["reward"]) == ("fail", 0.0), idle
    assert {name: line["verdict"] for name, line in results.items()} == dict.fromkeys(results, "fail")
    assert {line["status"] for line in (idle, *results.values())} == {"scorable"}


@pytest.mark.parametrize(
    ("task", "result"), [("image-only", "what is in an image"), ("whole-system", "outside of")]
)
def test_what_cannot_go_without_an_image_needs_docker(steelyard: Steelyard, task: str, result: str) -> None:
    shown = steelyard("run", TASKS / task, "--agent", "noop", "--sandbox", "bubblewrap")
    assert shown.code == 2
    assert result in shown.err
    assert "needs docker" in shown.err


def test_the_same_bytes_are_the_same_contract(steelyard: Steelyard, tmp_path: Path) -> None:
    shutil.copytree(TASKS / "settings", tmp_path / "settings")
    one, other = (steelyard("check", top / "settings", "--json").line for top in (TASKS, tmp_path))
    assert one["ok"], one
    assert one["digest"] == other["digest"]
    (tmp_path / "settings/tests/test.sh").write_text("echo 1 > /logs/verifier/reward.txt\n")
    assert steelyard("check", tmp_path / "settings", "--json").line["digest"] != one["digest"]


def test_a_task_that_is_too_large_is_refused_before_it_is_read(steelyard: Steelyard, tmp_path: Path) -> None:
    shutil.copytree(TASKS / "settings", tmp_path / "settings")
    with (tmp_path / "settings/environment/giant").open("wb") as file:
        file.truncate(1 << 40)
    result = steelyard("check", tmp_path / "settings/task.toml")
    assert result.code == 2
    assert "larger than 2 GiB" in result.out


def test_a_folder_of_tasks_is_a_suite(steelyard: Steelyard) -> None:
    result = steelyard("check", TASKS, "--json")
    assert result.code == 0, result.out
    assert [line["id"] for line in result.lines] == sorted([*set(ALL) - {"many-rewards"}, "ann-many-rewards"], key=lambda name: name.removeprefix("ann-"))  # fmt: skip


def test_a_task_that_is_refused_is_reported_as_by_import(steelyard: Steelyard, tmp_path: Path) -> None:
    shutil.copytree(TASKS / "settings", tmp_path / "settings")
    path = tmp_path / "settings/task.toml"
    path.write_text(path.read_text().replace("memory_mb = 512", "gpus = 1"))
    for verb in (["check"], ["run", "--agent", "noop"]):
        result = steelyard(verb[0], tmp_path / "settings", *verb[1:])
        assert result.code == 2
        assert f"{path}:17:1: environment.gpus: GPUs are not supported" in result.out + result.err


def test_a_variable_of_this_machine_is_taken_only_when_named(steelyard: Steelyard, tmp_path: Path) -> None:
    shutil.copytree(TASKS / "settings", tmp_path / "settings")
    path = tmp_path / "settings/task.toml"
    path.write_text(path.read_text().replace('"morning"', '"${DAYTIME}"'))
    refused = steelyard("check", tmp_path / "settings", env={"DAYTIME": "morning"})
    assert "solution.env.ANSWER: takes the value of DAYTIME from this machine" in refused.out
    words = ["--agent", "reference", "--sandbox", "bubblewrap", "--take-env", "DAYTIME", "--json"]
    result = steelyard("run", tmp_path / "settings", *words, env={"DAYTIME": "morning"})
    assert result.line["verdict"] == "pass", result.out + result.err
    other = steelyard("run", tmp_path / "settings", *words, env={"DAYTIME": "evening"})
    assert other.line["verdict"] == "fail"
    assert other.line["contract"] == result.line["contract"]
    unset = steelyard("check", tmp_path / "settings", "--take-env", "DAYTIME")
    assert "takes the value of DAYTIME from this machine, which has none" in unset.out


def test_a_taken_value_is_in_no_contract_and_no_record(steelyard: Steelyard, tmp_path: Path) -> None:
    shutil.copytree(TASKS / "settings", tmp_path / "settings")
    path = tmp_path / "settings/task.toml"
    path.write_text(path.read_text().replace('"morning"', '"${DAYTIME}"'))
    value = "a-value-that-nothing-may-write-down"
    options = ("--take-env", "DAYTIME", "--sandbox", "bubblewrap")
    env = {"DAYTIME": value}
    assert (
        steelyard("import", path.parent, "--out", tmp_path / "out", "--no-check", *options, env=env).code == 0
    )
    contract = yaml.safe_load((tmp_path / "out/settings/contract.yaml").read_text())
    assert contract["oracle"]["reference"]["env"] == {"ANSWER": "${DAYTIME}"}
    assert contract["environment"]["host_variables"] == ["DAYTIME"]
    words = ("run", tmp_path / "out/settings", "--agent", "noop", "--out", tmp_path / "runs", "--json")
    run = steelyard(*words, "--take-env", "DAYTIME", env=env)
    assert run.line["verdict"] == "fail"
    files = [*(tmp_path / "out").rglob("*"), *(tmp_path / "runs").rglob("*")]
    assert not [file for file in files if file.is_file() and value.encode() in file.read_bytes()]
    missing = steelyard(*words, "--take-env", "DAYTIME")
    assert (missing.code, "set DAYTIME" in missing.err) == (2, True)


def test_a_task_that_is_never_ready_is_the_contracts_fault(steelyard: Steelyard, tmp_path: Path) -> None:
    shutil.copytree(TASKS / "settings", tmp_path / "settings")
    path = tmp_path / "settings/task.toml"
    path.write_text(path.read_text().replace("test -f seed.txt", "echo not yet; exit 3"))
    result = steelyard("run", tmp_path / "settings", "--agent", "reference", "--sandbox", "bubblewrap")
    assert result.code == 2
    assert "environment.healthcheck: never ready: exit code 3: not yet" in result.err


def test_problems_of_a_task_name_the_folder_that_was_typed(steelyard: Steelyard, tmp_path: Path) -> None:
    folder = tmp_path / "hello"
    shutil.copytree(TASKS / "hello-file", folder)
    (folder / "tests/broken.py").write_text("def (:\n")
    (folder / "solution/solve.sh").write_text("exit 0\n")
    result = steelyard("check", folder, "--reference", "--sandbox", "bubblewrap")
    head, *shown = result.out.splitlines()
    assert head == f"wrong  {folder}"
    assert shown[0].startswith(f"  {folder}: solution/solve.sh: must pass, but the result is fail")
    assert any(f"warning: {folder}/tests/broken.py:1: is not valid Python" in line for line in shown), (
        result.out
    )
    assert "imported" not in result.out


def test_a_user_whose_home_is_not_there_works_all_the_same(steelyard: Steelyard, tmp_path: Path) -> None:
    tagged()
    shutil.copytree(TASKS / "own-user", tmp_path / "own-user")
    path = tmp_path / "own-user/environment/Dockerfile"
    path.write_text(
        path.read_text().replace("chown 1234:1234 /app /home/ann", "chown 1234 /app; rm -r /home/ann")
    )
    (tmp_path / "mine.sh").write_text("id -un > /app/name\n")
    result = steelyard("run", tmp_path / "own-user", "--agent", f"script:{tmp_path / 'mine.sh'}", "--json")
    assert result.line["verdict"] == "pass", result.out + result.err


def test_a_user_that_the_image_has_not_is_the_contracts_fault(steelyard: Steelyard, tmp_path: Path) -> None:
    tagged()
    shutil.copytree(TASKS / "own-user", tmp_path / "own-user")
    path = tmp_path / "own-user/task.toml"
    path.write_text(path.read_text().replace('"ann"', '"bob"'))
    result = steelyard("run", tmp_path / "own-user", "--agent", "noop")
    assert result.code == 2
    assert "environment.user: the image has no user bob" in result.err


ARTIFACTS = {
    "link.sh": "ln -s /tests/expected.txt /app/out/sorted.txt",
    "folder.sh": "rm -r /app/out; ln -s /tests /app/out",
    "by_link.sh": "mkdir -p /app/out/x/y; ln -s /logs/artifacts /app/out/x/y/up; ln -s x/y/up/../../tests/expected.txt /app/out/sorted.txt",
    "published.sh": "mkdir -p /logs; ln -s /tests /logs/artifacts; ln -s /logs/artifacts/expected.txt /app/out/sorted.txt; exit 0",
    "circle.sh": "rm -r /app/out; ln -s /app/out /app/out; ln -s note.txt /app/note.txt; mkdir -p /logs; ln -s artifacts /logs/artifacts; exit 0",
    "circle_above.sh": "cd /; rm -r /app; ln -s app /app; rm -rf /logs; echo > /logs; exit 0",
    "above.sh": "mkdir /srv/x; cp -r /app/out /srv/x; cd /; rm -r /app; ln -s /srv/x /app",
    "pipe.sh": "mkfifo /app/out/sorted.txt /app/note.txt",
    "huge.sh": "truncate -s 5G /app/out/sorted.txt",
    "many.sh": "cd /app/out; mkdir -p $(seq -s / 500)",
    "logs.sh": "mkdir -p /logs/artifacts /logs/verifier; ln -s ../verifier/reward.txt /logs/artifacts/said.txt; echo 1 > /logs/verifier/reward.txt",
}  # fmt: skip


def test_no_artifact_fools_or_breaks_a_verifier_apart(steelyard: Steelyard, tmp_path: Path) -> None:
    tagged()
    words = []
    for name, text in ARTIFACTS.items():
        (tmp_path / name).write_text(
            f"{text}\nmkdir -p /logs/artifacts; echo done > /logs/artifacts/said.txt\n"
            "setsid sleep 4321 > /dev/null 2>&1 &\nexit 0\n"
        )
        words += ["--agent", f"script:{tmp_path / name}"]
    result = steelyard("run", TASKS / "apart", *words, "--json", "--jobs", "2")
    found = {
        line["agent"].removeprefix("script:"): (line["verdict"], line["status"]) for line in result.lines
    }
    assert found == dict.fromkeys(ARTIFACTS, ("fail", "scorable")), result.out + result.err


@pytest.mark.parametrize("sandbox", ["bubblewrap", "docker"])
def test_a_task_that_asks_for_the_internet_reaches_the_hosts_that_are_allowed(
    steelyard: Steelyard, tmp_path: Path, sandbox: str
) -> None:
    if sandbox == "docker":
        tagged()
    task = tmp_path / "hello-file"
    shutil.copytree(TASKS / "hello-file", task)
    settings, script = task / "task.toml", task / "tests/test.sh"
    settings.write_text(settings.read_text().replace("[environment]", "[environment]\nallow_internet = true"))
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=greet, args=(server,), daemon=True).start()
        port = server.getsockname()[1]
        asks = f'exec 3<>/dev/tcp/host.internal/{port} && read -r said <&3 && [ "$said" = hello ] || exit 1\n'
        script.write_text(
            f"{asks}{script.read_text()}"
        )  # and so it begins with no #!, though it is executable
        words = ["--agent", "reference", "--sandbox", sandbox, "--json"]
        refused = steelyard("run", task, *words)
        assert "--network HOST:PORT" in refused.err
        result = steelyard("run", task, *words, "--network", f"host.internal:{port}")
        assert result.line["verdict"] == "pass", result.out + result.err
        alone = steelyard("run", task, *words, "--offline")
    assert alone.line["verdict"] != "pass"


def greet(server: socket.socket) -> None:
    with contextlib.suppress(OSError):  # closed when the test ends
        while True:
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"hello\n")
