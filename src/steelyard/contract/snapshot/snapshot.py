"""`repository:` of a contract -> a read-only tree in the cache, and its content root.

    <cache>/snapshots/<key>/
      snapshot.json    {"schema": "steelyard.snapshot/1", "root": "...", "index_sha256": "...", "run_uid": 60700,
                        "commit": null, "submodules": [{"path": "lib", "commit": "...", "materialised": false}]}
      index.json       [["src/a.py", {"kind": "file", ...}], ...]
      lock_dates.json  {"uv.lock": "2026-03-07T12:00:00Z"}, of a commit
      tree/            plain files, no `.git` at any depth
      git/.git/        one baseline commit (or the ancestors of the commit), an extra layer for agents
      .contents        the digest of each of these files, checked whenever the snapshot is used

Owned by the run uid, modes 644 and 755, one fixed time: the same contents give the same tree anywhere.
The key names the source (a commit, an archive's sha256, a folder's content root), so what was read once is
not read again.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import field
from functools import cached_property, partial
from pathlib import Path

import orjson

from steelyard.contract.model import Repository
from steelyard.contract.snapshot import archive_source, git_layer, git_source
from steelyard.contract.snapshot.lock_files import LOCK_FILES, REGISTRY_FILES, is_named, lock_dates
from steelyard.contract.snapshot.materialise import materialise, refusal
from steelyard.contract.snapshot.tree_source import WORKED_IN, tree_items
from steelyard.deferred.data_class import dataclass
from steelyard.errors import InfraFault
from steelyard.filesystem.cache import Cache
from steelyard.filesystem.contents import lock_of, read_or_remember
from steelyard.filesystem.owner import run_uid
from steelyard.filesystem.tree import Entry, content_root, path_from_json, path_to_json, printable

SCHEMA = "steelyard.snapshot/1"
DATES = "lock_dates.json"


@dataclass(frozen=True)
class Snapshot:
    """The baseline that agents start from. `root` depends on contents only, never on where they came from."""

    root: str
    folder: Path
    run_uid: int
    index_sha256: str
    commit: str | None = None
    submodules: tuple[git_source.Submodule, ...] = ()

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

    @cached_property
    def lock_files(self) -> tuple[str, ...]:
        return tuple(path for path in self.entries if is_named(path, LOCK_FILES))

    @cached_property
    def registry_files(self) -> tuple[str, ...]:
        """What may name a package registry or a mirror."""
        return tuple(path for path in self.entries if is_named(path, REGISTRY_FILES))

    @cached_property
    def lock_dates(self) -> Mapping[str, str]:
        """When each lock file was last changed, as far as that is known."""
        try:
            dates = orjson.loads((self.folder / DATES).read_bytes())
            return {path_from_json(path): str(date) for path, date in dates.items()}
        except (OSError, ValueError, AttributeError):
            return {}


@dataclass(frozen=True)
class AuthorFolder(Snapshot):
    """A folder as its author has it: all that checking a contract asks for, and nothing that a run could start from."""

    listed: Mapping[str, Entry] = field(default_factory=dict)

    @property
    def tree(self) -> Path:
        return self.folder

    @property
    def entries(self) -> Mapping[str, Entry]:
        return self.listed


def look_at(repository: Repository | None, folder: Path, cache: Cache) -> Snapshot:
    """What `take_snapshot` would give, without a copy in the cache where none is needed."""
    if repository is None or repository.tree is None:
        return take_snapshot(repository, folder, cache)
    root, entries = _listed(repository, folder / repository.tree)
    return AuthorFolder(root, folder / repository.tree, run_uid(), index_sha256="", listed=entries)


def take_snapshot(repository: Repository | None, folder: Path, cache: Cache) -> Snapshot:
    """Materialise what `repository` names, relative to the contract's `folder`, once per source."""
    if repository is None:
        made = _from_nothing(cache)
    elif repository.git is not None:
        made = _from_git(repository, repository.git, folder, cache)
    elif repository.archive is not None:
        made = _from_archive(repository, folder / repository.archive, cache)
    else:
        made = _from_tree(repository, folder / str(repository.tree), cache)
    return read_snapshot(made)


def _from_nothing(cache: Cache) -> Path:
    """What a contract without a workspace starts from: a folder, and nothing in it."""

    def build(folder: Path) -> None:
        (folder / "tree").mkdir()
        _write(folder, materialise(iter(()), folder / "tree"), None)

    return cache.build("snapshots", _key(root=content_root({})), build)


def _from_git(repository: Repository, location: str, folder: Path, cache: Cache) -> Path:
    commit = str(repository.commit)
    git_source.check_id(commit)
    path = git_source.locate(location, folder)
    submodules = {
        name: git_source.locate(place, folder, field=f"repository.submodules.{name}")
        for name, place in repository.submodules.items()
    }
    key = _key(git=commit, submodules=sorted(submodules), history=repository.history)
    if path.is_file() and (ready := cache.found("snapshots", key)) is not None:
        return ready  # unpacking a bundle only to look is the expensive part
    with git_source.open_git(path, cache) as git_dir:
        git_source.check_commit(git_dir, commit)
        source = git_source.GitSource(git_dir, commit, submodules)
        return cache.build("snapshots", key, partial(_build_git, source, cache, repository.history == "full"))


