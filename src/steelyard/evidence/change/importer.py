"""A dead, hostile workspace + its baseline -> a `Change`: data, and nothing that could act.

    in the baseline only      the whole subtree was deleted
    in the workspace only     the whole subtree was added
    in both                   compared by kind, mode and bytes; never by time, size or a git index

Where an overlay's upper says what was touched, a name in both views and not in the upper is unchanged, except
below a renamed directory. Every `.git` is left out, except of a whole system. A file over a cap is an entry with its size and sha256 "":
seen, not carried. A directory is an entry when it vanished, when it appeared empty, or when it changed places
with a file.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from steelyard.deferred.named_tuple import NamedTuple
from steelyard.errors import InfraFault
from steelyard.evidence.change import oddities
from steelyard.evidence.change.captured_tree import CapturedTree
from steelyard.evidence.change.change import Change, ChangeEntry
from steelyard.evidence.change.import_limits import Caps, Ledger
from steelyard.evidence.change.renames import fold_exact
from steelyard.evidence.change.tree_entry import TreeEntry, is_same
from steelyard.evidence.change.walk import Tree, is_ours
from steelyard.evidence.folder.blobs import Blobs, StoredBlob, hash_stream
from steelyard.evidence.redact import RedactedStream, Secrets
from steelyard.filesystem.patterns import match_any
from steelyard.filesystem.tree import Entry, printable

__all__ = ["Caps", "import_folder", "import_workspace"]

_GIT = ".git"
_CHUNK = 1 << 18
DEFAULT = Caps()


def import_workspace(
    captured_tree: CapturedTree,
    *,
    baseline_root: str,
    blobs: Blobs | None,
    generated: Sequence[str] = (),
    caps: Caps = DEFAULT,
) -> Change:
    """What the agent changed; without `blobs` contents are only hashed.

    `generated` are fnmatch patterns (`*` crosses `/`) of paths that are counted and digested, not carried.
    """
    with ExitStack() as stack:
        views = _Views(
            stack.enter_context(closing(Tree(captured_tree.workspace, all_modes=captured_tree.is_system))),
            stack.enter_context(closing(Tree(captured_tree.baseline, all_modes=captured_tree.is_system))),
            None
            if captured_tree.touched is None
            else stack.enter_context(closing(Tree(captured_tree.touched))),
            captured_tree.redirects,
            captured_tree.is_system,
            captured_tree.mounted,
        )
        return _Comparison(views, blobs, generated, caps).change(baseline_root)


def import_folder(  # noqa: PLR0913 (two folders, and the options of `import_workspace`)
    folder: Path,
    baseline: Path,
    *,
    baseline_root: str,
    blobs: Blobs | None,
    generated: Sequence[str] = (),
    caps: Caps = DEFAULT,
) -> Change:
    """The same for two plain folders, compared in full."""
    with ExitStack() as stack:
        views = []
        for path in (folder, baseline):
            views.append(os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
            stack.callback(os.close, views[-1])
        captured_tree = CapturedTree(workspace=views[0], baseline=views[1])
        return import_workspace(
            captured_tree, baseline_root=baseline_root, blobs=blobs, generated=generated, caps=caps
        )


class _Views(NamedTuple):
    workspace: Tree
    baseline: Tree
    touched: Tree | None
    redirects: str
    is_system: bool
    mounted: frozenset[str]


class _Folder(NamedTuple):
    """A directory still to be compared."""

    path: str
    new: bool  # it is a directory in the workspace
    old: bool  # it is a directory in the baseline
    guided: bool = False  # the upper says what was touched in it
    generated: bool = False
    is_leaf_entry: bool = False  # it is new, so if it is empty it must be an entry itself


class _Comparison:
    def __init__(self, views: _Views, blobs: Blobs | None, generated: Sequence[str], caps: Caps) -> None:
        self._views = views
        self._blobs = blobs
        self._generated = match_any(tuple(generated))
        self._ledger = Ledger(caps)
        self._entries: list[ChangeEntry] = []
        self._pending = [_Folder("", new=True, old=True, guided=views.touched is not None)]

    def change(self, baseline_root: str) -> Change:
        while self._pending:
            folder = self._pending.pop()
            try:
                self._compare_folder(folder)
            except _TooManyNames:
                self._pending.clear()
            except OSError as error:
                self._unreadable(folder.path, error)
        return Change(
            baseline=baseline_root,
            entries=tuple(fold_exact(self._entries)),
            generated=self._ledger.generated_total(),
            findings=self._ledger.findings(),
            complete=self._ledger.complete,
        )

    def _unreadable(self, path: str, error: OSError) -> None:
        if is_ours(error):
            raise InfraFault(f"the workspace could not be read: {error.strerror}") from error
        self._ledger.complete = False
        self._ledger.note("unreadable", "violation", path, f"it could not be read: {error.strerror}")

    def _compare_folder(self, at: _Folder) -> None:
        new = self._new_names(at) if at.new else set()
        old = self._views.baseline.names(at.path) if at.old else set()
        touched = self._touched_names(at) if at.guided else None
        if not self._views.is_system:
            self._note_repository(at, new, old)
        if not at.generated:
            self._note_names(at.path, new, old)
        names = (new | old) - (set() if self._views.is_system else {_GIT})
        if touched is not None:
            names -= (new & old) - touched
        mounted = {
            name for name in names if (f"{at.path}/{name}" if at.path else name) in self._views.mounted
        }
        names -= mounted
        is_empty, below = not mounted, list[_Folder]()
        for name in sorted(names, key=os.fsencode):
            path = f"{at.path}/{name}" if at.path else name
            try:
                before = self._side(self._views.baseline, at.path, name) if name in old else None
                after = self._side(self._views.workspace, at.path, name) if name in new else None
                after = self._without_special(path, after)
                is_empty = is_empty and after is None
                below += self._compare(path, before, after, at._replace(guided=touched is not None))
            except OSError as error:
                is_empty = False
                self._unreadable(path, error)
        if at.is_leaf_entry and is_empty and not at.generated and self._ledger.admits(at.path):
            self._entries.append(ChangeEntry(at.path, None, Entry("dir")))
        self._pending.extend(reversed(below))

    def _new_names(self, at: _Folder) -> set[str]:
        rest = self._ledger.caps.visits - self._ledger.visits
        names = self._views.workspace.names(at.path, rest + 1)
        self._ledger.visits += len(names)
        if len(names) > rest:
            self._ledger.over("visits", at.path)
            raise _TooManyNames
        return names

    def _touched_names(self, at: _Folder) -> set[str] | None:
        """What the upper holds here; None where it does not tell, so that everything is compared."""
        touched = self._views.touched
        try:
            # A renamed directory: its unlisted names come from another place of the baseline.
            if touched is None or (
                self._views.redirects and touched.has_attribute(at.path, self._views.redirects)
            ):
                return None
            return touched.names(at.path)
        except OSError:
            return None

    @staticmethod
    def _side(tree: Tree, folder: str, name: str) -> TreeEntry:
        return TreeEntry(tree, folder, name, tree.status(folder, name))

    def _compare(
        self, path: str, before: TreeEntry | None, after: TreeEntry | None, at: _Folder
    ) -> list[_Folder]:
        """Record how one path differs; return the directories to be compared below it."""
        kinds = [side.kind for side in (before, after) if side is not None]
        generated = at.generated or self._is_generated(path, is_dir=set(kinds) == {"dir"})
        if after is not None:
            self._note_mode(path, before, after)
        if kinds == ["dir", "dir"]:
            return [_Folder(path, new=True, old=True, guided=at.guided, generated=generated)]
        if not is_same(before, after):
            (self._count_generated if generated else self._record)(path, before, after)
        below = []
        if before is not None and before.kind == "dir":
            below.append(_Folder(path, new=False, old=True, generated=generated))
        if after is not None and after.kind == "dir" and self._ledger.enters(path):
            below.append(
                _Folder(path, new=True, old=False, generated=generated, is_leaf_entry=before is None)
            )
        return below

    def _is_generated(self, path: str, *, is_dir: bool) -> bool:
        return bool(self._generated(path) or (is_dir and self._generated(f"{path}/")))

    def _record(self, path: str, before: TreeEntry | None, after: TreeEntry | None) -> None:
        if before is None and (after is None or after.kind == "dir"):
            return  # a new directory is an entry only if it is empty, which its own turn will show
        if after is not None and not self._ledger.admits(path):
            return
        old = None if before is None else self._entry(before, self._old_content(before))
        new = None if after is None else self._entry(after, self._new_content(path, before, after))
        self._entries.append(ChangeEntry(path, old, new))
        if after is not None and after.kind == "file" and after.status.st_nlink > 1:
            self._ledger.note(
                "hard_link", "info", path, "the file has more hard links, perhaps outside the workspace"
            )
        is_out = new is not None and new.kind == "symlink" and oddities.escapes(path, new.target)
        if is_out and not self._views.is_system:
            self._ledger.note("escaping_symlink", "warning", path, "the link may point out of the workspace")

    @staticmethod
    def _entry(side: TreeEntry, stored: StoredBlob) -> Entry:
        if side.kind == "file":
            return Entry("file", side.mode, stored.size, stored.sha256)
        return Entry("symlink", target=side.target()) if side.kind == "symlink" else Entry("dir")

    def _old_content(self, side: TreeEntry) -> StoredBlob:
        """As the contract has it: a value that is in the repository is no secret of the agent."""
        if side.kind != "file":
            return StoredBlob("", side.size)
        with side.open() as fd:
            blobs = self._blobs if self._ledger.affords_old(side.size) else None
            return self._keep(fd, side, None if blobs is None else Blobs(blobs.root))

    def _new_content(self, path: str, before: TreeEntry | None, side: TreeEntry) -> StoredBlob:
        """The content's name in the blobs; "" when it is over a cap: a sparse 10 GB file is not even read."""
        if side.kind != "file" or not self._ledger.affords(path, side.size):
            return StoredBlob("", side.size)
        blobs = self._blobs
        if blobs is not None and blobs.secrets and before is not None and before.kind == "file":
            blobs = Blobs(blobs.root, blobs.secrets.without(_shown_in(before, blobs.secrets)))
        with side.open() as fd:
            stored = self._keep(fd, side, blobs)
        if stored.redacted:
            why = f"the value of {', '.join(sorted(stored.redacted))}, a variable of the agent, is redacted in it"
            self._ledger.note("secret_redacted", "warning", path, why)
        return stored

    @staticmethod
    def _keep(fd: int, side: TreeEntry, blobs: Blobs | None) -> StoredBlob:
        return StoredBlob(hash_stream(fd), side.size) if blobs is None else blobs.put_stream(fd)

    def _count_generated(self, path: str, before: TreeEntry | None, after: TreeEntry | None) -> None:
        if all(side is None or side.kind == "dir" for side in (before, after)):
            return
        content = b"gone"
        if after is not None and after.kind == "file" and self._ledger.affords_generated(after.size):
            with after.open() as fd:
                content = f"{after.mode} {hash_stream(fd)}".encode()
        elif after is not None:
            content = os.fsencode(after.target()) if after.kind == "symlink" else after.kind.encode()
        self._ledger.generated(path, 0 if after is None else after.size, content)

    def _without_special(self, path: str, side: TreeEntry | None) -> TreeEntry | None:
        if side is not None and side.kind == "special":
            self._ledger.note("special_file", "warning", path, "a FIFO, socket or device is not imported")
            return None
        return side

    def _note_repository(self, at: _Folder, new: set[str], old: set[str]) -> None:
        if _GIT not in new:
            return
        path = f"{at.path}/{_GIT}" if at.path else _GIT
        kind = self._side(self._views.workspace, at.path, _GIT).kind
        if at.path and _GIT not in old:
            self._ledger.note("nested_repository", "info", path, "a nested repository; its .git is left out")
        elif not at.path and kind != "dir":
            self._ledger.note("replaced_repository", "warning", path, f".git is now a {kind}; it is left out")

    def _note_names(self, folder: str, new: set[str], old: set[str]) -> None:
        added = new - old - {_GIT}
        twins = oddities.collisions(new) if added else {}
        for name in sorted(added, key=os.fsencode):
            path = f"{folder}/{name}" if folder else name
            if why := oddities.odd_name(name):
                self._ledger.note("odd_name", "warning", path, why)
            if name in twins:
                why = f"on a file system that ignores case or composition this is the same name as {printable(twins[name])}"
                self._ledger.note("odd_name", "warning", path, why)

    def _note_mode(self, path: str, before: TreeEntry | None, after: TreeEntry) -> None:
        if after.kind == "symlink":
            return
        mode, was = after.status.st_mode, 0o700 if before is None else before.status.st_mode
        if oddities.special_bits(mode) & ~oddities.special_bits(was):
            self._ledger.note(
                "special_mode",
                "warning",
                path,
                f"mode {stat.S_IMODE(mode):04o}; special bits are not imported",
            )
        if oddities.shut_out(mode) and not oddities.shut_out(was):
            self._ledger.note(
                "unreadable_mode",
                "info",
                path,
                f"mode {stat.S_IMODE(mode):04o} denies its owner access; read all the same",
            )


def _shown_in(side: TreeEntry, secrets: Secrets) -> frozenset[str]:
    """The names of secrets whose values a file of the baseline has."""
    stream = RedactedStream(secrets)
    with side.open() as fd:
        while piece := os.read(fd, _CHUNK):
            stream.feed(piece)
    stream.end()
    return stream.found


class _TooManyNames(Exception):
    """The walk has looked at as many names as it may."""
