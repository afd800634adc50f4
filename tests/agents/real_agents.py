"""Real clients, installed from their registries, mend `examples/python-discount` with a scripted model behind the gateway.

    python -m real_agents [NAME ...] [--sandbox bubblewrap|docker] [--replays N]        what `make agents` runs

For each it is checked: the verdict; tokens equal to what the model's ledger says, to the token; a cost from the price list; that
every changed path is named by a call in the trace; and that the real key is nowhere in the sandbox, which an own command of the
agent looks for. With `--replays` each run is recorded, and replayed so often from its cassette on a machine without a network: the
verdict, the digest of the change and the usage must be the same each time.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from steelyard.evidence.evidence import load_evidence
from steelyard.evidence.folder.folder import RunFolder
from steelyard.evidence.trace.events import read_events
from steelyard.gateway.scripted import ScriptedModel, serving
from steelyard.study.replay import entries_digest

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "python-discount"
FILE = "src/shop/pricing.py"
OLD_AMOUNT, NEW_AMOUNT = (
    "        return price - discount.value",
    "        return max(0, price - discount.value)",
)
OLD_PERCENT = "    return int(price * (1 - discount.value / 100))"
NEW_PERCENT = "    return max(0, (price * (100 - discount.value) + 50) // 100)"
KEY = "sk-real-Zq7wT4xv9Rk2mN8bL5cJ"
# The brackets keep the pattern from finding itself. No command substitution: Gemini CLI refuses that.
_COUNT = "'Z[q]7wT4' | sed 's/^ */key: /'"
SEARCH = (
    f"cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -c {_COUNT}; env | grep -c {_COUNT}; "
    "grep -rls 'Z[q]7wT4' $HOME /tmp . 2>/dev/null | wc -l | sed 's/^ */key: /'"
)
# aider has no shell for the model: its test command searches, and what a failed test printed goes to the model.
FAILING_SEARCH = f"if mkdir /tmp/searched 2>/dev/null; then {SEARCH}; exit 1; fi\n"
NOT_FOUND = "0"  # in no process, in no variable, in no file
TURNS: list[dict[str, Any]] = [
    {"text": "I look at the repository.", "do": {"shell": f"ls; {SEARCH}"}},
    {"text": "I read the file.", "do": {"read": f"/workspace/{FILE}"}},
    {
        "text": "A free article.",
        "do": {"edit": {"path": f"/workspace/{FILE}", "old": OLD_AMOUNT, "new": NEW_AMOUNT}},
    },
    {
        "text": "Whole cents.",
        "do": {"edit": {"path": f"/workspace/{FILE}", "old": OLD_PERCENT, "new": NEW_PERCENT}},
    },
    {"text": "I run the tests.", "do": {"shell": "sh ci/test.sh"}},
]
END = {"text": "Totals are right now, and the tests pass."}
SUBMIT = {"text": "I submit.", "do": {"shell": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"}}
BLOCK = f"""I mend it.

