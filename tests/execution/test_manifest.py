"""The manifest names everything that a run could be rebuilt from."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from authoring import Author, Steelyard


@pytest.fixture
def manifest(steelyard: Steelyard, author: Author) -> dict[str, Any]:
    contract = author.write(
        files={"repo/requirements.lock": "six==1.16.0\n"},
        environment={"toolchains": {"python": "3"}, "env": {"LEVEL": "7"}, "disk_mb": 64},
        setup=["echo made > made.txt"],
    )
    line = steelyard("run", contract, "--agent", "noop", "--json").line
    data: dict[str, Any] = json.loads((Path(line["folder"]) / "manifest.json").read_bytes())
    return data


def test_it_names_what_a_rebuild_needs(manifest: dict[str, Any]) -> None:
    assert len(manifest["repository"]["content_root"]) == 64
    assert manifest["repository"]["submodules"] == []
    assert manifest["harness"]["entry_points"] == {
        "setup": ["echo made > made.txt"],
        "checks": {"adds": "sh check.sh"},
    }
    assert manifest["seeds"]["protocol"] == 20260307
    assert manifest["environment"]["declared_env"] == {"LEVEL": "7"}
    assert manifest["environment"]["setup"]["network"] == "offline"
    assert set(manifest["environment"]["package_managers"]) == {"pip", "npm"}


def test_it_has_the_digest_of_every_lock_file(manifest: dict[str, Any]) -> None:
    (lock,) = manifest["repository"]["lock_files"]
    assert lock == {"path": "requirements.lock", "sha256": hashlib.sha256(b"six==1.16.0\n").hexdigest()}


def test_it_says_of_each_limit_how_it_is_enforced(manifest: dict[str, Any]) -> None:
    limits = manifest["environment"]["limits"]
    assert set(limits) == {"cpu", "memory", "disk", "processes"}
    assert limits["disk"] == {"value": 64, "unit": "MiB", "enforced": "tmpfs"}
    assert all(
        limit["enforced"] in {"cgroup", "rlimit", "polled", "tmpfs", "none"} for limit in limits.values()
    )


def test_it_names_the_toolchain_that_was_really_used(manifest: dict[str, Any]) -> None:
    (python,) = manifest["environment"]["toolchains"]
    assert python["wanted"] == "3"
    assert python["version"].startswith("3.")
