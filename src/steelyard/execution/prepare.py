"""A trial and its environment -> a run folder with its manifest, and a fresh sandbox."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from steelyard.agents.base import Agent
from steelyard.bench.verifier import run_verifier
from steelyard.contract.contract import Contract
from steelyard.environment.prepare import Environment, build_again
from steelyard.errors import InfraFault, OperatorFault, SteelyardError
from steelyard.evidence.folder.folder import MANIFEST, RunFolder, new_run_id
from steelyard.evidence.trace.events import EventLog
from steelyard.execution.live_run import LiveRun
from steelyard.execution.manifest import build_manifest, describe_folders
from steelyard.execution.mutations.watch_workspace import NOT_SHOWN, WorkspaceWatch
from steelyard.execution.network.connection_events import connection_log
from steelyard.execution.network.gateway_route import (
    describe_gateway,
    gateway_address,
    open_route,
    secrets_of,
    text_rules,
)
from steelyard.execution.network.try_allowed_hosts import try_hosts_before_agent
from steelyard.execution.ready import await_ready
from steelyard.execution.stages import requests
from steelyard.execution.stages.prepare_stages import (
    is_staged,
    refuse_without_enforcement,
    with_stages,
    with_write_switch,
)
from steelyard.filesystem.cache import rebuilt
from steelyard.filesystem.contents import FolderCheck, check_contents
from steelyard.gateway import address
from steelyard.plan.trial import Retry, Trial
from steelyard.sandboxes.base import AllowedHost, Facts, Mount, SandboxSpec
from steelyard.sandboxes.init.attempts import Attempt


def open_run(
    trial: Trial, agent: Agent, environment: Environment, out: Path, retries: tuple[Retry, ...] = ()
) -> LiveRun:
    """Create the folder and the manifest first, so that every later fault can be recorded. What cannot be created leaves nothing."""
    environment, checked = _sound(environment)
    gateway = gateway_address(agent, environment)
    own_spec = with_own(environment.sandbox_spec(git=True, phase="agent"), trial.contract, agent, gateway)
    facts = environment.backend.facts(replace(own_spec, on_attempt=_ignore))
    refuse_without_enforcement(trial.contract, agent, facts)
    models = describe_gateway(trial, agent)
    secrets = secrets_of(trial, agent)
    folder = RunFolder.create(out.absolute(), new_run_id(trial.contract.id, agent.name), secrets)
    try:
        manifest = orjson.dumps(
            build_manifest(folder.run_id, trial, agent, environment, facts, retries=retries, gateway=models),
            option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS,
        )
        folder.write_bytes("manifest.json", manifest)
        events = EventLog(folder.events, secrets, text_rules(trial))
        digest = hashlib.sha256(manifest).hexdigest()
        events.append("run.start", "harness", {"run": folder.run_id, "manifest": digest})
        return LiveRun(trial, agent, environment, folder, events, gateway=gateway, checked=checked)
    except BaseException:
        shutil.rmtree(folder.path, ignore_errors=True)
        raise


def _ignore(attempt: Attempt) -> None:
    """The agent's sandbox reports refused system calls: its facts say whether it can."""


def prepare(run: LiveRun) -> None:
    log_rebuilds(run)
    _compare_identity(run)
    try_hosts_before_agent(run)
    run.delivery = run.agent.deliver(run.environment, run.blobs)
    if run.delivery is None:
        open_route(run)
        extra_mounts = (*run.agent.extra_mounts(), *_live_places(run))
        sandbox_spec = with_own(
            run.environment.sandbox_spec(git=_has_git(run), extra_mounts=extra_mounts, phase="agent"),
            run.trial.contract,
            run.agent,
            run.gateway,
        )
        sandbox_spec = with_stages(sandbox_spec, run.trial.contract, run.environment.sandbox)
        sandbox_spec = replace(
            sandbox_spec, on_connection=connection_log(run.events, "agent"), on_attempt=run.attempts.take
        )
        run.started_sandbox = run.environment.backend.start(sandbox_spec)
        compare_sandbox(run)
        await_ready(run.started_sandbox, run.trial.contract.spec.environment.ready)
        run.watch = _watch(run)
        run.stage_requests = _stage_requests(run)
    run.stages.start(run.started_sandbox, exempt=run.agent.stage_role == "exempt")


def _watch(run: LiveRun) -> WorkspaceWatch | None:
    """Its workspace, from before the agent's first process until nothing of it runs."""
    tree = run.sandbox.running_tree()
    if tree is None:
        run.events.append("workspace.watch", "harness", {"mode": "none", "why": NOT_SHOWN})
        return None
    watch = WorkspaceWatch(tree, run.events, run.blobs, run.trial.contract.spec.generated)
    run.events.append("workspace.watch", "harness", {"mode": watch.mode, "why": watch.why or None})
    watch.start()
    return watch


def with_own(
    sandbox_spec: SandboxSpec, contract: Contract, agent: Agent, gateway: address.GatewayAddress | None = None
) -> SandboxSpec:
    """The agent's sandbox: what the contract lets an agent reach, and what this agent brings of its own."""
    own = agent.resources
    models = () if gateway is None else (AllowedHost(gateway.host, gateway.port),)
    reached = dict.fromkeys((*AllowedHost.each(contract.spec.environment.network), *own.hosts, *models))
    secrets = sandbox_spec.secrets | own.secrets
    sandbox_spec = with_write_switch(sandbox_spec, contract)
    return replace(sandbox_spec, allowed_hosts=tuple(reached), folders=own.folders, secrets=secrets)


