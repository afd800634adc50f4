"""The bundled contracts: what is stored twice is the same twice."""

from __future__ import annotations

import subprocess
from pathlib import Path

import yaml

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_the_bundle_holds_the_history_that_is_written_beside_it(tmp_path: Path) -> None:
    folder = EXAMPLES / "perl-tally"
    for name in ("written", "bundled"):
        subprocess.run(["git", "init", "-q", "--bare", tmp_path / name], check=True)
    with (folder / "history.fi").open("rb") as history:
        subprocess.run(["git", "fast-import", "--quiet"], cwd=tmp_path / "written", stdin=history, check=True)
    fetch = ["git", "fetch", "-q", str(folder / "repo.bundle"), "main:main"]
    subprocess.run(fetch, cwd=tmp_path / "bundled", check=True)
    assert _commits(tmp_path / "written") == _commits(tmp_path / "bundled")


def test_the_reference_is_the_commit_after_the_contracts_own(tmp_path: Path) -> None:
    """So that `history: none` has something to hide."""
    folder = EXAMPLES / "perl-tally"
    pinned = yaml.safe_load((folder / "contract.yaml").read_text())["repository"]["commit"]
    subprocess.run(["git", "clone", "-q", "--bare", folder / "repo.bundle", tmp_path / "all"], check=True)
    assert _commits(tmp_path / "all")[1] == pinned
    diff = ["git", "-c", "core.abbrev=7", "diff", "--no-ext-diff", pinned, "main"]
    result = subprocess.run(diff, cwd=tmp_path / "all", capture_output=True, text=True, check=True).stdout
    assert result == (folder / "reference.patch").read_text()


def _commits(repository: Path) -> list[str]:
    log = ["git", "rev-list", "main"]
    return subprocess.run(log, cwd=repository, capture_output=True, text=True, check=True).stdout.split()
