"""Changes of a running workspace become events, each with what was there, what is there, and the call in flight."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from steelyard.evidence.change.captured_tree import CapturedTree
from steelyard.evidence.change.importer import import_workspace
from steelyard.evidence.folder.blobs import Blobs
from steelyard.evidence.trace.events import EventLog, read_events
from steelyard.execution.mutations import mutation_log, watch_workspace
from steelyard.execution.mutations.watch_workspace import WorkspaceWatch

BASE = {"kept.txt": "1\n", "src/a.py": "a\n", "src/b.py": "b\n", "lib/deep/c.py": "c\n"}


class Stage:
    """A plain folder as a workspace, its baseline, and a log."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "workspace"
        for root in (self.folder, folder / "baseline"):
            for name, text in BASE.items():
                path = root / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
        self.log = folder / "events.jsonl"
        self.events = EventLog(self.log)
        self.blobs = Blobs(folder / "blobs")
        flags = os.O_RDONLY | os.O_DIRECTORY
        self.tree = CapturedTree(os.open(self.folder, flags), os.open(folder / "baseline", flags))

    @contextmanager
    def watching(self, generated: tuple[str, ...] = (), *, thread: bool = True) -> Iterator[WorkspaceWatch]:
        watch = WorkspaceWatch(self.tree, self.events, self.blobs, generated)
        if thread:
            watch.start()
        try:
            yield watch
        finally:
            watch.close()

    def gaps(self, watch: WorkspaceWatch) -> list[str]:
        watch.finish()
        change = import_workspace(self.tree, baseline_root="", blobs=self.blobs)
        return [entry.path for entry in change.entries if not watch.covers(entry)]

    def changes(self) -> list[dict[str, Any]]:
        return [one.payload for one in read_events(self.log) if one.type == "workspace.change"]

    def rows(self) -> list[Any]:
        shared = [one.payload for one in read_events(self.log) if one.type == "workspace.changes"]
        return [row for one in shared for row in one["rows"]]


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def test_a_change_has_both_versions_a_patch_and_its_call(stage: Stage) -> None:
    """Without the thread, which may see the file in the moment in which it is empty: that would be a change of its own."""
    with stage.watching(thread=False) as watch:
        call = stage.events.append("tool.call", "agent", {"kind": "write"})
        (stage.folder / "src/a.py").write_text("A\n")
        stage.events.append("tool.result", "agent", {"call": call})
        assert stage.gaps(watch) == []
    (change,) = stage.changes()
    assert (change["path"], change["attributed"], change["attributed_to"]) == ("src/a.py", True, call)
    assert change["patch"]["prefix"] == "--- a/src/a.py\n+++ b/src/a.py\n@@ -1,1 +1,1 @@\n-a\n+A\n"
    assert stage.blobs.read(change["after"]["sha256"]) == b"A\n"
    assert change["before"]["sha256"] != change["after"]["sha256"]


def test_what_is_written_after_a_result_belongs_to_no_call(stage: Stage) -> None:
    with stage.watching(thread=False) as watch:
        call = stage.events.append("tool.call", "agent", {})
        (stage.folder / "during").write_text("1")
        stage.events.append("tool.result", "agent", {"call": call})
        (stage.folder / "after").write_text("2")
        watch.finish()
    assert {one["path"]: one["attributed_to"] for one in stage.changes()} == {"during": call, "after": None}


def test_each_version_that_was_seen_is_an_event_of_its_own(stage: Stage) -> None:
    with stage.watching(thread=False) as watch:
        for text in ("2\n", "3\n"):
            (stage.folder / "kept.txt").write_text(text)
            watch.finish()
    first, second = stage.changes()
    assert first["after"] == second["before"]
    assert "-2\n+3\n" in second["patch"]["prefix"]


def edit(folder: Path) -> None:
    (folder / "new/deep").mkdir(parents=True)
    (folder / "new/deep/x").write_text("x")
    (folder / "src/b.py").unlink()
    (folder / "kept.txt").chmod(0o755)
    (folder / "link").symlink_to("kept.txt")


def rename_folder(folder: Path) -> None:
    (folder / "lib").rename(folder / "moved")
    (folder / "moved/deep/c.py").write_text("C\n")
    (folder / "lib/deep").mkdir(parents=True)
    (folder / "lib/deep/other").write_text("o")


def replace_folder_by_file(folder: Path) -> None:
    for path in ("src/a.py", "src/b.py"):
        (folder / path).unlink()
    (folder / "src").rmdir()
    (folder / "src").write_text("a file now")


def delete_and_restore(folder: Path) -> None:
    (folder / "lib/deep/c.py").unlink()
    (folder / "lib/deep").rmdir()
    (folder / "lib/deep").mkdir()
    (folder / "lib/deep/c.py").write_text("c\n")


def odd_names(folder: Path) -> None:
    Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9\n")).write_text("bytes")
    (folder / "empty").mkdir()
    (folder / "locked").write_text("hidden")
    (folder / "locked").chmod(0)
    os.mkfifo(folder / "pipe")


EDITS = [edit, rename_folder, replace_folder_by_file, delete_and_restore, odd_names]


@pytest.mark.parametrize("act", EDITS)
@pytest.mark.parametrize("thread", [True, False])
def test_every_changed_path_has_an_event(stage: Stage, act: Callable[[Path], None], thread: bool) -> None:  # noqa: FBT001
    with stage.watching(thread=thread) as watch:
        act(stage.folder)
        assert stage.gaps(watch) == []


def test_generated_files_are_counted_only(stage: Stage) -> None:
    with stage.watching(("*.pyc", "__pycache__/*", "*/__pycache__/*")) as watch:
        (stage.folder / "src/__pycache__").mkdir()
        (stage.folder / "src/__pycache__/a.pyc").write_text("x")
        (stage.folder / "b.pyc").write_text("x")
        watch.finish()
        assert watch.ignored
    assert stage.changes() == []


def test_a_repository_of_the_agent_is_not_watched(stage: Stage) -> None:
    with stage.watching() as watch:
        (stage.folder / ".git").mkdir()
        (stage.folder / ".git/index").write_text("x")
        watch.finish()
    assert stage.changes() == []


def test_a_flood_of_files_shares_events_and_then_is_counted(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("SINGLE_EVENTS", 5), ("ROWS", 20), ("BATCH_ROWS", 10)):
        monkeypatch.setattr(mutation_log, name, value)
    with stage.watching(thread=False) as watch:
        for number in range(40):
            (stage.folder / f"f{number:02}").write_text("x")
        gaps = stage.gaps(watch)
        assert watch.counts["suppressed"] == len(gaps) == 15
    assert (len(stage.changes()), len(stage.rows())) == (5, 20)


def test_lost_notices_lead_to_another_look(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch_workspace, "MOST_PENDING", 10)
    with stage.watching(thread=False) as watch:
        for number in range(40):
            (stage.folder / "src" / f"f{number}").write_text("x")
        assert stage.gaps(watch) == []
        assert watch.missed
        (stage.folder / "src/f0").write_text("y")
        watch._overflowed = True  # as the kernel's own queue would say
        assert stage.gaps(watch) == []


def test_too_many_directories_are_not_watched_and_the_reason_is_given(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch_workspace, "MOST_WATCHES", 2)
    with stage.watching() as watch:
        assert (watch.mode, watch.why) == (
            "none",
            "the kernel refused to watch it: it has too many directories",
        )
        (stage.folder / "kept.txt").write_text("2")
        assert stage.gaps(watch) == ["kept.txt"]
