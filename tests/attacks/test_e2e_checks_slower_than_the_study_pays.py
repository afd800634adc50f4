"""Failing work makes its checks slow, because a run that cannot be decided leaves the success rate and a failure does not.

A study that pays for minutes of a sandbox limits how long the checks of one run take together. If a check that was cut off ended
the run as undecided, failing work would only have to be slow. So the run is a resource stop, and fails; and it is not repeated.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from authoring import Author, Steelyard

PRICES = "action_type,unit,unit_price\nexec,minute,0.01\n"
SLOW = "touch slow\n"
CHECK = "if [ -e slow ]; then sleep 600; fi; false"


def test_work_that_makes_its_checks_slow_fails(
    author: Author, steelyard: Steelyard, script: Any, tmp_path: Path
) -> None:
    prices, study, runs = tmp_path / "prices.csv", tmp_path / "study.yaml", tmp_path / "runs"
    prices.write_text(PRICES)
    check = {"id": "sum", "cmd": CHECK, "timeout_s": 3000}
    contract = author.write(oracle={"checks": [check]})
    asked = ("plan", contract, "--agent", script(SLOW), "--cost-model", prices, "--out", study)
    planned = steelyard(*asked, "--acceptance-limit", 1)
    assert planned.code == 0, planned.err
    ran = steelyard("study", "run", study, "--runs", runs, "--no-judge", "--json")
    (slow,) = [line for line in ran.lines if line["agent"].startswith("script")]
    assert (slow["verdict"], slow["termination"], slow["status"]) == ("fail", "wall_time", "scorable")
    assert slow["cost"]["items"]["exec"]["quantities"]["exec/minute"] < 600 / 60
