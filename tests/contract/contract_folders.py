"""What the tests of contracts share: small contracts, real git repositories, and an ordinary user."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from small_catalogue import SMALL

from steelyard.contract.contract import Contract
from steelyard.contract.load import examine_contract, load_contract
from steelyard.errors import ContractFault, Problem
from steelyard.filesystem.cache import Cache

NOBODY = 65534


@pytest.fixture
def store(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "store")


@dataclass(frozen=True)
class Writer:
    """A contract folder under test."""

    folder: Path
    store: Cache

    def write(self, files: Mapping[str, str | bytes] | None = None, **keys: Any) -> None:
        data = {
            "id": "demo",
            "brief": "Mend it.",
            "repository": {"tree": "repo"},
            "build": "none",
            "oracle": {"checks": [{"id": "accept", "cmd": "make test"}]},
            **keys,
        }
        self.text(yaml.safe_dump({key: value for key, value in data.items() if value is not ...}))
        for name, content in {"repo/a.py": "print(1)\n", **(files or {})}.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)

    def text(self, text: str | bytes) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "contract.yaml").write_bytes(text.encode() if isinstance(text, str) else text)

    def load(self) -> Contract:
        return load_contract(self.folder, SMALL, self.store)

    def warnings(self) -> list[str]:
        return [
            f"{problem.field}: {problem.message}"
            for problem in examine_contract(self.folder, SMALL, self.store)[1]
        ]

    def problems(self) -> list[Problem]:
        with pytest.raises(ContractFault) as caught:
            self.load()
        return caught.value.problems

    def problem(self) -> Problem:
        (problem,) = self.problems()
        return problem


@pytest.fixture
def writer(tmp_path: Path, store: Cache) -> Writer:
    return Writer(tmp_path / "demo", store)


@dataclass(frozen=True)
class Git:
    """A real repository, used as anybody uses one."""

    folder: Path

    def __call__(self, *arguments: str) -> str:
        done = subprocess.run(
            [
                "git",
                "-c",
                "user.name=Ann",
                "-c",
                "user.email=ann@example.org",
                "-C",
                str(self.folder),
                *arguments,
            ],
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"},
        )
        return done.stdout.strip()

    def commit(self, files: Mapping[str, str | bytes], message: str = "one") -> str:
        for name, content in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        self("add", "-A")
        self("commit", "-q", "--allow-empty", "-m", message)
        return self("rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Git:
    return new_repository(tmp_path / "upstream")


def new_repository(folder: Path) -> Git:
    folder.mkdir(parents=True)
    repository = Git(folder)
    repository("init", "-q", "-b", "trunk")
    return repository


@pytest.fixture
def ordinary_user() -> Iterator[Path]:
    """A folder of somebody who is not root; the test runs as that user."""
    folder = Path(tempfile.mkdtemp(prefix="steelyard-test-"))
    was_root = os.geteuid() == 0
    if was_root:
        os.chown(folder, NOBODY, NOBODY)
        os.setresgid(NOBODY, NOBODY, 0)
        os.setresuid(NOBODY, NOBODY, 0)
    try:
        yield folder
    finally:
        if was_root:
            os.setresuid(0, 0, 0)
            os.setresgid(0, 0, 0)
        shutil.rmtree(folder)
