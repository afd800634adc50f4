"""The Python API: load a contract, try an agent on it, grade a patch."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

from steelyard.contract import load
from steelyard.contract.contract import Contract
from steelyard.errors import OperatorFault
from steelyard.evidence.folder.folder import RUNS
from steelyard.graders.catalogue import installed_catalogue
from steelyard.plan.agent_options import NO_OPTIONS, AgentOptions
from steelyard.plan.trial import Trial
from steelyard.report.result import result_line
from steelyard.service.grader import Grader
from steelyard.study.engine import Engine
from steelyard.study.judging import judging_by

__all__ = ["Grader", "grade", "load_contract", "run_trial"]


def load_contract(path: str | Path) -> Contract:
    """A contract's folder -> the contract, with all mistakes found in it raised at once as a ContractFault."""
    return load.load_contract(Path(path), installed_catalogue())


def run_trial(  # noqa: PLR0913  # options, by name
    contract: Contract,
    agent: str,
    *,
    repeat: int = 1,
    out: str | Path = RUNS,
    sandbox: str | None = None,
    judge: bool = True,
    agent_options: AgentOptions = NO_OPTIONS,
) -> dict[str, Any]:
    """Try one agent once; returns the result line that `steelyard run --json` prints.

    As on the command line a model judges a completed run where the environment has a key for one; the first request is announced
    as a warning of the logger `steelyard`. `judge=False` and STEELYARD_JUDGE=off turn it off. `agent_options` is what the
    agent gets beside the contract, as by `--agent-env`, `--agent-host` and `--agent-path`.
    """
    judging = judging_by(os.environ, logging.getLogger("steelyard").warning, is_off=not judge)
    engine = Engine(Path(out), sandbox=sandbox, judging=judging)
    (result,) = engine.run([Trial(contract, agent, repeat, agent_options)])
    return result_line(result.record.evidence, result.record.grading)


def grade(  # noqa: PLR0913  # options, by name
    contract: Contract,
    *,
    patch: str | Path | None = None,
    tree: str | Path | None = None,
    out: str | Path = RUNS,
    sandbox: str | None = None,
    judge: bool = True,
) -> dict[str, Any]:
    """Grade a patch file or a folder; returns the result line that `steelyard grade --json` prints."""
    if (patch is None) == (tree is None):
        raise OperatorFault("give exactly one of patch, tree")
    agent = f"patch:{patch}" if patch is not None else f"tree:{tree}"
    return run_trial(contract, agent, out=out, sandbox=sandbox, judge=judge)