def _build_git(source: git_source.GitSource, cache: Cache, full: bool, folder: Path) -> None:  # noqa: FBT001  # bound by partial
    found: list[git_source.Submodule] = []
    (folder / "tree").mkdir()
    entries = materialise(git_source.git_items(source, cache, found), folder / "tree")
    unknown = sorted(set(source.submodules) - {submodule.path for submodule in found})
    if unknown:
        raise refusal(f"no submodule at {printable(unknown[0])}", field="repository.submodules")
    if full:
        (folder / "git").mkdir()
        git_layer.lay_history(folder / "git", folder / "tree", source.git_dir, source.commit)
    dates = lock_dates(source.git_dir, source.commit, entries)
    (folder / DATES).write_bytes(orjson.dumps({path_to_json(path): date for path, date in dates.items()}))
    _write(folder, entries, source.commit, tuple(found))


def _from_archive(repository: Repository, path: Path, cache: Cache) -> Path:
    if not path.is_file():
        raise refusal(f"{repository.archive} does not exist", field="repository.archive")
    sha256 = archive_source.check_archive(path, repository.commit)

    def build(folder: Path) -> None:
        (folder / "tree").mkdir()
        _write(folder, materialise(archive_source.archive_items(path), folder / "tree"), sha256)

    return cache.build("snapshots", _key(archive=sha256, kind=path.suffix), build)


def _listed(repository: Repository, path: Path) -> tuple[str, dict[str, Entry]]:
    """The content root of a folder, and what is in it."""
    entries = _entries_of(repository, path)
    return _as_named(repository, content_root(entries)), entries


def _root_of(repository: Repository, path: Path, cache: Cache) -> str:
    """The content root of a folder; its files are read again once the kernel says that one of them changed."""
    note = lock_of(cache.path("trees", _key(place=os.fsencode(path.absolute()).hex())))
    return _as_named(
        repository, read_or_remember(path, note, lambda: content_root(_entries_of(repository, path)))
    )


def _entries_of(repository: Repository, path: Path) -> dict[str, Entry]:
    if not path.is_dir():
        raise refusal(f"{repository.tree} is not a folder", field="repository.tree")
    return materialise(tree_items(path, leave=WORKED_IN), None)


def _as_named(repository: Repository, root: str) -> str:
    if repository.commit not in (None, root):
        raise refusal(
            f"the folder's content root is {root}, not {repository.commit}",
            field="repository.commit",
            fix="write the new one, or leave `commit` out",
        )
    return root


def _from_tree(repository: Repository, path: Path, cache: Cache) -> Path:
    root = _root_of(repository, path, cache)

    def build(folder: Path) -> None:
        (folder / "tree").mkdir()
        entries = materialise(tree_items(path, leave=WORKED_IN), folder / "tree")
        if content_root(entries) != root:
            raise refusal(f"{repository.tree} changed while it was read", field="repository.tree")
        _write(folder, entries, None)

    return cache.build("snapshots", _key(root=root), build)


def _write(
    folder: Path,
    entries: Mapping[str, Entry],
    commit: str | None,
    found: tuple[git_source.Submodule, ...] = (),
) -> None:
    if not (folder / "git").is_dir():
        (folder / "git").mkdir()
        git_layer.lay_baseline(folder / "git", folder / "tree", entries)
    index = orjson.dumps([[path_to_json(path), entry.to_json()] for path, entry in entries.items()])
    (folder / "index.json").write_bytes(index)
    (folder / "snapshot.json").write_bytes(
        orjson.dumps(
            {
                "schema": SCHEMA,
                "root": content_root(entries),
                "index_sha256": hashlib.sha256(index).hexdigest(),
                "run_uid": run_uid(),
                "commit": commit,
                "submodules": [
                    {"path": path_to_json(one.path), "commit": one.commit, "materialised": one.materialised}
                    for one in found
                ],
            }
        )
    )
    folder.chmod(0o755)


def read_snapshot(folder: Path) -> Snapshot:
    """A finished snapshot of the cache."""
    try:
        data = orjson.loads((folder / "snapshot.json").read_bytes())
        return Snapshot(
            root=data["root"],
            folder=folder,
            run_uid=data["run_uid"],
            index_sha256=data["index_sha256"],
            commit=data["commit"],
            submodules=tuple(
                git_source.Submodule(path_from_json(one["path"]), one["commit"], one["materialised"])
                for one in data["submodules"]
            ),
        )
    except (OSError, ValueError, KeyError) as error:
        raise InfraFault(f"the cached snapshot {folder} is damaged ({error}); remove it") from error


def _key(**source: object) -> str:
    """A folder name for this source; the uid owns the files, so it is a part of it."""
    named = orjson.dumps({"schema": SCHEMA, "run_uid": run_uid(), **source}, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(named).hexdigest()[:40]
