"""What an agent prints is copied to `agent/` while it works: bounded, and never a reason for a run to fail."""

from __future__ import annotations

import shutil
from pathlib import Path

from steelyard.agents.base import AGENT_BYTES
from steelyard.evidence.folder.folder import RunFolder
from steelyard.execution.live_output import MORE, LiveOutput


def test_the_file_grows_with_each_chunk(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path, "run")
    live = LiveOutput(folder)
    live.write("stdout", b"one\n")
    assert folder.read_bytes("agent/stdout.txt") == b"one\n"
    live.write("stdout", b"two\n")
    live.write("stderr", b"oops\n")
    assert (folder.read_bytes("agent/stdout.txt"), folder.read_bytes("agent/stderr.txt")) == (
        b"one\ntwo\n",
        b"oops\n",
    )
    live.close()


def test_an_agent_that_never_stops_printing_fills_no_disk(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path, "run")
    live = LiveOutput(folder)
    for _ in range(8):
        live.write("stdout", b"x" * (AGENT_BYTES // 2 + 1))
    live.close()
    assert folder.file("agent/stdout.txt").stat().st_size == AGENT_BYTES + len(MORE)


def test_a_folder_that_takes_no_file_ends_the_copy_and_raises_nothing(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path, "run")
    shutil.rmtree(folder.file("agent"))
    live = LiveOutput(folder, "-2")
    live.write("stdout", b"one\n")
    live.write("stdout", b"two\n")
    live.close()
    assert not folder.file("agent").exists()


class _Starred:
    """Replaces `key`, also where two pieces cut it."""

    def __init__(self) -> None:
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        data = (self._held + data).replace(b"key", b"***")
        self._held = data[-2:]
        return data[:-2]

    def end(self) -> bytes:
        return self._held


def test_nothing_is_written_that_has_not_passed_the_filter(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path, "run")
    live = LiveOutput(folder, new_filter=_Starred)
    live.write("stdout", b"my ke")
    assert b"ke" not in folder.read_bytes("agent/stdout.txt")
    live.write("stdout", b"y is\n")
    live.close()
    assert folder.read_bytes("agent/stdout.txt") == b"my *** is\n"
