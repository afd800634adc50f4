"""The contract's `setup` -> a read-only layer, built once per setup key.

    cache/setup/<key>/workspace/    what setup wrote below /workspace (an overlay's upper)
    cache/setup/<key>/home/         what it wrote below HOME
    cache/setup/<key>/layer.json    {"digest", "setup": "offline"|"fetched", "change": {...}, "configuration": {...}}
    cache/setup/<key>/.contents     the digest of each of these files, checked whenever the layer is used

The key covers what can change the layer (snapshot, commands, environment, toolchains, network, how it is
mounted) and nothing else, so that editing a check does not rebuild an environment.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from steelyard.contract.contract import Contract
from steelyard.deferred.data_class import dataclass
from steelyard.environment.setup_configuration import setup_configuration
from steelyard.errors import ContractFault, Problem
from steelyard.evidence.change.change import Change
from steelyard.evidence.change.importer import Caps, import_workspace
from steelyard.filesystem.cache import Cache
from steelyard.filesystem.contents import contents_digest
from steelyard.filesystem.tree import Entry, is_within, prefixes
from steelyard.sandboxes.base import (
    HOME,
    WORKSPACE,
    Backend,
    Command,
    CommandResult,
    SandboxSpec,
    with_allowed_hosts,
)
from steelyard.sandboxes.first_error import explain_failure

FORMAT = "steelyard.layer/1"
SETUP_TIMEOUT_S = 3600
# A virtual environment is larger than any patch.
SETUP_CAPS = Caps(files=1_000_000, total_bytes=64 << 30, file_bytes=8 << 30)

# How programs know that a host is who it says it is.
TRUST_FILES = ("/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/ca-certificates.conf")
# A setup that may fetch sees how this machine reaches the network; agents and the bench never do.
NETWORK_FILES = (
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/nsswitch.conf",
    *TRUST_FILES,
    "/etc/pip.conf",
    "/etc/npmrc",
)
NETWORK_VARIABLES = ("PIP_", "UV_", "NPM_CONFIG_", "SSL_")


@dataclass(frozen=True, slots=True)
class SetupLayer:
    workspace: Path
    home: Path
    digest: str
    change: Change  # what setup did to the snapshot, without contents
    network: str  # offline | fetched
    roots: tuple[
        str, ...
    ]  # the topmost paths that setup made and the snapshot lacks: `.venv`, `node_modules`
    contents: str  # the digest of every file of the layer, HOME included
    configuration: Mapping[str, Any] | None = None  # of this machine, as setup got it; None: not on record

    @property
    def identity(self) -> str:
        """This very layer: one that is built again may hold something else."""
        return f"{self.workspace.parent.name}/{self.contents}"

    def owns(self, path: str) -> bool:
        return any(is_within(path, root) for root in self.roots)


def setup_layer(
    contract: Contract, sandbox_spec: SandboxSpec, maker: Backend, toolchains: tuple[str, ...], cache: Cache
) -> SetupLayer:
    """The layer from the cache, or built now. A setup that fails is the contract's fault."""
    facts = maker.facts(sandbox_spec)
    key = _key(contract, toolchains, f"{facts.materialise}/{facts.overlay}/{facts.run_uid}")

    def build(folder: Path) -> None:
        _build(
            contract,
            replace(_connect(sandbox_spec, contract.spec.setup_network), keep=folder),
            maker,
            folder,
        )

    folder = cache.build("setup", key, build)
    data = orjson.loads((folder / "layer.json").read_bytes())
    change = Change.from_bytes(orjson.dumps(data["change"]))
    return SetupLayer(
        folder / "workspace",
        folder / "home",
        data["digest"],
        change,
        data["setup"],
        tuple(data["roots"]),
        contents_digest(folder),
        data.get("configuration"),
    )


