"""`steelyard doctor`, as an operator uses it."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

import pytest

from steelyard.cli.machine import doctor
from steelyard.errors import InfraFault
from steelyard.filesystem.cache import Cache
from steelyard.sandboxes import probe
from steelyard.sandboxes.probe import Reading, can_run


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "cache"))


def answer(capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, str]:
    parser = argparse.ArgumentParser()
    doctor.arguments(parser)
    return doctor.run(parser.parse_args(options)), capsys.readouterr().out


def test_a_machine_that_can_run_contracts_exits_0(capsys: pytest.CaptureFixture[str]) -> None:
    code, out = answer(capsys)
    assert code == 0, out
    assert out.splitlines()[-1] == "contracts can run here"


def test_json_is_one_line_with_every_reading(capsys: pytest.CaptureFixture[str]) -> None:
    _, out = answer(capsys, "--json")
    (line,) = out.splitlines()
    result = json.loads(line)
    names = {reading["name"] for reading in result["readings"]}
    assert result["schema"] == "steelyard.doctor/1"
    assert {"init", "bubblewrap", "sandbox", "git", "overlay", "docker", "python"} <= names
    assert {f"limit: {name}" for name in ("memory", "processes", "disk", "cpu")} <= names


def test_something_needed_and_missing_exits_3() -> None:
    there = Reading("a", "ok", "fine", needed=True)
    assert can_run([there, Reading("b", "missing", "gone")])
    assert not can_run([there, Reading("b", "missing", "gone", needed=True)])


def test_a_fault_becomes_a_reading_with_its_command() -> None:
    def fail() -> str:
        raise InfraFault("bubblewrap is not installed; run `apt-get install bubblewrap`")

    reading = probe._probe("bubblewrap", fail)
    assert reading == Reading(
        "bubblewrap",
        "missing",
        "bubblewrap is not installed",
        "run `apt-get install bubblewrap`",
        needed=True,
    )
    assert doctor._line(reading).endswith("-> run `apt-get install bubblewrap`")


def test_clean_removes_the_folders_of_the_dead_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    left = Cache.default().root / "tmp" / "00000000-1-99999-1-left"
    left.mkdir(parents=True)
    _, out = answer(capsys, "--clean")
    assert not left.exists()
    assert f"removed  {left.name}" in out.splitlines()


def test_clean_leaves_the_folders_of_the_living(capsys: pytest.CaptureFixture[str]) -> None:
    with Cache.default().temporary() as folder:
        answer(capsys, "--clean")
        assert folder.is_dir()


def test_clean_with_nothing_to_clean_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert "nothing to clean" in answer(capsys, "--clean")[1] or os.geteuid() == 0


KEY = "sk-nobody-may-read-this"
ASKED = "is set: models that a contract names are asked at"


@pytest.mark.parametrize(
    ("env", "result"),
    [
        ({}, ["ok: ANTHROPIC_API_KEY is not set", "ok: OPENAI_API_KEY is not set"]),
        (
            {"ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "http://here:8/v1"},
            [
                f"ok: ANTHROPIC_API_KEY {ASKED} https://api.anthropic.com/v1/messages, and claude-opus-4-8 where",
                f"ok: OPENAI_API_KEY {ASKED} http://here:8/v1/chat/completions",
            ],
        ),
        (
            {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"http://me:{KEY}@here"},
            ["ok: ANTHROPIC_API_KEY is not set", "limited: OPENAI_BASE_URL is not an http(s) address"],
        ),
    ],
    ids=["no keys", "two keys", "an address that cannot be one"],
)
def test_who_can_judge_is_reported_without_any_key(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    env: dict[str, str],
    result: list[str],
) -> None:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(doctor, "examine", list)  # the rest of the machine is looked at above
    code, out = answer(capsys, "--json")
    shown = [
        f"{one['state']}: {one['says']}"
        for one in json.loads(out)["readings"]
        if one["name"].startswith("judge")
    ]
    assert code == 0
    assert KEY not in out
    assert [text.startswith(begin) for text, begin in zip(shown, result, strict=True)] == [True, True], shown
