"""Where no overlay can be had, the workspace is a copy: slower, and otherwise the same."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from steelyard.sandboxes.base import Command, FileOverlay
from steelyard.sandboxes.bubblewrap.launcher_client import launcher

if TYPE_CHECKING:
    from tests.sandboxes.conftest import StartBubblewrap, Tree

    from steelyard.sandboxes.bubblewrap.sandbox import BubblewrapSandbox


@pytest.fixture(autouse=True)
def without_overlay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launcher(), "overlay", "mount overlay: as on an old kernel")


def sh(sandbox: BubblewrapSandbox, line: str) -> str:
    done = sandbox.run(Command(("sh", "-c", line)))
    return done.stdout.text + done.stderr.text


def names(descriptor: int) -> set[str]:
    return set(os.listdir(descriptor))


def test_the_facts_say_that_it_is_a_copy(start: StartBubblewrap) -> None:
    facts = start().facts
    assert (facts.materialise, facts.overlay) == ("copy", "")


def test_a_copy_has_all_layers_and_belongs_to_the_agent(start: StartBubblewrap, tree: Tree) -> None:
    sandbox = start(layers=(tree(both="upper\n", d__x="1"), tree(both="lower\n", low="2")))
    assert sh(sandbox, "cat both; ls; stat -c %U . both d; echo 3 >> both; mv d e; ls e") == (
        "upper\nboth\nd\nlow\nagent\nagent\nagent\nx\n"
    )


def test_a_copy_leaves_its_layers_alone(start: StartBubblewrap, tree: Tree) -> None:
    layer = tree(a="1")
    sh(start(layers=(layer,)), "echo changed > a")
    assert (layer / "a").read_text() == "1"


def test_a_copy_is_compared_in_full(start: StartBubblewrap, tree: Tree) -> None:
    sandbox = start(layers=(tree(a="1"), tree(b="2")))
    sh(sandbox, "rm b; touch c")
    sandbox.stop()
    captured_tree = sandbox.captured_tree()
    assert captured_tree.touched is None
    assert names(captured_tree.workspace) == {"a", "c"}
    assert names(captured_tree.baseline) == {"a", "b"}


def test_data_is_written_over_a_copy(start: StartBubblewrap, tmp_path: Path) -> None:
    (tmp_path / "source").write_text("laid")
    sandbox = start(
        overlays=(FileOverlay("x/y", "file", source=tmp_path / "source"), FileOverlay("readme", "gone"))
    )
    assert sh(sandbox, "cat x/y; ls") == "laidx\n"


def test_a_kept_copy_is_complete(start: StartBubblewrap, tree: Tree, tmp_path: Path) -> None:
    base, keep = tree(a="1", gone="2"), tmp_path / "keep"
    first = start(layers=(base,), keep=keep)
    sh(first, "rm gone; touch made; echo rc > ~/.rc")
    first.close()
    second = start(layers=(keep / "workspace", base), home_layers=(keep / "home",))
    assert sh(second, "ls; cat ~/.rc") == "a\nmade\nrc\n"
