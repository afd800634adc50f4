"""The contract's `setup` on a fake sandbox: what runs, what is kept, and whose fault a failure is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from authoring import Author
from steelyard.contract.load import load_contract
from steelyard.environment.setup_layer import SETUP_TIMEOUT_S, SetupLayer, setup_layer
from steelyard.errors import ContractFault
from steelyard.evidence.change.change import Change
from steelyard.filesystem.cache import Cache
from steelyard.graders.catalogue import installed_catalogue
from steelyard.sandboxes.base import Facts, SandboxSpec
from steelyard.sandboxes.fake import Answer, FakeSandbox
from steelyard.sandboxes.init.frames import Request


@dataclass
class FakeBackend:
    """Its sandboxes leave an empty layer; each command is answered by `script`."""

    script: Callable[[Request], Answer] = lambda _: Answer()
    lines: list[str] = field(default_factory=list)
    boxes: list[SandboxSpec] = field(default_factory=list)

    def facts(self, box: SandboxSpec) -> Facts:
        del box
        with FakeSandbox(self.script) as sandbox:
            return sandbox.facts

    def start(self, box: SandboxSpec) -> FakeSandbox:
        assert box.keep is not None
        for name in ("workspace", "home"):
            (box.keep / name).mkdir()
        (box.keep / "workspace" / ".git").mkdir()
        (box.keep / "work-1").mkdir()
        self.boxes.append(box)
        return FakeSandbox(self._run)

    def _run(self, request: Request) -> Answer:
        assert request.argv[:2] == ["/bin/sh", "-ec"]
        self.lines.append(request.argv[2])
        return self.script(request)


@pytest.fixture
def layer(author: Author, tmp_path: Path) -> Callable[..., SetupLayer]:
    cache = Cache(tmp_path / "store")

    def build(backend: FakeBackend, *, toolchains: tuple[str, ...] = (), **keys: Any) -> SetupLayer:
        contract = load_contract(
            author.write(**{"setup": ["one", "two"], **keys}), installed_catalogue(), cache
        )
        return setup_layer(contract, SandboxSpec(()), backend, toolchains, cache)

    return build


def test_the_lines_of_setup_run_in_their_order(layer: Callable[..., SetupLayer]) -> None:
    backend = FakeBackend()
    layer(backend)
    assert backend.lines == ["one", "two"]


def test_a_second_contract_with_the_same_setup_takes_the_layer_from_the_cache(
    layer: Callable[..., SetupLayer],
) -> None:
    backend = FakeBackend()
    first = layer(backend)
    second = layer(backend, brief="Another brief.")
    assert len(backend.boxes) == 1
    assert (first.digest, first.identity) == (second.digest, second.identity)


@pytest.mark.parametrize(
    "keys",
    [
        {"setup": ["one"]},
        {"toolchains": ("another digest",)},
        {"files": {"repo/new.txt": "x\n"}},
        {"environment": {"disk_mb": 65}},
        {"setup_network": "host"},
    ],
    ids=lambda keys: next(iter(keys)),
)
def test_whatever_can_change_the_layer_builds_another(
    layer: Callable[..., SetupLayer], keys: dict[str, Any]
) -> None:
    backend = FakeBackend()
    layer(backend)
    layer(backend, **keys)
    assert len(backend.boxes) == 2


def test_a_line_that_fails_is_the_contracts_fault_and_ends_setup(layer: Callable[..., SetupLayer]) -> None:
    backend = FakeBackend(lambda _: Answer(exit_code=4, stderr=b"no such package\n"))
    with pytest.raises(ContractFault) as caught:
        layer(backend)
    (problem,) = caught.value.problems
    assert backend.lines == ["one"]
    assert problem.field == "setup[0]"
    assert problem.message == "`one` ended with exit code 4\nno such package"
    assert "setup_network: host" in problem.fix


def test_a_failed_setup_is_tried_again_the_next_time(layer: Callable[..., SetupLayer]) -> None:
    with pytest.raises(ContractFault):
        layer(FakeBackend(lambda _: Answer(exit_code=1)))
    backend = FakeBackend()
    layer(backend)
    assert backend.lines == ["one", "two"]


def test_what_setup_did_to_git_and_the_work_folders_of_an_overlay_are_not_in_the_layer(
    layer: Callable[..., SetupLayer],
) -> None:
    made = layer(FakeBackend())
    assert not (made.workspace / ".git").exists()
    assert not list(made.workspace.parent.glob("work-*"))


def test_setup_is_offline_unless_the_contract_says_otherwise(
    layer: Callable[..., SetupLayer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "https://index.example/simple")
    backend = FakeBackend()
    assert (layer(backend).network, backend.boxes[0].network) == ("offline", "none")
    assert "PIP_INDEX_URL" not in backend.boxes[0].env
    assert (layer(backend, setup_network="host").network, backend.boxes[1].network) == ("fetched", "host")
    assert backend.boxes[1].env["PIP_INDEX_URL"] == "https://index.example/simple"


def test_a_line_of_setup_has_an_hour() -> None:
    assert SETUP_TIMEOUT_S == 3600


def test_a_layer_owns_what_is_below_its_roots(tmp_path: Path) -> None:
    made = SetupLayer(tmp_path, tmp_path, "", Change(""), "offline", (".venv", "pkg/gen"), "")
    assert made.owns(".venv/bin/python")
    assert made.owns("pkg/gen")
    assert not made.owns("pkg/general")
