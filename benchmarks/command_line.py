"""The command line: what a user waits for before anything happens."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.bare import spawn
from benchmarks.measure import Measured, Round, Variant, measure, ratio, timed
from benchmarks.workshop import Workshop
from steelyard.api import run_trial
from steelyard.evidence.folder.folder import EVENTS, MANIFEST, REPORT, SEAL, RunFolder
from steelyard.evidence.folder.gradings import append_grading, read_gradings
from steelyard.evidence.folder.seal import seal
from steelyard.evidence.trace.chain import read_events
from steelyard.evidence.trace.events import EventLog

RUNS = 2000
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
    yield Measured.of("cli", "steelyard show RUN", rounds, ratio("show RUN", "python -c pass"), target=8)


def whole_process(workshop: Workshop) -> Iterator[Measured]:
    """`steelyard run` and `steelyard grade` of a trivial contract as a user types them, warm: what they cost beside the trial."""
    contract = workshop.contract("whole", {"README.md": "nothing\n"}, "true")
    out, patch = workshop.folder / "whole-runs", workshop.folder / "whole.patch"
    patch.write_text(
        "diff --git a/README.md b/README.md\n--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-nothing\n+more\n"
    )
    options = ("--no-judge", "--out", str(out))

    def one_trial(agent: str) -> None:
        result = run_trial(contract, agent, out=out)
        assert result["verdict"] == "pass", result

    folder = str(contract.folder)
    variants = {
        "steelyard run": typed(STEELYARD, "run", folder, "--agent", "command:true", *options),
        "steelyard grade": typed(STEELYARD, "grade", folder, "--patch", str(patch), *options),
        "the trial alone": timed(lambda: one_trial("command:true")),
        "the patch alone": timed(lambda: one_trial(f"patch:{patch}")),
        "python -c pass": typed(sys.executable, "-c", "pass"),
    }
    rounds = measure(variants, workshop.rounds(20))
    for verb, alone in (("run", "the trial alone"), ("grade", "the patch alone")):
        yield Measured.of(
            "process",
            f"steelyard {verb} as a whole process, less the trial, against `python -c pass`",
            rounds,
            _beyond(f"steelyard {verb}", alone),
            target=12,
        )


def _beyond(whole: str, alone: str) -> Callable[[Round], float]:
    return lambda one: (one[whole] - one[alone]) / one["python -c pass"]


def table_of_runs(workshop: Workshop) -> Iterator[Measured]:
    contract = workshop.contract("many", {"README.md": "nothing\n"}, "true")
    made = RunFolder(Path(run_trial(contract, "noop", out=workshop.folder / "one")["folder"]))
    many = workshop.folder / "many-runs"
    for number in range(RUNS):
        _copied(made, many, f"{made.run_id}-{number:06d}")
    shown = typed(STEELYARD, "show", "--runs", str(many))
    rounds = measure({f"show of {RUNS} runs": shown}, workshop.rounds(5), warm_up=1)
    what = f"steelyard show, {RUNS} runs"
    yield Measured.of(
        "show", what, rounds, lambda one: 1000 * one[f"show of {RUNS} runs"], target=1000, unit="ms"
    )


def _copied(made: RunFolder, root: Path, run_id: str) -> None:
    """The same run once more under another name, sealed and graded."""
    folder = RunFolder.create(root, run_id)
    folder.write_json(MANIFEST, {**made.read_json(MANIFEST), "run": run_id})
    for name in made.read_json(SEAL)["files"]:
        if name not in (MANIFEST, EVENTS):
            folder.write_bytes(name, made.read_bytes(name))
    with EventLog(folder.events) as log:
        for event in read_events(made.events):
            log.append(event.type, event.actor, event.payload)  # type: ignore[arg-type]  # it was one of ours
    seal(folder)
    append_grading(
        folder, {k: v for k, v in read_gradings(made)[0].items() if k not in ("digest", "signature")}
    )
    folder.write_json(REPORT, made.read_json(REPORT))


ROWS = {"cli": command_line, "process": whole_process, "show": table_of_runs}
