"""The Python API: load a contract, try an agent on it, grade a patch."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from steelyard.contract import load
from steelyard.contract.contract import Contract
from steelyard.errors import OperatorFault
from steelyard.graders.catalogue import installed_catalogue
from steelyard.plan.trial import Trial
from steelyard.report.result import result_line
from steelyard.study.engine import Engine
from steelyard.study.judging import Judging
from steelyard.study.record import grading_of

RUNS = Path(".steelyard/runs")


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
    judge: bool = False,
) -> dict[str, Any]:
    """Try one agent once; returns the result line that `steelyard run --json` prints.

    With `judge`, models are asked what they think of it, with the keys of the environment.
    """
    engine = Engine(Path(out), sandbox=sandbox, judging=Judging(os.environ) if judge else None)
    (_, records) = next(engine.run([Trial(contract, agent, repeat)]))
    return result_line(records[-1].evidence, grading_of(records[-1]))


def grade(  # noqa: PLR0913  # options, by name
    contract: Contract,
    *,
    patch: str | Path | None = None,
    tree: str | Path | None = None,
    out: str | Path = RUNS,
    sandbox: str | None = None,
    judge: bool = False,
) -> dict[str, Any]:
    """Grade a patch file or a folder; returns the result line that `steelyard grade --json` prints."""
    if (patch is None) == (tree is None):
        raise OperatorFault("give exactly one of patch, tree")
    agent = f"patch:{patch}" if patch is not None else f"tree:{tree}"
    return run_trial(contract, agent, out=out, sandbox=sandbox, judge=judge)
