"""Real sandboxes for tests, small enough for many at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from steelyard.contract.owner import run_uid
from steelyard.sandboxes.base import Box, Command, Finished, Limits
from steelyard.sandboxes.bubblewrap import BubblewrapBackend
from steelyard.sandboxes.bubblewrapped import BubblewrapSandbox

SMALL = Limits(cpu=2, memory_mb=256, guaranteed_mb=64, disk_mb=16, tmp_mb=4, processes=64)

Tree = Callable[..., Path]
Start = Callable[..., BubblewrapSandbox]
Shell = Callable[..., Finished]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """Make a layer: names to contents (None: a folder), owned by the uid that runs commands."""
    made = iter(range(100))

    def make(**files: str | None) -> Path:
        root = tmp_path / f"layer-{next(made)}"
        root.mkdir()
        for name, content in files.items():
            path = root / name.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            if content is None:
                path.mkdir()
            else:
                path.write_text(content)
        if os.geteuid() == 0:
            for path in (root, *root.rglob("*")):
                os.chown(path, run_uid(), run_uid(), follow_symlinks=False)
        return root

    return make


@pytest.fixture
def start(tree: Tree) -> Iterator[Start]:
    """Start a sandbox; it is closed with the test."""
    started: list[BubblewrapSandbox] = []

    def begin(**fields: object) -> BubblewrapSandbox:
        fields.setdefault("limits", SMALL)
        fields.setdefault("layers", (tree(readme="hello\n"),))
        started.append(BubblewrapBackend().start(Box(**fields)))  # type: ignore[arg-type]
        return started[-1]

    yield begin
    for sandbox in started:
        sandbox.close()


@pytest.fixture
def sandbox(start: Start) -> BubblewrapSandbox:
    return start()


@pytest.fixture
def shell(sandbox: BubblewrapSandbox) -> Shell:
    """Run a line of shell in the sandbox."""

    def run(line: str, **fields: object) -> Finished:
        return sandbox.run(Command(("/bin/sh", "-c", line), **fields))  # type: ignore[arg-type]

    return run
