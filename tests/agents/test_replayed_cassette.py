"""A recorded run of a client, replayed from its cassette on a machine without a network: the same change and verdict each time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from fake_client import install_fake

from authoring import Author
from command_line import run_command
from steelyard.gateway.scripted import ScriptedModel, environment, serving

TIMES = 5
# A network namespace of its own, with nothing in it but the loopback of the gateway.
OFFLINE = ("unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")


def facts(line: Mapping[str, Any]) -> tuple[str, str, dict[str, Any]]:
    """Verdict, digest of the change and usage."""
    text = map(json.loads, (Path(line["folder"]) / "events.jsonl").read_text().splitlines())
    (digest,) = [one["payload"]["change"] for one in text if one["type"] == "capture.end"]
    return line["verdict"], digest, line["usage"]


def test_a_cassette_gives_the_same_change_and_verdict_without_a_network(tmp_path: Path, cache: Path) -> None:
    if subprocess.run([*OFFLINE, "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("no network namespace can be made here")
    (tmp_path / "contract").mkdir()
    contract = Author(tmp_path / "contract").write()
    words = ("run", contract, "--agent", install_fake(cache, "honest"), "--json", "--no-judge")
    own = {"STEELYARD_CACHE": str(cache)}
    with serving(ScriptedModel({"turns": [{"text": "go on"}]})) as url:
        recorded = run_command(
            *words, "--record", "tape", "--out", "live", cwd=tmp_path, env={**own, **environment(url)}
        )
    first = json.loads(recorded.stdout)
    assert first["verdict"] == "pass", recorded.stderr
    replayed = subprocess.run(
        [*OFFLINE, sys.executable, "-m", "steelyard", *map(str, words), "--replay", "tape", "--repeats", str(TIMES)],
        cwd=tmp_path,
        env={**os.environ, **own, "ANTHROPIC_API_KEY": ""},
        check=False,
        capture_output=True,
    )  # fmt: skip
    lines = [json.loads(line) for line in replayed.stdout.splitlines()]
    assert [facts(line) for line in lines] == [facts(first)] * TIMES, replayed.stderr
    report = json.loads((Path(first["folder"]) / "report.json").read_text())
    assert report["replay"] == [{"kind": "changes"}, {"kind": "cassette", "cassette": "tape"}]
    shown = run_command("show", first["folder"], cwd=tmp_path, env=own).stdout.decode()
    assert "--replay tape" in " ".join(shown.split())
