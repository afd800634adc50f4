"""A store and a plan in which the names of agents, contracts and studies attack their reader: markup, bidi, ANSI, 10 kB."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hostile_runs import ATTACKS, json_text
from made_records import made_lines
from sealed_run import make_sealed_run
from viewer import Viewer, viewing

from steelyard.evidence.folder.folder import RunFolder
from steelyard.plan.study_plan import PlannedAgent, PlannedContract, StudyPlan
from steelyard.report.html.element import url
from steelyard.store.entry import Entry, entry_of_line
from steelyard.store.store import Store
from steelyard.study.protocol.folder import STUDIES, StudyFolder
from steelyard.web.records import Records

EVIL = json_text(" ".join(ATTACKS))
LONG = (EVIL + "A" * 10_000)[:10_000]
STUDY = "5" * 64
AGENTS = {f"agent {EVIL}": 0.7, f"long {LONG}": 0.4, "..": 0.5}
CONTRACTS = {"task-000": f"contract {EVIL}", "task-001": f"wide {LONG}"}


def hostile_lines() -> list[dict[str, Any]]:
    """Run folders have plain names, which Steelyard gives them; every name that a person gives is hostile."""
    lines = []
    for number, line in enumerate(made_lines(2, 2, AGENTS)):
        name = CONTRACTS[line["contract"]["id"]]
        lines.append(
            {
                **line,
                "run": f"20260307T1200{number:02d}000Z-c-a-{number:06x}",
                "contract": {"id": name, "digest": hashlib.sha256(name.encode()).hexdigest()},
                "study": {**line["study"], "name": f"study {LONG}", "stratum": EVIL},
                "tags": [EVIL],
                "reason": EVIL,
                "rationale": EVIL,
                "termination": EVIL,
            }
        )
    return lines


def register_hostile_plan(root: Path) -> None:
    agents = tuple(PlannedAgent(agent=name, name=name, role="agent", identity="1" * 64) for name in AGENTS)
    contracts = tuple(
        PlannedContract(
            id=name,
            digest=hashlib.sha256(name.encode()).hexdigest(),
            stratum=EVIL,
            path=EVIL,
            has_reference=True,
        )
        for name in CONTRACTS.values()
    )
    plan = StudyPlan(name="pilot", repeats=3, agents=agents, contracts=contracts)
    folder = StudyFolder(root / STUDIES / STUDY[:16])
    folder.begin(plan)
    folder.add("start", trials=EVIL, waiting=3)
    folder.add(
        "stage", stage=EVIL, when="entry", met=False, criteria=[{"name": EVIL, "met": False, "why": LONG}]
    )
    folder.add("deviation", deviation=EVIL, change=LONG)
    folder.add("end", how=EVIL, why=LONG)


@contextmanager
def viewing_hostile_names(root: Path) -> Iterator[Viewer]:
    by_run = {line["run"]: line for line in hostile_lines()}
    for run in by_run:
        make_sealed_run(root, run)
    register_hostile_plan(root)

    def read(folder: RunFolder) -> Entry:
        return entry_of_line(folder.run_id, by_run[folder.run_id], datetime(2026, 3, 7, tzinfo=UTC))

    with viewing(root, Records(root, Store(root, read))) as viewer:
        yield viewer


def name_pages(viewer: Viewer) -> list[str]:
    """Every page that shows such a name; the addresses are those of the links, because a store cuts long names."""
    agents = [str(row["agent"]) for row in viewer.site.records.tally(("agent",))]
    contracts = [str(row["contract"]) for row in viewer.site.records.tally(("contract",))]
    return [
        "/",
        "/contracts",
        "/agents",
        "/studies",
        f"/study/{STUDY}",
        "/study/all",
        *(url("agent", name) for name in agents),
        *(url("contract", name) for name in contracts),
        url("compare", a=agents[0], b=agents[1]),
        "/compare",
        url(agent=agents[0], q=EVIL[:100]),
    ]
