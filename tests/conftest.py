"""What end-to-end tests share: the command as a user types it, and small contracts to type it on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Said:
    """What a command answered."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def line(self) -> dict[str, Any]:
        (line,) = self.lines
        return line


Steelyard = Callable[..., Said]


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def steelyard(tmp_path: Path, cache: Path) -> Steelyard:
    """Run `steelyard ...` in an empty folder with a cache of the tests' own."""
    where = tmp_path / "cwd"
    where.mkdir(exist_ok=True)

    def run(*arguments: object, env: Mapping[str, str] | None = None, cwd: Path = where) -> Said:
        done = subprocess.run(
            [sys.executable, "-m", "steelyard.cli.main", *map(str, arguments)],
            cwd=cwd,
            env={**os.environ, "STEELYARD_CACHE": str(cache), **(env or {})},
            capture_output=True,
            text=True,
            check=False,
        )
        return Said(done.returncode, done.stdout, done.stderr)

    return run


@dataclass(frozen=True)
class Author:
    """Writes contracts: a folder, its files, and a contract.yaml made of sensible defaults and what is asked."""

    folder: Path

    def write(self, files: Mapping[str, str] | None = None, **keys: Any) -> Path:
        contract = {
            "id": "sum",
            "brief": "Make add() add.",
            "repository": {"tree": "repo"},
            "environment": {"memory_mb": {"guaranteed": 64, "limit": 512}, "disk_mb": 64, "processes": 64},
            "build": "none",
            "oracle": {
                "checks": [{"id": "adds", "cmd": "sh check.sh", "timeout_s": 60}],
                "reference": "reference.patch",
            },
            "budget": {"wall_s": 60, "headroom": {"wall_s": 30}},
            **keys,
        }
        for name, text in {**DEFAULT_FILES, **(files or {})}.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (self.folder / "contract.yaml").write_text(yaml.safe_dump(contract, sort_keys=False))
        return self.folder


# A repository in plain shell: nothing to install, and a check that takes a millisecond.
DEFAULT_FILES = {
    "repo/add.sh": "echo $(($1 - $2))\n",
    "repo/check.sh": '[ "$(sh add.sh 2 3)" = 5 ]\n',
    "repo/README.md": "add two numbers\n",
    "reference.patch": (
        "diff --git a/add.sh b/add.sh\n--- a/add.sh\n+++ b/add.sh\n@@ -1 +1 @@\n"
        "-echo $(($1 - $2))\n+echo $(($1 + $2))\n"
    ),
}
FIX = "echo 'echo $(($1 + $2))' > add.sh\n"


@pytest.fixture
def author(tmp_path: Path) -> Author:
    folder = tmp_path / "contract"
    folder.mkdir()
    return Author(folder)


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str], str]:
    """Text -> `script:PATH`, an agent."""

    def write(text: str, name: str = "agent.sh") -> str:
        path = tmp_path / name
        path.write_text(text)
        return f"script:{path}"

    return write
