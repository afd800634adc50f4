"""A contract -> the environment of agents and checks: snapshot, setup layer, toolchains, limits.

Every sandbox of a contract has the same environment; what differs is what is written over it (nothing, a
reference, an imported change, hidden files) and whether `.git` is there (for agents, never on the bench:
every tool that starts in a tree is a git client).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.contract.contract import Contract
from steelyard.contract.model import Phase
from steelyard.contract.parse.host_variables import (
    check_host_variables,
    phase_secrets,
    secret_host_values,
    with_host_values,
    without_host_values,
)
from steelyard.contract.snapshot.snapshot import take_snapshot
from steelyard.deferred.data_class import dataclass
from steelyard.environment import image as contract_image
from steelyard.environment import setup_layer as setup_layers
from steelyard.errors import InfraFault, OperatorFault
from steelyard.evidence.redact import Secrets
from steelyard.filesystem.cache import Cache
from steelyard.filesystem.tree import Entry, is_within
from steelyard.sandboxes.base import WORKSPACE, Backend, FileOverlay, Limits, Mount, SandboxSpec
from steelyard.sandboxes.catalogue import backend
from steelyard.sandboxes.toolchains import Toolchain, resolve

if TYPE_CHECKING:
    from steelyard.sandboxes.docker.image import Image


@dataclass(frozen=True, slots=True)
class Environment:
    """Everything a fresh sandbox of this contract is made of."""

    contract: Contract
    backend: Backend
    sandbox: str
    toolchains: tuple[Toolchain, ...]
    setup: setup_layers.SetupLayer | None
    cache: Cache
    image: Image | None = None

    def sandbox_spec(  # noqa: PLR0913  # what may differ between two sandboxes of a contract
        self,
        *,
        overlays: tuple[FileOverlay, ...] = (),
        extra_mounts: tuple[Mount, ...] = (),
        git: bool = False,
        env: Mapping[str, str] | None = None,
        user: str = "",
        phase: Phase | None = None,
    ) -> SandboxSpec:
        """`git` is for agents, who are the contract's user in a whole system; others are `user`, or root.

        `phase` says whose secrets it has; without one, none.
        """
        snapshot = self.contract.snapshot
        # Above the setup layer, which may be a whole tree and would hide it.
        layers = [snapshot.git] if git else []
        layers += [self.setup.workspace] if self.setup else []
        asked = SandboxSpec(
            layers=(*layers, snapshot.tree),
            home_layers=(self.setup.home,) if self.setup else (),
            overlays=overlays,
            extra_mounts=extra_mounts,
            env=env or {},
        )
        sandbox_spec = _as_declared(asked, self.contract, self.toolchains)
        layered = f"{git}/{self.setup.identity if self.setup else ''}"
        agent = str(self.contract.spec.environment.user or "")
        secrets = phase_secrets(self.contract, phase) if phase else {}
        return replace(
            _in_image(sandbox_spec, self.contract, self.image, layered),
            env={**sandbox_spec.env, **secrets},
            user=agent if git else user,
            owner=agent,
        )

    def real_name(self, path: str) -> str:
        """A path below the contract's `workdir` by the name that the workspace has everywhere."""
        workdir = self.contract.spec.environment.workdir
        return WORKSPACE + path.removeprefix(workdir) if workdir and is_within(path, workdir) else path

    @property
    def identity(self) -> tuple[str | list[str], ...]:
        """What a cached result holds for: in another environment it says nothing."""
        setup = self.setup.identity if self.setup else ""
        image = self.image.id if self.image else ""
        return self.contract.digest, setup, self.sandbox, image, [one.digest for one in self.toolchains]

    def path_variable(self, env: Mapping[str, str]) -> str:
        """PATH as a command with these variables has it: an image may bring its own."""
        path = env.get("PATH") or (self.image.env.get("PATH", "") if self.image else "")
        return ":".join(self.real_name(folder) for folder in path.split(":"))

    @property
    def cached(self) -> tuple[Path, ...]:
        """The folders of the cache that every sandbox of this contract stands on."""
        return (self.contract.snapshot.folder, *([self.setup.workspace.parent] if self.setup else []))

    @property
    def baseline(self) -> Mapping[str, Entry]:
        return self.contract.snapshot.entries


