"""Names are bytes: every one survives, and one that could mislead a reader is named."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from capture_stage import Stage, changed, found

from steelyard.evidence.change.change import Change


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("deploy\n.yml", "deploy\\x0a.yml"),
        (os.fsdecode(b"caf\xe9.py"), "caf\\xe9.py"),
        ("evil\u202egpj.py", "evil\\u202egpj.py"),
        ("con\u200bftest.py", "con\\u200bftest.py"),
        ("esc\x1b[2Jape", "esc\\x1b[2Jape"),
        ("soft\u00adhyphen", "soft\\xadhyphen"),
    ],
)
def test_a_misleading_name_is_carried_exactly_and_shown_escaped(stage: Stage, name: str, where: str) -> None:
    """The agent hides a file behind a newline, broken UTF-8, or letters that terminals turn around or swallow."""
    (stage.workspace / name).write_text("x\n")
    change = Change.from_bytes(stage.capture().to_bytes())
    assert changed(change) == {name: "added"}
    assert found(change) == {("odd_name", "warning", where)}


@pytest.mark.parametrize("twin", ["SRC", "Src", "ｓｒｃ", "src."])
def test_a_name_that_is_the_same_elsewhere_is_named(stage: Stage, twin: str) -> None:
    """The agent adds a folder that overwrites another one where case or composition is ignored."""
    (stage.workspace / twin).mkdir()
    (stage.workspace / twin / "cart.py").write_text("x\n")
    change = stage.capture()
    assert changed(change) == {f"{twin}/cart.py": "added"}
    assert {finding.id for finding in change.findings} == {"odd_name"}


@pytest.mark.parametrize("name", [".GIT", ".git ", ".gi\u200ct", "git~1"])
def test_a_name_that_stands_for_git_elsewhere_is_named_and_does_not_break_the_patch(
    stage: Stage, name: str
) -> None:
    """The agent writes hooks into a folder that another file system takes for .git."""
    from steelyard.evidence.change.render import render_patch

    (stage.workspace / name).mkdir()
    (stage.workspace / name / "config").write_text("x\n")
    (stage.workspace / "src/cart.py").write_text("y\n")
    change = stage.capture()
    patch = render_patch(change, stage.blobs).patch
    assert f"{name}/config" in changed(change)
    assert "odd_name" in {finding.id for finding in change.findings}
    assert b"git refuses the name" in patch
    assert b"b/src/cart.py" in patch


def test_ordinary_names_are_no_finding(stage: Stage) -> None:
    """Spaces, accents and other scripts are honest names."""
    for name in ("a b.py", "naïve.md", "日本語.txt", "x+y=z.txt", "-rf"):
        (stage.workspace / name).write_text("x\n")
    assert stage.capture().findings == ()
