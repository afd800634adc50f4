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
from typing import Any

import orjson

from steelyard import __version__
from steelyard.agents.base import Agent
from steelyard.contract.briefing import delivered
from steelyard.contract.catalogue import GraderEntry
from steelyard.contract.contract import Contract
from steelyard.environment.prepare import Environment
from steelyard.filesystem.tree import path_to_json
from steelyard.plan.trial import PROTOCOL_SEED, Trial
from steelyard.sandboxes.base import HOME, WORKSPACE, AllowedHost, Facts
from steelyard.sandboxes.package_managers import package_managers

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
_SORTED = orjson.OPT_SORT_KEYS


def build_manifest(
    run_id: str, trial: Trial, agent: Agent, environment: Environment, facts: Facts
) -> dict[str, Any]:
    contract = trial.contract
    return {
        "schema": SCHEMA,
        "run": run_id,
        "contract": {"id": contract.id, "version": contract.spec.version, "digest": contract.digest},
        "repository": _repository(environment),
        "environment": _environment(environment, facts),
        "harness": {
            "name": "steelyard",
            "version": __version__,
            "event_schema": EVENT_SCHEMA,
            "python": platform.python_version(),
            "entry_points": _entry_points(contract),
        },
        "agent": {"name": agent.name, "in_sandbox": agent.in_sandbox, "parameters": dict(agent.parameters())},
        "workspace": contract.spec.workspace,
        "brief": {
            "sha256": hashlib.sha256(contract.brief.encode()).hexdigest(),
            "bytes": len(contract.brief.encode()),
        },
        "messages": [
            {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
            for data in (text.encode(errors="replace") for text in delivered(contract))
        ],
        "steps": [step.name for step in contract.steps],
        "configuration": {
            "bench": contract.spec.bench,
            "oracle": contract.spec.oracle.mode,
            "oracle_network": contract.spec.model_dump(mode="json")["oracle"]["network"],
            "reruns": contract.spec.oracle.reruns.model_dump(mode="json"),
            "budget": contract.spec.budget.model_dump(mode="json"),
            "enforced_caps": ["wall_s"],
            "stages": list(contract.spec.policy.stages),
            "digests": _digests(contract),
            "comparability_class": comparability_class(
                trial, facts, environment.image.id if environment.image else ""
            ),
        },
        "seeds": {"protocol": PROTOCOL_SEED, "repeat": trial.repeat, "grading": trial.seed},
        "machine": _machine(),
    }


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
    said = (getattr(entry.grader, name, None) for name in ("command", "cmd"))
    return next((one for one in said if isinstance(one, str) and one), entry.type)


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
        facts.network,
        image,
        spec.budget.model_dump(mode="json"),
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


def _environment(environment: Environment, facts: Facts) -> dict[str, Any]:
    declared, image = environment.contract.spec.environment, environment.image
    return {
        "sandbox": facts.kind,
        "isolation": facts.isolation,
        "image": None if image is None else {"id": image.id, "reference": image.reference},
        "materialise": facts.materialise,
        "overlay": facts.overlay or None,
        "network": list(declared.network) if facts.network == "allow_list" else facts.network,
        "run_uid": facts.run_uid,
        "workspace": WORKSPACE,
        "home": HOME,
        "limits": {
            name: {"value": value, "unit": unit, "enforced": facts.limits[name]}
            for name, value, unit in (
                ("cpu", declared.cpu, "cores"),
                ("memory", declared.memory_mb.limit, "MiB"),
                ("disk", declared.disk_mb, "MiB"),
                ("processes", declared.processes, "count"),
            )
        },
        "guaranteed": {"memory_mb": declared.memory_mb.guaranteed},
        "declared_env": dict(declared.env),
        "declared_files": _declared_files(environment.contract),
        "declared_absent": _absent(environment),
        "registries": _registries(environment),
        "toolchains": [
            {"name": chain.name, "wanted": chain.wanted, "version": chain.version, "digest": chain.digest}
            for chain in environment.toolchains
        ],
        "package_managers": package_managers(environment.toolchains)
        if image is None
        else _in_image(environment),
        "system": _system() if image is None else None,
        "setup": None
        if environment.setup is None
        else {
            "digest": environment.setup.digest,
            "contents": environment.setup.contents,
            "network": environment.setup.network,
            "allowed_hosts": [
                str(allowed_host)
                for allowed_host in AllowedHost.each(environment.contract.spec.setup_network)
            ],
            "commands": list(environment.contract.spec.setup),
        },
    }


def _in_image(environment: Environment) -> dict[str, str] | None:
    from steelyard.environment.image_tools import image_package_managers  # noqa: PLC0415  # only for contracts with an image

    return image_package_managers(environment)


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
