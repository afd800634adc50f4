"""What is particular to containers: reaching into them or not, their limits, and what is left of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from containers import container_engine, image, in_image

from steelyard.errors import ContractFault, InfraFault
from steelyard.evidence.change.importer import import_workspace
from steelyard.sandboxes.base import Command, FileOverlay, Limits, Mount, Sandbox, SandboxSpec
from steelyard.sandboxes.docker import backend as docker_backend
from steelyard.sandboxes.docker.api import Engine, EngineRefusal, engine
from steelyard.sandboxes.docker.backend import DockerBackend, sweep
from steelyard.sandboxes.docker.derived import OWNER_LABEL, derived_tag

if TYPE_CHECKING:
    from tests.sandboxes.conftest import Start, Tree

KINDS = ["docker"]
SMALL = Limits(cpu=2, memory_mb=256, guaranteed_mb=64, disk_mb=16, tmp_mb=4, processes=64)


def sh(sandbox: Sandbox, line: str) -> str:
    done = sandbox.run(Command(("sh", "-c", line)))
    return done.stdout.text + done.stderr.text


def changed(sandbox: Sandbox) -> dict[str, str]:
    """Path -> what became of it."""
    sandbox.stop()
    change = import_workspace(sandbox.captured_tree(), baseline_root="", blobs=None)
    assert change.complete
    words = {(True, False): "gone", (False, True): "new", (True, True): "other"}
    return {one.path: words[one.old is not None, one.new is not None] for one in change.entries}


@pytest.fixture(params=["reached", "out of reach"])
def reach(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """By descriptors as root of the same machine, and by the engine's tars as anybody else."""
    far = request.param == "out of reach"
    monkeypatch.setattr(docker_backend, "_out_of_reach", {container_engine().path} if far else set())
    if not far and os.geteuid() != 0:
        pytest.skip("only root reaches into a container")
    return str(request.param)


def test_a_change_is_captured(start: Start, tree: Tree, reach: str) -> None:
    sandbox = start(layers=(tree(kept="1", gone="2", other="3", folder__x="4"),))
    sh(
        sandbox,
        "rm gone; echo 4 > other; mkdir made; touch made/y; ln -s / link; mkfifo pipe; chmod 000 kept",
    )
    assert changed(sandbox) == {"gone": "gone", "made/y": "new", "other": "other", "link": "new"}
    assert sandbox.facts.materialise == ("overlay" if reach == "reached" else "copy")


