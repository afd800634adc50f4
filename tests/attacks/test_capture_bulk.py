"""However much an agent leaves behind, the capture stays within its limits and says so."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from capture_stage import Stage, changed, found

from steelyard.evidence.change.importer import Caps


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def stored_bytes(stage: Stage) -> int:
    return sum(path.stat().st_blocks * 512 for path in stage.blobs.root.rglob("*") if path.is_file())


def test_a_huge_sparse_file_is_seen_but_neither_read_nor_copied(stage: Stage) -> None:
    """The agent leaves ten gigabytes of nothing, which would fill the disk if they were copied."""
    os.truncate(_touched(stage.workspace / "huge.bin"), 10 << 30)
    change = stage.capture()
    [entry] = change.entries
    assert entry.new is not None
    assert (entry.path, entry.new.size, entry.new.sha256) == ("huge.bin", 10 << 30, "")
    assert not change.complete
    assert found(change) == {("import_cap", "violation", "huge.bin")}
    assert stored_bytes(stage) == 0


def test_a_sparse_file_below_the_cap_stays_sparse(stage: Stage) -> None:
    """The agent leaves zeros that are allowed; they take no room in the evidence."""
    os.truncate(_touched(stage.workspace / "zeros.bin"), 64 << 20)
    change = stage.capture()
    assert change.complete
    assert changed(change) == {"zeros.bin": "added"}
    assert stored_bytes(stage) < 1 << 20


def test_a_baseline_file_over_the_cap_may_be_deleted(stage: Stage) -> None:
    """An honest agent deletes a large asset of the repository; that is no violation."""
    for root in (stage.baseline, stage.workspace):
        (root / "asset.bin").write_bytes(bytes(2000))
    (stage.workspace / "asset.bin").unlink()
    change = stage.capture(caps=Caps(file_bytes=1000))
    assert (changed(change), change.complete, change.findings) == ({"asset.bin": "deleted"}, True, ())


def test_an_unchanged_file_over_the_cap_is_unchanged(stage: Stage) -> None:
    """A large unchanged asset of the repository is not read as a change."""
    for root in (stage.baseline, stage.workspace):
        (root / "asset.bin").write_bytes(bytes(2000))
    change = stage.capture(caps=Caps(file_bytes=1000))
    assert (change.entries, change.complete) == ((), True)


def test_more_bytes_than_allowed_are_a_violation(stage: Stage) -> None:
    """The agent leaves many files, each within the limit, together over it."""
    for index in range(5):
        (stage.workspace / f"f{index}").write_bytes(bytes([index]) * 400)
    change = stage.capture(caps=Caps(total_bytes=1000))
    carried = [entry for entry in change.entries if entry.new and entry.new.sha256]
    assert (len(carried), len(change.entries), change.complete) == (2, 5, False)


def test_more_files_than_allowed_are_a_violation_and_not_a_crash(stage: Stage) -> None:
    """The agent leaves more files than the capture reads."""
    (stage.workspace / "many").mkdir()
    for index in range(300):
        (stage.workspace / f"many/{index}").write_text("x")
    change = stage.capture(caps=Caps(files=100))
    assert (len(change.entries), change.complete) == (100, False)
    assert {finding.id for finding in change.findings} == {"import_cap"}


def test_names_beyond_the_limit_of_looking_end_the_walk(stage: Stage) -> None:
    """The agent leaves a folder so full that only listing it would exhaust our memory."""
    (stage.workspace / "a").mkdir()
    for index in range(300):
        (stage.workspace / f"a/{index}").write_text("x")
    change = stage.capture(caps=Caps(visits=100), generated=["a/*"])
    assert ("import_cap", "violation", "a") in found(change)


def test_a_flood_of_findings_does_not_bury_a_violation(stage: Stage) -> None:
    """The agent makes hundreds of harmless oddities around the one that matters."""
    for index in range(50):
        os.mkfifo(stage.workspace / f"a{index:03d}")
    os.truncate(_touched(stage.workspace / "zzz"), 10 << 30)
    change = stage.capture(caps=Caps(findings=10))
    assert ("import_cap", "violation", "zzz") in found(change)
    assert any("40 more" in finding.why for finding in change.findings)


def test_a_tree_deeper_than_a_path_may_be_long_is_a_violation_and_not_a_crash(stage: Stage) -> None:
    """The agent nests folders until their path is longer than any system call takes."""
    with _deep(stage.workspace, "d" * 60, 120):
        change = stage.capture()
    assert not change.complete
    assert {(finding.id, finding.severity) for finding in change.findings} == {("import_cap", "violation")}


def test_a_tree_deeper_than_recursion_and_descriptors_allow_is_walked_to_its_end(stage: Stage) -> None:
    """The same, where the limits let us: every folder is opened from the one above it."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    with _deep(stage.workspace, "d" * 10, 1500):
        resource.setrlimit(resource.RLIMIT_NOFILE, (128, before[1]))
        try:
            change = stage.capture(caps=Caps(depth=5000, path_bytes=100_000))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
    [path] = changed(change)
    assert path == "/".join(["d" * 10] * 1500 + ["leaf"])


def test_depth_has_a_limit_of_its_own(stage: Stage) -> None:
    """The agent nests folders with short names."""
    with _deep(stage.workspace, "d", 500):
        change = stage.capture()
    [finding] = change.findings
    assert "400 depth" in finding.why
    assert not change.complete


def test_binary_contents_are_carried_exactly(stage: Stage) -> None:
    """The agent adds bytes that no text tool would show."""
    data = bytes(range(256)) * 40
    (stage.workspace / "blob.bin").write_bytes(data)
    [entry] = stage.capture().entries
    assert entry.new is not None
    assert stage.blobs.read(entry.new.sha256) == data


def test_generated_files_are_counted_and_digested_but_not_carried(stage: Stage) -> None:
    """An honest agent ran the tests; a cheat might hide its module among the caches, where the bench never looks."""
    (stage.workspace / "src/__pycache__").mkdir()
    (stage.workspace / "src/__pycache__/cart.pyc").write_bytes(b"code")
    change = stage.capture(generated=["*/__pycache__/*"])
    assert (change.entries, change.generated.count, change.generated.bytes) == ((), 1, 4)
    (stage.workspace / "src/__pycache__/cart.pyc").write_bytes(b"evil")
    assert stage.capture(generated=["*/__pycache__/*"]).generated.sha256 != change.generated.sha256


def test_a_link_in_place_of_a_generated_folder_is_a_change(stage: Stage) -> None:
    """The agent replaces node_modules by a link: only what is below the folder may be generated."""
    for root in (stage.baseline, stage.workspace):
        (root / "node_modules").mkdir()
    (stage.workspace / "node_modules").rmdir()
    (stage.workspace / "node_modules").symlink_to("/tmp")
    assert changed(stage.capture(generated=["node_modules/**"])) == {"node_modules": "changed"}


def _touched(path: Path) -> Path:
    path.write_bytes(b"")
    return path


@contextmanager
def _deep(root: Path, name: str, depth: int) -> Iterator[None]:
    """A chain of folders; removed at once, for pytest's own clean-up would recurse too deeply."""
    fd = os.open(root, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=fd)
        below = os.open(name, os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(os.open("leaf", os.O_WRONLY | os.O_CREAT, dir_fd=fd))
    os.close(fd)
    try:
        yield
    finally:
        subprocess.run(["rm", "-rf", str(root)], check=True)
