"""A registered plan and the runs of its study -> how many of the planned trials of each agent on each contract have a result, and run."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from steelyard.plan.trial import REFERENCE
from steelyard.report.html.element import Markup, tag
from steelyard.store.entry import ACTIVE
from steelyard.store.query import Query
from steelyard.study.protocol import progress
from steelyard.web.layout import card, table
from steelyard.web.records import Records
from steelyard.web.words import cut, plural

if TYPE_CHECKING:
    from steelyard.plan.study_plan import StudyPlan

MOST_ENTRIES = 50_000  # runs that a page counts while a reader waits
MOST_CONTRACTS = 300


class TrialCounts:
    """Trials by agent and contract; runs of other versions of a contract are not of the plan."""

    def __init__(self, plan: StudyPlan) -> None:
        self.planned: Counter[tuple[str, str]] = Counter()
        self.done: Counter[tuple[str, str]] = Counter()
        self.running: Counter[tuple[str, str]] = Counter()
        self._digests = {one.id: one.digest for one in plan.contracts}
        for agent in plan.agents:
            for contract in plan.contracts:
                if agent.agent != REFERENCE or contract.has_reference:
                    self.planned[agent.name, contract.id] = plan.repeats + agent.extra_repeats

    def count(self, records: Records, study: str) -> None:
        trials: set[str] = set()
        for entry in records.query(Query(study=study, limit=MOST_ENTRIES)):
            pair = entry.agent, entry.contract
            if pair not in self.planned or self._digests.get(entry.contract) != entry.digest:
                continue
            if entry.state in ACTIVE:
                self.running[pair] += 1
            trial = entry.trial or entry.run
            if progress.is_final(entry) and trial not in trials:
                trials.add(trial)
                self.done[pair] += 1

    def cell(self, pairs: list[tuple[str, str]]) -> str:
        planned = sum(self.planned[pair] for pair in pairs)
        done = sum(self.done[pair] for pair in pairs)
        running = sum(self.running[pair] for pair in pairs)
        more = f", {running:,} running" if running else ""
        return f"{done:,} of {planned:,}{more}" if planned else "not planned"


def count_trials(records: Records, study: str, plan: StudyPlan, runs: int) -> TrialCounts | None:
    """Nothing where there are more runs than a page counts."""
    if runs > MOST_ENTRIES:
        return None
    counts = TrialCounts(plan)
    counts.count(records, study)
    return counts


def progress_line(counts: TrialCounts) -> Markup:
    """How far the study is, as a bar and in words."""
    planned, done, running = counts.planned.total(), counts.done.total(), counts.running.total()
    waiting = max(0, planned - done - running)
    words = f"{done:,} of {plural(planned, 'planned trial')} finished, {running:,} running, {waiting:,} not begun."
    return tag(
        "p",
        tag("progress", value=str(done), max=str(max(1, planned)), aria_label="Finished trials"),
        words,
        class_="progress",
    )


def planned_card(counts: TrialCounts, plan: StudyPlan) -> Markup:
    agents = [one.name for one in plan.agents]
    shown = plan.contracts[:MOST_CONTRACTS]
    rows = [
        (
            tag("b", "all contracts"),
            *(counts.cell([(agent, one.id) for one in plan.contracts]) for agent in agents),
            counts.cell(list(counts.planned)),
        ),
        *(
            (
                cut(contract.id, 80),
                *(counts.cell([(agent, contract.id)]) for agent in agents),
                counts.cell([(agent, contract.id) for agent in agents]),
            )
            for contract in shown
        ),
    ]
    more = (
        f", {len(shown):,} of {len(plan.contracts):,} contracts shown"
        if len(plan.contracts) > len(shown)
        else ""
    )
    numeric = tuple(range(1, len(agents) + 2))
    return card(
        "Planned and done",
        table(
            ("contract", *(cut(name, 40) for name in agents), "all agents"),
            rows,
            caption=f"Trials that have a result, of those planned{more}",
            numeric=numeric,
        ),
    )
