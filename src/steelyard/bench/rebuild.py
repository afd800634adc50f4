"""An imported change -> what is laid on a fresh tree, and what is left behind with a finding."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from steelyard.bench.ground import Ground
from steelyard.bench.setup_layer import SetupLayer
from steelyard.bench.steering import may_steer, steers
from steelyard.contract.tree import shown
from steelyard.evidence.blobs import Blobs
from steelyard.evidence.change import Change, ChangeEntry
from steelyard.evidence.finding import Finding
from steelyard.evidence.oddities import escapes
from steelyard.sandboxes.base import Laid


class Rebuilt(NamedTuple):
    """The data that turns a fresh ground into the tree to be graded."""

    laid: tuple[Laid, ...]
    findings: tuple[Finding, ...]


def rebuild(ground: Ground, change: Change, blobs: Blobs) -> Rebuilt:
    carried: list[ChangeEntry] = []
    findings: list[Finding] = []
    listed = ground.contract.spec.runner_files
    for entry in change.entries:
        finding = _left_behind(entry, ground.setup, listed)
        if finding is None:
            carried.append(entry)
            finding = _carried_with_a_word(entry, listed)
        if finding is not None:
            findings.append(finding)
    return Rebuilt(laid_entries(carried, blobs), tuple(findings))


def laid_entries(entries: Sequence[ChangeEntry], blobs: Blobs) -> tuple[Laid, ...]:
    """Entries as data to lay down, deletions first: a file may stand where a folder was."""
    laid = [one for entry in entries for one in _laid(entry, blobs)]
    return tuple(sorted(laid, key=lambda one: one.kind != "gone"))


def _left_behind(entry: ChangeEntry, setup: SetupLayer | None, listed: tuple[str, ...]) -> Finding | None:
    """Why an entry stays off the bench, or None."""
    where = shown(entry.path)
    if setup is not None and any(setup.owns(path) for path in entry.paths):
        return Finding(
            "setup_layer_changed", "warning", where, "setup made this; the bench has its own, unchanged"
        )
    if any(steers(path) for path in entry.paths) and not _is_listed(entry, listed):
        return Finding(
            "steers_runner", "warning", where, "steers the test runner; the bench uses the baseline's"
        )
    if entry.new is not None and entry.new.kind == "symlink" and escapes(entry.path, entry.new.target):
        return Finding(
            "escaping_symlink_dropped", "warning", where, "points out of the tree; not on the bench"
        )
    return None


def _carried_with_a_word(entry: ChangeEntry, listed: tuple[str, ...]) -> Finding | None:
    if any(may_steer(path) for path in entry.paths) and not _is_listed(entry, listed):
        return Finding(
            "may_steer_runner", "info", shown(entry.path), "can steer the build or the tests; carried"
        )
    return None


def _is_listed(entry: ChangeEntry, listed: tuple[str, ...]) -> bool:
    return all(any(fnmatchcase(path, pattern) for pattern in listed) for path in entry.paths)


def _laid(entry: ChangeEntry, blobs: Blobs) -> list[Laid]:
    gone = [Laid(entry.renamed_from, "gone")] if entry.renamed_from is not None else []
    new = entry.new
    if new is None:
        return [*gone, Laid(entry.path, "gone")]
    if new.kind == "file" and not new.sha256:
        return gone  # over an import cap: there is no content, and the change is not complete
    if new.kind == "file":
        return [*gone, Laid(entry.path, "file", mode=new.mode, source=blobs.path(new.sha256))]
    if new.kind == "symlink":
        return [*gone, Laid(entry.path, "symlink", target=new.target)]
    return [*gone, Laid(entry.path, "dir")]
