"""Clients that crash, flood, lie or leave daemons: the run has the right end, and its evidence is sealed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from fake_client import BEHAVIOURS, install_fake

from authoring import PATIENT, Author
from command_line import run_command
from steelyard.gateway.scripted import ScriptedModel, environment, serving
from workers import once, shared

INVALID = 3  # the exit code of a run without a decision, by the machine
BILLED = {"tokens_in": 1000, "tokens_out": 50}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> dict[str, dict[str, Any]]:
    """One run of each fake client, by its name; the first worker that needs them runs them for all."""
    folder = shared(tmp_path_factory) / "client-faults"
    answered = folder / "answered.jsonl"
    with once(folder) as first:
        if first:
            shutil.rmtree(folder, ignore_errors=True)  # of a worker that failed on the way
            (folder / "contract").mkdir(parents=True)
            answered.write_bytes(_answered(folder, cache))
    lines = [json.loads(line) for line in answered.read_bytes().splitlines()]
    return {line["agent"]: {**line, "report": _report(line)} for line in lines}


def _answered(folder: Path, cache: Path) -> bytes:
    contract = Author(folder / "contract").write(
        environment={"memory_mb": {"guaranteed": 64, "limit": 512}, "disk_mb": 64, "processes": 64},
        budget=PATIENT,
    )
    agents = [install_fake(cache, name) for name in BEHAVIOURS if name != "stubborn"]
    with serving(ScriptedModel({"turns": [{"text": "go on"}], "usage": BILLED})) as url:
        env = {**environment(url), "STEELYARD_CACHE": str(cache)}
        words = [word for agent in agents for word in ("--agent", agent)]
        done = run_command(
            "run", contract, *words, "--json", "--jobs", "4", "--out", folder / "runs", cwd=folder, env=env
        )
    return bytes(done.stdout)


def _report(line: dict[str, Any]) -> dict[str, Any]:
    return dict(json.loads((Path(line["folder"]) / "report.json").read_text()))


def trace(result: dict[str, Any]) -> dict[str, Any]:
    events = (Path(result["folder"]) / "events.jsonl").read_bytes().splitlines()  # no other line ends than \n
    (found,) = [one["payload"] for one in map(json.loads, events) if one["type"] == "agent.trace"]
    return dict(found)


@pytest.mark.parametrize(
    ("name", "termination", "verdict"),
    [
        ("honest", "completed", "pass"),
        ("crash", "agent_crash", "pass"),
        ("daemonise", "completed", "pass"),
        ("flood", "agent_crash", "pass"),
        ("binary", "completed", "pass"),
        ("lie", "completed", "pass"),
        ("denied", "agent_crash", "pass"),
        ("blame", "agent_crash", "fail"),
        ("silent", "agent_crash", "pass"),
        ("unreached", "infrastructure", "invalid"),
        ("links", "completed", "pass"),
    ],
)
def test_the_end_of_a_client_is_what_it_was(
    results: dict[str, dict[str, Any]], name: str, termination: str, verdict: str
) -> None:
    result = results[name]
    assert result["report"]["termination"]["code"] == termination, result["report"]["termination"]
    assert result["verdict"] == verdict
    assert (Path(result["folder"]) / "seal.json").is_file()


def test_a_lie_about_usage_changes_no_number_and_is_shown(results: dict[str, dict[str, Any]]) -> None:
    report = results["lie"]["report"]
    assert (report["usage"]["tokens_in"], report["usage"]["tokens_out"]) == (1000, 50)
    assert report["cost"]["usd"] > 0
    assert report["cost"]["claimed"]["difference"]["tokens_in"] == -999


def test_binary_output_is_counted_and_shown_escaped(results: dict[str, dict[str, Any]]) -> None:
    facts = trace(results["binary"])
    assert facts["unknown"] > 0
    assert all(len(sample) <= 200 for sample in facts["samples"])


def test_a_flood_of_output_is_kept_in_part_and_ends_the_parsing(
    results: dict[str, dict[str, Any]],
) -> None:
    facts = trace(results["flood"])
    assert facts["flooded"]
    kept = Path(results["flood"]["folder"]) / "agent" / "stdout.txt"
    assert kept.stat().st_size <= (4 << 20) + 100
    assert facts["stdout"]["bytes"] >= 200_000_000


def test_session_files_are_read_without_links_bounded_and_under_safe_names(
    results: dict[str, dict[str, Any]],
) -> None:
    files = {one["name"].rpartition("/")[2]: one for one in trace(results["links"])["files"]}
    assert "a.jsonl" not in files
    assert files["c.jsonl"]["cut"] == 1 << 20
    folder = Path(results["links"]["folder"]) / "agent" / "native"
    names = [path.name for path in folder.iterdir()]
    assert len(names) == 2
    assert all("\x1b" not in name for name in names)
    assert not any("\x1b" in one["name"] for one in files.values())


def test_a_client_that_ignores_sigterm_ends_with_its_budget(
    author: Author, cache: Path, tmp_path: Path
) -> None:
    contract = author.write(budget={"wall_s": 4, "headroom": {"wall_s": 2}})
    env = {**environment("http://127.0.0.1:9"), "STEELYARD_CACHE": str(cache)}
    agent = install_fake(cache, "stubborn")
    done = run_command(
        "run", contract, "--agent", agent, "--json", "--out", tmp_path / "runs", cwd=tmp_path, env=env
    )
    (line,) = [json.loads(one) for one in done.stdout.splitlines()]
    assert _report(line)["termination"]["code"] == "wall_time"
    assert (Path(line["folder"]) / "seal.json").is_file()


def test_a_dead_upstream_is_no_failure_of_the_agent(author: Author, cache: Path, tmp_path: Path) -> None:
    contract = author.write(budget={"wall_s": 40, "headroom": {"wall_s": 20}})
    env = {**environment("http://127.0.0.1:9"), "STEELYARD_CACHE": str(cache)}
    agent = install_fake(cache, "honest")
    done = run_command(
        "run", contract, "--agent", agent, "--json", "--out", tmp_path / "runs", cwd=tmp_path, env=env
    )
    line = json.loads(done.stdout.splitlines()[-1])
    assert (done.returncode, line["verdict"]) == (INVALID, "invalid")


def test_a_key_that_the_upstream_refuses_is_no_failure_of_the_agent(
    author: Author, cache: Path, tmp_path: Path
) -> None:
    contract = author.write()
    agent = install_fake(cache, "honest")
    with serving(ScriptedModel([{"status": 401, "body": "{}"}])) as url:
        env = {**environment(url), "STEELYARD_CACHE": str(cache)}
        done = run_command(
            "run", contract, "--agent", agent, "--json", "--out", tmp_path / "runs", cwd=tmp_path, env=env
        )
    line = json.loads(done.stdout.splitlines()[-1])
    assert line["verdict"] == "invalid"
    assert "401" in _report(line)["termination"]["rationale"]
