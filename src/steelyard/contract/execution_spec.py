"""What a grader runs on the bench, as far as the loader and the lint of a contract must know it.

A grader type that runs something returns one of the bench's own specs, which extend these
(`bench/execution_spec.py`); a grader type that runs nothing returns None.
"""

from __future__ import annotations

from collections.abc import Mapping

from steelyard.deferred.data_class import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionSpec:
    """A command with a time limit and the hidden files that it needs."""

    command: str  # as its author would type it; for a verifier, the path of its script in the contract
    timeout_s: float
    option: str = "cmd"  # the option of the grader that holds the command
    injected: tuple[tuple[str, str], ...] = ()  # (source in the contract, destination in the tree)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptSpec(ExecutionSpec):
    """A script of the contract that inspects the result."""

    option: str = "script"
    output_path: str | None = None  # the file that the script is about
    system_options: tuple[str, ...] = ()  # the options in use that need `scope: system` and a fresh bench

    @property
    def script(self) -> str:
        return self.command

    @property
    def variables(self) -> tuple[Mapping[str, str], ...]:
        """Those of the script, and those of a container of its own."""
        return ()