def _key(contract: Contract, toolchains: tuple[str, ...], mounted: str) -> str:
    spec = contract.spec
    material = {
        "format": FORMAT,
        "snapshot": contract.snapshot.root,
        "setup": spec.setup,
        "network": spec.setup_network,
        "environment": spec.environment.model_dump(mode="json", by_alias=True),
        "toolchains": toolchains,
        "places": [WORKSPACE, HOME],
        "mounted": mounted,
    }
    return hashlib.sha256(orjson.dumps(material, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _build(contract: Contract, sandbox_spec: SandboxSpec, maker: Backend, folder: Path) -> None:
    with maker.start(sandbox_spec) as sandbox:
        for index, line in enumerate(contract.spec.setup):
            finished = sandbox.run(Command(("/bin/sh", "-ec", line), timeout_s=SETUP_TIMEOUT_S))
            if finished.exit_code != 0:
                raise ContractFault(_failure(contract, index, line, finished))
        sandbox.stop()
        change = import_workspace(
            sandbox.captured_tree(), baseline_root=contract.snapshot.root, blobs=None, caps=SETUP_CAPS
        )
    # Whatever setup did to .git stays out of the layer: it would reach the bench.
    _remove(folder / "workspace" / ".git")
    for leftover in folder.glob("work-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    layer = {
        "digest": change.digest,
        "setup": "fetched" if sandbox_spec.network == "host" or sandbox_spec.allowed_hosts else "offline",
        "roots": sorted(_new_roots(change, contract.snapshot.entries)),
        "configuration": setup_configuration(
            _network_variables() if sandbox_spec.network == "host" else {}, sandbox_spec.host_files
        ),
        "change": orjson.loads(change.to_bytes()),
    }
    (folder / "layer.json").write_bytes(orjson.dumps(layer))


def _new_roots(change: Change, baseline: Mapping[str, Entry]) -> set[str]:
    known = {prefix for path in baseline for prefix in prefixes(path)}
    return {
        next(prefix for prefix in prefixes(entry.path) if prefix not in known)
        for entry in change.entries
        if entry.old is None and entry.path not in known
    }


def _failure(contract: Contract, index: int, line: str, finished: CommandResult) -> Problem:
    how = "took longer than an hour" if finished.timed_out else f"ended with exit code {finished.exit_code}"
    output = explain_failure(finished.stdout.text, finished.stderr.text)
    return Problem(
        where=str(contract.folder / "contract.yaml"),
        field=f"setup[{index}]",
        message=f"`{_first_line(line)}` {how}\n{output}".rstrip(),
        fix=_reaching(contract.spec.setup_network),
    )


def _first_line(command: str) -> str:
    first, *more = command.strip().split("\n")
    return f"{first} ..." if more else first


def _reaching(network: str | tuple[str, ...]) -> str:
    if network == "none":
        return "setup runs offline; vendor what it needs, or set `setup_network: host`"
    return "" if isinstance(network, str) else f"setup can reach only {', '.join(network)}"


def _connect(sandbox_spec: SandboxSpec, network: str | tuple[str, ...]) -> SandboxSpec:
    """What the key contains. With allowed hosts the contract names them, and no configuration of this machine counts."""
    if network == "host":
        return _with_network(sandbox_spec)
    if isinstance(network, str):
        return sandbox_spec
    files = {name: Path(name) for name in TRUST_FILES if Path(name).exists()}
    return replace(with_allowed_hosts(sandbox_spec, network), host_files=files)


def _with_network(sandbox_spec: SandboxSpec) -> SandboxSpec:
    files = {name: Path(name) for name in NETWORK_FILES if Path(name).exists()}
    return replace(
        sandbox_spec, network="host", host_files=files, env={**_network_variables(), **sandbox_spec.env}
    )


def _network_variables() -> dict[str, str]:
    return {
        name: value
        for name, value in os.environ.items()
        if name.upper().startswith(NETWORK_VARIABLES) or name.upper().endswith("_PROXY")
    }


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
