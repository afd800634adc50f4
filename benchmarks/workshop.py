"""Where a benchmark works: a temporary folder with a cache of its own, and things to measure on."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from steelyard.api import load_contract
from steelyard.contract.contract import Contract
from steelyard.filesystem.owner import run_uid

FOLDER_FILES, PACKAGE_FILES = 50, 1000
LINES = "".join(f"line {number} of a file that is not read\n" for number in range(80))  # about 3 kB


@dataclass(frozen=True, slots=True)
class Workshop:
    folder: Path
    asked: int | None = None  # rounds of every row, instead of its own number

    def rounds(self, usual: int) -> int:
        return self.asked or usual

    def tree(self, files: int) -> Path:
        """A repository of that many files, as deep and wide as real ones; made once."""
        root = self.folder / f"tree-{files}"
        if not root.is_dir():
            root.mkdir()
            for number in range(files):
                path = root / tree_file(number)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(f"# {number}\n{LINES}")
            _hand_over(root)
        return root

    def contract(self, name: str, files: dict[str, str], check: str, **keys: Any) -> Contract:
        """A contract with one check on a repository of these files."""
        folder = self.folder / name
        for path, text in files.items():
            (folder / "repo" / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / "repo" / path).write_text(text)
        contract = {
            "id": name,
            "brief": "Do what has to be done.",
            "repository": {"tree": "repo"},
            "environment": {"memory_mb": {"guaranteed": 64, "limit": 1024}, "disk_mb": 256},
            "build": "none",
            "oracle": {"checks": [{"id": "check", "cmd": check, "timeout_s": 60}]},
            "budget": {"wall_s": 60},
            **keys,
        }
        (folder / "contract.yaml").write_text(yaml.safe_dump(contract))
        return load_contract(folder)


def tree_file(number: int) -> str:
    return f"package{number // PACKAGE_FILES}/module{number // FOLDER_FILES}/file{number}.py"


def _hand_over(root: Path) -> None:
    """A sandbox's layers belong to the uid that commands run as."""
    if os.geteuid() == 0:
        for parent, _, files in os.walk(root):
            for path in (parent, *(os.path.join(parent, name) for name in files)):  # noqa: PTH118  # 20,000 times
                os.chown(path, run_uid(), run_uid())


@contextmanager
def workshop(rounds: int | None) -> Iterator[Workshop]:
    """Nothing is written outside; it is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="steelyard-benchmarks-") as name:
        Path(name).chmod(0o755)
        before = os.environ.get("STEELYARD_CACHE")
        os.environ["STEELYARD_CACHE"] = f"{name}/cache"
        try:
            yield Workshop(Path(name), rounds)
        finally:
            if before is None:
                del os.environ["STEELYARD_CACHE"]
            else:
                os.environ["STEELYARD_CACHE"] = before
