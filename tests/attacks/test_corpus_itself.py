"""The corpus is what its page says it is, and its contracts are sound before they are attacked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from corpus.__main__ import main
from corpus.case import FAMILIES
from corpus.every import ATTACKS, HONEST, is_tried_in_containers
from corpus.house import House
from corpus.tasks import Mode
from corpus_stage import house, houses

from steelyard import api

__all__ = ["house", "houses"]
LIMITS = Path(__file__).parents[2] / "docs" / "limits.md"


def corpus(*options: str) -> subprocess.CompletedProcess[str]:
    """`python -m corpus`, as `make attacks` runs it."""
    here = Path(__file__).parent
    return subprocess.run(
        [sys.executable, "-m", "corpus", *options],
        env={**os.environ, "PYTHONPATH": f"{here}:{here.parent}"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_ids_are_unique_and_every_family_is_there() -> None:
    ids = [case.id for case in (*ATTACKS, *HONEST)]
    assert max(Counter(ids).values()) == 1
    assert {one[0] for one in ids} == set(FAMILIES)


def test_there_are_enough_of_each_kind() -> None:
    """A release must not get easier to pass by losing cases."""
    tasks = Counter(case.task for case in ATTACKS)
    assert tasks["python"] >= 140
    assert tasks["node"] >= 24
    assert len(HONEST) >= 40


def test_every_family_in_which_a_sandbox_takes_part_is_tried_in_containers() -> None:
    tried = Counter(case.family for case in (*ATTACKS, *HONEST) if is_tried_in_containers(case))
    assert set(FAMILIES) - set(tried) == set("CEHTX")
    assert tried.total() >= 22


def test_what_no_twin_can_see_is_in_the_limits() -> None:
    known = [case.id for case in ATTACKS if case.residue]
    assert len(known) <= 5
    assert all(one in LIMITS.read_text() for one in known)


@pytest.mark.parametrize("task", ["python", "node"])
@pytest.mark.parametrize("mode", ["in_process", "twin", "split"])
def test_the_reference_passes_and_doing_nothing_fails(task: str, mode: Mode, house: House) -> None:
    contract = house.contract(task, mode)
    done, undone = (
        api.run_trial(contract, agent, out=house.root / "sound") for agent in ("reference", "noop")
    )
    assert (done["verdict"], undone["verdict"]) == ("pass", "fail")
    assert done["assurance"]["oracle"] == mode


@pytest.mark.usefixtures("house")  # and its cache
def test_a_handful_through_the_command() -> None:
    """The same corpus as `make attacks` runs it: the table's numbers, and exit code 0."""
    done = corpus("--json", "--jobs", "2", "--only", "B02,K41")
    assert done.returncode == 0, done.stderr
    assert {(one["case"], one["column"]) for one in json.loads(done.stdout)["tried"] if one["passed"]} == {
        *((name, "naive") for name in ("B02", "K41")),
        *(("K41", mode) for mode in ("twin", "split")),
    }


@pytest.mark.parametrize("options", [["--only", "A01,Q99"], ["--only", "b"], ["--modes", "twn"]])
def test_a_case_or_mode_that_does_not_exist_is_refused(
    options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing tried is nothing wrong: a misspelt id must not look like a success."""
    with pytest.raises(SystemExit) as refused:
        main(options)
    assert refused.value.code == 2
    assert options[-1].split(",")[-1] in capsys.readouterr().err
