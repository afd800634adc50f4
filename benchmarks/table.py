"""Measured rows -> a table for the terminal, a page for docs/, JSON for programs."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.measure import Measured, Spread

PAGE = """\
<!-- Made by `make bench PAGE=docs/benchmarks.md`. -->
# Benchmarks

The cost of each part of Steelyard, compared with the least that it could cost. Both are measured in the same run: every round
measures each variant once, and only numbers of the same round are compared. Values are medians, with quartiles in brackets.

`make bench` measures your machine and writes `benchmarks/results/latest.json`. `make bench ROWS="trial cpu"` measures some rows;
`ROUNDS=100` measures more rounds.

## The machine

{machine}. Ratios can be compared between machines, milliseconds cannot. A load above the
number of cores means that the machine was busy with other work; that affects most the rows that write files.

## Results

| row | what | measured | target | met |
|---|---|---|---|---|
{lines}

## What the rows compare

| row | variant | milliseconds (memory: MB) |
|---|---|---|
{variants}

Append, verify, long and cpu are CPU time, which the load of the machine changes little; memory is in MB; all others
are wall time. "Bare spawn" is `posix_spawn` of `/bin/true`. "Bubblewrap alone" is the same namespaces, system folders and
temporary file systems with the repository bound where it is: no overlay, no seccomp filter, no cgroup, no init, no
capture. A trivial trial is one agent that runs `true` and one check that runs `true`, each in its own sandbox,
with manifest, trace, capture, grading and seal, written durably.
"""


def text(rows: Sequence[Measured]) -> str:
    """Rows that were measured together, then what they compare."""
    lines = []
    for row in rows:
        lines += [f"{row.row:<8} {row.what}", f"{'':8} {_value(row)}   target {_target(row)}   {_met(row)}"]
    lines += [f"{'':10} {name:<24} {_scaled(rows[-1], name)}" for name in rows[-1].variants]
    return "\n".join(lines)


def page(rows: Sequence[Measured], machine: str) -> str:
    lines = [f"| {row.row} | {row.what} | {_value(row)} | {_target(row)} | {_met(row)} |" for row in rows]
    variants = [
        f"| {row.row} | {name} | {_scaled(row, name)} |"
        for row in {row.row: row for row in rows}.values()
        for name in row.variants
    ]
    return PAGE.format(machine=machine, lines="\n".join(lines), variants="\n".join(variants))


def as_json(rows: Sequence[Measured], machine: str) -> dict[str, Any]:
    return {
        "schema": "steelyard.benchmarks/1",
        "machine": machine,
        "rows": [row.to_json() for row in rows],
    }


def _value(row: Measured) -> str:
    value = row.value
    return f"{_number(value.median)} {row.unit} [{_number(value.low)}, {_number(value.high)}]"


def _target(row: Measured) -> str:
    return "none" if row.target is None else f"<= {_number(row.target)} {row.unit}"


def _met(row: Measured) -> str:
    if row.target is None:
        return ""
    if row.met:
        return "yes"
    return f"no: {_number(row.value.median / row.target)} times the target"


def _scaled(row: Measured, name: str) -> str:
    spread = row.variants[name]
    if "(MB)" not in name:
        spread = Spread(1000 * spread.low, 1000 * spread.median, 1000 * spread.high)
    return f"{_number(spread.median)} [{_number(spread.low)}, {_number(spread.high)}]"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def machine() -> str:
    """What ratios may depend on: processor, kernel, Python, bubblewrap, and what else was going on."""
    result = subprocess.run(["bwrap", "--version"], capture_output=True, text=True, check=False)
    user = "root" if os.geteuid() == 0 else "an ordinary user"
    return (
        f"{os.cpu_count()} cores of {_processor()}, Linux {platform.release().split('-')[0]}, "
        f"Python {platform.python_version()}, {result.stdout.strip() or 'no bubblewrap'}, as {user}, "
        f"load {os.getloadavg()[0]:.1f}"
    )


def _processor() -> str:
    rows = Path("/proc/cpuinfo").read_text().splitlines()
    name = next((row.partition(":")[2] for row in rows if row.startswith("model name")), platform.machine())
    return " ".join(name.replace("(R)", "").split())
