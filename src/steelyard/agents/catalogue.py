"""`[NAME=]KIND[:ARG]` -> an agent. ARG of a client has its options, `model=...,max_turns=30`. Other packages add kinds through the entry point group `steelyard.agents`."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path

from steelyard.agents import data, replay, step_solutions
from steelyard.agents.base import Agent
from steelyard.agents.clients.catalogue import CLIENTS, client_agent
from steelyard.agents.configured import configure_agent
from steelyard.agents.process import CommandLine, Script, Solution
from steelyard.contract.contract import Contract
from steelyard.contract.model import ScriptReference
from steelyard.deferred.named_tuple import NamedTuple
from steelyard.deferred.pattern import deferred_pattern
from steelyard.errors import OperatorFault
from steelyard.filesystem.tree import printable
from steelyard.plan.agent_options import NO_OPTIONS, AgentOptions
from steelyard.plan.trial import REFERENCE

BUILT_IN: dict[str, Callable[[str], Agent]] = {
    "noop": lambda _: data.Noop(),
    REFERENCE: lambda _: data.Reference(),
    "script": lambda arg: Script(Path(arg)),
    "command": CommandLine,
    "patch": lambda arg: data.Patch(Path(arg)),
    "tree": lambda arg: data.Tree(Path(arg)),
    "replay": lambda arg: replay.Replay(Path(arg)),
    "replay_tools": lambda arg: replay.Replay(Path(arg), with_tools=True),
}

NEEDED = {
    "script": ("file", "FILE"),
    "patch": ("file", "FILE"),
    "tree": ("folder", "DIR"),
    "replay": ("run folder", "RUN"),
    "replay_tools": ("run folder", "RUN"),
}
ALONE = ("noop", REFERENCE)
_SYNONYMS = {"oracle": REFERENCE, "gold": REFERENCE, "nop": "noop"}  # words of other tools
_NAME = deferred_pattern(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")


def agent_for(text: str, contract: Contract, options: AgentOptions = NO_OPTIONS) -> Agent:
    """The agent that a command line names, on that contract."""
    if _parse(text).kind == REFERENCE:
        return _reference(contract, text)
    return find_agent(text, options)


def _reference(contract: Contract, text: str) -> Agent:
    """The contract's own solution; a patch, or a script that runs in the sandbox."""
    plain, script = find_agent(text), contract.reference_script
    if any(isinstance(step.reference, ScriptReference) for step in contract.steps):
        return step_solutions.StepSolutions(contract)
    return plain if script is None else Solution(contract, script)


class _AgentSpec(NamedTuple):
    name: str  # given by the operator, or nothing
    kind: str
    colon: str
    arg: str


def _parse(text: str) -> _AgentSpec:
    """`NAME=KIND:ARG`: an equals sign before the first colon ends a name."""
    head, colon, arg = text.partition(":")
    name, equals, kind = head.partition("=")
    return _AgentSpec(name, kind, colon, arg) if equals else _AgentSpec("", head, colon, arg)


def find_agent(text: str, options: AgentOptions = NO_OPTIONS) -> Agent:
    """The agent that a command line names."""
    own, name, colon, arg = _parse(text)
    if name in NEEDED and not arg:
        what, word = NEEDED[name]
        raise OperatorFault(f"agent {name} needs a {what}: --agent {name}:{word}")
    if name in ALONE and colon:
        raise OperatorFault(f"agent {name} takes nothing after it: --agent {name}")
    others = (
        {}
        if name in BUILT_IN or name in CLIENTS
        else {point.name: point for point in metadata.entry_points(group="steelyard.agents")}
    )
    if name not in BUILT_IN and name not in CLIENTS and name not in others:
        names = sorted({*BUILT_IN, *CLIENTS, *others})
        meant = _nearest_agent(name, names)
        hint = f"did you mean {meant}?" if meant else f"choose from {', '.join(names)}"
        raise OperatorFault(f"unknown agent {name!r}; {hint}")
    if "=" in text.partition(":")[0]:
        _check_name(own, name)
    if name in CLIENTS:
        return configure_agent(client_agent(name, arg), own, options, os.environ)
    agent: Agent = BUILT_IN[name](arg) if name in BUILT_IN else others[name].load()(arg)
    return configure_agent(agent, own, options, os.environ)


def _nearest_agent(name: str, names: Sequence[str]) -> str:
    """The agent that was probably meant, where the one that was typed does not exist; or nothing."""
    if os.path.isfile(name):  # noqa: PTH113  # any text, also too long for a path
        return f"script:{name}"
    if "/" in name or " " in name:
        return f"command:{name}"
    return _SYNONYMS.get(name) or next(iter(difflib.get_close_matches(name, names, n=1)), "")


def _check_name(own: str, kind: str) -> None:
    if kind in ALONE:
        raise OperatorFault(
            f"--agent {printable(own)}={kind}: {kind} cannot be given another name; use --agent {kind}"
        )
    if own in BUILT_IN or own in CLIENTS:
        raise OperatorFault(f"--agent {own}={kind}...: {own} is an agent of its own; choose another name")
    if not _NAME.fullmatch(own):
        raise OperatorFault(
            f"--agent {own}={kind}...: {own!r} is not a valid name for an agent: use at most 40 letters, digits and . _ -"
        )