{FILE}
```python
<<<<<<< SEARCH
{OLD_AMOUNT}
{OLD_PERCENT}
=======
{NEW_AMOUNT}
{NEW_PERCENT}
>>>>>>> REPLACE
```
"""
USAGE = {"tokens_in": 1000, "tokens_out": 50}
WALL_S = 1200  # the example's own limit is for a machine that does nothing else
TAPE = "tape"
# A network namespace of its own, with nothing in it but the loopback of the gateway.
OFFLINE = ("unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")


@dataclass(frozen=True)
class RealAgent:
    text: str  # of --agent
    script: Sequence[Mapping[str, Any]]
    install: str
    repository: Mapping[str, str] = field(default_factory=dict)  # more files of the repository

    @property
    def name(self) -> str:
        return self.text.partition(":")[0]


AGENTS: Mapping[str, RealAgent] = {
    "claude_code": RealAgent("claude_code:model=claude-opus-5-5", [*TURNS, END], "claude_code"),
    "codex": RealAgent("codex:model=gpt-5.5-codex", [*TURNS, END], "codex"),
    "mini_swe_agent": RealAgent("mini_swe_agent:model=openai/gpt-5", [*TURNS, SUBMIT], "mini_swe_agent"),
    "gemini_cli": RealAgent("gemini_cli:model=gemini-2.5-pro", [*TURNS, END], "gemini_cli"),
    "opencode": RealAgent("opencode:model=gpt-5", [*TURNS, END], "opencode"),
    "aider": RealAgent(
        f"aider:model=openai/gpt-4o,files={FILE}",
        [{"text": BLOCK}, END],
        "aider",
        {".aider.conf.yml": "auto-test: true\ntest-cmd: sh ci/search.sh\n", "ci/search.sh": FAILING_SEARCH},
    ),
    "openhands": RealAgent("openhands:model=anthropic/claude-opus-4-5", [*TURNS, END], "openhands"),
    "acp": RealAgent("acp:model=gemini-2.5-pro", [*TURNS, END], "acp"),
}


@dataclass(frozen=True)
class Row:
    """What one run showed."""

    agent: str
    sandbox: str
    verdict: str
    termination: str
    tokens: tuple[int | None, int | None]
    billed: tuple[int, int]
    cost_usd: float | None
    calls: int
    unknown_lines: int
    unnamed: tuple[str, ...]  # changed paths that no call of the trace names
    unattributed: tuple[str, ...]  # changed paths that were not seen to change during a call
    key_found: str  # what the search for the real key printed
    wall_s: float
    folder: Path
    why: str = ""
    replays: tuple[int, int] = (0, 0)  # that gave the same, and all

    @property
    def problems(self) -> list[str]:
        checks = {
            f"verdict {self.verdict}: {self.why}": self.verdict == "pass",
            f"tokens {self.tokens}, billed {self.billed}": self.tokens == self.billed,
            "no cost": bool(self.cost_usd),
            f"changed without a call: {', '.join(self.unnamed)}": not self.unnamed,
            f"not attributed to a call: {', '.join(self.unattributed)}": not self.unattributed,
            f"search for the key: {self.key_found}": self.key_found == NOT_FOUND,
            f"{self.unknown_lines} unknown lines in the trace": not self.unknown_lines,
            f"{self.replays[0]} of {self.replays[1]} replays gave the same": self.replays[0]
            == self.replays[1],
        }
        return [problem for problem, holds in checks.items() if not holds]


def contract_for(agent: RealAgent, sandbox: str, folder: Path) -> Path:
    """The example with more time, or on an image that has neither the client nor its runtime."""
    made = folder / "python-discount"
    shutil.copytree(EXAMPLE, made)
    for name, text in agent.repository.items():
        (made / "repo" / name).write_text(text)
    contract = yaml.safe_load((made / "contract.yaml").read_text())
    contract["budget"]["wall_s"] = WALL_S
    if sandbox == "docker":
        from containers import image  # asks the engine

        contract["environment"].pop("toolchains")
        contract["environment"] |= {"sandbox": "docker", "image": image().id}
    (made / "contract.yaml").write_text(yaml.safe_dump(contract, sort_keys=False))
    return made


def install(agent: RealAgent, environ: Mapping[str, str]) -> str:
    """Nothing, or why the client could not be installed."""
    line = [sys.executable, "-m", "steelyard", "agents", "install", agent.install]
    done = subprocess.run(line, capture_output=True, text=True, env=dict(environ), check=False)
    return "" if done.returncode == 0 else done.stderr.strip()


def run_agent(
    agent: RealAgent, sandbox: str, folder: Path, environ: Mapping[str, str], replays: int = 0
) -> Row:
    """One trial in a process of its own, as a user types it."""
    model = ScriptedModel({"turns": list(agent.script), "usage": USAGE})
    begun = time.monotonic()
    with serving(model) as url:
        names = {name: f"STEELYARD_UPSTREAM_{name.upper()}" for name in ("anthropic", "openai", "gemini")}
        keys = dict.fromkeys(("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"), KEY)
        line = [
            sys.executable,
            "-m",
            "steelyard",
            "run",
            str(contract_for(agent, sandbox, folder)),
            "--agent",
            agent.text,
            *("--json", "--no-judge", "--out", str(folder / "runs")),
        ]
        done = subprocess.run(
            [*line, *(("--record", str(folder / TAPE)) if replays else ())],
            capture_output=True,
            text=True,
            env={**environ, **keys, **dict.fromkeys(names.values(), url)},
            check=False,
        )
    if not done.stdout.strip():
        raise RuntimeError(f"{agent.text}: {done.stderr}")
    result = json.loads(done.stdout.splitlines()[-1])
    row = _row(agent, sandbox, result, model, time.monotonic() - begun)
    same = [_facts(one) == _facts(result) for one in _replayed(line, folder, environ, replays)]
    return replace(row, replays=(sum(same), replays))


def _replayed(
    line: Sequence[str], folder: Path, environ: Mapping[str, str], times: int
) -> list[Mapping[str, Any]]:
    if not times:
        return []
    again = [*OFFLINE, *line, "--replay", str(folder / TAPE), "--repeats", str(times)]
    done = subprocess.run(again, capture_output=True, text=True, env=dict(environ), check=False)
    return [json.loads(one) for one in done.stdout.splitlines()]


def _facts(result: Mapping[str, Any]) -> tuple[str, str, Any]:
    """Verdict, digest of the change without generated files (byte code has times in it), usage."""
    change = load_evidence(RunFolder(Path(result["folder"]))).change
    return result["verdict"], entries_digest(change), result["usage"]


def _row(
    agent: RealAgent, sandbox: str, result: Mapping[str, Any], model: ScriptedModel, wall_s: float
) -> Row:
    folder = Path(result["folder"])
    events = list(read_events(folder / "events.jsonl"))
    report = json.loads((folder / "report.json").read_text())
    inner = [
        event.payload
        for event in events
        if event.type == "tool.call" and not event.payload.get("whole_agent")
    ]
    shown = json.dumps(inner)
    # What the search printed is in the request that followed: not every trace has the output of its calls.
    found = sorted(
        set(re.findall(r"key: (\d+)", json.dumps(model.requests[-1]["body"]) if model.requests else ""))
    )
    changes = [event.payload for event in events if event.type == "workspace.change"]
    traces = [event.payload for event in events if event.type == "agent.trace"]
    return Row(
        agent=agent.name,
        sandbox=sandbox,
        verdict=result["verdict"],
        termination=report["termination"]["code"],
        tokens=(report["usage"]["tokens_in"], report["usage"]["tokens_out"]),
        billed=(model.billed.tokens_in, model.billed.tokens_out),
        cost_usd=report["cost"]["usd"],
        calls=len(inner),
        unknown_lines=sum(trace["unknown"] for trace in traces),
        unattributed=tuple(one["path"] for one in changes if not one["attributed"]),
        unnamed=tuple(path for path in report["changed_files"] if path not in shown),
        key_found=", ".join(found) or "the search left no output",
        wall_s=wall_s,
        folder=folder,
        why=report["termination"]["rationale"],
    )


def _cells(row: Row) -> list[str]:
    tokens, billed = (f"{one[0]}+{one[1]}" for one in (row.tokens, row.billed))
    cost = f"${row.cost_usd:.4f}" if row.cost_usd is not None else "-"
    replays = f"{row.replays[0]} of {row.replays[1]}" if row.replays[1] else "-"
    problems = "; ".join(row.problems) or "none"
    return [
        row.agent,
        row.sandbox,
        row.verdict,
        tokens,
        billed,
        cost,
        str(row.calls),
        f"{row.wall_s:.1f}",
        replays,
        problems,
    ]


def _write_row(cells: Sequence[str]) -> None:
    widths = (15, 11, 8, 12, 12, 9, 6, 8, 9, 0)
    sys.stdout.write(
        " ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=False)).rstrip() + "\n"
    )
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="make agents", description=__doc__.partition("\n")[0] if __doc__ else ""
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(AGENTS)}")
    parser.add_argument("--sandbox", default="bubblewrap", choices=["bubblewrap", "docker"])
    parser.add_argument("--replays", type=int, default=0, metavar="N", help="of each run, from its cassette")
    args = parser.parse_args()
    environ = dict(os.environ)
    failed = 0
    _write_row(
        ["agent", "sandbox", "verdict", "tokens", "billed", "cost", "calls", "seconds", "replays", "problems"]
    )
    for name in args.names or AGENTS:
        with tempfile.TemporaryDirectory(prefix="steelyard-agents-") as folder:
            problem = install(AGENTS[name], environ)
            if problem:
                _write_row([name, "", f"not installed: {problem}"])
                failed += 1
                continue
            row = run_agent(AGENTS[name], args.sandbox, Path(folder), environ, args.replays)
        _write_row(_cells(row))
        failed += bool(row.problems)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
