"""What a Harbor task may reach -> allowed hosts of a contract, or a refusal that says what the operator can do.

    network_mode = "no-network", allow_internet = false     nothing
    network_mode = "allowlist", allowed_hosts = ["a.b"]     a.b:443 and a.b:80
    network_mode = "public", allow_internet = true          what --network names; nothing with --offline; else refused
    not a word                                              what --network names, or nothing

[environment] speaks for agent and verifier, [agent] and [verifier] for themselves, a step's for that step; a contract has
one list for every agent and one for every check, so steps that differ are refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, NoReturn

from steelyard.contract.allowed_hosts import MOST_HOSTS, check_host
from steelyard.contract.parse.yaml_source import Source, YamlPath, dotted_path
from steelyard.importers.collected import FaultCollector
from steelyard.importers.harbor.model import Environment, HarborTask, Phase, Step, Verifier
from steelyard.importers.reading import fault
from steelyard.importers.task import Options

PORTS = (443, 80)  # a task names hosts; what is fetched comes by these
OPENS = "--network HOST:PORT allows each host that it needs, --offline removes the network"
LISTS = 'say `network_mode = "allowlist"` in its place'
ALONE = "neither its agent nor its verifier has a network here"
NO_HOSTS = 'its {} says `network_mode = "allowlist"` without `allowed_hosts`, and reaches nothing here'
_Role = Literal["agent", "verifier"]


class Reach(NamedTuple):
    """The allowed hosts of each, in the words of a contract, and what the operator should know of them."""

    environment: dict[str, Any]
    oracle: dict[str, Any]
    notes: tuple[str, ...] = ()


class _NetworkRequest(NamedTuple):
    place: YamlPath  # the key that says so
    mode: str | None
    hosts: tuple[str, ...] = ()


def reach_of(task: HarborTask, source: Source, options: Options) -> Reach:
    _check_words(task, source)
    found = FaultCollector()
    with found:
        agent = _allowed_hosts(task, source, options, "agent")
    with found:
        verifier = _allowed_hosts(task, source, options, "verifier")
    found.raise_all()
    asks = any(_request_of(task, role).mode in {None, "public"} for role in ("agent", "verifier"))
    return Reach(
        {"network": list(agent)} if agent else {},
        {"network": list(verifier)} if verifier else {},
        (*((ALONE,) if asks and not agent and not verifier else ()), *_without_hosts(task, options)),
    )


def _without_hosts(task: HarborTask, options: Options) -> Iterator[str]:
    """An empty list is more likely forgotten than meant."""
    for role in () if options.offline else ("agent", "verifier"):
        asked = _request_of(task, role)
        if asked.mode == "allowlist" and not asked.hosts:
            yield NO_HOSTS.format(role)


def _check_words(task: HarborTask, source: Source) -> None:
    """`allow_internet` is the older word for `network_mode`; what says both must mean the same."""
    for place, phase in _phases(task):
        mode, allowed = phase.network_mode, _allow_internet(phase)
        if mode is not None and allowed is not None and allowed != (mode == "public"):
            _contradicts(source, (*place, "allow_internet"), f"network_mode = {mode!r}")
        if phase.allowed_hosts and mode not in {None, "allowlist"}:
            _contradicts(source, (*place, "allowed_hosts"), f"network_mode = {mode!r}")
        if phase.allowed_hosts and mode is None and allowed is not None:
            _contradicts(source, (*place, "allowed_hosts"), f"allow_internet = {str(allowed).lower()}", LISTS)


def _contradicts(source: Source, key: YamlPath, other: str, fix: str = "") -> NoReturn:
    raise fault(source.where(key), dotted_path(key), f"contradicts {other}", fix)


def _phases(task: HarborTask) -> Iterator[tuple[YamlPath, Phase | Environment]]:
    yield ("environment",), task.environment
    yield ("agent",), task.agent
    yield from _with_its_environment(("verifier",), task.verifier)
    for number, step in enumerate(task.steps):
        yield ("steps", number, "agent"), step.agent
        yield from _with_its_environment(("steps", number, "verifier"), step.verifier)


def _with_its_environment(place: YamlPath, phase: Phase) -> Iterator[tuple[YamlPath, Phase | Environment]]:
    yield place, phase
    if (apart := _environment_of(phase)) is not None:
        yield (*place, "environment"), apart


def _allowed_hosts(task: HarborTask, source: Source, options: Options, role: _Role) -> tuple[str, ...]:
    """What each step's agent or verifier may reach, which has to be the same."""
    allowed_hosts = _open(_request_of(task, role), source, options)
    for number, step in enumerate(task.steps):
        own = _own(("steps", number, role), _phase(step, role))
        if own is not None and _open(own, source, options) != allowed_hosts:
            message = f"every {role} of a task reaches the same here"
            raise fault(source.where(own.place), dotted_path(own.place), message, f"say it once, in [{role}]")
    return allowed_hosts


