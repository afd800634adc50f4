"""Studies on a real Ray cluster, of which one node dies; the runs are the same as those of one machine."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from authoring import Author, Steelyard
from steelyard.evidence.trace.chain import read_events
from steelyard.gateway.scripted import PASS, ScriptedModel, environment, serving

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
    """The first study has no shared folder: its runs are followed and fetched through `--blobs`. The second one signs and judges."""
    first, second, key = (tmp_path / name for name in ("first.yaml", "second.yaml", "key.pem"))
    _write_key(key)
    folder = author.write(environment=LIMITS, budget={"wall_s": 3600, "headroom": {"wall_s": 30}})
    plan = ("plan", folder, "--out")
    sleep_s = f"3600.{os.getpid()}{int.from_bytes(os.urandom(2))}"
    agents = [f"{name}=command:echo it works; sleep {sleep_s}; true" for name in ("mine", "other")]
    words = ("--agent", agents[0], "--agent", agents[1], "--repeats", 2, "--minimum-power", 0)
    assert steelyard(*plan, first, *words).code == 0
    hopeless = ("--agent", "mine=command:sleep 600", "--dominance", 0.001)
    assert steelyard(*plan, second, *hopeless).code == 0
    blobs = tmp_path / "blobs"
    options = ("--sign", key, "--runs", tmp_path / "shared")
    with serving(ScriptedModel([PASS])) as url:
        env = {**environment(url), "STEELYARD_CACHE": str(cache)}
        ended = _on_cluster(env, first, tmp_path / "runs", f"file://{blobs}", sleep_s, second, *options)
        assert ended["codes"] == [0, 0]
        assert ended["followed"] == "it works\n"
        local = ("study", "run", second, "--sign", key, "--runs", tmp_path / "here")
        assert steelyard(*local, env=env).code == 0
    results = [json.loads(line) for line in (tmp_path / "results.jsonl").read_bytes().splitlines()]
    assert Counter(one["verdict"] for one in results) == {"pass": 2, "fail": 6}  # and no line of Ray's
    _check_first(steelyard, first, tmp_path / "runs", blobs)
    cluster, here = (_records(steelyard, tmp_path / name, key) for name in ("shared", "here"))
    assert cluster == here
    assert cluster["mine"][:2] == ("fail", "dominance")
    assert cluster["reference"][:3] == ("pass", "completed", "PASS")


def _write_key(path: Path) -> None:
    """A private key, with the public one beside it."""
    private = Ed25519PrivateKey.generate()
    path.write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public = private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    path.with_suffix(".pub").write_bytes(public)


def _on_cluster(env: Mapping[str, str], *words: object) -> Any:
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("ray_study.py")), *map(str, words)],
        env={**os.environ, **env, **RAY},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def _check_first(steelyard: Steelyard, study: Path, runs: Path, blobs: Path) -> None:
    """The study whose node died: one result for each trial, each whole; of the run that was lost what it had sent, and no result."""
    lines = steelyard("runs", "--runs", runs, "--json").lines
    ended = [line for line in lines if line["state"] in {"pass", "fail"}]
    assert set(Counter(line["trial"] for line in ended).values()) == {1}
    verdicts = Counter((line["agent"], line["state"]) for line in ended)
    assert verdicts == {
        ("mine", "fail"): 2,
        ("other", "fail"): 2,
        ("noop", "fail"): 2,
        ("reference", "pass"): 2,
    }
    assert steelyard("verify", *(line["folder"] for line in ended)).code == 0
    (lost,) = [line for line in lines if line not in ended]
    assert lost["state"] == "interrupted"
    assert lost["trial"] in {line["trial"] for line in ended}
    assert [event.type for event in read_events(Path(lost["folder"]) / "events.jsonl")]
    copied = {path.name for path in blobs.iterdir()}
    assert copied == {"live", *(Path(line["folder"]).name for line in ended)}
    assert len(list(blobs.glob("live/*/*"))) == 1
    state = steelyard("study", "status", study, "--runs", runs, "--json").line
    assert state["state"] == "complete"
    assert (state["trials"]["finished"], state["trials"]["planned"]) == (8, 8)


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
