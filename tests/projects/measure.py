"""`python tests/projects/measure.py`: how many tests, how much control, what it costs -> rows for docs/attacks.md."""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from real import PROJECTS, Project, Shop, asked

from steelyard import api

ROUNDS = 3


def row(project: Project, root: Path) -> str:
    shop = Shop(project, root / project.name)
    ids = shop.ids()
    contract = shop.contract("twin", "twin", asked(project, ids))
    lines, walls = [], []
    for _ in range(ROUNDS):
        start = time.monotonic()
        lines.append(api.run_trial(contract, "reference", out=root / "runs"))
        walls.append(time.monotonic() - start)
    bare = statistics.median(shop.bare_s(contract) for _ in range(ROUNDS))
    others = [api.run_trial(contract, "noop", out=root / "runs")]
    others += [api.grade(contract, patch=shop.mutant(edit), out=root / "runs") for edit in project.mutants]
    failed = sum(line["verdict"] == "fail" for line in others)
    outcome = json.loads((Path(lines[0]["folder"]) / "checks/suite/outcome.json").read_text())
    cells = (
        f"{project.name} {project.version}",
        project.what,
        f"{len(ids[0])} + {len(ids[1])}",
        lines[0]["verdict"],
        f"{failed} / {len(others)}",
        f"{outcome['controls']['coverage']:.0%}",
        f"{bare:.2f} s",
        f"{statistics.median(walls):.2f} s",
    )
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="steelyard-projects-") as folder:
        os.environ.setdefault("STEELYARD_CACHE", f"{folder}/cache")
        for project in PROJECTS:
            if not sys.argv[1:] or project.name in sys.argv[1:]:
                sys.stdout.write(row(project, Path(folder)) + "\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
