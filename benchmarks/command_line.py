"""The command line: what a user waits for before anything happens."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.bare import spawn
from benchmarks.measure import Measured, Variant, measure, ratio, timed
from benchmarks.workshop import Workshop
from steelyard.api import run_trial

STEELYARD = str(Path(sys.executable).with_name("steelyard"))


def typed(*argv: str) -> Variant:
    return timed(lambda: spawn(argv))


def command_line(workshop: Workshop) -> Iterator[Measured]:
    contract = workshop.contract("shown", {"README.md": "nothing\n"}, "true")
    run = run_trial(contract, "command:echo edited >> README.md", out=workshop.folder / "runs")
    variants = {
        "--help": typed(STEELYARD, "--help"),
        "show RUN": typed(STEELYARD, "show", run["folder"]),
        "show RUN --json": typed(STEELYARD, "show", run["folder"], "--json"),
        "python -c pass": typed(sys.executable, "-c", "pass"),
    }
    rounds = measure(variants, workshop.rounds(20))
    yield Measured.of("cli", "steelyard --help", rounds, ratio("--help", "python -c pass"), target=4)
    yield Measured.of("cli", "steelyard show RUN", rounds, ratio("show RUN", "python -c pass"), target=12)


ROWS = {"cli": command_line}
