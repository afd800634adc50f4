"""What end-to-end tests write and read: small contracts, and what the command answered."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
# For an agent that waits until a test has looked at it, however busy the machine is.
PATIENT = {"wall_s": 1200, "headroom": {"wall_s": 600}}


@dataclass(frozen=True)
class CliResult:
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


Steelyard = Callable[..., CliResult]


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

# The same bug in Python, for contracts whose checks run tests: `from calc import add`.
PYTHON_FILES = {
    "repo/calc.py": "def add(a, b):\n    return a - b\n",
    "reference.patch": (
        "diff --git a/calc.py b/calc.py\n--- a/calc.py\n+++ b/calc.py\n@@ -1,2 +1,2 @@\n"
        " def add(a, b):\n-    return a - b\n+    return a + b\n"
    ),
}
PYTHON_FIX = "sed -i 's/a - b/a + b/' calc.py\n"


def events(line: Mapping[str, Any], *types: str) -> list[dict[str, Any]]:
    """What the run of a result line wrote down."""
    log = Path(line["folder"], "events.jsonl").read_text().splitlines()
    return [event for event in map(json.loads, log) if event["type"] in types]


def payloads(line: Mapping[str, Any], *types: str) -> list[dict[str, Any]]:
    return [event["payload"] for event in events(line, *types)]
