"""A trial and its ground -> a run folder with its manifest, and a sandbox in which nothing has happened yet."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import orjson

from steelyard.agents.base import Agent
from steelyard.bench.verifier.run_verifier import LOGS, TESTS, TOOLS
from steelyard.contract.contract import Contract
from steelyard.environment.prepare import Environment, build_again
from steelyard.errors import InfraFault, OperatorFault, SteelyardError
from steelyard.evidence.folder.folder import MANIFEST, RunFolder, new_run_id
from steelyard.evidence.trace.events import EventLog
from steelyard.execution.live_run import LiveRun
from steelyard.execution.manifest import build_manifest
from steelyard.execution.mutations.watch_workspace import NOT_SHOWN, WorkspaceWatch
from steelyard.execution.network.connection_events import connection_log
from steelyard.execution.network.gateway_route import (
    describe_gateway,
    gateway_address,
    open_route,
    secrets_of,
)
from steelyard.execution.network.try_allowed_hosts import try_doors_early
from steelyard.execution.ready import await_ready
from steelyard.execution.stages.prepare_stages import (
    is_staged,
    refuse_without_enforcement,
    with_stages,
    with_write_switch,
)
from steelyard.execution.stages.requests import FOLDER, StageRequests
from steelyard.filesystem.cache import rebuilt
from steelyard.filesystem.contents import Checked, check_contents
from steelyard.gateway.address import GatewayAddress
from steelyard.plan.trial import Retry, Trial
from steelyard.sandboxes.base import AllowedHost, Mount, SandboxSpec


def open_run(
    trial: Trial, agent: Agent, environment: Environment, out: Path, retries: tuple[Retry, ...] = ()
) -> LiveRun:
    """The folder and the manifest come first: whatever happens next has a place to be written down."""
    environment, checked = _sound(environment)
    gateway = gateway_address(agent, environment)
    own_spec = with_own(environment.sandbox_spec(git=True), trial.contract, agent, gateway)
    facts = environment.backend.facts(own_spec)
    refuse_without_enforcement(trial.contract, agent, facts)
    models = describe_gateway(trial, agent)
    secrets = secrets_of(trial, agent)
    folder = RunFolder.create(out.absolute(), new_run_id(trial.contract.id, agent.name), secrets)
    manifest = orjson.dumps(
        build_manifest(folder.run_id, trial, agent, environment, facts, retries=retries, gateway=models),
        option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS,
    )
    folder.write_bytes("manifest.json", manifest)
    events = EventLog(folder.events, secrets)
    digest = hashlib.sha256(manifest).hexdigest()
    events.append("run.start", "harness", {"run": folder.run_id, "manifest": digest})
    return LiveRun(trial, agent, environment, folder, events, gateway=gateway, checked=checked)


def prepare(run: LiveRun) -> None:
    tell_rebuilt(run)
    _compare_identity(run)
    try_doors_early(run)
    run.delivery = run.agent.deliver(run.environment, run.blobs)
    if run.delivery is None:
        open_route(run)
        extra_mounts = (*run.agent.extra_mounts(), *_live_places(run))
        sandbox_spec = with_own(
            run.environment.sandbox_spec(git=_has_git(run), extra_mounts=extra_mounts),
            run.trial.contract,
            run.agent,
            run.gateway,
        )
        sandbox_spec = with_stages(sandbox_spec, run.trial.contract, run.environment.sandbox)
        sandbox_spec = replace(sandbox_spec, on_connection=connection_log(run.events, "agent"))
        run.sandbox_spec = run.environment.backend.start(sandbox_spec)
        compare_sandbox(run)
        await_ready(run.sandbox_spec, run.trial.contract.spec.environment.ready)
        run.watch = _watch(run)
        run.stage_requests = _stage_requests(run)
    run.stages.start(run.sandbox_spec, exempt=run.agent.stage_role == "exempt")


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
    sandbox_spec: SandboxSpec, contract: Contract, agent: Agent, gateway: GatewayAddress | None = None
) -> SandboxSpec:
    """The agent's sandbox: what the contract lets an agent reach, and what this agent brings of its own."""
    own = agent.resources
    models = () if gateway is None else (AllowedHost(gateway.host, gateway.port),)
    reached = dict.fromkeys((*AllowedHost.each(contract.spec.environment.network), *own.hosts, *models))
    sandbox_spec = with_write_switch(sandbox_spec, contract)
    return replace(sandbox_spec, allowed_hosts=tuple(reached), folders=own.folders, secrets=own.secrets)


