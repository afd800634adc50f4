"""What is damaged in the cache decides no verdict: it is built again, and the run says so."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from authoring import FIX, PYTHON_FILES, PYTHON_FIX, Author, Steelyard, payloads
from steelyard.agents.base import Delivery
from steelyard.agents.catalogue import BUILT_IN
from steelyard.agents.data import Reference
from steelyard.contract.load import load_contract
from steelyard.environment.prepare import Environment
from steelyard.evidence.folder.blobs import Blobs
from steelyard.graders.catalogue import installed_catalogue
from steelyard.plan.trial import Trial
from steelyard.study.engine import Engine
from steelyard.study.observer import Observer

OFF_BY_ONE = "echo 'echo $(($1 + $2 + 1))' > add.sh\n"
UNITTEST = {
    **PYTHON_FILES,
    "repo/test_add.py": (
        "import unittest\n\nfrom calc import add\n\n\nclass Adds(unittest.TestCase):\n"
        "    def test_adds(self):\n        self.assertEqual(add(2, 3), 5)\n\n"
        "    def test_nothing(self):\n        self.assertEqual(add(0, 4), 4)\n"
    ),
}


@pytest.fixture
def own_cache(tmp_path: Path) -> Path:
    return tmp_path / "own-cache"


@pytest.fixture
def tried(
    steelyard: Steelyard, script: Callable[[str], str], own_cache: Path
) -> Callable[[Path, str], dict[str, Any]]:
    def run(contract: Path, agent: str) -> dict[str, Any]:
        printed = steelyard(
            "run", contract, "--agent", script(agent), "--json", env={"STEELYARD_CACHE": str(own_cache)}
        )
        return {**printed.line, "stderr": printed.err}

    return run


def swap(path: Path, old: bytes, new: bytes) -> None:
    """Another content of the same size, at the same time."""
    before, data = path.stat(), path.read_bytes()
    assert old in data
    assert len(old) == len(new)
    path.write_bytes(data.replace(old, new))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def reasons(line: dict[str, Any]) -> list[str]:
    return [payload["kind"] for payload in payloads(line, "cache.rebuilt")]


def test_a_byte_altered_in_a_snapshot_fails_no_honest_work(
    author: Author, tried: Callable[[Path, str], dict[str, Any]], own_cache: Path
) -> None:
    contract = author.write()
    assert tried(contract, FIX)["verdict"] == "pass"
    (check,) = own_cache.glob("snapshots/*/tree/check.sh")
    swap(check, b"= 5", b"= 6")
    line = tried(contract, FIX)
    assert line["verdict"] == "pass"
    assert reasons(line) == ["snapshots"]
    assert "tree/check.sh differs from the record) and was built again" in line["stderr"]
    assert reasons(tried(contract, FIX)) == []


def test_an_emptied_file_among_a_thousand_is_noticed(
    author: Author, tried: Callable[[Path, str], dict[str, Any]], own_cache: Path
) -> None:
    contract = author.write({f"repo/data/{number}": f"{number}\n" for number in range(1000)})
    assert tried(contract, FIX)["verdict"] == "pass"
    (file,) = own_cache.glob("snapshots/*/tree/data/501")
    before = file.stat()
    file.write_bytes(b"")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    line = tried(contract, FIX)
    assert (line["status"], reasons(line)) == ("scorable", ["snapshots"])
    assert file.read_bytes() == b"501\n"


SETUP = {"setup": ["mkdir deps && echo 5 > deps/answer"]}
ASKS = {"repo/check.sh": '[ "$(sh add.sh 2 3)" = "$(cat deps/answer)" ]\n'}


@pytest.mark.parametrize(("agent", "verdict"), [(FIX, "pass"), (OFF_BY_ONE, "fail")])
def test_a_byte_altered_in_a_setup_layer_decides_no_verdict(
    agent: str,
    verdict: str,
    author: Author,
    tried: Callable[[Path, str], dict[str, Any]],
    own_cache: Path,
) -> None:
    contract = author.write(ASKS, **SETUP)
    assert tried(contract, agent)["verdict"] == verdict
    (answer,) = own_cache.glob("setup/*/workspace/deps/answer")
    swap(answer, b"5", b"6")
    line = tried(contract, agent)
    assert (line["verdict"], reasons(line)) == (verdict, ["setup"])


def test_a_byte_altered_in_home_of_a_setup_layer_decides_no_verdict(
    author: Author, tried: Callable[[Path, str], dict[str, Any]], own_cache: Path
) -> None:
    check = {"repo/check.sh": '[ "$(sh add.sh 2 3)" = "$(cat ~/answer)" ]\n'}
    contract = author.write(check, setup=["echo 5 > ~/answer"])
    assert tried(contract, FIX)["verdict"] == "pass"
    (answer,) = own_cache.glob("setup/*/home/answer")
    swap(answer, b"5", b"6")
    line = tried(contract, FIX)
    assert (line["verdict"], reasons(line)) == ("pass", ["setup"])


def test_a_byte_altered_in_the_answers_of_the_trusted_tree_fails_no_honest_work(
    author: Author, tried: Callable[[Path, str], dict[str, Any]], own_cache: Path
) -> None:
    checks = [{"id": "unit", "type": "tests", "cmd": "python3 -m unittest -q", "timeout_s": 60}]
    contract = author.write(UNITTEST, oracle={"checks": checks, "reference": "reference.patch"})
    agent = PYTHON_FIX
    assert tried(contract, agent)["verdict"] == "pass"
    kept = [path for path in own_cache.glob("controls/*/*") if b"passed" in path.read_bytes()]
    for path in kept:
        swap(path, b"passed", b"failed")
        swap(path, b"test_nothing", b"test_somehow")
    line = tried(contract, agent)
    assert line["verdict"] == "pass"
    assert set(reasons(line)) == {"controls"}


def test_a_snapshot_altered_after_it_was_loaded_is_built_again_before_the_run(
    author: Author, own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEELYARD_CACHE", str(own_cache))
    contract = load_contract(author.write(), installed_catalogue())

    class Altering(Observer):
        def started(self, trial: Trial) -> None:
            swap(trial.contract.snapshot.tree / "check.sh", b"= 5", b"= 6")

    (result,) = Engine(tmp_path / "runs", observer=Altering()).run([Trial(contract, "reference")])
    assert [record.verdict.verdict for record in result.records] == ["pass"]
    assert reasons({"folder": result.record.evidence.folder.path})[-1:] == ["snapshots"]


def test_a_snapshot_altered_during_a_run_makes_it_invalid_and_the_next_run_is_right(
    author: Author, own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEELYARD_CACHE", str(own_cache))
    contract = load_contract(author.write(), installed_catalogue())

    class Altering(Reference):
        def deliver(self, environment: Environment, blobs: Blobs) -> Delivery:
            file = contract.snapshot.tree / "check.sh"
            if not any((tmp_path / "runs").glob("*/seal.json")):
                swap(file, b"= 5", b"= 6")
            return super().deliver(environment, blobs)

    monkeypatch.setitem(BUILT_IN, "altering", lambda _: Altering())
    (result,) = Engine(tmp_path / "runs").run([Trial(contract, "altering")])
    first, second = result.records
    assert first.verdict.status == "invalid"
    assert "repository.content_root is not what the manifest says" in first.evidence.rationale
    assert "tree/check.sh differs from the record" in first.evidence.rationale
    assert (second.verdict.verdict, reasons({"folder": second.evidence.folder.path})[-1:]) == (
        "pass",
        ["snapshots"],
    )