def _stage_requests(run: LiveRun) -> requests.StageRequests | None:
    """Where the agent asks for a stage by the control command."""
    folder = run.sandbox.open_folder(requests.FOLDER) if is_staged(run.trial.contract) else None
    return None if folder is None else requests.StageRequests(folder, run.stages.request)


def _live_places(run: LiveRun) -> tuple[Mount, ...]:
    """Where a verifier's folders will be, when it comes into the agent's own sandbox; nothing is in them yet."""
    spec = run.trial.contract.spec
    return (
        tuple(Mount(path) for path in (run_verifier.TESTS, run_verifier.TOOLS, run_verifier.LOGS))
        if spec.bench == "live"
        else ()
    )


def _has_git(run: LiveRun) -> bool:
    """Without a workspace there is no repository either, only an empty folder."""
    return run.trial.contract.spec.workspace == "code"


def _check(environment: Environment) -> dict[Path, FolderCheck]:
    return {folder: check_contents(folder) for folder in environment.cached}


def _sound(environment: Environment) -> tuple[Environment, dict[Path, FolderCheck]]:
    """Before the manifest is written, because the manifest describes the setup layer."""
    checked = _check(environment)
    if all(one.wrong is None for one in checked.values()):
        return environment, checked
    with suppress(SteelyardError):  # the same fault ends the run later, when it has a folder to record it in
        environment = build_again(environment)
    return environment, _check(environment)


def _compare_identity(run: LiveRun) -> None:
    """Raise unless the files on disk are those that the manifest names: otherwise the run does not count."""
    root = run.trial.contract.snapshot.root
    for folder, (_, wrong) in run.checked.items():
        if wrong is not None:
            why = f"{folder.parent.name}/{folder.name}: {wrong}"
            field = _field_of(folder)
            run.events.append("run.mismatch", "harness", {"field": field, "content_root": root, "why": why})
            raise InfraFault(
                f"{field} is not what the manifest says: the cache was altered: {why}; remove {folder}"
            )
    compared = "every file of the snapshot and of the setup layer"
    run.events.append("run.prepared", "harness", {"content_root": root, "compared": compared})


def compare_identity_again(run: LiveRun) -> None:
    """Raise if a cache folder that the run uses was altered or replaced during the run."""
    for folder, before in run.checked.items():
        now, wrong = check_contents(folder)
        if now != before.stamp:
            why = f"{folder.parent.name}/{folder.name}: {wrong or 'it was built again'}"
            field = _field_of(folder)
            run.events.append("run.mismatch", "harness", {"field": field, "why": why})
            raise InfraFault(
                f"{field} is not what the manifest says: the cache was altered during the run: {why}"
            )
    written = run.folder.read_json(MANIFEST)["agent"]
    with suppress(OSError, OperatorFault):  # its file is gone: it was read before
        parameters = orjson.loads(run.folder.secrets.redact(orjson.dumps(dict(run.agent.parameters()))))
        _compare(run, "agent.parameters", written["parameters"], parameters)
    _compare(run, "agent.folders", written["folders"], describe_folders(run.agent))


def _field_of(folder: Path) -> str:
    """The field of the manifest that names a cache folder."""
    return "environment.setup.contents" if folder.parent.name == "setup" else "repository.content_root"


def compare_sandbox(run: LiveRun) -> None:
    """Raise unless the started sandbox is the one that the manifest describes."""
    written = run.folder.read_json(MANIFEST)["environment"]
    for field, (in_manifest, observed) in sandbox_fields(written, run.sandbox.facts).items():
        _compare(run, field, in_manifest, observed)


def sandbox_fields(written: Mapping[str, Any], facts: Facts) -> dict[str, tuple[Any, Any]]:
    """Field of the manifest -> what it says of the sandbox, and what the started sandbox says."""
    network = "allow_list" if isinstance(written["network"], list) else written["network"]
    compared = {
        "sandbox": (written["sandbox"], facts.kind),
        "isolation": (written["isolation"], facts.isolation),
        "run_uid": (written["run_uid"], facts.run_uid),
        "network": (network, facts.network),
        "kernel_evidence.seen": (written["kernel_evidence"]["seen"], list(facts.kernel_evidence)),
        **{
            f"limits.{name}.enforced": (limit["enforced"], facts.limits[name])
            for name, limit in written["limits"].items()
        },
    }
    return {f"environment.{name}": values for name, values in compared.items()}


def _compare(run: LiveRun, field: str, written: object, observed: object) -> None:
    if written != observed:
        why = f"the manifest says {written}, what ran is {observed}"
        mismatch = {"field": field, "manifest": written, "observed": observed, "why": why}
        run.events.append("run.mismatch", "harness", mismatch)
        raise InfraFault(f"{field} is not what the manifest says: {why}")


def log_rebuilds(run: LiveRun) -> None:
    """Log the cache folders that this process built again and that this run has not logged yet."""
    for one in rebuilt()[run.rebuilds_logged :]:
        run.events.append("cache.rebuilt", "harness", {"kind": one.kind, "key": one.key, "why": one.why})
        run.rebuilds_logged += 1
