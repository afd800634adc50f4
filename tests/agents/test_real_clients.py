"""Real clients from their registry mend an example in a sandbox, with a scripted model behind the gateway.

All of them, and both sandboxes: `make agents`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from real_agents import AGENTS, install, run_agent


@pytest.fixture(scope="module")
def registry() -> None:
    """Skips where packages of npm cannot be had."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not on this machine, so no client can be installed")
    asked = subprocess.run(
        [npm, "view", "@openai/codex", "version", "--fetch-retries=0"],
        capture_output=True,
        text=True,
        check=False,
    )
    if asked.returncode != 0:
        pytest.skip("the npm registry cannot be reached, so no client can be installed")


@pytest.mark.parametrize("name", ["claude_code", "codex", "gemini_cli"])
def test_a_real_client_mends_the_example(name: str, registry: None, cache: Path, tmp_path: Path) -> None:
    """It passes, it is metered to the token, its trace names every change, and the real key is not in its sandbox."""
    del registry
    environ = {**os.environ, "STEELYARD_CACHE": str(cache)}
    assert install(AGENTS[name], environ) == ""
    row = run_agent(AGENTS[name], "bubblewrap", tmp_path, environ)
    assert row.problems == []
    manifest = json.loads((row.folder / "manifest.json").read_text())["agent"]
    assert manifest["parameters"]["version"]
    assert manifest["parameters"]["command"][0].startswith("/opt/steelyard-agent/")
