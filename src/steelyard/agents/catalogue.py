"""`NAME[:ARG]` -> an agent. Other packages add theirs through the entry point group `steelyard.agents`."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path

from steelyard.agents.base import Agent
from steelyard.agents.data import Noop, Patch, Reference, Tree
from steelyard.agents.process import CommandLine, Script, Solution
from steelyard.agents.step_solutions import StepSolutions
from steelyard.contract.contract import Contract
from steelyard.contract.model import ScriptReference
from steelyard.errors import OperatorFault

BUILT_IN: dict[str, Callable[[str], Agent]] = {
    "noop": lambda _: Noop(),
    "reference": lambda _: Reference(),
    "script": lambda arg: Script(Path(arg)),
    "command": CommandLine,
    "patch": lambda arg: Patch(Path(arg)),
    "tree": lambda arg: Tree(Path(arg)),
}

NEEDED = {"script": ("file", "FILE"), "patch": ("file", "FILE"), "tree": ("folder", "DIR")}
ALONE = ("noop", "reference")


def agent_for(text: str, contract: Contract) -> Agent:
    """The agent that a command line names, on that contract."""
    agent, script = find_agent(text), contract.reference_script
    if not isinstance(agent, Reference):
        return agent
    if any(isinstance(step.reference, ScriptReference) for step in contract.steps):
        return StepSolutions(contract)
    return agent if script is None else Solution(contract, script)


def find_agent(text: str) -> Agent:
    """The agent that a command line names."""
    name, colon, arg = text.partition(":")
    if name in NEEDED and not arg:
        what, word = NEEDED[name]
        raise OperatorFault(f"agent {name} needs a {what}: --agent {name}:{word}")
    if name in ALONE and colon:
        raise OperatorFault(f"agent {name} takes nothing after it: --agent {name}")
    if name in BUILT_IN:
        return BUILT_IN[name](arg)
    others = {point.name: point for point in entry_points(group="steelyard.agents")}
    if name in others:
        agent: Agent = others[name].load()(arg)
        return agent
    names = sorted({*BUILT_IN, *others})
    close = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {close[0]}?" if close else f"choose from {', '.join(names)}"
    raise OperatorFault(f"unknown agent {name!r}; {hint}")
