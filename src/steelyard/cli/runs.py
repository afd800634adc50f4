"""Where run folders are, unless `--runs` or `--out` says otherwise."""

from __future__ import annotations

from pathlib import Path

RUNS = Path(".steelyard/runs")
