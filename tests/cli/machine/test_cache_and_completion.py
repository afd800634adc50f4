"""`steelyard cache` and `steelyard completion`."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from authoring import Author, Steelyard
from steelyard.cli.verbs import VERBS


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """A cache of this test's own."""
    return {"STEELYARD_CACHE": str(tmp_path / "own-cache")}


def test_the_cache_is_shown_with_its_size_and_old_folders_are_pruned(
    steelyard: Steelyard, author: Author, env: dict[str, str]
) -> None:
    contract = author.write()
    assert steelyard("run", contract, "--agent", "reference", env=env).code == 0
    before = steelyard("cache", "--json", env=env).line
    assert before["kinds"]["snapshots"]["count"] == 1
    assert steelyard("cache", "prune", "--json", env=env).line["removed"]["bytes"] == 0
    for path in Path(env["STEELYARD_CACHE"]).glob("*/*"):
        os.utime(path, (1, 1))
    would = steelyard("cache", "prune", "--dry-run", "--json", env=env).line
    assert (would["removed"]["kinds"]["snapshots"]["count"], would["bytes"]) == (1, before["bytes"])
    assert steelyard("cache", "prune", "--json", env=env).line["bytes"] < before["bytes"]
    assert "snapshots" not in steelyard("cache", env=env).out
    assert steelyard("run", contract, "--agent", "reference", env=env).code == 0


def test_a_folder_that_a_run_used_is_not_old(
    steelyard: Steelyard, author: Author, env: dict[str, str]
) -> None:
    contract = author.write()
    steelyard("run", contract, "--agent", "noop", env=env)
    for path in Path(env["STEELYARD_CACHE"]).glob("*/*"):
        os.utime(path, (1, 1))
    steelyard("run", contract, "--agent", "noop", env=env)
    assert "snapshots" not in steelyard("cache", "prune", "--json", env=env).line["removed"]["kinds"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("line", "completed"),
    [
        ("steelyard ver", "verify"),
        ("steelyard run --max", "--max-failures"),
        ("steelyard show la", "last"),
        ("steelyard replay la", "last"),
        ("steelyard study stat", "status"),
        ("steelyard report --section disc", "disclosures"),
        ("steelyard run examples/x --sandbox lo", "local"),
        ("steelyard verify 2026", "20260307T120000123Z-widgets-noop-3fa9c1"),
    ],
)
def test_bash_completes_verbs_options_and_runs(
    steelyard: Steelyard, tmp_path: Path, line: str, completed: str
) -> None:
    runs = tmp_path / ".steelyard/runs"
    for name in ("20260307T120000123Z-widgets-noop-3fa9c1", "2026$(touch hacked)", "2026`touch hacked`"):
        (runs / name).mkdir(parents=True)
    (tmp_path / "steelyard.bash").write_text(steelyard("completion", "bash").out)
    words = line.split()
    alias = "shopt -s expand_aliases\nalias ls='ls -lF'\n"  # as many people have it
    script = f"{alias}source steelyard.bash; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _steelyard; echo ${{COMPREPLY[@]}}"
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [completed], done.stderr
    assert not (tmp_path / "hacked").exists()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_verb_is_in_every_completion_script(steelyard: Steelyard, shell: str) -> None:
    script = steelyard("completion", shell).out
    assert all(verb in script for verb in VERBS)
