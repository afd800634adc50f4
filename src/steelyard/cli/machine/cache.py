"""Show what the cache holds and how much room it takes; `cache prune` removes what was not used for a while.

Whatever is removed is built again when it is needed. Contracts that runs were graded by are kept: `regrade` reads them.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from steelyard.errors import OperatorFault
from steelyard.filesystem.cache import Cache, last_used
from steelyard.filesystem.owner import is_stale
from steelyard.filesystem.remove import remove_tree

HELP = "show the cache and its size; `cache prune` removes what is old"
SCHEMA = "steelyard.cache/1"
DAYS = 30.0
KEPT = frozenset({"contracts", "locks", "tmp"})  # never pruned: records, and what processes are using
_DAY_S = 86400.0


class Entry(NamedTuple):
    kind: str
    key: str
    folder: Path
    size_bytes: int
    used: float  # seconds since the epoch


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=["show", "prune"], default="show", help="default: show")
    parser.add_argument(
        "--older-than",
        type=float,
        default=DAYS,
        metavar="DAYS",
        help="prune what was not used for so many days (default %(default)g; 0: everything)",
    )
    parser.add_argument("--dry-run", action="store_true", help="say what prune would remove")
    parser.add_argument("--json", action="store_true", help="one JSON line")


def run(args: argparse.Namespace) -> int:
    """{"schema": "steelyard.cache/1", "folder": "...", "bytes": 1, "kinds": {"snapshots": {"count": 2, "bytes": 1}}, "removed": {...}}."""
    if args.older_than < 0:
        raise OperatorFault("--older-than is at least 0")
    cache = Cache.default()
    entries = list(_entries(cache.root))
    old: list[Entry] = []
    if args.action == "prune":
        if not args.dry_run and (users := _in_use(cache.root)):
            raise OperatorFault(f"{users} of this cache's users are running; prune when they have ended")
        limit = time.time() - args.older_than * _DAY_S
        old = [one for one in entries if one.kind not in KEPT and one.used <= limit]
        for one in () if args.dry_run else old:
            remove_tree(one.folder)
    left = [one for one in entries if args.dry_run or one not in old]
    if args.json:
        data = {"schema": SCHEMA, "folder": str(cache.root), **_totals(left), "removed": _totals(old)}
        sys.stdout.write(json.dumps(data) + "\n")
        return 0
    sys.stdout.write("".join(f"{line}\n" for line in _lines(cache.root, left, old, args)))
    return 0


def _entries(root: Path) -> Iterator[Entry]:
    for kind in sorted(root.iterdir()) if root.is_dir() else ():
        if not kind.is_dir() or kind.name == "locks":
            continue
        for folder in sorted(kind.iterdir()):
            if folder.is_dir() and not folder.is_symlink():
                used = last_used(root, kind.name, folder.name)
                yield Entry(kind.name, folder.name, folder, _size(folder), used)


def _size(folder: Path) -> int:
    """What its files take on the disk; a file of several names counts once."""
    seen: set[tuple[int, int]] = set()
    total = 0
    for parent, _, names in os.walk(folder, onerror=None):
        for name in names:
            try:
                found = os.lstat(f"{parent}/{name}")
            except OSError:  # just removed, or not ours to look at
                continue
            if (found.st_dev, found.st_ino) not in seen:
                seen.add((found.st_dev, found.st_ino))
                total += found.st_blocks * 512
    return total


def _in_use(root: Path) -> int:
    """How many live processes have a folder under `tmp`."""
    folder = root / "tmp"
    names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    return len({name.rsplit("-", 1)[0] for name in names if not is_stale(name)})


def _totals(entries: list[Entry]) -> dict[str, object]:
    kinds = {
        kind: {
            "count": sum(one.kind == kind for one in entries),
            "bytes": sum(one.size_bytes for one in entries if one.kind == kind),
        }
        for kind in dict.fromkeys(one.kind for one in entries)
    }
    return {"bytes": sum(one.size_bytes for one in entries), "kinds": kinds}


def _lines(root: Path, left: list[Entry], old: list[Entry], args: argparse.Namespace) -> Iterator[str]:
    if args.action == "prune":
        would = "would remove" if args.dry_run else "removed"
        yield f"{would} {_counted(len(old))}, {readable(sum(one.size_bytes for one in old))}"
    for kind in dict.fromkeys(one.kind for one in left):
        of_kind = [one for one in left if one.kind == kind]
        size = readable(sum(one.size_bytes for one in of_kind))
        yield f"{size:>10}  {kind:<12} {_counted(len(of_kind))}"
    yield f"{readable(sum(one.size_bytes for one in left)):>10}  in {root}"
    if args.action == "show" and left:
        yield f"`steelyard cache prune` removes what was not used for {DAYS:g} days"


def _counted(number: int) -> str:
    return "1 folder" if number == 1 else f"{number} folders"


def readable(size_bytes: float) -> str:
    """`597 MB`: in powers of 1000, as disks are sold."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if size_bytes < 1000 or unit == "GB":
            return f"{size_bytes:.0f} {unit}" if unit != "GB" else f"{size_bytes:.1f} {unit}"
        size_bytes /= 1000
    raise AssertionError("the loop returns")
