"""The dead workspace -> `change.json`, blobs and `patch.diff`."""

from __future__ import annotations

import hashlib

from steelyard.contract.tree import path_to_json
from steelyard.errors import InfraFault
from steelyard.evidence.change import Change, ChangeEntry
from steelyard.evidence.importer import import_workspace
from steelyard.evidence.render import render_patch, with_renames
from steelyard.execution.live_run import LiveRun

LOGGED_ENTRIES = 2000  # beyond this, change.json and its digest speak for the rest


def capture(run: LiveRun) -> None:
    if run.ending is not None and run.ending.code == "infrastructure":
        raise InfraFault(run.ending.rationale)
    change = _imported(run) if run.delivery is None else run.delivery.change
    rendered = render_patch(change, run.blobs)
    run.captured = with_renames(change, rendered.renames)
    run.folder.write_bytes("change.json", run.change.to_bytes())
    run.folder.write_bytes("patch.diff", rendered.patch)
    _log(run)


def _imported(run: LiveRun) -> Change:
    return import_workspace(
        run.sandbox.remains(),
        baseline_root=run.trial.contract.snapshot.root,
        blobs=run.blobs,
        generated=run.trial.contract.spec.generated,
    )


def _log(run: LiveRun) -> None:
    applied = run.delivery.applied if run.delivery else None
    if applied is not None:
        run.events.append(
            "patch.apply",
            "harness",
            {"command": applied.command, "exit": applied.exit, "log": applied.log[:4096], "refused": applied.refused,
             "wall_ns": applied.end - applied.start},
        )  # fmt: skip
    for entry in run.change.entries[:LOGGED_ENTRIES]:
        run.events.append("workspace.change", "harness", _mutation(entry))
    run.events.append(
        "capture.end",
        "harness",
        {
            "entries": len(run.change.entries),
            "complete": run.change.complete,
            "generated": run.change.generated.count,
            "change": hashlib.sha256(run.change.to_bytes()).hexdigest(),
            "patch": {"pointer": "patch.diff"},
        },
    )


def _mutation(entry: ChangeEntry) -> dict[str, object]:
    return {
        "path": path_to_json(entry.path),
        "renamed_from": None if entry.renamed_from is None else path_to_json(entry.renamed_from),
        "before": entry.old.to_json() if entry.old else None,
        "after": entry.new.to_json() if entry.new else None,
        "patch": "patch.diff",
        "attributed": False,
    }
