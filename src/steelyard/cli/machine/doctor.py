"""Test what this machine can enforce, and say how to fix what it cannot; exit 0 if contracts can run here."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping

from steelyard.judge.provider import PROVIDERS, default_models, juror_of
from steelyard.report.lines import wrapping
from steelyard.sandboxes.init.watch_calls import why_not_watched
from steelyard.sandboxes.probe import CleanupCounts, Reading, can_run, clean, examine
from steelyard.sandboxes.process_tree import ProcessTree

HELP = "report what this machine can enforce, and how to fix what it cannot"
SCHEMA = "steelyard.doctor/1"
WIDEST = 21  # `monitor: system calls`
INDENT, LEAST_BESIDE = 9, 30  # of what a narrow terminal shows below a name; what is worth a column
_COLOURS = {"ok": "green", "limited": "yellow", "missing": "red"}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="one JSON line instead of the list")
    parser.add_argument(
        "--clean",
        action="store_true",
        help="remove leftovers of killed runs: processes, containers, cgroups, temporary folders",
    )


def run(args: argparse.Namespace) -> int:
    cleaned = clean() if args.clean else None
    readings = [*examine(), *supervision(), *judges(os.environ)]
    if args.json:
        _write(json.dumps(_as_json(readings, cleaned)))
    elif sys.stdout.isatty():
        _print_table(readings, cleaned)
    else:
        for line in [*_cleaned_lines(cleaned), *map(_line, readings), _verdict(readings)]:
            _write(line)
    return 0 if can_run(readings) else 3


def supervision() -> Iterator[Reading]:
    """What monitors can see of an agent, and how a run can be paused."""
    is_seen = ProcessTree(os.getpid()).usage().cpu_s is not None
    says = "processes in a sandbox are seen several times a second, and stopped by SIGSTOP for a pause"
    unseen = "/proc does not show processes: an agent's commands are not seen, and no run can be paused"
    yield Reading("monitor: processes", "ok" if is_seen else "limited", says if is_seen else unseen)
    why = why_not_watched()
    seen = "denied calls, connections, denied programs, writes and reads of an agent are events"
    yield Reading(
        "monitor: system calls",
        "limited" if why else "ok",
        f"denied calls are refused and leave no event: {why}" if why else seen,
        "use Linux 5.5 or newer, outside of a container that intercepts system calls" if why else "",
    )


def judges(env: Mapping[str, str]) -> Iterator[Reading]:
    """Which models can be asked, and where. Shows names of keys only; no request is sent."""
    default = default_models(env)
    for provider in PROVIDERS.values():
        juror = juror_of(provider.default_model, env)
        name = f"judge: {provider.name}"
        if not env.get(provider.key_name, "").strip():
            yield Reading(name, "ok", f"{provider.key_name} is not set: its models are not asked")
        elif juror.missing:
            yield Reading(name, "limited", f"{juror.missing}: its models cannot be asked")
        else:
            by_default = (
                f", and {provider.default_model} where it names none" if juror.model in default else ""
            )
            says = f"{provider.key_name} is set: models that a contract names are asked at {juror.url}{by_default}"
            yield Reading(name, "ok", says)


def _as_json(readings: list[Reading], cleaned: CleanupCounts | None) -> dict[str, object]:
    """As follows.

    {"schema": "steelyard.doctor/1", "ok": true, "cleaned": {"cgroups": [], "folders": [], "processes": [],
     "containers": []},
     "readings": [{"name": "overlay", "state": "ok|limited|missing", "says": "...", "fix": "", "needed": true}]}
    """
    return {
        "schema": SCHEMA,
        "ok": can_run(readings),
        "cleaned": None if cleaned is None else cleaned._asdict(),
        "readings": [reading._asdict() for reading in readings],
    }


def _line(reading: Reading) -> str:
    fix = f"  -> {reading.fix}" if reading.fix and reading.state != "ok" else ""
    return f"{reading.state:<8} {reading.name:<{WIDEST}} {reading.says}{fix}"


def _cleaned_lines(cleaned: CleanupCounts | None) -> list[str]:
    if cleaned is None:
        return []
    gone = [*cleaned.cgroups, *cleaned.folders, *(f"process {pid}" for pid in cleaned.processes)]
    gone += [f"container {ident}" for ident in cleaned.containers]
    return [f"removed  {name}" for name in gone] or ["nothing to clean"]


def _verdict(readings: list[Reading]) -> str:
    return "contracts can run here" if can_run(readings) else "contracts cannot run here yet"


def _write(line: str) -> None:
    sys.stdout.write(line + "\n")


def _print_table(readings: list[Reading], cleaned: CleanupCounts | None) -> None:
    from rich.console import Console  # noqa: PLC0415  # only for a person at a terminal
    from rich.text import Text  # noqa: PLC0415

    width = max(len(reading.name) for reading in readings)
    console = Console()
    for line in _cleaned_lines(cleaned):
        wrapping.print_wrapped(console, Text(line))
    for reading in readings:
        head = Text.assemble((f"{reading.state:<8}", _COLOURS[reading.state]), f" {reading.name:<{width}}  ")
        indent = head.cell_len if console.width >= head.cell_len + LEAST_BESIDE else INDENT
        wrapping.print_wrapped(console, head.append(reading.says), indent)
        if reading.fix and reading.state != "ok":
            wrapping.print_wrapped(console, Text(" " * indent).append(reading.fix, "bold"), indent)
    console.print(Text(_verdict(readings), style="bold"))