def prepare_environment(
    contract: Contract, *, sandbox: str | None = None, cache: Cache | None = None
) -> Environment:
    """Find the toolchains and build the setup layer, or take it from the cache."""
    kind = sandbox or contract.spec.environment.sandbox
    cache = cache or Cache.default()
    maker = backend(kind)
    _refuse_hosts_without_isolation(contract, kind)
    check_host_variables(contract)
    image = _image(contract, kind)
    toolchains = resolve({str(name): wanted for name, wanted in contract.spec.environment.toolchains.items()})
    layer = None
    if contract.spec.setup:
        snapshot = contract.snapshot
        sandbox_spec = _as_declared(SandboxSpec(layers=(snapshot.git, snapshot.tree)), contract, toolchains)
        # Setup may be shown files of the host's, which a read-only root could not take.
        names = contract.spec.environment.host_variables
        own = without_host_values(contract.spec.environment.env, names) if names else sandbox_spec.env
        own = {**own, **phase_secrets(contract, "setup")}
        sandbox_spec = replace(_in_image(sandbox_spec, contract, image, "setup"), read_only=False, env=own)
        tools = (*(chain.digest for chain in toolchains), *([image.id] if image else []))
        layer = setup_layers.setup_layer(contract, sandbox_spec, maker, tools, cache)
    return Environment(contract, maker, kind, toolchains, layer, cache, image)


def build_again(environment: Environment) -> Environment:
    """The same environment, with everything in the cache that is not as it was published built again."""
    contract = environment.contract
    snapshot = take_snapshot(contract.spec.repository, contract.folder.absolute(), environment.cache)
    if snapshot.root != contract.snapshot.root:
        raise InfraFault(
            f"the snapshot of {contract.id} in the cache was altered, and its source has changed too"
        )
    return prepare_environment(
        replace(contract, snapshot=snapshot), sandbox=environment.sandbox, cache=environment.cache
    )


def _refuse_hosts_without_isolation(contract: Contract, kind: str) -> None:
    spec = contract.spec
    named = [spec.environment.network, spec.setup_network, spec.oracle.network]
    if kind == "local" and any(not isinstance(value, str) for value in named):
        raise OperatorFault(
            f"{contract.id} limits the network, which the local sandbox cannot do; use bubblewrap"
        )


def _image(contract: Contract, kind: str) -> Image | None:
    declared = contract.spec.environment
    if kind == "docker":
        return contract_image.image_of(contract)
    if declared.image or declared.build:
        raise OperatorFault(
            f"{contract.id} needs an image, which the {kind} sandbox does not support; use docker"
        )
    return None


def _in_image(sandbox_spec: SandboxSpec, contract: Contract, image: Image | None, layers: str) -> SandboxSpec:
    if image is None:
        return sandbox_spec
    snapshot, declared = contract.snapshot, contract.spec.environment
    is_system = declared.scope == "system"
    return replace(
        sandbox_spec,
        layers=() if is_system else sandbox_spec.layers,
        scope=declared.scope,
        key=f"{snapshot.root}/{snapshot.commit}/{contract.spec.history}/{layers}",
        image=image.id,
        image_env=image.env,
        workdir=declared.workdir or (image.workdir if is_system else ""),
        read_only=declared.read_only,
    )


def room_mb(overlays: tuple[FileOverlay, ...]) -> int:
    """What files that are written take of a disk, so that checks have as much room on the bench as the agent had.

    A page for each entry and one for its folder, so that the inodes grow with it.
    """
    sizes = (piece.source.stat().st_size if piece.source else 0 for piece in overlays)
    return sum((size >> 12) + 3 for size in sizes) * 4096 // (1 << 20) + 1 if overlays else 0


def _as_declared(asked: SandboxSpec, contract: Contract, toolchains: tuple[Toolchain, ...]) -> SandboxSpec:
    """With the limits, variables, secrets and toolchains of the contract."""
    declared = contract.spec.environment
    overlays = (*asked.overlays, *(one for place in asked.extra_mounts for one in place.overlays))
    return replace(
        asked,
        limits=Limits(
            cpu=declared.cpu,
            memory_mb=declared.memory_mb.limit,
            guaranteed_mb=declared.memory_mb.guaranteed,
            disk_mb=declared.disk_mb + room_mb(overlays),
            processes=declared.processes,
        ),
        env=with_host_values({**declared.env, **asked.env}, declared.host_variables),
        secrets=Secrets(secret_host_values(contract)),
        toolchains=tuple(chain.prefix for chain in toolchains if chain.prefix is not None),
        rename=declared.rename,
        workdir=declared.workdir or "",
        links={name: path for chain in toolchains for name, path in chain.binaries.items()},
    )
