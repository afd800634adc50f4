"""A materialised tree -> the `.git` that agents see over it.

`history: none` gives one commit, the same bytes everywhere, with nothing behind it. `history: full` gives
the ancestors of the commit and nothing else: no other branch, tag, reflog or object, so no future to leak.
The index knows size and time of every file, so that `git status` is clean and reads no contents.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from steelyard.contract.snapshot.materialise import CHUNK_BYTES, EPOCH_S, kill_processes, refusal
from steelyard.errors import InfraFault
from steelyard.filesystem.git import GitRefused, git, git_command, git_env, new_repository
from steelyard.filesystem.tree import Entry

# git takes a file as old as its own index for "perhaps changed since" and reads it again: be younger.
INDEX_TIME_S = EPOCH_S + 10

# checkStat: inode, owner and ctime differ in a sandbox; an identity, because `git stash` needs one.
_CONFIG = """\
[core]
\trepositoryformatversion = {version}
\tfilemode = true
\tbare = false
\tlogallrefupdates = true
\tcheckStat = minimal
[user]
\tname = agent
\temail = agent@sandbox.invalid
"""
_SHA256 = "[extensions]\n\tobjectFormat = sha256\n"

# Compare the bytes as they are: a `.gitattributes` of the tree could make a clean file look changed.
_RAW = "* -text -filter -ident -working-tree-encoding\n"


def lay_baseline(layer: Path, tree: Path, entries: Mapping[str, Entry]) -> None:
    """`layer/.git` with one commit of the whole tree."""
    git_dir = layer / ".git"
    new_repository(git_dir)
    # depth 0: looking for deltas took longer than all the rest
    command = git_command(git_dir, "fast-import", "--quiet", "--date-format=raw", "--depth=0")
    with subprocess.Popen(
        command,
        env=git_env(git_dir),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        for piece in _stream(tree, entries):
            process.stdin.write(piece)
        process.stdin.close()
        error_text = process.stderr.read().decode(errors="replace").strip()
    if process.returncode != 0:
        raise InfraFault(f"git could not make the baseline commit: {error_text}")
    _finish(layer, tree, sha256=False)


def lay_history(layer: Path, tree: Path, source: Path, commit: str) -> None:
    """`layer/.git` with the commit and its ancestors, copied from the git directory `source`."""
    if (source / "shallow").exists():
        fix = "git fetch --unshallow, or `history: none`"
        raise refusal(
            "the repository is a shallow clone: its history is incomplete",
            field="repository.history",
            fix=fix,
        )
    git_dir = layer / ".git"
    sha256 = len(commit) == 64
    new_repository(git_dir, object_format="sha256" if sha256 else "sha1")
    pack = git_command(source, "pack-objects", "--revs", "--stdout", "--delta-base-offset", "--quiet")
    unpack = git_command(git_dir, "index-pack", "--stdin")
    with subprocess.Popen(
        pack, env=git_env(source), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as packing:
        assert packing.stdin is not None
        packing.stdin.write(commit.encode() + b"\n")
        packing.stdin.close()
        unpacked = subprocess.run(
            unpack, env=git_env(git_dir), stdin=packing.stdout, capture_output=True, check=False
        )
    if packing.returncode != 0 or unpacked.returncode != 0:
        raise refusal(
            "the history of the commit is incomplete", field="repository.history", fix="`history: none`"
        )
    git(git_dir, "update-ref", "refs/heads/main", commit)
    _finish(layer, tree, sha256=sha256)


def _stream(tree: Path, entries: Mapping[str, Entry]) -> Iterator[bytes]:
    """What `git fast-import` reads; an empty directory is nothing to git."""
    who = f"Steelyard <baseline@steelyard.invalid> {EPOCH_S} +0000\n".encode()
    yield b"commit refs/heads/main\nauthor " + who + b"committer " + who + b"data 9\nbaseline\n\n"
    for path, entry in entries.items():
        if entry.kind == "symlink":
            target = os.fsencode(entry.target)
            yield b"M 120000 inline %s\ndata %d\n%s\n" % (_quote(path), len(target), target)
        elif entry.kind == "file":
            yield b"M 100%s inline %s\ndata %d\n" % (entry.mode.encode(), _quote(path), entry.size)
            with Path(tree, path).open("rb") as file:
                yield from iter(lambda: file.read(CHUNK_BYTES), b"")
            yield b"\n"


def _quote(path: str) -> bytes:
    """A path as fast-import reads it, every byte that could mean something written as octal."""
    safe = b"".join(
        bytes([byte]) if chr(byte).isalnum() and byte < 128 else b"\\%03o" % byte
        for byte in os.fsencode(path)
    )
    return b'"' + safe + b'"'


def _finish(layer: Path, tree: Path, *, sha256: bool) -> None:
    git_dir = layer / ".git"
    (git_dir / "info").mkdir(exist_ok=True)
    attributes = git_dir / "info/attributes"
    attributes.write_text(_RAW)
    git(git_dir, "read-tree", "refs/heads/main")
    try:
        git(git_dir, f"--work-tree={tree}", "update-index", "--refresh", "--ignore-submodules")
    except GitRefused as error:
        raise InfraFault(f"git does not agree that the snapshot is its own commit: {error}") from error
    attributes.unlink()
    (git_dir / "config").write_text(_CONFIG.format(version=int(sha256)) + _SHA256 * sha256)
    for spare in ("hooks", "branches", "description", "FETCH_HEAD"):
        place = git_dir / spare
        if place.is_dir():
            shutil.rmtree(place)
        else:
            place.unlink(missing_ok=True)
    kill_processes(layer, time_s=INDEX_TIME_S)
