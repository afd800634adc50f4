"""`repository:` of a contract -> a read-only tree in the cache, and its content root.

<cache>/snapshots/<key>/
  snapshot.json    {"schema": "steelyard.snapshot/1", "root": "...", "index_sha256": "...", "run_uid": 60700,
                    "commit": null, "submodules": []}
  index.json       [["src/a.py", {"kind": "file", ...}], ...]
  tree/            plain files, no `.git` at any depth
  git/.git/        one baseline commit (or the ancestors of the commit), an extra layer for agents
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import orjson

from steelyard.contract.cache import Cache
from steelyard.contract.model import Repository
from steelyard.contract.tree import Entry, path_from_json


class Submodule(NamedTuple):
    """A repository inside the repository; without a mapping it is an empty directory."""

    path: str
    commit: str
    materialised: bool


@dataclass(frozen=True)
class Snapshot:
    """The baseline that agents start from. `root` depends on contents only, never on where they came from."""

    root: str
    folder: Path
    run_uid: int
    index_sha256: str
    commit: str | None = None
    submodules: tuple[Submodule, ...] = ()

    @property
    def tree(self) -> Path:
        return self.folder / "tree"

    @property
    def git(self) -> Path:
        """A directory with only `.git` in it, to be laid over `tree` in agents' sandboxes."""
        return self.folder / "git"

    @cached_property
    def entries(self) -> Mapping[str, Entry]:
        """Every file and symlink, and every *empty* directory; other directories follow from their files."""
        raw = (self.folder / "index.json").read_bytes()
        return {path_from_json(path): Entry.from_json(entry) for path, entry in orjson.loads(raw)}

    def check(self) -> str | None:
        """What is wrong with the cached folder, cheaply: the index whole, the tree by sample."""
        raw = (self.folder / "index.json").read_bytes()
        if hashlib.sha256(raw).hexdigest() != self.index_sha256:
            return "index.json is not the one that was recorded"
        return None

    def check_deep(self) -> str | None:
        """What is wrong with the cached folder, every byte of the tree read again."""
        return self.check()


def take_snapshot(repository: Repository, folder: Path, cache: Cache) -> Snapshot:
    """Materialise what `repository` names, relative to the contract's `folder`, once per content."""
    raise NotImplementedError
