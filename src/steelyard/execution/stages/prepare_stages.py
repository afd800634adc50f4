"""A contract with stages -> what its sandbox needs for them, or a refusal before anything starts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from steelyard.agents.base import Agent
from steelyard.contract.contract import Contract
from steelyard.errors import OperatorFault
from steelyard.execution.stages import requests
from steelyard.sandboxes.base import Facts, FileOverlay, Mount, SandboxSpec

_DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def is_staged(contract: Contract) -> bool:
    return contract.spec.policy.stages != ("write",)


def with_write_switch(spec: SandboxSpec, contract: Contract) -> SandboxSpec:
    """For stages, and for the intervention that suspends writes."""
    policy = contract.spec.policy
    is_needed = is_staged(contract) or "suspend_writes" in policy.model_dump_json()
    return replace(spec, write_switch=is_needed and spec.scope == "workspace")


def with_stages(spec: SandboxSpec, contract: Contract, kind: str) -> SandboxSpec:
    """The control command on PATH, and the folder by which it asks; the local sandbox has no place for them."""
    if not is_staged(contract) or kind == "local":
        return spec
    programs = Mount(
        requests.PROGRAMS, (FileOverlay(requests.NAME, "file", "755", requests.SCRIPT),), read_only=True
    )
    mounts = (*spec.extra_mounts, programs, Mount(requests.FOLDER))
    if kind == "docker":
        path = spec.env.get("PATH") or spec.image_env.get("PATH") or _DEFAULT_PATH
        return replace(spec, extra_mounts=mounts, env={**spec.env, "PATH": f"{requests.PROGRAMS}:{path}"})
    return replace(
        spec, extra_mounts=mounts, links={**spec.links, requests.NAME: Path(requests.PROGRAMS, requests.NAME)}
    )


def refuse_without_enforcement(contract: Contract, agent: Agent, facts: Facts) -> None:
    """Refuse a contract that requires enforced stages where the sandbox cannot enforce them."""
    if "enforced_stages" not in contract.spec.policy.require or not agent.in_sandbox:
        return
    if not facts.write_switch:
        raise OperatorFault(
            f"contract {contract.id} requires enforced stages, and the {facts.kind} sandbox cannot make the workspace "
            "read-only here; use `--sandbox bubblewrap`"
        )
    if agent.stage_role == "cannot":
        raise OperatorFault(
            f"contract {contract.id} requires enforced stages, and agent {agent.name} cannot run `{requests.NAME}`"
        )
