"""Real sandboxes for tests, small enough for many at once.

A module that says `KINDS = ["bubblewrap", "docker"]` is run on each; the second is skipped where no engine answers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from containers import in_image

from steelyard.filesystem.owner import run_uid
from steelyard.sandboxes.base import Command, CommandResult, Limits, Sandbox, SandboxSpec
from steelyard.sandboxes.bubblewrap.sandbox import BubblewrapSandbox
from steelyard.sandboxes.catalogue import backend

SMALL = Limits(cpu=2, memory_mb=256, guaranteed_mb=64, disk_mb=16, tmp_mb=4, processes=64)

Tree = Callable[..., Path]
Start = Callable[..., Sandbox]
StartBubblewrap = Callable[..., BubblewrapSandbox]
Shell = Callable[..., CommandResult]


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


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    kinds = getattr(metafunc.module, "KINDS", None)
    marked = any("kind" in str(mark.args[0]) for mark in metafunc.definition.iter_markers("parametrize"))
    if kinds is not None and "kind" in metafunc.fixturenames and not marked:
        metafunc.parametrize("kind", kinds, indirect=True)


@pytest.fixture
def kind(request: pytest.FixtureRequest) -> str:
    """Which sandbox the test is about: bubblewrap, unless it says otherwise."""
    return str(getattr(request, "param", "bubblewrap"))


@pytest.fixture
def start(tree: Tree, kind: str) -> Iterator[Start]:
    """Start a sandbox; it is closed with the test."""
    started: list[Sandbox] = []

    def begin(**fields: object) -> Sandbox:
        fields.setdefault("limits", SMALL)
        fields.setdefault("layers", (tree(readme="hello\n"),))
        spec = SandboxSpec(**fields)  # type: ignore[arg-type]
        started.append(backend(kind).start(in_image(spec) if kind == "docker" else spec))
        return started[-1]

    yield begin
    for sandbox in started:
        sandbox.close()


@pytest.fixture
def sandbox(start: Start) -> Sandbox:
    return start()


@pytest.fixture
def shell(sandbox: Sandbox) -> Shell:
    """Run a line of shell in the sandbox."""

    def run(line: str, **fields: object) -> CommandResult:
        return sandbox.run(Command(("/bin/sh", "-c", line), **fields))  # type: ignore[arg-type]

    return run
