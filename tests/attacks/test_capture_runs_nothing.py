"""No setting of the agent's repository is ever executed by the capture or by the rendering of its patch."""

from __future__ import annotations

from pathlib import Path

import pytest
from capture_stage import Stage

from steelyard.evidence.change.render import render_patch

SETTINGS = {
    "core.fsmonitor": "{program}",
    "core.hooksPath": "{folder}",
    "core.pager": "{program}",
    "diff.external": "{program}",
    "diff.x.textconv": "{program}",
    "diff.x.command": "{program}",
    "filter.x.clean": "{program}",
    "filter.x.smudge": "{program}",
    "filter.x.process": "{program}",
    "include.path": "../extra.cfg",
}


@pytest.mark.parametrize("setting", sorted(SETTINGS))
def test_a_program_named_in_the_agents_git_configuration_never_runs(tmp_path: Path, setting: str) -> None:
    """The agent names a program in .git/config and in attributes, so that git on the host starts it."""
    stage = Stage(tmp_path, git=True)
    canary = tmp_path / "canary"
    program = stage.workspace / ".git/run.sh"
    program.write_text(f"#!/bin/sh\necho ran >> {canary}\ncat\n")
    program.chmod(0o755)
    (stage.workspace / "extra.cfg").write_text(f"[core]\n\tfsmonitor = {program}\n")
    (stage.workspace / ".gitattributes").write_text("* filter=x diff=x\n")
    (stage.workspace / "src/cart.py").write_text("changed\n")
    stage.git("config", setting, SETTINGS[setting].format(program=program, folder=program.parent))
    render_patch(stage.capture(), stage.blobs)
    assert not canary.exists()


def test_a_filter_of_a_nested_repository_never_runs(tmp_path: Path) -> None:
    """The agent plants a repository with its own filter, into which `git status` of the outer one would recurse."""
    stage = Stage(tmp_path, git=True)
    canary = tmp_path / "canary"
    stage.git("init", "--quiet", "docs/site")
    (stage.workspace / "docs/site/.git/info/attributes").write_text("* filter=x\n")
    stage.git("-C", "docs/site", "config", "filter.x.clean", f"echo ran >> {canary}; cat")
    (stage.workspace / "docs/site/f").write_text("y\n")
    render_patch(stage.capture(), stage.blobs)
    assert not canary.exists()


def test_the_agents_home_and_environment_do_not_reach_the_rendering(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A global configuration in HOME, or GIT_* variables, would steer any git that is not run from an empty environment."""
    stage = Stage(tmp_path)
    canary = tmp_path / "canary"
    (tmp_path / ".gitconfig").write_text(f"[diff]\n\texternal = sh -c 'echo ran >> {canary}'\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", f"sh -c 'echo ran >> {canary}'")
    monkeypatch.setenv("GIT_DIR", str(tmp_path))
    (stage.workspace / "src/cart.py").write_text("changed\n")
    assert b"+changed" in render_patch(stage.capture(), stage.blobs).patch
    assert not canary.exists()
