"""A trial and its ground -> a run folder with its manifest, and a sandbox in which nothing has happened yet."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import orjson

from steelyard.agents.base import Agent
from steelyard.bench.ground import Ground, build_again
from steelyard.bench.run_verifier import LOGS, TESTS, TOOLS
from steelyard.contract.cache import rebuilt
from steelyard.contract.contents import Checked, check_contents
from steelyard.contract.contract import Contract
from steelyard.errors import InfraFault, SteelyardError
from steelyard.evidence.events import EventLog
from steelyard.evidence.folder import RunFolder, new_run_id
from steelyard.execution.connected import connection_log
from steelyard.execution.live_run import LiveRun
from steelyard.execution.manifest import build_manifest
from steelyard.execution.ready import await_ready
from steelyard.execution.tried_doors import try_doors_early
from steelyard.plan.trial import Trial
from steelyard.sandboxes.base import Box, Door, Place


def open_run(trial: Trial, agent: Agent, ground: Ground, out: Path) -> LiveRun:
    """The folder and the manifest come first: whatever happens next has a place to be written down."""
    ground, checked = _sound(ground)
    facts = ground.backend.facts(with_own(ground.box(git=True), trial.contract, agent))
    secrets = agent.resources.secrets
    folder = RunFolder.create(out.absolute(), new_run_id(trial.contract.id, agent.name), secrets)
    manifest = orjson.dumps(
        build_manifest(folder.run_id, trial, agent, ground, facts),
        option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS,
    )
    folder.write_bytes("manifest.json", manifest)
    events = EventLog(folder.events, secrets)
    digest = hashlib.sha256(manifest).hexdigest()
    events.append("run.start", "harness", {"run": folder.run_id, "manifest": digest})
    return LiveRun(trial, agent, ground, folder, events, checked=checked)


def prepare(run: LiveRun) -> None:
    tell_rebuilt(run)
    _compare_identity(run)
    try_doors_early(run)
    run.delivery = run.agent.deliver(run.ground, run.blobs)
    if run.delivery is None:
        places = (*run.agent.places(), *_live_places(run))
        box = with_own(run.ground.box(git=_has_git(run), places=places), run.trial.contract, run.agent)
        box = replace(box, on_connection=connection_log(run.events, "agent"))
        run.box = run.ground.backend.start(box)
        await_ready(run.box, run.trial.contract.spec.environment.ready)
    run.events.append("stage.enter", "harness", {"stage": "write"})


def with_own(box: Box, contract: Contract, agent: Agent) -> Box:
    """The agent's sandbox: what the contract lets an agent reach, and what this agent brings of its own."""
    own = agent.resources
    reached = dict.fromkeys((*Door.each(contract.spec.environment.network), *own.hosts))
    return replace(box, doors=tuple(reached), folders=own.folders, secrets=own.secrets)


def _live_places(run: LiveRun) -> tuple[Place, ...]:
    """Where a verifier's folders will be, when it comes into the agent's own sandbox; nothing is in them yet."""
    spec = run.trial.contract.spec
    return tuple(Place(path) for path in (TESTS, TOOLS, LOGS)) if spec.bench == "live" else ()


def _has_git(run: LiveRun) -> bool:
    """Without a workspace there is no repository either, only an empty folder."""
    return run.trial.contract.spec.workspace == "code"


def _checked(ground: Ground) -> dict[Path, Checked]:
    return {folder: check_contents(folder) for folder in ground.cached}


def _sound(ground: Ground) -> tuple[Ground, dict[Path, Checked]]:
    """Before the manifest is written: it tells of the setup layer that the run stands on."""
    checked = _checked(ground)
    if all(one.wrong is None for one in checked.values()):
        return ground, checked
    with suppress(SteelyardError):  # the run will end by it, and have a folder to say so in
        ground = build_again(ground)
    return ground, _checked(ground)


def _compare_identity(run: LiveRun) -> None:
    """What is on disk is what the manifest says, or this run counts for nothing."""
    root = run.trial.contract.snapshot.root
    for folder, (_, wrong) in run.checked.items():
        if wrong is not None:
            why = f"{folder.parent.name}/{folder.name}: {wrong}"
            run.events.append("run.mismatch", "harness", {"content_root": root, "why": why})
            raise InfraFault(f"the cache was altered: {why}; remove {folder}")
    compared = "every file of the snapshot and of the setup layer"
    run.events.append("run.prepared", "harness", {"content_root": root, "compared": compared})


def compare_identity_again(run: LiveRun) -> None:
    """Nothing under this run was altered or replaced while it went on."""
    for folder, before in run.checked.items():
        now, wrong = check_contents(folder)
        if now != before.stamp:
            why = f"{folder.parent.name}/{folder.name}: {wrong or 'it was built again'}"
            run.events.append("run.mismatch", "harness", {"why": why})
            raise InfraFault(f"the cache was altered during the run: {why}")


def tell_rebuilt(run: LiveRun) -> None:
    """What this process had to build again in the cache and has not told in this run yet."""
    for one in rebuilt()[run.rebuilt_told :]:
        run.events.append("cache.rebuilt", "harness", {"kind": one.kind, "key": one.key, "why": one.why})
        run.rebuilt_told += 1
