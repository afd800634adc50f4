r"""A commit of a git directory, bare repository or bundle -> items.

Read with `ls-tree` and `cat-file --batch` only: no checkout, so no filter, attribute or hook ever runs, and
the bytes are those of the commit.

    ls-tree -r -z:        100644 blob <id>\tsrc/a.py\0
    cat-file --batch:     <id> blob 12\n<12 bytes>\n
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO

from steelyard.contract.snapshot.materialise import CHUNK_BYTES, Item, refusal
from steelyard.deferred.named_tuple import NamedTuple
from steelyard.deferred.pattern import deferred_pattern
from steelyard.errors import InfraFault, OperatorFault
from steelyard.filesystem.cache import Cache
from steelyard.filesystem.git import GitRefused, git, git_command, git_env, new_repository
from steelyard.filesystem.tree import printable

_FULL_ID = deferred_pattern(r"[0-9a-f]{40}|[0-9a-f]{64}")
_ADDRESS = deferred_pattern(r"[a-z+]+://|[\w.-]+@[\w.-]+:")  # https://..., git@host:...
_BUNDLE = deferred_pattern(rb"^# v[23] git bundle\n")


class Submodule(NamedTuple):
    """A repository inside the repository; without a mapping it is an empty directory."""

    path: str
    commit: str
    materialised: bool


class GitSource(NamedTuple):
    """A commit, and where the repositories of its submodules are."""

    git_dir: Path
    commit: str
    submodules: Mapping[str, Path]  # path in the tree -> location


def locate(location: str, folder: Path, *, field: str = "repository.git") -> Path:
    """The existing path that a location means; nothing is ever fetched."""
    if "://" in location and not location.startswith("file:///"):
        raise refusal(
            f"{location} is not on this machine",
            field=field,
            fix="git clone --mirror it, and name the folder or a bundle",
        )
    path = Path(os.path.abspath(folder / location.removeprefix("file://")))  # noqa: PTH100  # keep symlinks as named
    if not path.exists():
        raise refusal(f"{location} does not exist", field=field)
    return path


def check_local(git: str) -> None:
    """An address that was given to `--git` is answered with the command that brings its repository here."""
    if _ADDRESS.match(git):
        raise OperatorFault(
            f"--git takes a repository on this machine: `git clone --mirror {git} repo.git`, then --git repo.git"
        )


def check_id(commit: str) -> None:
    if not _FULL_ID.fullmatch(commit):
        raise refusal(
            f"{printable(commit)!r} is not a full commit id",
            field="repository.commit",
            fix="git rev-parse prints it; 40 or 64 lower-case hex digits",
        )


@contextmanager
def open_git(path: Path, cache: Cache, *, field: str = "repository.git") -> Iterator[Path]:
    """The git directory of a work tree, a bare repository or a bundle (unpacked for as long as this lasts)."""
    if path.is_dir():
        yield git_dir_of(path, field=field)
        return
    with path.open("rb") as file:
        head = file.read(4096)
    if not _BUNDLE.match(head):
        raise refusal(f"{path.name} is neither a git repository nor a bundle", field=field)
    with cache.temporary() as folder:
        git_dir = folder / "bundle.git"
        new_repository(git_dir, object_format="sha256" if b"@object-format=sha256\n" in head else "sha1")
        try:
            git(git_dir, "bundle", "unbundle", str(path))
        except GitRefused as error:
            raise refusal(f"the bundle {path.name} cannot be read: {error}", field=field) from error
        yield git_dir


def git_dir_of(path: Path, *, field: str = "repository.git") -> Path:
    inner = path / ".git"
    if inner.is_file():  # a linked work tree or a submodule
        inner = path / inner.read_text(errors="replace").removeprefix("gitdir:").strip()
    found = inner if inner.is_dir() else path
    common = found / "commondir"
    if common.is_file():
        found = found / common.read_text(errors="replace").strip()
    if not (found / "objects").is_dir():
        raise refusal(f"{path.name} is not a git repository", field=field)
    return found.resolve()


def check_commit(git_dir: Path, commit: str, *, field: str = "repository.commit") -> None:
    try:
        kind = git(git_dir, "cat-file", "-t", commit).decode().strip()
    except GitRefused as error:
        fix = "fetch it, or make the bundle with the branch that has it"
        raise refusal(f"the repository has no commit {commit}", field=field, fix=fix) from error
    if kind != "commit":
        raise refusal(f"{commit} is a {kind}, not a commit", field=field, fix="git rev-parse 'NAME^{commit}'")


def git_items(source: GitSource, cache: Cache, found: list[Submodule], prefix: str = "") -> Iterator[Item]:
    """Every path of the commit; each gitlink met is added to `found`."""
    listing = git(source.git_dir, "ls-tree", "-r", "-z", "--full-tree", source.commit)
    with _objects(source.git_dir) as read:
        for line in listing.split(b"\0")[:-1]:
            head, _, name = line.partition(b"\t")
            mode, _, object_id = head.decode().split(" ")
            path = prefix + os.fsdecode(name)
            if mode == "160000":
                yield from _submodule(source, path, object_id, cache, found)
            elif mode == "120000":
                yield Item(path, "symlink", target=os.fsdecode(b"".join(read(object_id))))
            else:
                yield Item(path, "file", executable=mode == "100755", chunks=read(object_id))


def _submodule(
    source: GitSource, path: str, commit: str, cache: Cache, found: list[Submodule]
) -> Iterator[Item]:
    location = source.submodules.get(path)
    found.append(Submodule(path, commit, materialised=location is not None))
    yield Item(path, "dir")
    if location is None:
        return
    field = f"repository.submodules.{path}"
    with open_git(location, cache, field=field) as git_dir:
        check_commit(git_dir, commit, field=field)
        yield from git_items(GitSource(git_dir, commit, source.submodules), cache, found, f"{path}/")


@contextmanager
def _objects(git_dir: Path) -> Iterator[Callable[[str], Iterator[bytes]]]:
    """One `cat-file --batch` process; calling it gives the content of one object, in chunks."""
    process = subprocess.Popen(
        git_command(git_dir, "cat-file", "--batch"),
        env=git_env(git_dir),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield partial(_read_object, process.stdin, process.stdout)
    finally:
        process.kill()
        process.stdin.close()
        process.stdout.close()
        process.wait()


def _read_object(ask: IO[bytes], answer: IO[bytes], object_id: str) -> Iterator[bytes]:
    ask.write(object_id.encode() + b"\n")
    ask.flush()
    header = answer.readline().split()
    if len(header) != 3:  # "<id> missing": a partial clone, or a damaged repository
        raise refusal(f"the repository lacks object {object_id}", fix="make a full clone of it")
    left = int(header[2])
    while left:
        chunk = answer.read(min(left, CHUNK_BYTES))
        if not chunk:
            raise InfraFault(f"git stopped in the middle of object {object_id}")
        left -= len(chunk)
        yield chunk
    answer.read(1)
