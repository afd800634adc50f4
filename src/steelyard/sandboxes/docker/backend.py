"""A `SandboxSpec` with an image -> a container of it, by the API of Docker or Podman, with init as process 1.

    derived image -> create -> start -> attach -> init answers a ping -> written as data -> a `DockerSandbox`

Started before it is attached, since Podman refuses the other order; what init writes before the attach is lost,
so it is asked.
"""

from __future__ import annotations

import json
import os
import secrets
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Literal

from steelyard.errors import ContractFault, InfraFault, Problem
from steelyard.filesystem.cache import Cache
from steelyard.filesystem.owner import is_stale, owner_tag
from steelyard.sandboxes.admission import admission
from steelyard.sandboxes.base import Facts, SandboxSpec, Scope, network_of
from steelyard.sandboxes.docker.api import Engine, EngineRefusal, Query, engine
from steelyard.sandboxes.docker.archive import host_pieces, put_overlays
from steelyard.sandboxes.docker.creation import FEWEST_PROCESSES, creation, enforced_limits
from steelyard.sandboxes.docker.derived import AGENT_ID, OWNER_LABEL, derive, derived_tag
from steelyard.sandboxes.docker.proc_root import Reach, reach
from steelyard.sandboxes.docker.sandbox import Container, DockerSandbox, remove_container
from steelyard.sandboxes.init.watch_calls import start_watching, with_evidence
from steelyard.sandboxes.init.wire import Wire

START_S = 30.0
_DERIVING_TRIES = 3
_MB = 1 << 20

_swept: set[str] = set()
_out_of_reach: set[str] = set()  # engines whose containers are on another machine, or not ours to look into
_unwatched: dict[str, str] = {}  # engines whose machine gives init no listener, and why
_sweeping = threading.Lock()


class DockerBackend:
    """For contracts with an image; needs Docker Engine or Podman's socket."""

    def facts(self, spec: SandboxSpec) -> Facts:
        found = engine()
        materialise: Literal["overlay", "copy"] = "copy" if found.path in _out_of_reach else "overlay"
        limits = enforced_limits(found, spec)
        facts = Facts(
            "docker", "container", materialise, "", network_of(spec), _uid(spec), limits, _can_switch(spec)
        )
        return with_evidence(facts, is_asked=spec.on_attempt is not None, why_not=_unwatched.get(found.path))

    def start(self, spec: SandboxSpec) -> DockerSandbox:
        found = engine()
        if not spec.image:
            raise InfraFault("a container needs an image; set `environment.image` or `environment.build`")
        _sweep_once(found)
        facts = self.facts(spec)
        ticket = admission().enter(
            (min(spec.limits.guaranteed_mb, spec.limits.memory_mb) + 2 * spec.limits.tmp_mb) * _MB,
            spec.limits.cpu,
        )
        scratch = Cache.default().root / "tmp" / f"{owner_tag()}-{secrets.token_hex(8)}"
        try:
            container = _start(found, spec, facts, ticket, scratch)
        except BaseException:
            admission().leave(ticket)
            raise
        return DockerSandbox(spec, self.facts(spec), container)


def _can_switch(spec: SandboxSpec) -> bool:
    """Whether a sandbox that asks for it can make its workspace read-only; an engine far away is found at the start."""
    return os.geteuid() == 0 and spec.scope == "workspace" and spec.write_switch


def _uid(spec: SandboxSpec) -> int | None:
    if spec.scope != "system":
        return AGENT_ID
    number = spec.user.partition(":")[0] or "0"
    return int(number) if number.isdecimal() else 0 if number == "root" else None


def _start(found: Engine, spec: SandboxSpec, facts: Facts, ticket: int, scratch: Path) -> Container:
    if found.path not in _out_of_reach:
        container = _started(found, spec, facts, ticket, scratch)
        if container.reach is not None:
            return container
        _out_of_reach.add(found.path)
        is_bare = not spec.overlays and not spec.extra_mounts and not spec.host_files
        if is_bare and spec.scope == "workspace":
            return container
        container.wire.close()
        remove_container(found, container.id)
    if spec.scope == "system":
        raise InfraFault(
            "with `scope: system` only root on the engine's machine can read the agent's changes; run as root"
        )
    return _started(found, spec, facts, ticket, scratch)