@pytest.mark.usefixtures("reach")
def test_laid_pieces_and_places_are_there(start: Start, tree: Tree, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_text("laid\n")
    layer = tree(file="1", folder__x="2", gone="3")
    (layer / "link").symlink_to("/etc")
    pieces = (
        FileOverlay("link/passwd", "file", source=source),
        FileOverlay("folder", "file", "755", source),
        FileOverlay("gone", "gone"),
    )
    extra_mounts = (
        Mount("/tests", (FileOverlay("verify.sh", "file", source=source),), read_only=True),
        Mount("/logs"),
    )
    sandbox = start(layers=(layer,), overlays=pieces, extra_mounts=extra_mounts)
    assert (
        sh(sandbox, "cat link/passwd folder /tests/verify.sh; ls; ls -A /logs")
        == "laid\n" * 3 + "file\nfolder\nlink\n"
    )
    assert "denied" in sh(sandbox, "touch /tests/x")
    assert sh(sandbox, "touch /logs/x && echo yes; grep -c root /etc/passwd") == "yes\n0\n"
    found = changed(sandbox)
    assert {"gone", "folder"} <= set(found)
    assert "file" not in found


@pytest.mark.usefixtures("reach")
def test_a_kept_workspace_is_a_layer_for_the_next(
    start: Start,
    tree: Tree,
    tmp_path: Path,
) -> None:
    base, keep = tree(a="1", gone="2"), tmp_path / "keep"
    first = start(layers=(base,), keep=keep)
    sh(first, "rm gone; echo 3 > made; echo rc > ~/.rc; chmod 755 made")
    first.close()
    second = start(layers=(keep / "workspace", base), home_layers=(keep / "home",))
    assert sh(second, "ls; cat ~/.rc; test -x made && echo yes") == "a\nmade\nrc\nyes\n"
    assert changed(second) == {}


@pytest.mark.usefixtures("reach")
def test_a_name_of_any_bytes_survives(start: Start, tree: Tree) -> None:
    layer = tree(a="1")
    Path(os.fsdecode(os.fsencode(layer) + b"/odd\xff\n name")).write_text("2")
    sandbox = start(layers=(layer,))
    assert sh(sandbox, "cat odd*") == "2"
    assert changed(sandbox) == {}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root reaches into a container")
def test_a_read_only_root_leaves_workspace_home_and_tmp_writable(start: Start) -> None:
    sandbox = start(read_only=True, extra_mounts=(Mount("/tests", read_only=True), Mount("/logs")))
    result = sh(
        sandbox,
        "for f in /x /srv/x /tests/x /logs/x /tmp/x ~/x x; do touch $f 2>/dev/null && echo $f; done",
    )
    assert result == "/logs/x\n/tmp/x\n/home/agent/x\nx\n"
    assert changed(sandbox) == {"x": "new"}


def test_a_disk_that_is_over_its_limit_ends_everything(start: Start) -> None:
    sandbox = start(limits=replace(SMALL, disk_mb=8))
    done = sandbox.run(
        Command(("sh", "-c", "i=0; while :; do head -c 4000000 /dev/zero > f$i; i=$((i+1)); sleep 0.1; done"))
    )
    assert done.signal == signal.SIGKILL
    assert sandbox.stop().disk_full


def test_fewer_processes_than_an_engine_needs_to_start_one(start: Start) -> None:
    sandbox = start(limits=replace(SMALL, processes=8))
    done = sandbox.run(Command(("sh", "-c", "for i in $(seq 60); do sleep 5 & done; wait"), timeout_s=60))
    assert "fork" in done.stderr.text.lower()
    assert sandbox.stop().processes_refused > 0


def test_files_of_the_image_in_the_workspace_are_refused(start: Start, tree: Tree) -> None:
    found = container_engine()
    made = start()
    sh(made, "touch mine")
    ident = made._container.id  # type: ignore[attr-defined]
    odd = str(found.call("POST", "/commit", {}, {"container": ident})["Id"])
    try:
        with pytest.raises(ContractFault, match="already has files in /workspace"):
            DockerBackend().start(SandboxSpec(layers=(tree(other="1"),), image=odd, limits=SMALL))
    finally:
        found.call("DELETE", f"/images/{odd}", None, {"force": 1})


def test_hidden_files_are_in_no_image(start: Start, tree: Tree, tmp_path: Path) -> None:
    source = tmp_path / "hidden"
    source.write_text("the answer is 42\n")
    sandbox = start(
        layers=(tree(readme="plain\n"),), overlays=(FileOverlay("hidden", "file", source=source),)
    )
    sandbox.close()
    again = start(layers=(tree(readme="plain\n"),))
    assert sh(again, "ls") == "readme\n"


def test_an_image_is_derived_once(start: Start, tree: Tree) -> None:
    def derived() -> str:
        spec = in_image(SandboxSpec(layers=(tree(once="only\n"),)))
        return str(engine().call("GET", f"/images/{derived_tag(spec)}/json")["Id"])

    start(layers=(tree(once="only\n"),))
    before = derived()
    start(layers=(tree(once="only\n"),))
    assert derived() == before


@pytest.fixture
def controller(tree: Tree) -> Iterator[subprocess.Popen[str]]:
    """A process with a container of its own, and the container's id as its first line."""
    code = f"""
import sys, time
from pathlib import Path
from steelyard.sandboxes.base import SandboxSpec, Command
from steelyard.sandboxes.docker.backend import DockerBackend
box = SandboxSpec(layers=(Path({str(tree(a="1"))!r}),), image={image().id!r})
sandbox = DockerBackend().start(box)
print(sandbox._container.id, flush=True)
sandbox.run(Command(("sleep", "1000")))
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def test_a_killed_controller_leaves_nothing_after_the_next_start(controller: subprocess.Popen[str]) -> None:
    found = container_engine()
    assert controller.stdout is not None
    ident = controller.stdout.readline().strip()
    controller.kill()
    controller.wait()
    found.call(
        "POST", f"/containers/{ident}/wait", timeout_s=30
    )  # its end of the stream is closed, so init ends
    assert ident[:12] in sweep(found)
    query = {"all": 1, "filters": json.dumps({"label": [OWNER_LABEL], "id": [ident]})}
    assert found.call("GET", "/containers/json", None, query) == []  # type: ignore[arg-type]


def test_a_closed_sandbox_leaves_no_container_and_no_descriptor(start: Start) -> None:
    def added_descriptors() -> int:
        before = len(list(Path("/proc/self/fd").iterdir()))
        sandbox = start()
        sh(sandbox, "touch x")
        assert changed(sandbox) == {"x": "new"}
        ident = sandbox._container.id  # type: ignore[attr-defined]
        sandbox.close()
        with pytest.raises(EngineRefusal, match=r"(?i)no such container"):
            container_engine().call("GET", f"/containers/{ident}/json")
        return len(list(Path("/proc/self/fd").iterdir())) - before

    # Other threads of this process may open one meanwhile; a leak adds some each time.
    assert any(added_descriptors() <= 0 for _ in range(3))


def test_a_live_controllers_container_is_not_swept(start: Start) -> None:
    sandbox = start()
    sweep(container_engine())
    assert sh(sandbox, "echo alive") == "alive\n"


def test_a_container_that_is_removed_under_a_command_is_a_lost_one(start: Start) -> None:
    sandbox = start()
    ident = sandbox._container.id  # type: ignore[attr-defined]
    container_engine().call("POST", f"/containers/{ident}/kill")
    assert sandbox.run(Command(("true",))).lost


def test_an_engine_that_is_gone_is_the_machines_fault(tmp_path: Path) -> None:
    with pytest.raises(InfraFault, match="no container engine answers"):
        Engine(str(tmp_path / "docker.sock")).call("GET", "/version")


def test_an_engine_elsewhere_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:2375")
    with pytest.raises(InfraFault, match="not on this machine"):
        engine()


def test_a_container_has_no_privilege(start: Start) -> None:
    result = sh(start(), "cat /proc/self/status")
    assert "CapBnd:\t0000000000000000" in result
    assert "NoNewPrivs:\t1" in result
    assert "Seccomp:\t2" in result


def test_an_image_without_the_box_is_refused() -> None:
    container_engine()
    with pytest.raises(InfraFault, match="needs an image"):
        DockerBackend().start(SandboxSpec(layers=()))


def test_facts_say_container() -> None:
    facts = DockerBackend().facts(in_image(SandboxSpec(layers=())))
    assert (facts.kind, facts.isolation, facts.run_uid, facts.limits["disk"]) == (
        "docker",
        "container",
        1000,
        "polled",
    )


@pytest.mark.parametrize(("user", "number"), [("", 0), ("root", 0), ("1234:5", 1234), ("ann", None)])
def test_facts_say_no_number_of_a_user_that_only_the_image_knows(user: str, number: int | None) -> None:
    facts = DockerBackend().facts(in_image(SandboxSpec(layers=(), scope="system", user=user)))
    assert facts.run_uid == number
