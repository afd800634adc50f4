"""What a container is created with."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from steelyard.sandboxes.base import SandboxSpec
from steelyard.sandboxes.docker.api import Engine
from steelyard.sandboxes.docker.creation import creation


def host_config(security: list[str], name: str = "docker") -> dict[str, Any]:
    engine = SimpleNamespace(info={"SecurityOptions": security}, version=SimpleNamespace(name=name))
    body = creation(cast("Engine", engine), SandboxSpec(layers=()), "image", "token")
    found: dict[str, Any] = body["HostConfig"]
    return found


def test_all_of_proc_is_read_only_and_so_is_what_the_engine_protects_by_itself() -> None:
    assert {"/proc", "/proc/sys", "/proc/sysrq-trigger"} <= set(
        host_config(["name=seccomp"])["ReadonlyPaths"]
    )


@pytest.mark.parametrize("option", ["name=selinux", "name=selinux,profile=default"])
def test_where_selinux_labels_containers_the_engine_keeps_its_own_list(option: str) -> None:
    assert "ReadonlyPaths" not in host_config([option])


def test_podman_keeps_its_own_list(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path))
    assert "ReadonlyPaths" not in host_config([], "podman")