def _started(found: Engine, spec: SandboxSpec, facts: Facts, ticket: int, scratch: Path) -> Container:
    token = secrets.token_hex(16)
    must_put = found.path in _out_of_reach and bool(spec.overlays or spec.extra_mounts or spec.host_files)
    own_spec = replace(spec, layers=(), key=f"{spec.key}/bare") if must_put else spec
    ident = _create(found, own_spec, token, is_watched=bool(facts.kernel_evidence))
    wire = inside = None
    try:
        if must_put:
            _put(found, ident, spec, scratch)
        found.call("POST", f"/containers/{ident}/start")
        _tighten(found, ident, spec, facts)
        wire = _attach(found, ident)
        _watch_calls(found, wire, spec, facts)
        inside = _reached(found, ident, token, spec.scope)
        if inside is not None:
            inside.write_files(spec, host_pieces(spec))
        if spec.write_switch:
            _bind_workspace(inside, spec)
        return Container(found, ident, wire, inside, ticket, scratch)
    except BaseException as error:
        _abandon(found, ident, wire, inside)
        if spec.user and isinstance(error, EngineRefusal) and "user" in str(error):
            message = f"the image has no user {spec.user}"
            raise ContractFault(Problem("contract.yaml", "environment.user", message)) from error
        if isinstance(error, OSError):
            raise InfraFault(f"the workspace could not be written: {error.strerror}") from error
        raise


def _watch_calls(found: Engine, wire: Wire, spec: SandboxSpec, facts: Facts) -> None:
    if (
        facts.kernel_evidence
        and spec.on_attempt is not None
        and (why := start_watching(wire, spec.on_attempt))
    ):
        _unwatched[found.path] = why


def _bind_workspace(inside: Reach | None, spec: SandboxSpec) -> None:
    if inside is None or spec.scope == "system":
        raise InfraFault("only root on the engine's machine can make the workspace of a container read-only")
    inside.bind_workspace()


def _create(found: Engine, spec: SandboxSpec, token: str, *, is_watched: bool) -> str:
    tag = derived_tag(spec)
    body = creation(found, spec, tag, token, is_watched=is_watched)
    for left in reversed(range(_DERIVING_TRIES)):
        try:
            return str(found.call("POST", "/containers/create", body)["Id"])
        except EngineRefusal as refused:
            if refused.status != 404 or not left:
                raise
        derive(found, spec, tag)  # not there yet, or under another process's hands just now
    raise AssertionError


def _put(found: Engine, ident: str, spec: SandboxSpec, scratch: Path) -> None:
    if spec.read_only:
        raise InfraFault("only root can write files into a container with a read-only root; run as root")
    with tempfile.TemporaryFile() as tar:
        put_overlays(found, ident, spec, scratch, tar)


def _tighten(found: Engine, ident: str, spec: SandboxSpec, facts: Facts) -> None:
    """A limit that is too small to start with. Older Podman knows no update: there it stays what starting needs."""
    own = 1 + len(facts.kernel_evidence[:1])  # threads of init
    if facts.limits["processes"] != "cgroup" or spec.limits.processes + own >= FEWEST_PROCESSES:
        return
    try:
        found.call("POST", f"/containers/{ident}/update", {"PidsLimit": spec.limits.processes + own})
    except EngineRefusal as refused:
        if refused.status != 404 or found.version.name != "podman":
            raise


def _attach(found: Engine, ident: str) -> Wire:
    sock = found.attach(ident)
    wire = Wire(sock)
    wire.hello(sock.first, 0)
    deadline = time.monotonic() + START_S
    while not wire.ping(min(2.0, START_S)):
        if wire.gone or time.monotonic() > deadline:
            error_text = sock.stderr.decode(errors="replace").strip()
            wire.close()
            raise InfraFault(
                f"init did not answer in a container: {error_text or 'no message'}; run `steelyard doctor`"
            )
    return wire


def _reached(found: Engine, ident: str, token: str, scope: Scope) -> Reach | None:
    if found.path in _out_of_reach:
        return None
    details = found.call("GET", f"/containers/{ident}/json")
    return reach(int(details["State"].get("Pid") or 0), token, scope)


def _abandon(found: Engine, ident: str, wire: Wire | None, inside: Reach | None) -> None:
    if wire is not None:
        wire.close()
    if inside is not None:
        inside.close()
    with suppress(InfraFault):
        remove_container(found, ident)


def _sweep_once(found: Engine) -> None:
    with _sweeping:
        if found.path in _swept:
            return
        _swept.add(found.path)
    with suppress(InfraFault):  # what a dead run left must not stop a new one
        sweep(found)


def sweep(found: Engine) -> list[str]:
    """Remove the containers of controllers that are gone; their ids."""
    return remove_owned(found, is_stale)


def remove_owned(found: Engine, chosen: Callable[[str], bool]) -> list[str]:
    """Remove the containers whose owner's tag is chosen; their ids."""
    query: Query = {"all": 1, "filters": json.dumps({"label": [OWNER_LABEL]})}
    left = found.call("GET", "/containers/json", None, query) or []
    owned = [one["Id"] for one in left if chosen((one.get("Labels") or {}).get(OWNER_LABEL, ""))]
    for ident in owned:
        remove_container(found, ident)
    return [str(ident)[:12] for ident in owned]
