"""Contracts with an image, through the command line: tried, graded and refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from containers import container_engine, image

from authoring import FIX, Author, Steelyard

SMALL = {"memory_mb": {"guaranteed": 64, "limit": 512}, "disk_mb": 64, "processes": 64}
NOWHERE = "sha256:" + "0" * 64


def in_docker(**keys: Any) -> dict[str, Any]:
    return {**SMALL, "sandbox": "docker", **keys}


def test_an_agent_and_its_bench_run_in_the_image(author: Author, steelyard: Steelyard, script: Any) -> None:
    contract = author.write(environment=in_docker(image=image().id))
    result = steelyard("run", contract, "--agent", script(FIX), "--json")
    assert (result.code, result.line["verdict"]) == (0, "pass"), result.err
    assert result.line["assurance"]["isolation"] == "container"
    manifest = json.loads(Path(result.line["folder"], "manifest.json").read_text())
    assert manifest["environment"]["image"] == {"id": image().id, "reference": image().id}
    assert manifest["environment"]["limits"]["memory"]["enforced"] == "cgroup"


def test_an_agent_that_does_nothing_fails_in_the_image(author: Author, steelyard: Steelyard) -> None:
    contract = author.write(environment=in_docker(image=image().id))
    result = steelyard("run", contract, "--agent", "command:true", "--json")
    assert (result.code, result.line["verdict"]) == (1, "fail"), result.err


def test_a_deleted_file_is_gone_from_the_bench(author: Author, steelyard: Steelyard) -> None:
    checks = {"checks": [{"id": "gone", "cmd": "test ! -e README.md && test -e add.sh", "timeout_s": 60}]}
    contract = author.write(environment=in_docker(image=image().id), oracle=checks)
    result = steelyard("run", contract, "--agent", "command:rm README.md", "--json")
    assert result.line["verdict"] == "pass", result.err
    assert "deleted file" in Path(result.line["folder"], "patch.diff").read_text()


def test_setup_is_run_once_and_is_under_agent_and_bench(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    checks = {"checks": [{"id": "adds", "cmd": "sh check.sh && cat made.txt ~/.made", "timeout_s": 60}]}
    setup = ["echo 1 > made.txt", "echo 2 > ~/.made", "rm README.md"]
    contract = author.write(environment=in_docker(image=image().id), setup=setup, oracle=checks)
    agent = script(f"cat made.txt ~/.made && test ! -e README.md && git log --oneline && {FIX}")
    result = steelyard("run", contract, "--agent", agent, "--json")
    assert result.line["verdict"] == "pass", result.err
    assert [one["path"] for one in changed(result.line["folder"])] == ["add.sh"]


def changed(folder: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(Path(folder, "change.json").read_text())["entries"]
    return found


def test_a_setup_that_fails_is_the_contracts_fault(author: Author, steelyard: Steelyard) -> None:
    contract = author.write(environment=in_docker(image=image().id), setup=["echo no >&2; exit 4"])
    result = steelyard("run", contract, "--agent", "command:true")
    assert result.code == 2
    assert "exit code 4" in result.err


def test_a_verifier_has_its_tests_and_its_logs(author: Author, steelyard: Steelyard, script: Any) -> None:
    checks = {"checks": [{"id": "reward", "type": "verifier", "script": "tests/test.sh", "timeout_s": 60}]}
    text = "touch /tests/x 2>/dev/null && exit 1\nmkdir -p /logs/verifier\nsh check.sh && echo 1 > /logs/verifier/reward.txt\n"
    contract = author.write({"tests/test.sh": text}, environment=in_docker(image=image().id), oracle=checks)
    result = steelyard("run", contract, "--agent", script(FIX), "--json")
    assert result.line["verdict"] == "pass", result.out + result.err


def test_a_workdir_is_another_name_for_the_workspace(author: Author, steelyard: Steelyard) -> None:
    checks = {"checks": [{"id": "there", "cmd": "test -f /app/new && test -f new", "timeout_s": 60}]}
    environment = in_docker(image=image().id, workdir="/app")
    contract = author.write(environment=environment, oracle=checks)
    result = steelyard("run", contract, "--agent", "command:test $(pwd) = /app && touch /app/new", "--json")
    assert result.line["verdict"] == "pass", result.out + result.err


def test_a_read_only_root_leaves_the_workspace_writable(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    contract = author.write(environment=in_docker(image=image().id, read_only=True))
    agent = script(f"touch /srv/x && exit 1\ntouch ~/x /tmp/x && {FIX}")
    result = steelyard("run", contract, "--agent", agent, "--json")
    assert result.line["verdict"] == "pass", result.out + result.err


def test_an_image_is_built_from_a_folder_of_the_contract(author: Author, steelyard: Steelyard) -> None:
    checks = {"checks": [{"id": "brought", "cmd": "cat /opt/brought", "timeout_s": 60}]}
    files = {"image/Dockerfile": f"FROM {image().id}\nCOPY brought /opt/brought\n", "image/brought": "yes\n"}
    contract = author.write(files, environment=in_docker(build="image"), oracle=checks)
    result = steelyard("run", contract, "--agent", "command:touch x", "--json")
    assert result.line["verdict"] == "pass", result.out + result.err


@pytest.mark.parametrize("command", ["exit 9", "timeout 5 false"])
def test_a_dockerfile_that_fails_is_the_contracts_fault(
    author: Author, steelyard: Steelyard, command: str
) -> None:
    """Whatever words are in its commands."""
    files = {"image/Dockerfile": f"FROM {image().id}\nRUN echo no such luck; {command}\n"}
    contract = author.write(files, environment=in_docker(build="image"))
    result = steelyard("run", contract, "--agent", "command:true")
    assert result.code == 2
    assert "environment.build" in result.err
    assert "no such luck" in result.err


def test_a_patch_is_graded_in_an_image_with_git_and_in_one_without(
    author: Author, steelyard: Steelyard
) -> None:
    files = {"image/Dockerfile": f"FROM {image().id}\nUSER 0\nRUN rm /usr/bin/git\n"}
    for environment in (in_docker(image=image().id), in_docker(build="image")):
        contract = author.write(files, environment=environment, setup=["echo 1 > made.txt"])
        result = steelyard("grade", contract, "--patch", contract / "reference.patch", "--json")
        assert result.line["verdict"] == "pass", result.out + result.err


def test_an_unpinned_base_is_refused(author: Author, steelyard: Steelyard) -> None:
    container_engine()
    files = {"image/Dockerfile": "FROM debian:bookworm\n"}
    result = steelyard(
        "run", author.write(files, environment=in_docker(build="image")), "--agent", "command:true"
    )
    assert result.code == 2
    assert "FROM debian:bookworm is not pinned" in result.err


def test_an_image_that_does_not_exist_is_the_contracts_fault(author: Author, steelyard: Steelyard) -> None:
    container_engine()
    result = steelyard("run", author.write(environment=in_docker(image=NOWHERE)), "--agent", "command:true")
    assert result.code == 2
    assert "is not on this machine" in result.err


def test_a_registry_that_cannot_be_reached_is_the_machines_fault(
    author: Author, steelyard: Steelyard
) -> None:
    container_engine()
    name = f"localhost:1/nothing@{NOWHERE}"
    result = steelyard("run", author.write(environment=in_docker(image=name)), "--agent", "command:true")
    assert result.code == 3
    assert "could not be fetched" in result.err


@pytest.mark.parametrize(
    ("environment", "says"),
    [
        (in_docker(), "exactly one of image, build"),
        (in_docker(image="debian:bookworm"), "by its digest"),
        (in_docker(image=NOWHERE, build="image"), "exactly one of image, build"),
        (in_docker(image=NOWHERE, workdir="/usr/src"), "/usr/src is a system folder"),
        (in_docker(image=NOWHERE, workdir="app"), "workdir"),
        (in_docker(image=NOWHERE, toolchains={"python": "3.11"}), "a container uses what is in its image"),
        ({**SMALL, "image": NOWHERE}, "`image` needs `sandbox: docker`"),
        ({**SMALL, "read_only": True}, "`read_only` needs `sandbox: docker`"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_runs(
    author: Author, steelyard: Steelyard, environment: dict[str, Any], says: str
) -> None:
    result = steelyard("check", author.write(environment=environment))
    assert result.code == 2
    assert says in result.err + result.out


def test_a_build_folder_without_a_dockerfile_is_refused(author: Author, steelyard: Steelyard) -> None:
    result = steelyard("check", author.write({"image/x": ""}, environment=in_docker(build="image")))
    assert result.code == 2
    assert "is not a folder with a Dockerfile" in result.err + result.out


def test_a_missing_engine_is_reported_with_the_command_that_mends_it(
    author: Author, steelyard: Steelyard, tmp_path: Path
) -> None:
    contract = author.write(environment=in_docker(image=NOWHERE))
    nobody = {"DOCKER_HOST": f"unix://{tmp_path}/docker.sock"}
    result = steelyard("run", contract, "--agent", "command:true", env=nobody)
    assert result.code == 3
    assert "no container engine answers" in result.err
    assert "systemctl start docker" in result.err
    assert "--sandbox bubblewrap" in result.err


def test_a_contract_with_an_image_does_not_run_without_it(author: Author, steelyard: Steelyard) -> None:
    contract = author.write(environment=in_docker(image=NOWHERE))
    result = steelyard("run", contract, "--agent", "command:true", "--sandbox", "local")
    assert result.code == 2
    assert "needs an image" in result.err


def test_a_contract_without_an_image_does_not_run_in_docker(author: Author, steelyard: Steelyard) -> None:
    result = steelyard("run", author.write(), "--agent", "command:true", "--sandbox", "docker")
    assert result.code == 2
    assert "names no image" in result.err
    assert "add `environment: {sandbox: docker, image: NAME@sha256:...}` to its contract" in result.err
