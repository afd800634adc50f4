"""What a run is about to be -> `manifest.json`, written before any agent action and never changed.

Identity (contract, repository, content root, submodules, lock files), environment (sandbox, limits and how
each is enforced, toolchains, declared variables), harness, agent, configuration, seeds, and this machine.
"""

from __future__ import annotations

import hashlib
import locale
import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from steelyard import __version__
from steelyard.agents.base import Agent
from steelyard.contract.briefing import delivered_messages
from steelyard.contract.catalogue import GraderEntry
from steelyard.contract.contract import Contract
from steelyard.contract.model import EnvironmentSpec
from steelyard.environment import image_tools
from steelyard.environment.prepare import Environment
from steelyard.evidence.key_rules import VERSION as REDACTION
from steelyard.evidence.key_rules import rules_digest
from steelyard.evidence.redact import is_redacted
from steelyard.filesystem.tree import path_to_json
from steelyard.monitors.caps import caps_of
from steelyard.monitors.watchdog import VERSION as MONITORS
from steelyard.monitors.watchdog import describe_monitors
from steelyard.plan.trial import PROTOCOL_SEED, Retry, Trial
from steelyard.providers import prices
from steelyard.sandboxes.base import HOME, WORKSPACE, AllowedHost, Facts
from steelyard.sandboxes.package_managers import package_managers
from steelyard.sandboxes.toolchains import installed_digest

SCHEMA = "steelyard.manifest/1"
EVENT_SCHEMA = "steelyard.event/1"
REGISTRY_VARIABLES = (
    "PIP_",
    "UV_",
    "NPM_CONFIG_",
    "YARN_",
    "GOPROXY",
    "GOFLAGS",
    "CARGO_REGISTR",
    "BUNDLE_MIRROR",
)
REDACTED, TOO_SHORT = "redacted", "not redacted: shorter than 8 bytes"  # of an agent's variables
_SORTED = orjson.OPT_SORT_KEYS


