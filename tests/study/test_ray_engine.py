"""Studies on a real Ray cluster, of which one node dies; the runs are the same as those of one machine."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from fake_study import FakeStudy

from authoring import Author, Steelyard
from steelyard.contract.contract import Contract
from steelyard.gateway.scripted import PASS, ScriptedModel, environment, serving
from steelyard.plan.trial import Trial
from steelyard.study.ray_engine import sealed_run

# A busy machine takes minutes to start a cluster.
RAY = {
    "RAY_DEDUP_LOGS": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_raylet_start_wait_time_s": "600",
    "RAY_worker_register_timeout_seconds": "600",
    "RAY_health_check_timeout_ms": "60000",
}
LIMITS = {"cpu": 1, "memory_mb": {"guaranteed": 64, "limit": 512}, "disk_mb": 64}


@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray is not installed")
def test_a_cluster_that_loses_a_node_has_the_results_and_the_records_of_one_machine(
    steelyard: Steelyard, author: Author, tmp_path: Path, cache: Path
) -> None:
    """The second study has no shared folder: its signed and judged runs come back through `--blobs`."""
    first, second, key = tmp_path / "first.yaml", tmp_path / "second.yaml", _key(tmp_path)
    folder = author.write(environment=LIMITS, budget={"wall_s": 600, "headroom": {"wall_s": 30}})
    plan = ("plan", folder, "--out")
    assert steelyard(*plan, first, "--agent", "mine=command:sleep 0.5", "--repeats", 3).code == 0
    hopeless = ("--agent", "mine=command:sleep 600", "--dominance", 0.005)
    assert steelyard(*plan, second, *hopeless).code == 0
    blobs = tmp_path / "blobs"
    options = ("--sign", key, "--runs", tmp_path / "elsewhere", "--blobs", f"file://{blobs}")
    with serving(ScriptedModel([PASS])) as url:
        env = {**environment(url), "STEELYARD_CACHE": str(cache)}
        assert _on_cluster(env, first, tmp_path / "runs", second, *options) == [0, 0]
        local = ("study", "run", second, "--sign", key, "--runs", tmp_path / "here")
        assert steelyard(*local, env=env).code == 0
    _check_first(steelyard, first, tmp_path / "runs")
    cluster, here = (_records(steelyard, tmp_path / name, key) for name in ("elsewhere", "here"))
    assert cluster == here
    assert cluster["mine"][:2] == ("fail", "dominance")
    assert cluster["reference"][:3] == ("pass", "completed", "PASS")
    assert len(list(blobs.iterdir())) == len(cluster)


def test_the_run_of_a_lost_worker_is_found_whatever_its_clock_says(
    fake_study: FakeStudy, contract: Callable[..., Contract]
) -> None:
    """The clock of the worker is years behind; an earlier run of the same trial and attempt is not taken for its run."""
    trial = Trial(contract(), "noop")
    list(fake_study.engine().run([trial]))
    before = {path.name for path in fake_study.out.iterdir()}
    assert sealed_run(fake_study.out, trial, 1, before) is None
    list(fake_study.engine().run([trial]))
    (name,) = {path.name for path in fake_study.out.iterdir()} - before
    late = f"2020{name[4:]}"
    (fake_study.out / name).rename(fake_study.out / late)
    assert sealed_run(fake_study.out, trial, 1, before) == late
    assert sealed_run(fake_study.out, trial, 2, before) is None


def _key(folder: Path) -> Path:
    """A private key, with the public one beside it."""
    private = Ed25519PrivateKey.generate()
    path = folder / "key.pem"
    path.write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public = private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    path.with_suffix(".pub").write_bytes(public)
    return path


def _on_cluster(env: Mapping[str, str], *words: object) -> Any:
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("ray_study.py")), *map(str, words)],
        env={**os.environ, **env, **RAY},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])["codes"]


def _check_first(steelyard: Steelyard, study: Path, runs: Path) -> None:
    """The study whose node died: one result for each trial."""
    lines = steelyard("runs", "--runs", runs, "--json").lines
    ended = [line for line in lines if line["state"] in {"pass", "fail"}]
    assert set(Counter(line["trial"] for line in ended).values()) == {1}
    verdicts = Counter((line["agent"], line["state"]) for line in ended)
    assert verdicts == {("mine", "fail"): 3, ("noop", "fail"): 3, ("reference", "pass"): 3}
    assert steelyard("study", "status", study, "--runs", runs, "--json").line["state"] == "complete"


def _records(steelyard: Steelyard, runs: Path, key: Path) -> dict[str, tuple[Any, ...]]:
    """By agent: verdict, termination, judge, trial, and the names of the files; every run is verified with its signature."""
    found = {}
    for line in steelyard("runs", "--runs", runs, "--json").lines:
        folder = Path(line["folder"])
        verified = steelyard("verify", folder, "--public-key", key.with_suffix(".pub"))
        assert verified.code == 0, verified
        report = json.loads((folder / "report.json").read_text())
        files = sorted(
            path.relative_to(folder).as_posix()
            for path in folder.rglob("*")
            if path.is_file() and "blobs" not in path.parts
        )
        ended = report["termination"]["code"]
        found[line["agent"]] = (line["state"], ended, line["judge"], line["trial"], files)
    return found