def _request_of(task: HarborTask, role: _Role) -> _NetworkRequest:
    own = _own((role,), _phase(task, role))
    return (
        own or _network_request(("environment",), task.environment) or _NetworkRequest(("environment",), None)
    )


def _own(place: YamlPath, phase: Phase) -> _NetworkRequest | None:
    """What an agent or a verifier says for itself, or an environment of its own says for it."""
    apart = _environment_of(phase)
    return _network_request(place, phase) or (
        _network_request((*place, "environment"), apart) if apart is not None else None
    )


def _environment_of(phase: Phase) -> Environment | None:
    """Only a verifier can have one."""
    return phase.environment if isinstance(phase, Verifier) else None


def _phase(of: HarborTask | Step, role: _Role) -> Phase:
    return of.agent if role == "agent" else of.verifier


def _allow_internet(phase: Phase | Environment) -> bool | None:
    """Only an environment has the older word."""
    return phase.allow_internet if isinstance(phase, Environment) else None


def _network_request(place: YamlPath, phase: Phase | Environment) -> _NetworkRequest | None:
    if phase.network_mode is not None:
        return _NetworkRequest((*place, "network_mode"), phase.network_mode, phase.allowed_hosts or ())
    if phase.allowed_hosts:
        return _NetworkRequest((*place, "allowed_hosts"), "allowlist", phase.allowed_hosts)
    allowed = _allow_internet(phase)
    if allowed is None:
        return None
    return _NetworkRequest((*place, "allow_internet"), "public" if allowed else "no-network")


def _open(asked: _NetworkRequest, source: Source, options: Options) -> tuple[str, ...]:
    if options.offline or asked.mode == "no-network":
        return ()
    if asked.mode == "allowlist":
        return _listed(asked, source, options)
    if asked.mode == "public" and not options.network:
        message = "no task has a network without bounds here"
        raise fault(source.where(asked.place), dotted_path(asked.place), message, OPENS)
    return options.network


def _listed(asked: _NetworkRequest, source: Source, options: Options) -> tuple[str, ...]:
    """The hosts of an allow-list; one that cannot be an allowed host is replaced by the operator's."""
    allowed_hosts: list[str] = []
    for host in asked.hosts:
        name = host.strip().lower().rstrip(".")
        try:
            allowed_hosts += [check_host(f"{name}:{port}") for port in PORTS]
        except ValueError as wrong:
            if not options.network:
                place = (*asked.place[:-1], "allowed_hosts")
                raise fault(source.where(place), dotted_path(place), str(wrong), OPENS) from wrong
            allowed_hosts += options.network
    found = tuple(dict.fromkeys(allowed_hosts))
    if len(found) > MOST_HOSTS:
        place = (*asked.place[:-1], "allowed_hosts")
        raise fault(
            source.where(place),
            dotted_path(place),
            f"more than {MOST_HOSTS} allowed hosts, two for each name",
        )
    return found
