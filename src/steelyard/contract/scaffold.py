"""A repository -> the first contract.yaml, brief.md and hidden test for it, commented, valid, to be filled in."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import NamedTuple

from steelyard.contract.model import NAME_PATTERN
from steelyard.contract.snapshot.git_source import check_commit, check_id, git_dir_of
from steelyard.errors import OperatorFault
from steelyard.filesystem.git import GitRefused, git

BRIEF = """\
Write here what the agent has to do, as you would explain it to a colleague who knows the repository.
State what must hold afterwards, not how to do it; never mention the hidden tests.
"""

HIDDEN = """\
import unittest


class Acceptance(unittest.TestCase):
    def test_what_must_hold_once_the_task_is_done(self):
        self.fail("write tests of what must hold; `steelyard check --reference` then runs them on your solution")
"""

CONTRACT = """\
# yaml-language-server: $schema=contract.schema.json
# (steelyard schema > contract.schema.json gives your editor completion for every key)
id: {id}
brief_file: brief.md            # what the agent reads
hints: []                       # e.g. ["tests: make test"]

repository:
{repository}

environment:
  # toolchains: {{python: "3.11"}}  # toolchains of this machine; without it only /usr is available
  env: {{TZ: UTC}}

# setup:                        # run once and cached, before any agent
#   - make deps

build: none                     # remove this line once a check is `under: build` or `under: static`

oracle:
  checks:                       # all must pass, on a fresh tree with the agent's change
    - id: acceptance
      type: tests               # reports each test; `type: command` reads only an exit code
      cmd: python3 -m unittest tests/test_acceptance.py
      # or: python3 -m pytest, node --test, npx jest, go test ./..., cargo test, ...; `setup` installs what they need
      inject:                   # hidden files, written over the change last; agents never see them
        - {{src: hidden/test_acceptance.py, dest: tests/test_acceptance.py}}
      timeout_s: 600
      weight: 1
  # reference: reference.patch  # a solution, as `git diff` writes it; shows that the task can be done

# policy:
#   allowed_paths: ["src/**", "tests/**"]
budget: {{wall_s: 1800}}

graders: []
"""


class Asked(NamedTuple):
    """Where the snapshot is to come from; neither means a folder `repo` to be filled."""

    git: Path | None = None
    commit: str | None = None
    tree: Path | None = None
    id: str | None = None


def write_contract(folder: Path, asked: Asked) -> list[Path]:
    """Write the files of a new contract; what was written. Nothing is ever overwritten."""
    if asked.id is not None and not re.fullmatch(NAME_PATTERN, asked.id):
        raise OperatorFault(f"--id {asked.id!r} cannot be an id; it must match {NAME_PATTERN}")
    if folder.exists() and not folder.is_dir():
        raise OperatorFault(f"{folder} is not a folder; nothing was written")
    repository = _repository(folder, asked)
    name = (
        asked.id
        if asked.id is not None
        else re.sub(r"[^A-Za-z0-9._-]+", "-", folder.absolute().name).strip("-._")
    )
    texts = {
        folder / "contract.yaml": CONTRACT.format(id=json.dumps(name or "contract"), repository=repository),
        folder / "brief.md": BRIEF,
        folder / "hidden/test_acceptance.py": HIDDEN,
    }
    for path in texts:
        if path.exists() or path.is_symlink():
            raise OperatorFault(f"{path} exists; nothing was written")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in texts.items():
            path.parent.mkdir(exist_ok=True)
            with path.open("x") as file:
                file.write(text)
        if asked.git is None and asked.tree is None:
            (folder / "repo").mkdir(exist_ok=True)
    except OSError as error:
        raise OperatorFault(f"{error.filename or folder}: {error.strerror}") from error
    return list(texts)


def _repository(folder: Path, asked: Asked) -> str:
    if asked.git is not None and asked.tree is not None:
        raise OperatorFault("use --git or --tree, not both")
    if asked.git is not None:
        return _git_lines(folder, asked.git, asked.commit)
    if asked.commit is not None:
        raise OperatorFault("--commit needs --git")
    name = "repo" if asked.tree is None else os.path.relpath(asked.tree, folder)
    if asked.tree is not None and not asked.tree.is_dir():
        raise OperatorFault(f"{asked.tree} is not a folder")
    if name.startswith("..") or name == ".":
        raise OperatorFault(f"{asked.tree} must be a folder inside {folder}")
    return f"  tree: {json.dumps(name)}                  # a folder with the files that the agent starts from"


def _git_lines(folder: Path, path: Path, commit: str | None) -> str:
    if not path.exists():
        raise OperatorFault(f"{path} does not exist")
    if path.is_dir():
        git_dir = git_dir_of(path)
        commit = commit or _head(git_dir, path)
        check_id(commit)  # before git would take a short one
        check_commit(git_dir, commit)
    if commit is None:
        raise OperatorFault("a bundle needs --commit with the full commit id")
    check_id(commit)
    place = os.path.relpath(path, folder)
    return f"  git: {json.dumps(place)}\n  commit: {json.dumps(commit)}\n  history: none                 # or full"


def _head(git_dir: Path, path: Path) -> str:
    try:
        return git(git_dir, "rev-parse", "--verify", "HEAD^{commit}").decode().strip()
    except GitRefused as error:
        raise OperatorFault(
            f"{path} has no commit yet: `git add -A && git commit` there, then try again"
        ) from error
