"""A commit of a local clone or bundle -> its paths, and the clones of its submodules.

.gitmodules of the commit        [submodule "x"] path = lib/x, url = https://host/owner/x.git
--repos DIR                      owner/x, owner__x or x  ->  repository.submodules {lib/x: DIR/owner__x}
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from steelyard.contract.model import Repository
from steelyard.contract.snapshot.git_source import check_commit, git_dir_of, open_git
from steelyard.contract.snapshot.snapshot import take_snapshot
from steelyard.errors import ContractFault
from steelyard.filesystem.cache import Cache
from steelyard.filesystem.git import GitRefused, git
from steelyard.filesystem.tree import printable
from steelyard.importers.reading import fault
from steelyard.importers.repositories import clone_of
from steelyard.importers.task import Options


class Link(NamedTuple):
    """A submodule of a commit: where it is in the tree, and which commit it is."""

    path: str
    commit: str


def paths_of(repository: dict[str, Any]) -> frozenset[str] | None:
    """Every file of the commit; None when the repository cannot be read, which `check` reports."""
    location = Path(repository["git"])
    try:
        if location.is_file():  # unpacking a bundle is slow, and `check` needs the same snapshot
            return frozenset(
                take_snapshot(Repository(**repository), location.parent, Cache.default()).entries
            )
        listing = git(
            git_dir_of(location), "ls-tree", "-r", "-z", "--name-only", "--full-tree", repository["commit"]
        )
    except (ContractFault, GitRefused):
        return None
    return frozenset(os.fsdecode(name) for name in listing.split(b"\0") if name)


def submodules_of(name: str, repository: dict[str, Any], options: Options, where: str) -> dict[str, str]:
    """Path -> the local clone of each submodule; raises ContractFault when --repos has none."""
    try:
        return dict(_Search(options, where).below(name, Path(repository["git"]), repository["commit"]))
    except GitRefused as refused:
        raise fault(where, "repo", f"its submodules cannot be read: {printable(str(refused))}") from refused


class _Search(NamedTuple):
    options: Options
    where: str

    def below(self, name: str, location: Path, commit: str, prefix: str = "") -> Iterator[tuple[str, str]]:
        """The submodules of a commit, and theirs."""
        with open_git(location, Cache.default()) as git_dir:
            check_commit(git_dir, commit)
            links = [*_links(git_dir, commit)]
            addresses = _addresses(git_dir, commit) if links else {}
        for link in links:
            path, address = f"{prefix}{link.path}", addresses.get(link.path, "")
            inner = _name_in(address, name)
            clone = clone_of(inner, self.options, self.where) if inner else None
            if clone is None:
                wanted = printable(inner or address) or "a repository that .gitmodules does not name"
                message = f"the submodule {printable(path)} needs a clone of {wanted}"
                raise fault(self.where, "repo", message, f"put one into {self.options.repos}")
            yield path, str(clone)
            yield from self.below(inner, clone, link.commit, f"{path}/")


def _links(git_dir: Path, commit: str) -> Iterator[Link]:
    for line in git(git_dir, "ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0")[:-1]:
        head, _, path = line.partition(b"\t")
        mode, _, object_id = head.decode().split(" ")
        if mode == "160000":
            yield Link(os.fsdecode(path), object_id)


def _addresses(git_dir: Path, commit: str) -> dict[str, str]:
    """Path of a submodule -> its URL, as .gitmodules of the commit has it."""
    try:
        listed = git(git_dir, "config", f"--blob={commit}:.gitmodules", "--no-includes", "--null", "--list")
    except GitRefused:  # there is no such file
        return {}
    settings = dict(
        line.partition("\n")[::2] for line in listed.decode("utf-8", "surrogateescape").split("\0")
    )
    return {
        path: settings.get(f"{key.removesuffix('.path')}.url", "")
        for key, path in settings.items()
        if key.startswith("submodule.") and key.endswith(".path")
    }


def _name_in(address: str, parent: str) -> str:
    """`owner/name` of a URL; a relative one is about the parent's own place."""
    if address.startswith(("./", "../")):
        address = posixpath.normpath(posixpath.join(f"x/{parent}", address))
    parts = address.rstrip("/").removesuffix(".git").replace(":", "/").split("/")
    return "/".join(parts[-2:]) if len(parts) > 1 and all(parts[-2:]) else ""
