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

from steelyard import __version__
from steelyard.agents.base import Agent
from steelyard.bench.ground import Ground
from steelyard.contract.tree import path_to_json
from steelyard.plan.trial import PROTOCOL_SEED, Trial
from steelyard.sandboxes.base import HOME, WORKSPACE, Door, Facts
from steelyard.sandboxes.package_managers import package_managers

SCHEMA = "steelyard.manifest/1"
EVENT_SCHEMA = "steelyard.event/1"
LOCK_FILES = frozenset(
    {
        "requirements.txt",
        "requirements.lock",
        "poetry.lock",
        "uv.lock",
        "Pipfile.lock",
        "pdm.lock",
        "package-lock.json",
        "npm-shrinkwrap.json",
        "yarn.lock",
        "pnpm-lock.yaml",
        "Cargo.lock",
        "go.sum",
        "Gemfile.lock",
        "composer.lock",
        "gradle.lockfile",
    }
)


def build_manifest(run_id: str, trial: Trial, agent: Agent, ground: Ground, facts: Facts) -> dict[str, Any]:
    contract = trial.contract
    return {
        "schema": SCHEMA,
        "run": run_id,
        "contract": {"id": contract.id, "version": contract.spec.version, "digest": contract.digest},
        "repository": _repository(ground),
        "environment": _environment(ground, facts),
        "harness": {
            "name": "steelyard",
            "version": __version__,
            "event_schema": EVENT_SCHEMA,
            "python": platform.python_version(),
            "entry_points": {
                "setup": list(contract.spec.setup),
                "checks": {entry.name: getattr(entry.grader, "cmd", entry.type) for entry in contract.checks},
            },
        },
        "agent": {"name": agent.name, "in_sandbox": agent.in_sandbox, "parameters": dict(agent.parameters())},
        "workspace": contract.spec.workspace,
        "brief": {
            "sha256": hashlib.sha256(contract.brief.encode()).hexdigest(),
            "bytes": len(contract.brief.encode()),
        },
        "messages": [
            {"sha256": hashlib.sha256(text.encode()).hexdigest(), "bytes": len(text.encode())}
            for text in contract.messages
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
            "comparability_class": comparability_class(trial, facts, ground.image.id if ground.image else ""),
        },
        "seeds": {"protocol": PROTOCOL_SEED, "repeat": trial.repeat, "grading": trial.seed},
        "machine": _machine(),
    }


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


def _repository(ground: Ground) -> dict[str, Any]:
    snapshot = ground.contract.snapshot
    return {
        "commit": snapshot.commit,
        "content_root": snapshot.root,
        "history": ground.contract.spec.history,
        "submodules": [
            {"path": path, "commit": commit, "materialised": there}
            for path, commit, there in snapshot.submodules
        ],
        "lock_files": [
            {"path": path_to_json(path), "sha256": entry.sha256}
            for path, entry in snapshot.entries.items()
            if path.rsplit("/", 1)[-1] in LOCK_FILES
        ],
    }


def _environment(ground: Ground, facts: Facts) -> dict[str, Any]:
    declared, image = ground.contract.spec.environment, ground.image
    return {
        "sandbox": facts.kind,
        "isolation": facts.isolation,
        "image": None if image is None else {"id": image.id, "reference": image.reference},
        "materialise": facts.materialise,
        "overlay": facts.overlay or None,
        "network": list(declared.network) if facts.network == "doors" else facts.network,
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
        "declared_files": [],
        "toolchains": [
            {"name": chain.name, "wanted": chain.wanted, "version": chain.version, "digest": chain.digest}
            for chain in ground.toolchains
        ],
        "package_managers": package_managers(ground.toolchains) if image is None else {},
        "system": _system() if image is None else None,
        "setup": None
        if ground.setup is None
        else {
            "digest": ground.setup.digest,
            "contents": ground.setup.contents,
            "network": ground.setup.network,
            "doors": [str(door) for door in Door.each(ground.contract.spec.setup_network)],
            "commands": list(ground.contract.spec.setup),
        },
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
