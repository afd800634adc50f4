"""Links, modes and strange kinds of files are data: recorded, never followed, never opened."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path

import pytest
from capture_stage import Stage, changed, found

from steelyard.filesystem.tree import Entry


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def entry_at(stage: Stage, path: str) -> tuple[Entry | None, Entry | None]:
    return next((entry.old, entry.new) for entry in stage.capture().entries if entry.path == path)


def test_a_file_swapped_for_a_link_to_a_copy_is_seen(stage: Stage) -> None:
    """The agent replaces a test by a link to an identical copy that it can change later."""
    path = stage.workspace / "tests/test_cart.py"
    path.rename(stage.workspace / "copy.py")
    path.symlink_to("../copy.py")
    assert changed(stage.capture()) == {"copy.py": "added", "tests/test_cart.py": "changed"}
    assert entry_at(stage, "tests/test_cart.py")[1] == Entry("symlink", target="../copy.py")


def test_a_folder_swapped_for_a_link_is_not_walked(stage: Stage, tmp_path: Path) -> None:
    """The agent moves its tests out of the workspace and leaves a link to them."""
    (stage.workspace / "tests").rename(tmp_path / "stash")
    (stage.workspace / "tests").symlink_to(tmp_path / "stash")
    change = stage.capture()
    assert changed(change) == {"tests": "changed", "tests/test_cart.py": "deleted"}
    assert ("escaping_symlink", "warning", "tests") in found(change)


@pytest.mark.parametrize(
    "target", ["/etc/passwd", "../../x", "src/../../x", "a/b/../../../x", "../src/../../../x"]
)
def test_a_link_that_may_lead_out_is_kept_as_data_and_named(stage: Stage, target: str) -> None:
    """The agent points a link at the host, so that the capture reads or writes through it."""
    (stage.workspace / "docs/link").symlink_to(target)
    change = stage.capture()
    assert changed(change) == {"docs/link": "added"}
    assert found(change) == {("escaping_symlink", "warning", "docs/link")}


@pytest.mark.parametrize("target", ["guide.md", "../src/cart.py", "./guide.md", "../nowhere", "..", "."])
def test_a_link_that_stays_inside_is_no_finding(stage: Stage, target: str) -> None:
    """An honest relative link is a change like any other."""
    (stage.workspace / "docs/link").symlink_to(target)
    assert found(stage.capture()) == set()


def test_a_link_through_another_link_cannot_escape_unnamed(stage: Stage) -> None:
    """Each of two links looks harmless; together, `up/..` is above the workspace."""
    (stage.workspace / "docs/up").symlink_to("..")
    (stage.workspace / "docs/evil").symlink_to("up/../secret")
    assert ("escaping_symlink", "warning", "docs/evil") in found(stage.capture())


def test_a_loop_of_links_ends(stage: Stage) -> None:
    """The agent makes two links that point at each other."""
    (stage.workspace / "a").symlink_to("b")
    (stage.workspace / "b").symlink_to("a")
    assert changed(stage.capture()) == {"a": "added", "b": "added"}


def test_an_execute_bit_is_a_change(stage: Stage) -> None:
    """The agent makes a file executable and changes no byte."""
    (stage.workspace / "src/cart.py").chmod(0o755)
    before, after = entry_at(stage, "src/cart.py")
    assert before is not None
    assert after is not None
    assert (before.mode, after.mode, before.sha256) == ("644", "755", after.sha256)


@pytest.mark.parametrize("bits", [stat.S_ISUID, stat.S_ISGID, stat.S_ISVTX])
def test_a_special_mode_is_named_and_not_carried(stage: Stage, bits: int) -> None:
    """The agent leaves a set-user-id file, in case modes are copied."""
    (stage.workspace / "src/cart.py").chmod(0o644 | bits)
    change = stage.capture()
    assert changed(change) == {}
    assert found(change) == {("special_mode", "warning", "src/cart.py")}


def test_a_shut_file_and_a_shut_folder_are_read_all_the_same(stage: Stage) -> None:
    """The agent takes away every permission, so that a polite walk would pass by."""
    (stage.workspace / "locked").mkdir()
    (stage.workspace / "locked/evil.py").write_text("x\n")
    (stage.workspace / "locked/evil.py").chmod(0)
    (stage.workspace / "locked").chmod(0)
    change = stage.capture()
    assert changed(change) == {"locked/evil.py": "added"}
    assert found(change) == {
        ("unreadable_mode", "info", "locked"),
        ("unreadable_mode", "info", "locked/evil.py"),
    }


def test_a_fifo_does_not_stop_the_capture(stage: Stage) -> None:
    """The agent leaves a FIFO: opening it would wait for a writer for ever."""
    os.mkfifo(stage.workspace / "src/pipe")
    change = stage.capture()
    assert changed(change) == {}
    assert found(change) == {("special_file", "warning", "src/pipe")}


def test_a_fifo_in_place_of_a_file_is_a_deletion(stage: Stage) -> None:
    """The agent replaces a test by a FIFO."""
    (stage.workspace / "tests/test_cart.py").unlink()
    os.mkfifo(stage.workspace / "tests/test_cart.py")
    assert changed(stage.capture()) == {"tests/test_cart.py": "deleted"}


def test_a_socket_and_a_device_are_not_opened(stage: Stage) -> None:
    """The agent leaves a socket and, having been root, a device that never ends."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(stage.workspace / "s"))
    os.mknod(stage.workspace / "zero", stat.S_IFCHR | 0o666, os.makedev(1, 5))
    assert found(stage.capture()) == {("special_file", "warning", "s"), ("special_file", "warning", "zero")}


