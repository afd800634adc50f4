# mypy: disable-error-code="arg-type"
"""The page that compares two agents refuses what `steelyard compare` refuses, and shows the same numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from steelyard.plan.study_plan import Looks, PlannedAgent, PlannedContract, Stopping, StudyPlan
from steelyard.store.query import Query
from steelyard.study.protocol.folder import StudyFolder
from steelyard.web.compare import compare_page
from steelyard.web.message import Request

CONTRACTS = tuple(f"c{number}" for number in range(12))


class FakeRecords:
    """An index of these lines."""

    def __init__(self, root: Path, lines: list[dict[str, Any]]) -> None:
        self.root, self._lines = root, lines

    def results(self, query: Query) -> Iterator[Mapping[str, Any]]:
        for line in self._lines:
            if query.agent in (None, line["agent"]) and query.study in (
                None,
                (line["study"] or {}).get("digest"),
            ):
                yield line

    def tally(self, by: tuple[str, ...]) -> list[Mapping[str, Any]]:
        return [{name: line[name] for name in by} for line in self._lines]


def begun(root: Path, looks: Looks | None = None) -> tuple[StudyFolder, dict[str, str]]:
    plan = StudyPlan(
        name="pilot",
        repeats=2,
        agents=tuple(
            PlannedAgent(agent=name, name=name, role="agent", identity="a" * 64)
            for name in ("one", "two", "noop")
        ),
        contracts=tuple(
            PlannedContract(id=name, digest="b" * 64, stratum="s", path=name) for name in CONTRACTS
        ),
        stopping=Stopping(looks=looks),
    )
    folder = StudyFolder.of(root, plan)
    folder.begin(plan)
    return folder, {"digest": plan.identity, "name": "pilot"}


def trials(study: dict[str, str] | None, repeats: int) -> list[dict[str, Any]]:
    return [
        {
            "schema": "steelyard.result/1",
            "run": f"{agent}-{contract}-{repeat}",
            "trial": f"{agent}-{contract}-{repeat}",
            "repeat": repeat,
            "contract": {"id": contract, "digest": contract * 8},
            "agent": agent,
            "verdict": "pass" if agent == "two" else "fail",
            "termination": "completed",
            "study": study,
            "folder": None,
        }
        for repeat in range(1, repeats + 1)
        for contract in CONTRACTS
        for agent in ("one", "two", "noop")
    ]


def page(root: Path, lines: list[dict[str, Any]]) -> str:
    request = Request("/compare", query={"a": "one", "b": "two"})
    return str(compare_page(FakeRecords(root, lines), request, RuntimeError))


def test_agents_of_a_study_that_goes_on_are_not_compared(tmp_path: Path) -> None:
    folder, study = begun(tmp_path)
    assert "Not compared: " in page(tmp_path, trials(study, 1))
    assert "has no rule for looking early" in page(tmp_path, trials(study, 1))
    folder.add("end", how="complete", why="")
    assert "two solves more than one" in page(tmp_path, trials(study, 2))


def test_the_trials_of_all_agents_are_counted_where_a_study_is_not_complete(tmp_path: Path) -> None:
    """As `steelyard compare` counts them: 36 of 72, not the 24 of the two agents that are compared."""
    folder, study = begun(tmp_path)
    assert "36 of 72 planned trials are finished" in page(tmp_path, trials(study, 1))
    folder.add("end", how="stopped", why="B_total")
    assert "36 of 72 planned trials have a result" in page(tmp_path, trials(study, 1))


def test_a_look_has_the_level_of_the_registered_rule(tmp_path: Path) -> None:
    """The trials of the baseline, which are not compared, are counted: 36 of 72 trials have ended."""
    _, study = begun(tmp_path, Looks(rule="pocock", count=2))
    text = page(tmp_path, trials(study, 1))
    assert "one of several looks: 96.9% interval" in text
    assert "first 1 of 2 repeats" in text


def test_a_contract_that_was_taken_out_is_not_compared(tmp_path: Path) -> None:
    folder, study = begun(tmp_path)
    folder.add("removal", contract="c3", reason="its check reads the clock")
    folder.add("end", how="complete", why="")
    assert "11 contracts, 2 repeats" in page(tmp_path, trials(study, 2))


@pytest.mark.parametrize("name", ["one", "two"])
def test_both_rates_stand_below_the_difference(tmp_path: Path, name: str) -> None:
    text = page(tmp_path, trials(None, 2))
    assert f"<b>{name}</b>" in text
    assert text.count("n=24, 12 contracts") >= 2


def test_contracts_of_different_versions_are_refused(tmp_path: Path) -> None:
    lines = trials(None, 1)
    for line in lines:
        if line["agent"] == "two":
            line["contract"]["digest"] = "f" * 16 + line["contract"]["id"]
    text = page(tmp_path, lines)
    assert "Not compared: one and two were not run under the same conditions" in text
    assert "contract digest" in text
    assert "points" not in text