def _stage_requests(run: LiveRun) -> StageRequests | None:
    """Where the agent asks for a stage by the control command."""
    folder = run.sandbox.open_folder(FOLDER) if is_staged(run.trial.contract) else None
    return None if folder is None else StageRequests(folder, run.stages.request)


def _live_places(run: LiveRun) -> tuple[Mount, ...]:
    """Where a verifier's folders will be, when it comes into the agent's own sandbox; nothing is in them yet."""
    spec = run.trial.contract.spec
    return tuple(Mount(path) for path in (TESTS, TOOLS, LOGS)) if spec.bench == "live" else ()


def _has_git(run: LiveRun) -> bool:
    """Without a workspace there is no repository either, only an empty folder."""
    return run.trial.contract.spec.workspace == "code"


def _checked(environment: Environment) -> dict[Path, Checked]:
    return {folder: check_contents(folder) for folder in environment.cached}


def _sound(environment: Environment) -> tuple[Environment, dict[Path, Checked]]:
    """Before the manifest is written: it tells of the setup layer that the run stands on."""
    checked = _checked(environment)
    if all(one.wrong is None for one in checked.values()):
        return environment, checked
    with suppress(SteelyardError):  # the run will end by it, and have a folder to say so in
        environment = build_again(environment)
    return environment, _checked(environment)


def _compare_identity(run: LiveRun) -> None:
    """What is on disk is what the manifest says, or this run counts for nothing."""
    root = run.trial.contract.snapshot.root
    for folder, (_, wrong) in run.checked.items():
        if wrong is not None:
            why = f"{folder.parent.name}/{folder.name}: {wrong}"
            told = {"field": _field_of(folder), "content_root": root, "why": why}
            run.events.append("run.mismatch", "harness", told)
            raise InfraFault(f"the cache was altered: {why}; remove {folder}")
    compared = "every file of the snapshot and of the setup layer"
    run.events.append("run.prepared", "harness", {"content_root": root, "compared": compared})


def compare_identity_again(run: LiveRun) -> None:
    """Nothing under this run was altered or replaced while it went on."""
    for folder, before in run.checked.items():
        now, wrong = check_contents(folder)
        if now != before.stamp:
            why = f"{folder.parent.name}/{folder.name}: {wrong or 'it was built again'}"
            run.events.append("run.mismatch", "harness", {"field": _field_of(folder), "why": why})
            raise InfraFault(f"the cache was altered during the run: {why}")
    with suppress(OSError, OperatorFault):  # its file is gone: it was read before
        parameters = orjson.loads(run.folder.secrets.redact(orjson.dumps(dict(run.agent.parameters()))))
        written = run.folder.read_json(MANIFEST)["agent"]["parameters"]
        _compare(run, "agent.parameters", written, parameters)


def _field_of(folder: Path) -> str:
    """The field of the manifest that a folder of the cache is the content of."""
    return "environment.setup.contents" if folder.parent.name == "setup" else "repository.content_root"


def compare_sandbox(run: LiveRun) -> None:
    """The sandbox that was started is the one that the manifest describes."""
    written, facts = run.folder.read_json(MANIFEST)["environment"], run.sandbox.facts
    _compare(run, "environment.sandbox", written["sandbox"], facts.kind)
    _compare(run, "environment.isolation", written["isolation"], facts.isolation)
    _compare(run, "environment.run_uid", written["run_uid"], facts.run_uid)
    network = "allow_list" if isinstance(written["network"], list) else written["network"]
    _compare(run, "environment.network", network, facts.network)
    for name, limit in written["limits"].items():
        _compare(run, f"environment.limits.{name}.enforced", limit["enforced"], facts.limits[name])


def _compare(run: LiveRun, field: str, written: object, observed: object) -> None:
    if written != observed:
        why = f"the manifest says {written}, what ran is {observed}"
        told = {"field": field, "manifest": written, "observed": observed, "why": why}
        run.events.append("run.mismatch", "harness", told)
        raise InfraFault(f"{field} is not what the manifest says: {why}")


def tell_rebuilt(run: LiveRun) -> None:
    """What this process had to build again in the cache and has not told in this run yet."""
    for one in rebuilt()[run.rebuilt_told :]:
        run.events.append("cache.rebuilt", "harness", {"kind": one.kind, "key": one.key, "why": one.why})
        run.rebuilt_told += 1
