"""Programs of a change that a PATH into the workspace would find instead of the bench's own."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from steelyard.bench.transfer.path_hijacks import (
    MAX_NOTES,
    NAMES_AT_ONCE,
    HijackRemoval,
    is_in_tree,
    without_path_hijacks,
)
from steelyard.filesystem.tree import Entry
from steelyard.sandboxes.base import Command, CommandResult, FileOverlay
from steelyard.sandboxes.fake import Answer, FakeSandbox
from steelyard.sandboxes.init.frames import Request

PATH = "/workspace/.venv/bin:/usr/bin:/bin"
FILE = Entry("file", "755", 1, "0" * 64)


class Bench:
    """A bench with programs outside the workspace; it remembers which names it was asked for."""

    def __init__(self, *programs: str, exit_code: int = 0, snapshot: tuple[str, ...] = ()) -> None:
        self.programs, self.exit_code = programs, exit_code
        self.environment: Any = SimpleNamespace(baseline=dict.fromkeys(snapshot, FILE), setup=None)
        self.asked: list[Request] = []

    def clear(self, *overlays: FileOverlay, path: str = PATH) -> HijackRemoval:
        return without_path_hijacks(self.environment, path, overlays, self._ask)

    def _ask(self, command: Command) -> CommandResult:
        with FakeSandbox(self._answer) as sandbox:
            return sandbox.run(command)

    def _answer(self, request: Request) -> Answer:
        self.asked.append(request)
        found = [name for name in request.argv[4:] if name in self.programs]
        return Answer(stdout="".join(f"{name}\0" for name in found).encode(), exit_code=self.exit_code)


def paths(cleared: HijackRemoval) -> list[str]:
    return [one.path for one in cleared.overlays]


def test_a_program_with_the_name_of_one_of_the_bench_is_left_out() -> None:
    cleared = Bench("python3").clear(FileOverlay(".venv/bin/python3", "file"), FileOverlay("shop.py", "file"))
    assert paths(cleared) == ["shop.py"]
    assert cleared.notes == (".venv/bin/python3 would replace a program of the bench and was left out",)


def test_a_program_with_a_name_of_its_own_stays() -> None:
    assert paths(Bench("python3").clear(FileOverlay(".venv/bin/shop", "file"))) == [".venv/bin/shop"]


def test_a_program_of_the_snapshot_may_be_changed() -> None:
    bench = Bench("python3", snapshot=(".venv/bin/python3",))
    assert paths(bench.clear(FileOverlay(".venv/bin/python3", "file"))) == [".venv/bin/python3"]


def test_a_link_to_a_program_of_the_change_is_followed() -> None:
    cleared = Bench("bash").clear(
        FileOverlay("own", "file"), FileOverlay(".venv/bin/bash", "symlink", target="../../own")
    )
    assert ".venv/bin/bash" not in paths(cleared)


def test_a_folder_that_a_link_of_the_change_puts_on_the_path_is_left_out() -> None:
    overlays = (FileOverlay("mine/python3", "file"), FileOverlay(".venv/bin", "symlink", target="../mine"))
    assert ".venv/bin" not in paths(Bench("python3").clear(*overlays))


def test_a_path_that_does_not_lead_into_the_workspace_asks_nothing() -> None:
    bench = Bench("python3")
    overlays = (FileOverlay(".venv/bin/python3", "file"),)
    assert bench.clear(*overlays, path="/usr/bin:/bin").overlays == overlays
    assert bench.asked == []


def test_the_bench_is_asked_without_the_folders_of_the_workspace() -> None:
    bench = Bench("python3")
    bench.clear(FileOverlay(".venv/bin/python3", "file"))
    assert dict(bench.asked[0].env)["PATH"] == "/usr/bin:/bin"


def test_where_the_bench_does_not_answer_every_program_on_the_path_is_left_out() -> None:
    assert paths(Bench(exit_code=1).clear(FileOverlay(".venv/bin/shop", "file"))) == []


def test_many_names_are_asked_for_in_parts_and_few_are_noted() -> None:
    names = [f"tool{number}" for number in range(NAMES_AT_ONCE + 1)]
    bench = Bench(*names)
    cleared = bench.clear(*(FileOverlay(f".venv/bin/{name}", "file") for name in names))
    assert (len(bench.asked), paths(cleared), len(cleared.notes)) == (2, [], MAX_NOTES)


@pytest.mark.parametrize("folder", ["", ".", "bin", "/workspace", "/workspace/bin", "/usr/../workspace/bin"])
def test_a_folder_in_the_workspace_is_in_the_tree(folder: str) -> None:
    assert is_in_tree(folder)


@pytest.mark.parametrize("folder", ["/usr/bin", "..", "/workspace2", "/"])
def test_a_folder_elsewhere_is_not_in_the_tree(folder: str) -> None:
    assert not is_in_tree(folder)
