"""Records of runs that never ran, through the public interfaces: result lines, an index of them, and run folders with a log."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from steelyard.evidence.folder.folder import MANIFEST, RunFolder
from steelyard.store.entry import Entry, entry_of_line
from steelyard.store.store import Store

AGENTS = {"noop": 0.0, "reference": 1.0, "careful": 0.7, "quick": 0.45, "cautious-large": 0.62}
START = datetime(2026, 3, 7, 12, tzinfo=UTC)
TAGS = ("acceptance_failure", "build_failure", "wrong_files", "no_patch", "tests_edited", "budget_wall_time")


def made_lines(
    contracts: int, repeats: int, agents: dict[str, float] | None = None
) -> Iterator[dict[str, Any]]:
    """Result lines of a study: contracts are of different difficulty, and some trials have no decision."""
    generator = random.Random(20260307)
    easiness = [generator.uniform(-0.35, 0.35) for _ in range(contracts)]
    number = 0
    for repeat in range(repeats):
        for contract in range(contracts):
            for agent, rate in (agents or AGENTS).items():
                number += 1
                share = rate if rate in (0.0, 1.0) else min(0.98, max(0.02, rate + easiness[contract]))
                yield made_line(number, f"task-{contract:03d}", agent, repeat, (generator, share))


def made_line(
    number: int, contract: str, agent: str, repeat: int, draw: tuple[random.Random, float]
) -> dict[str, Any]:
    generator, share = draw
    is_baseline = agent in ("noop", "reference")
    verdict = "pass" if generator.random() < share else "fail"
    if not is_baseline and generator.random() < 0.03:
        verdict = generator.choice(["error", "invalid"])
    judged = None if is_baseline else _judge(verdict, generator)
    wall_s = generator.lognormvariate(4, 0.6)
    stamp = START + timedelta(seconds=30 * number)
    acceptance = {"pass": "success", "fail": "failure", "error": "acceptance_error"}.get(verdict)
    gates = {
        "patch": "pass",
        "build": "pass",
        "acceptance": "pass" if verdict == "pass" else "fail",
        "safety": "pass",
    }
    return {
        "schema": "steelyard.result/1",
        "run": f"{stamp:%Y%m%dT%H%M%S}{number % 1000:03d}Z-{contract}-{agent}-{number:06x}",
        "trial": "t" + hashlib.sha256(f"{contract} {agent} {repeat}".encode()).hexdigest()[:16],
        "attempt": 1,
        "contract": {"id": contract, "digest": hashlib.sha256(contract.encode()).hexdigest()},
        "grading": {"number": 1, "of": 1, "regrade": False},
        "agent": agent,
        "repeat": repeat,
        "fault": None,
        "study": {
            "digest": "5" * 64,
            "name": "pilot",
            "stage": "main",
            "stratum": "python" if int(contract[-1]) % 2 else "go",
        },
        "status": "invalid" if verdict == "invalid" else "scorable",
        "reason": ""
        if verdict == "pass"
        else "hidden: 3 of 7 passed; not passed: tests/test_totals.py::test_big",
        "acceptance": acceptance,
        "termination": "wall_time" if wall_s > 150 and verdict == "fail" else "completed",
        "rationale": "the agent finished",
        "stopped_by": None,
        "verdict": verdict,
        "checks": {"pass": "PASS", "fail": "FAIL"}.get(verdict, "UNGRADED"),
        "badge": "INVALID" if verdict == "invalid" else "PASS",
        "gates": None if verdict == "invalid" else gates,
        "why": None if verdict == "invalid" else dict.fromkeys(gates, "as it says"),
        "score": {"pass": 1.0, "fail": 0.0}.get(verdict),
        "mean_score": 0.8,
        "reward": {"pass": 1.0, "fail": 0.0}.get(verdict),
        "patch_verdict": None,
        "patch_reward": None,
        "validity": None,
        "judge": judged,
        "disagreement": "none",
        "breakdown": None,
        "tags": [] if verdict == "pass" else [generator.choice(TAGS)],
        "workspace": "code",
        "turns": 1,
        "steps": [],
        "grades": [],
        "findings": [],
        "assurance": None,
        "refused": None,
        "cost": {"usd": 0.0 if is_baseline else round(generator.lognormvariate(-0.5, 0.5), 4)},
        "durations": {
            "wall_s": wall_s,
            "working_s": wall_s * 0.8,
            "active_tool_s": wall_s * 0.4,
            "acceptance_s": wall_s * 0.15,
        },
        "folder": None,
    }


def _judge(verdict: str, generator: random.Random) -> dict[str, Any]:
    word = "PASS" if (verdict == "pass") == (generator.random() < 0.9) else "FAIL"
    return {
        "verdict": word,
        "why": "the work does what was asked" if word == "PASS" else "an edge case is missing",
        "failure_mode": None if word == "PASS" else "incomplete",
        "scores": {},
        "split": False,
        "steered": False,
        "agreement": None,
        "opinions": [],
    }


def made_store(
    root: Path,
    contracts: int,
    repeats: int,
    url: str | None = None,
    agents: dict[str, float] | None = None,
) -> Store:
    """A store whose folders have only a name; what the index says of each is its made line."""
    lines = {line["run"]: line for line in made_lines(contracts, repeats, agents)}
    root.mkdir(parents=True, exist_ok=True)
    for run in lines:
        folder = root / run
        folder.mkdir()
        (folder / MANIFEST).write_bytes(b"{}")

    def read(folder: RunFolder) -> Entry:
        line = lines[folder.run_id]
        started = datetime.strptime(folder.run_id[:15], "%Y%m%dT%H%M%S").replace(tzinfo=UTC)
        return entry_of_line(folder.run_id, line, started)

    store = Store(root, read, url)
    store.sync()
    return store
