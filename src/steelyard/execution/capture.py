"""The dead workspace -> `change.json`, blobs and `patch.diff`."""

from __future__ import annotations

import hashlib
from itertools import islice
from pathlib import PurePosixPath

import orjson

from steelyard.agents.base import Delivery
from steelyard.bench.step_files import part
from steelyard.errors import InfraFault
from steelyard.evidence.change.change import Change, ChangeEntry
from steelyard.evidence.change.importer import import_workspace
from steelyard.evidence.change.render import render_patch, with_renames
from steelyard.evidence.folder.blobs import store_text
from steelyard.evidence.folder.folder import CHANGE, PATCH, STEP_FILES, STEPS
from steelyard.execution import answer_change
from steelyard.execution.live_run import LiveRun
from steelyard.execution.mutations.watch_workspace import NOT_SHOWN
from steelyard.filesystem.tree import Entry, path_to_json

SINGLE_ENTRIES = 2000  # changed paths with an event each; those after them share events
NAMED_GAPS = 50  # paths in `capture.end`
BATCH_ENTRIES = 500  # of a shared event: about 100 KB


def capture(run: LiveRun, step: str = "") -> None:
    """Capture the workspace after the agent's last process has ended. The change of each step has its own folder."""
    if run.ending is not None and run.ending.code == "infrastructure":
        raise InfraFault(run.ending.rationale)
    before = run.captured
    if run.watch is not None:
        run.watch.finish()
    change = (
        _imported(run).redacted(run.folder.secrets)
        if run.delivery is None
        else _change_of_delivery(run, run.delivery)
    )
    change = _without_step_files(run, change)
    rendered = render_patch(change, run.blobs)
    run.captured = with_renames(change, rendered.renames)
    for folder in ("", f"{STEPS}/{step}/") if step else ("",):
        run.folder.write_bytes(f"{folder}{CHANGE}", run.change.to_bytes())
        run.folder.write_bytes(f"{folder}{PATCH}", rendered.patch)
        if run.step_files:
            kept = {"kept": [path_to_json(path) for path in sorted(run.unchanged_step_files)]}
            run.folder.write_bytes(f"{folder}{STEP_FILES}", orjson.dumps(kept))
    _log(run, frozenset() if before is None else frozenset(before.entries))


def _without_step_files(run: LiveRun, change: Change) -> Change:
    """Leave out of the change the files that the harness delivered and the agent did not alter."""
    contract, was_laid = run.trial.contract, run.delivery is None
    change, run.unchanged_step_files = part(change, run.step_files, contract, run.blobs, was_laid=was_laid)
    return change


def _change_of_delivery(run: LiveRun, delivery: Delivery) -> Change:
    path = run.trial.contract.spec.answer_path
    return delivery.change if path is None else answer_change.only_answer(delivery.change, path)


def _imported(run: LiveRun) -> Change:
    contract = run.trial.contract
    path = contract.spec.answer_path
    if path is not None and contract.spec.answer is None:
        return answer_change.change_from_output(run.answer, path, contract.snapshot.root, run.blobs)
    change = import_workspace(
        run.sandbox.captured_tree(),
        baseline_root=contract.snapshot.root,
        blobs=run.blobs,
        generated=contract.spec.generated,
    )
    return change if path is None else answer_change.only_answer(change, path)


def _log(run: LiveRun, known: frozenset[ChangeEntry]) -> None:
    """Log each path that differs from the baseline and has changed since the last capture."""
    applied = run.delivery.applied if run.delivery else None
    if applied is not None:
        run.patch_refused = applied.refused
        run.events.append(
            "patch.apply",
            "harness",
            {"command": applied.command, "exit": applied.exit, "log": store_text(applied.log, run.blobs),
             "refused": applied.refused, "wall_ns": applied.end - applied.start},
        )  # fmt: skip
        run.delivery = Delivery(run.change)  # delivered once, applied once: a later step finds it done
    fresh = [one for one in run.change.entries if one not in known]
    gaps = _gaps(run, fresh)
    run.gaps = (*run.gaps, *(one.path for one in gaps))
    entries = iter(fresh if run.delivery is not None else gaps)
    for entry in islice(entries, SINGLE_ENTRIES):
        run.events.append("workspace.change", "harness", _mutation(entry))
    while batch := [_row(entry) for entry in islice(entries, BATCH_ENTRIES)]:
        run.events.append(
            "workspace.changes",
            "harness",
            {
                "count": len(batch),
                "rows": batch,
                "observed": "capture",
                "attributed": False,
                "attributed_to": None,
            },
        )
    run.events.append(
        "capture.end",
        "harness",
        {
            "entries": len(run.change.entries),
            "complete": run.change.complete,
            "generated": run.change.generated.count,
            "change": hashlib.sha256(run.change.to_bytes()).hexdigest(),
            "patch": {"pointer": "patch.diff"},
            "watch": None if run.watch is None else run.watch.counts,
            "gaps": {
                "count": len(gaps),
                "paths": [path_to_json(one.path) for one in gaps[:NAMED_GAPS]],
                "why": _why(run) if gaps else None,
            },
        },
    )


def _gaps(run: LiveRun, entries: list[ChangeEntry]) -> list[ChangeEntry]:
    """Changed paths of the agent without an event from the time in which it worked. A change that is handed over has none."""
    if run.delivery is not None or run.trial.contract.spec.answer_path is not None:
        return []
    own = _reference_files(run)
    agents = [one for one in entries if one.path not in own]
    return agents if run.watch is None else [one for one in agents if not run.watch.covers(one)]


def _reference_files(run: LiveRun) -> frozenset[str]:
    """The files of a reference that runs as a script: the harness put them into a whole system before the agent's time."""
    if run.agent.stage_role != "exempt":
        return frozenset()
    files = {f"{mount.path}/{piece.path}" for mount in run.agent.extra_mounts() for piece in mount.overlays}
    folders = {str(parent) for path in files for parent in PurePosixPath(path).parents}
    return frozenset(path.lstrip("/") for path in (*files, *folders))


def _why(run: LiveRun) -> str:
    if run.watch is None:
        return NOT_SHOWN
    return (
        run.watch.why
        or "the changes came faster than they could be logged, or were hidden from the kernel's notices"
    )


def _mutation(entry: ChangeEntry) -> dict[str, object]:
    return {
        "path": path_to_json(entry.path),
        "renamed_from": None if entry.renamed_from is None else path_to_json(entry.renamed_from),
        "before": entry.old.to_json() if entry.old else None,
        "after": entry.new.to_json() if entry.new else None,
        "patch": {"pointer": "patch.diff"},
        "observed": "capture",
        "attributed": False,
        "attributed_to": None,
        "stored": bool(entry.new is not None and entry.new.sha256),
    }


def _row(entry: ChangeEntry) -> list[object]:
    """Path, name before a rename, entry before and entry after; `change.json` has the rest."""
    renamed_from = None if entry.renamed_from is None else path_to_json(entry.renamed_from)
    return [path_to_json(entry.path), renamed_from, _mark(entry.old), _mark(entry.new)]


def _mark(side: Entry | None) -> str | None:
    return None if side is None else side.sha256 or side.kind
