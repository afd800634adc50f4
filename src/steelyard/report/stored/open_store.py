"""A run folder -> its entry in the index, and the store of a folder of runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.errors import DAMAGED
from steelyard.evidence.evidence import load_evidence
from steelyard.evidence.folder.folder import GRADINGS_HEAD, MANIFEST, REPORT, RunFolder
from steelyard.evidence.folder.glance import glance
from steelyard.evidence.folder.gradings import grading_files
from steelyard.evidence.held_run import is_waiting
from steelyard.evidence.live_state import live_state, started_at
from steelyard.report.result import result_line
from steelyard.store import store
from steelyard.store.entry import (
    ALTERED,
    INTERRUPTED,
    NOT_GRADED,
    PAUSED,
    RUNNING,
    Entry,
    entry_of_line,
    entry_of_manifest,
)

if TYPE_CHECKING:
    from steelyard.study.observer import TrialResult


def open_store(root: Path, url: str | None = None) -> store.Store:
    """The store of a folder of runs; call `sync` before a listing."""
    return store.Store(root, read_entry, url)


def read_entry(folder: RunFolder) -> Entry:
    """What the folder says now. Of a damaged folder what there is, with the state `altered`."""
    started = started_at(folder)
    if folder.state == "sealed" and _is_graded(folder):
        looked, gradings = glance(folder)
        if looked.broken is None and gradings:
            evidence = load_evidence(folder, deep=False)
            try:
                if evidence.broken is None:
                    line = result_line(evidence, gradings[0], len(gradings))
                    return entry_of_line(folder.run_id, line, started)
            except DAMAGED:
                pass
        return entry_of_manifest(folder.run_id, ALTERED, _manifest(folder), started)
    live = live_state(folder)
    if live.is_running:
        state = PAUSED if is_waiting(folder) else RUNNING
        return entry_of_manifest(folder.run_id, state, _manifest(folder), started)
    state = NOT_GRADED if folder.state == "sealed" else INTERRUPTED
    return entry_of_manifest(folder.run_id, state, _manifest(folder), started)


def entries_of(result: TrialResult) -> tuple[Entry, ...]:
    """The runs of a trial that has just ended: as this process graded them, else as their folders say."""
    if not result.records:
        return tuple(read_entry(RunFolder(path)) for path in result.folders)
    return tuple(
        entry_of_line(
            one.evidence.folder.run_id,
            result_line(one.evidence, one.grading),
            started_at(one.evidence.folder),
        )
        for one in result.records
    )


def is_altered(folder: RunFolder) -> bool:
    """Whether what a listing shows of a graded run contradicts its seal: a look that takes a millisecond."""
    looked, gradings = glance(folder)
    return looked.broken is not None or not gradings


def _is_graded(folder: RunFolder) -> bool:
    traces = (folder.file(GRADINGS_HEAD), folder.file(REPORT))
    return any(path.exists() for path in traces) or bool(grading_files(folder))


def _manifest(folder: RunFolder) -> Mapping[str, Any]:
    try:
        manifest = folder.read_json(MANIFEST)
    except DAMAGED:
        return {}
    return manifest if isinstance(manifest, dict) else {}