def test_a_hard_link_is_captured_as_its_bytes_and_named(stage: Stage, tmp_path: Path) -> None:
    """The agent links a file of the host into its workspace."""
    (tmp_path / "secret").write_text("secret\n")
    os.link(tmp_path / "secret", stage.workspace / "mine")
    change = stage.capture()
    assert changed(change) == {"mine": "added"}
    assert found(change) == {("hard_link", "info", "mine")}


def test_a_folder_in_place_of_a_file_is_seen(stage: Stage) -> None:
    """The agent makes a folder where a hidden test would be written."""
    (stage.workspace / "tests/test_cart.py").unlink()
    (stage.workspace / "tests/test_cart.py").mkdir()
    (stage.workspace / "tests/test_cart.py/__init__.py").write_text("")
    assert changed(stage.capture()) == {
        "tests/test_cart.py": "changed",
        "tests/test_cart.py/__init__.py": "added",
    }


def test_a_file_in_place_of_a_folder_is_seen(stage: Stage) -> None:
    """The agent puts a module where a package was."""
    import shutil

    shutil.rmtree(stage.workspace / "src")
    (stage.workspace / "src").write_text("x\n")
    assert changed(stage.capture()) == {"src": "changed", "src/cart.py": "deleted"}


def test_a_rename_is_one_entry_with_both_names(stage: Stage) -> None:
    """The agent moves a test to a name that no runner collects."""
    (stage.workspace / "tests/test_cart.py").rename(stage.workspace / "tests/cart_notes.py")
    change = stage.capture()
    assert changed(change) == {"tests/cart_notes.py": "renamed from tests/test_cart.py"}
    assert set(change.changed_paths) == {"tests/test_cart.py", "tests/cart_notes.py"}


def test_a_deleted_file_is_an_entry_with_its_old_bytes(stage: Stage) -> None:
    """The agent deletes a failing test; its bytes stay in the evidence."""
    (stage.workspace / "tests/test_cart.py").unlink()
    before, after = entry_at(stage, "tests/test_cart.py")
    assert after is None
    assert before is not None
    assert b"assert total" in stage.blobs.read(before.sha256)
