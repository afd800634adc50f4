"""What an agent changes is on record while it works, in every sandbox that shows its workspace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from containers import in_docker

from authoring import FIX, Author, Steelyard, events, payloads
from steelyard import api
from steelyard.execution.mutations import watch_workspace

SANDBOXES = ["bubblewrap", "docker", "local"]
WORK = """
mkdir -p src/deep; echo one > src/deep/a; mv src lib; rm README.md; ln -s add.sh link
"""


def test_every_change_has_an_event_of_the_call_that_made_it(
    author: Author, steelyard: Steelyard, script: Any, kind: str
) -> None:
    environment = in_docker() if kind == "docker" else {"sandbox": kind}
    contract = author.write(environment=environment, policy={"require": ["complete_trace"]})
    line = steelyard("run", contract, "--agent", script(WORK + FIX), "--json").line
    assert line["verdict"] == "pass", line
    (call,) = events(line, "tool.call")
    changes = payloads(line, "workspace.change")
    assert {one["attributed_to"] for one in changes} == {call["seq"]}
    assert {"add.sh", "README.md", "lib/deep/a", "link"} <= {one["path"] for one in changes}
    (end,) = payloads(line, "capture.end")
    assert (end["watch"]["mode"], end["gaps"]["count"]) == ("inotify", 0)
    assert steelyard("verify", "--complete", line["run"]).code == 0


def test_a_gap_fails_a_contract_that_requires_a_complete_trace(
    author: Author, script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(watch_workspace, "MOST_WATCHES", 0)
    for required, verdict in ((["complete_trace"], "fail"), ([], "pass")):
        contract = api.load_contract(author.write(policy={"require": required}))
        line = api.run_trial(contract, script(FIX), out=tmp_path / "runs")
        assert line["verdict"] == verdict
        (end,) = payloads(line, "capture.end")
        assert (end["gaps"]["paths"], end["watch"]["mode"]) == (["add.sh"], "none")
        assert "incomplete_trace" in [one["id"] for one in line["findings"]]