def build_manifest(  # noqa: PLR0913  # each part of a manifest comes from elsewhere
    run_id: str,
    trial: Trial,
    agent: Agent,
    environment: Environment,
    facts: Facts,
    *,
    retries: tuple[Retry, ...] = (),
    gateway: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """`gateway`: how the agent's models are reached, or None."""
    contract = trial.contract
    return {
        "schema": SCHEMA,
        "run": run_id,
        "trial": {
            "id": trial.id,
            "repeat": trial.repeat,
            "attempt": len(retries) + 1,
            "retries": [retry._asdict() for retry in retries],
        },
        "study": None if trial.place is None else trial.place._asdict(),
        "contract": {"id": contract.id, "version": contract.spec.version, "digest": contract.digest},
        "repository": _repository(environment),
        "environment": _environment(environment, facts, agent),
        "harness": {
            "name": "steelyard",
            "version": __version__,
            "event_schema": EVENT_SCHEMA,
            "python": platform.python_version(),
            "entry_points": _entry_points(contract),
        },
        "agent": _agent(agent),
        "gateway": gateway,
        "workspace": contract.spec.workspace,
        "brief": {
            "sha256": hashlib.sha256(contract.brief.encode()).hexdigest(),
            "bytes": len(contract.brief.encode()),
        },
        "messages": [
            {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
            for data in (text.encode(errors="replace") for text in delivered_messages(contract))
        ],
        "steps": [step.name for step in contract.steps],
        "configuration": {
            "bench": contract.spec.bench,
            "oracle": contract.spec.oracle.mode,
            "oracle_network": contract.spec.model_dump(mode="json")["oracle"]["network"],
            "reruns": contract.spec.oracle.reruns.model_dump(mode="json"),
            "budget": contract.spec.budget.model_dump(mode="json"),
            "policy": contract.spec.policy.model_dump(mode="json"),
            "monitors": describe_monitors(),
            "cost_model": _cost_model(trial),
            **caps_of(contract.spec, agent, facts, has_gateway=bool(gateway)),
            "stages": list(contract.spec.policy.stages),
            "redaction": {"version": REDACTION, "digest": rules_digest()},
            "digests": _digests(contract),
            "comparability_class": comparability_class(
                trial, facts, environment.image.id if environment.image else ""
            ),
        },
        "seeds": _seeds(trial),
        "machine": _machine(),
    }


def _seeds(trial: Trial) -> dict[str, Any]:
    """Only a study draws anything by the protocol's seed: the order of its trials, with numpy."""
    place = trial.place
    return {
        "protocol": PROTOCOL_SEED if place is None else place.seed,
        "framework": None if place is None else "numpy",
        "repeat": trial.repeat,
        "grading": trial.seed,
    }


def _cost_model(trial: Trial) -> dict[str, Any] | None:
    """The operator's price list: its digest, and each price by `action_type/unit`."""
    path = trial.options.gateway.cost_model
    if not path:
        return None
    model = prices.read_cost_model(Path(path))
    return {"sha256": model.sha256, "rows": model.by_name}


def _agent(agent: Agent) -> dict[str, Any]:
    """Of its variables only the names."""
    own = agent.resources
    return {
        "name": agent.name,
        "in_sandbox": agent.in_sandbox,
        "parameters": dict(agent.parameters()),
        "env": {
            name: REDACTED if is_redacted(value) else TOO_SHORT for name, value in sorted(own.env.items())
        },
        "hosts": [str(host) for host in own.hosts],
        "folders": describe_folders(agent),
    }


def describe_folders(agent: Agent) -> list[dict[str, str]]:
    """The folders of this machine that the agent works with, by their contents."""
    return [
        {"path": folder.path, "digest": installed_digest(folder.source)} for folder in agent.resources.folders
    ]


def _entry_points(contract: Contract) -> dict[str, Any]:
    """The very commands that install, build and accept."""
    under = {
        "build": [entry for entry in contract.checks if entry.under in {"build", "static"}],
        "acceptance": [entry for entry in contract.checks if entry.under not in {"build", "static"}],
    }
    return {
        "install": list(contract.spec.setup),
        **{name: {entry.name: _command(entry) for entry in entries} for name, entries in under.items()},
    }


def _command(entry: GraderEntry) -> str:
    spec = entry.execution
    return entry.type if spec is None else spec.command


def _digests(contract: Contract) -> dict[str, str]:
    """Of each part of the configuration, so that two runs can be compared part by part."""
    spec = contract.spec.model_dump(mode="json", by_alias=True)
    parts = ("environment", "setup", "setup_network", "oracle", "policy", "budget", "graders", "judge")
    return {name: hashlib.sha256(orjson.dumps(spec[name], option=_SORTED)).hexdigest() for name in parts}


def comparability_class(trial: Trial, facts: Facts, image: str = "") -> str:
    """Two runs compare when the contract's digest and this agree."""
    spec = trial.contract.spec
    parts = (
        facts.kind,
        sorted(facts.limits.items()),
        spec.environment.model_dump(mode="json", by_alias=True),
        "allow_list"
        if AllowedHost.each(spec.environment.network)
        else "host"
        if facts.network == "host"
        else "none",
        image,
        spec.budget.model_dump(mode="json"),
        MONITORS,
        EVENT_SCHEMA,
        __version__.split(".")[0],
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def _repository(environment: Environment) -> dict[str, Any]:
    snapshot = environment.contract.snapshot
    return {
        "commit": snapshot.commit,
        "content_root": snapshot.root,
        "history": environment.contract.spec.history,
        "submodules": [
            {"path": path, "commit": commit, "materialised": there}
            for path, commit, there in snapshot.submodules
        ],
        "lock_files": [
            {
                "path": path_to_json(path),
                "sha256": snapshot.entries[path].sha256,
                "date": snapshot.lock_dates.get(path),
            }
            for path in snapshot.lock_files
        ],
    }


def _registries(environment: Environment) -> dict[str, Any]:
    """Where packages come from: what the repository says, the contract's variables and hosts, and this machine's settings."""
    spec, snapshot = environment.contract.spec, environment.contract.snapshot
    return {
        "files": [
            {"path": path_to_json(path), "sha256": snapshot.entries[path].sha256}
            for path in snapshot.registry_files
        ],
        "variables": sorted(
            name for name in spec.environment.env if name.upper().startswith(REGISTRY_VARIABLES)
        ),
        "setup_network": spec.setup_network
        if isinstance(spec.setup_network, str)
        else list(spec.setup_network),
        "machine": environment.setup.configuration if environment.setup is not None else None,
    }


def _declared_files(contract: Contract) -> list[dict[str, Any]]:
    """Files that agents or their image are given beside the repository."""
    build = contract.spec.environment.build
    of_image = {
        name: file
        for name, file in contract.files.items()
        if build and name.startswith(f"{build.rstrip('/')}/")
    }
    given = [("image", name, file) for name, file in of_image.items()]
    given += [
        (f"step {step.name}", name, file) for step in contract.steps for name, file in step.files.items()
    ]
    return [{"path": name, "sha256": file.sha256, "for": who} for who, name, file in given]


def _absent(environment: Environment) -> list[str]:
    """What a build may need and this contract declares none of."""
    spec, registries = environment.contract.spec, _registries(environment)
    machine = registries["machine"] or {}
    from_elsewhere = any((registries["files"], registries["variables"], *machine.values()))
    declared = {
        "env": spec.environment.env,
        "files": _declared_files(environment.contract),
        "secrets": spec.environment.secrets,
        "setup": spec.setup,
        "lock_files": environment.contract.snapshot.lock_files,
        "registries": from_elsewhere or spec.setup_network != "none",
    }
    return sorted(name for name, value in declared.items() if not value)


def _environment(environment: Environment, facts: Facts, agent: Agent) -> dict[str, Any]:
    return {**_isolation(environment, facts, agent), **_declared(environment), **_installed(environment)}


def _isolation(environment: Environment, facts: Facts, agent: Agent) -> dict[str, Any]:
    """What the sandbox is made of, and what it enforces."""
    declared, image = environment.contract.spec.environment, environment.image
    own = agent.resources
    models = [f"model gateway ({name})" for name in sorted(own.providers)] if agent.in_sandbox else []
    reached = dict.fromkeys([*map(str, (*AllowedHost.each(declared.network), *own.hosts)), *models])
    return {
        "sandbox": facts.kind,
        "isolation": facts.isolation,
        "image": None if image is None else {"id": image.id, "reference": image.reference},
        "materialise": facts.materialise,
        "overlay": facts.overlay or None,
        "network": list(reached) if facts.network == "allow_list" else facts.network,
        "run_uid": facts.run_uid,
        "scope": declared.scope,
        "workspace": WORKSPACE,
        "home": HOME,
        "limits": _limits(declared, facts),
        "kernel_evidence": {"seen": list(facts.kernel_evidence), "why": facts.no_kernel_evidence or None},
        "guaranteed": {"memory_mb": declared.memory_mb.guaranteed},
    }


def _limits(declared: EnvironmentSpec, facts: Facts) -> dict[str, Any]:
    """Each limit of the contract, and by what the sandbox enforces it."""
    return {
        name: {"value": value, "unit": unit, "enforced": facts.limits[name]}
        for name, value, unit in (
            ("cpu", declared.cpu, "cores"),
            ("memory", declared.memory_mb.limit, "MiB"),
            ("disk", declared.disk_mb, "MiB"),
            ("processes", declared.processes, "count"),
        )
    }


def _declared(environment: Environment) -> dict[str, Any]:
    """What the contract names for a build, and what it names none of."""
    return {
        "declared_env": dict(environment.contract.spec.environment.env),
        "declared_files": _declared_files(environment.contract),
        "declared_absent": _absent(environment),
        "secrets": [
            {"name": one.name, "for": one.for_} for one in environment.contract.spec.environment.secrets
        ],
        "registries": _registries(environment),
    }


def _installed(environment: Environment) -> dict[str, Any]:
    """What commands find in the sandbox beside the workspace."""
    image = environment.image
    return {
        "toolchains": [
            {"name": chain.name, "wanted": chain.wanted, "version": chain.version, "digest": chain.digest}
            for chain in environment.toolchains
        ],
        "package_managers": package_managers(environment.toolchains)
        if image is None
        else image_tools.image_package_managers(environment),
        "system": _system() if image is None else None,
        "setup": _setup(environment),
    }


def _setup(environment: Environment) -> dict[str, Any] | None:
    if environment.setup is None:
        return None
    return {
        "digest": environment.setup.digest,
        "contents": environment.setup.contents,
        "network": environment.setup.network,
        "allowed_hosts": [
            str(allowed_host) for allowed_host in AllowedHost.each(environment.contract.spec.setup_network)
        ],
        "commands": list(environment.contract.spec.setup),
    }


def _system() -> str | None:
    """What stands under a sandbox without an image: the host's own /usr, by the name it gives itself."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return None
    return f"{release.get('ID', '')} {release.get('VERSION_ID', '')}".strip()


def _machine() -> dict[str, Any]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "system": platform.system(),
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "cpus": os.cpu_count(),
        "memory_gib": round(memory / 2**30),
        "locale": locale.setlocale(locale.LC_CTYPE),
        "clock": {"started": datetime.now(UTC).isoformat(), "source": "CLOCK_MONOTONIC"},
    }
