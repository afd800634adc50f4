"""A result line -> what the tables of many runs read of it; the rest is in the run folder.

A study may have thousands of runs, and findings, outputs and opinions of one can take a megabyte.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LONG = ("findings", "breakdown", "durations")  # keys that no table reads
LONG_IN_GRADES = ("output_tail", "data", "pointers")


def short_line(line: Mapping[str, Any]) -> dict[str, Any]:
    short = {name: value for name, value in line.items() if name not in LONG}
    short["grades"] = [
        {name: value for name, value in grade.items() if name not in LONG_IN_GRADES}
        for grade in line["grades"]
    ]
    if line.get("judge"):
        short["judge"] = {name: value for name, value in line["judge"].items() if name != "opinions"}
    return short
