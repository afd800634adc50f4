"""The manifest names everything that a run could be rebuilt from."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from containers import image

from authoring import Author, Steelyard, payloads
from steelyard.execution.prepare import sandbox_fields
from steelyard.sandboxes.base import Facts


@pytest.fixture
def manifest(steelyard: Steelyard, author: Author) -> dict[str, Any]:
    contract = author.write(
        files={"repo/requirements.lock": "six==1.16.0\n"},
        environment={"toolchains": {"python": "3"}, "env": {"LEVEL": "7"}, "disk_mb": 64},
        setup=["echo made > made.txt"],
    )
    line = steelyard("run", contract, "--agent", "noop", "--json").line
    data: dict[str, Any] = json.loads((Path(line["folder"]) / "manifest.json").read_bytes())
    return data


def test_it_names_what_a_rebuild_needs(manifest: dict[str, Any]) -> None:
    assert len(manifest["repository"]["content_root"]) == 64
    assert manifest["repository"]["submodules"] == []
    assert manifest["harness"]["entry_points"] == {
        "install": ["echo made > made.txt"],
        "build": {},
        "acceptance": {"adds": "sh check.sh"},
    }
    assert manifest["seeds"]["protocol"] == 20260307
    assert manifest["environment"]["declared_env"] == {"LEVEL": "7"}
    assert manifest["environment"]["setup"]["network"] == "offline"
    assert set(manifest["environment"]["package_managers"]) == {"pip", "npm"}


def test_it_has_the_digest_of_every_lock_file(manifest: dict[str, Any]) -> None:
    (lock,) = manifest["repository"]["lock_files"]
    digest = hashlib.sha256(b"six==1.16.0\n").hexdigest()
    assert lock == {"path": "requirements.lock", "sha256": digest, "date": None}  # a folder has no dates


def test_it_says_of_each_limit_how_it_is_enforced(manifest: dict[str, Any]) -> None:
    limits = manifest["environment"]["limits"]
    assert set(limits) == {"cpu", "memory", "disk", "processes"}
    assert limits["disk"] == {"value": 64, "unit": "MiB", "enforced": "tmpfs"}
    assert all(
        limit["enforced"] in {"cgroup", "rlimit", "polled", "tmpfs", "none"} for limit in limits.values()
    )


def test_it_names_the_toolchain_that_was_really_used(manifest: dict[str, Any]) -> None:
    (python,) = manifest["environment"]["toolchains"]
    assert python["wanted"] == "3"
    assert python["version"].startswith("3.")


def made(steelyard: Steelyard, contract: Path, **env: str) -> dict[str, Any]:
    line = steelyard("run", contract, "--agent", "noop", "--json", env=env).line
    data: dict[str, Any] = json.loads((Path(line["folder"]) / "manifest.json").read_bytes())
    return data


def test_what_a_contract_declares_none_of_is_declared_absent(steelyard: Steelyard, author: Author) -> None:
    environment = made(steelyard, author.write())["environment"]
    absent = ["env", "files", "lock_files", "registries", "secrets", "setup"]
    assert environment["declared_absent"] == absent
    assert environment["declared_files"] == []


def test_what_is_declared_is_not_absent(manifest: dict[str, Any]) -> None:
    assert manifest["environment"]["declared_absent"] == ["files", "registries", "secrets"]


def test_files_that_come_with_a_step_are_declared_with_their_digests(
    steelyard: Steelyard, author: Author
) -> None:
    check = {"id": "there", "cmd": "test -e data.csv", "timeout_s": 60}
    steps = [{"name": "one", "brief": "One.", "checks": [check], "files": "given"}]
    folder = author.write({"given/data.csv": "1,2\n"}, oracle={}, steps=steps)
    written = folder / "contract.yaml"
    written.write_text(written.read_text().replace("brief: Make add() add.\n", "", 1))
    digest = hashlib.sha256(b"1,2\n").hexdigest()
    declared = made(steelyard, folder)["environment"]["declared_files"]
    assert declared == [{"path": "data.csv", "sha256": digest, "for": "step one"}]


def test_registries_of_repository_and_contract_are_named(steelyard: Steelyard, author: Author) -> None:
    contract = author.write(
        files={"repo/.npmrc": "registry=https://mirror.example/\n"},
        environment={"env": {"PIP_INDEX_URL": "https://mirror.example/simple"}, "disk_mb": 64},
    )
    environment = made(steelyard, contract)["environment"]
    digest = hashlib.sha256(b"registry=https://mirror.example/\n").hexdigest()
    assert environment["registries"] == {
        "files": [{"path": ".npmrc", "sha256": digest}],
        "variables": ["PIP_INDEX_URL"],
        "setup_network": "none",
        "machine": None,
    }
    assert "registries" not in environment["declared_absent"]


def test_a_setup_that_may_fetch_records_the_mirrors_of_this_machine(
    steelyard: Steelyard, author: Author
) -> None:
    contract = author.write(setup=["true"], setup_network="host")
    mirror = "https://ann:hunter2@mirror.example/simple"
    environment = made(steelyard, contract, PIP_INDEX_URL=mirror, NPM_CONFIG__AUTH="hunter2")["environment"]
    shown = environment["registries"]["machine"]["variables"]
    assert shown["PIP_INDEX_URL"] == "https://[redacted]@mirror.example/simple"
    assert shown["NPM_CONFIG__AUTH"] == "[redacted]"
    assert "hunter2" not in json.dumps(environment)


def test_a_lock_file_of_a_commit_has_the_date_of_its_last_change(
    steelyard: Steelyard, author: Author, tmp_path: Path
) -> None:
    source = tmp_path / "source"
    source.mkdir()
    who = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a"}
    who |= {"GIT_COMMITTER_EMAIL": "a@b", "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}

    def git(*words: str, date: str = "") -> str:
        dated = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date} if date else {}
        done = subprocess.run(
            ["git", *words], cwd=source, env={**who, **dated}, capture_output=True, check=True
        )
        return done.stdout.decode().strip()

    git("init", "-q")
    (source / "uv.lock").write_text("version = 1\n")
    (source / "check.sh").write_text("true\n")
    git("add", ".")
    git("commit", "-qm", "locked", date="2026-01-02T03:04:05Z")
    (source / "check.sh").write_text("exit 0\n")
    git("commit", "-qam", "later", date="2026-02-02T00:00:00Z")
    repository = {"git": str(source), "commit": git("rev-parse", "HEAD")}
    checks = {"checks": [{"id": "adds", "cmd": "sh check.sh", "timeout_s": 60}]}
    (lock,) = made(steelyard, author.write(repository=repository, oracle=checks))["repository"]["lock_files"]
    assert (lock["path"], lock["date"]) == ("uv.lock", "2026-01-02T03:04:05Z")


def test_entry_points_are_split_by_what_they_are_for(steelyard: Steelyard, author: Author) -> None:
    checks = [{"id": "builds", "under": "build", "cmd": "true", "timeout_s": 60}]
    checks += [{"id": "adds", "cmd": "sh check.sh", "timeout_s": 60}]
    contract = author.write(setup=["echo made > made.txt"], oracle={"checks": checks})
    written = contract / "contract.yaml"
    written.write_text(written.read_text().replace("build: none\n", "", 1))
    assert made(steelyard, contract)["harness"]["entry_points"] == {
        "install": ["echo made > made.txt"],
        "build": {"builds": "true"},
        "acceptance": {"adds": "sh check.sh"},
    }


def test_messages_are_recorded_by_the_digest_of_what_is_delivered(
    steelyard: Steelyard, author: Author
) -> None:
    contract = author.write(hints=["look at add.sh"], turns=["And now?"])
    line = steelyard("run", contract, "--agent", "command:true", "--json").line
    data = json.loads((Path(line["folder"]) / "manifest.json").read_bytes())
    assert [one["sha256"] for one in data["messages"]] == [one["digest"] for one in payloads(line, "brief")]


def test_each_part_of_the_configuration_has_a_digest(steelyard: Steelyard, author: Author) -> None:
    before = made(steelyard, author.write())["configuration"]["digests"]
    after = made(steelyard, author.write(budget={"wall_s": 50}))["configuration"]["digests"]
    assert {name for name in before if before[name] != after[name]} == {"budget"}


def test_the_package_managers_of_an_image_are_asked_for_their_versions(
    steelyard: Steelyard, author: Author
) -> None:
    """The image has npm where this machine has it, and no pip."""
    small = {"memory_mb": {"guaranteed": 64, "limit": 512}, "disk_mb": 64, "processes": 64}
    contract = author.write(environment={**small, "sandbox": "docker", "image": image().id})
    found = made(steelyard, contract)["environment"]["package_managers"]
    assert set(found) == ({"npm"} if shutil.which("npm") else set())
    assert all(version[:1].isdigit() for version in found.values())


ISOLATION = {
    "environment.sandbox": {"kind": "local"},
    "environment.isolation": {"isolation": "none"},
    "environment.run_uid": {"run_uid": 4242},
    "environment.network": {"network": "host"},
    "environment.kernel_evidence.seen": {"kernel_evidence": ("connects",)},
    "environment.limits.memory.enforced": {"limits": {"memory": "none"}},
}


@pytest.mark.parametrize(("field", "change"), ISOLATION.items(), ids=ISOLATION)
def test_a_sandbox_that_is_not_what_the_manifest_says_is_found_by_its_field(
    field: str, change: dict[str, Any]
) -> None:
    limits: dict[str, Any] = {"memory": "cgroup", "disk": "tmpfs"}
    facts = Facts("bubblewrap", "bubblewrap", "overlay", "", "none", 1000, limits)
    written = {
        "sandbox": "bubblewrap",
        "isolation": "bubblewrap",
        "run_uid": 1000,
        "network": "none",
        "kernel_evidence": {"seen": []},
        "limits": {name: {"enforced": by} for name, by in limits.items()},
    }
    assert all(one == other for one, other in sandbox_fields(written, facts).values())
    other = replace(facts, **{**change, "limits": {**limits, **change.get("limits", {})}})
    assert [name for name, (one, two) in sandbox_fields(written, other).items() if one != two] == [field]


def test_a_folder_of_the_agents_that_changes_during_the_run_makes_it_invalid(
    author: Author, steelyard: Steelyard, tmp_path: Path
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "a").write_text("1")
    agent = tmp_path / "agent.sh"
    agent.write_text("while [ $(cat /opt/tools/a) = 1 ]; do sleep 0.1; done\n")
    words = ("run", author.write(), "--agent", f"script:{agent}", "--agent-path", f"{tools}:/opt/tools")

    def update() -> None:
        while not any(b'"tool.call"' in log.read_bytes() for log in tmp_path.glob("runs/*/events.jsonl")):
            time.sleep(0.05)
        (tools / "a").write_text("2")

    threading.Thread(target=update, daemon=True).start()
    line = steelyard(*words, "--out", tmp_path / "runs", "--json").lines[0]
    assert line["status"] == "invalid"
    assert "agent.folders is not what the manifest says" in line["rationale"] + line["reason"]


def test_an_agent_that_is_not_what_the_manifest_says_makes_the_run_invalid(
    author: Author, steelyard: Steelyard, tmp_path: Path
) -> None:
    agent = tmp_path / "agent.sh"
    agent.write_text(f"echo '# more' >> {agent}\n")
    result = steelyard("run", author.write(), "--agent", f"script:{agent}", "--sandbox", "local", "--json")
    line = result.lines[-1]
    assert (result.code, line["status"]) == (3, "invalid")
    assert "agent.parameters is not what the manifest says" in line["rationale"] + line["reason"]
    (mismatch,) = payloads(line, "run.mismatch")
    assert mismatch["field"] == "agent.parameters"
