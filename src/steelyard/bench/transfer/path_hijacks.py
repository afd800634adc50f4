"""A change on a bench whose PATH leads into the workspace -> the change without programs that stand in for others.

    PATH=/workspace/.venv/bin:/usr/bin, and the change brings .venv/bin/python3

A verifier is started by `bash` or `python3` and calls programs by name. One that the change put first on PATH would run
with the verifier's word. What the snapshot has there already is the author's choice, and what has no namesake is a
program of the work's own: both stay.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Sequence
from typing import NamedTuple

from steelyard.bench.transfer.paths_from_change import entries_of, found_on_path
from steelyard.environment.prepare import Environment
from steelyard.filesystem.tree import printable
from steelyard.sandboxes.base import WORKSPACE, Command, CommandResult, FileOverlay

NAMES_AT_ONCE = 500
MAX_ROUNDS = 10
MAX_NOTES = 10
LOOK_S = 20.0
STARTING = frozenset({"bash", "sh", "python3", "python", "node", "env", "cat", "grep", "jq", "diff"})
_LOOK = 'for name do command -v -- "$name" >/dev/null && printf "%s\\0" "$name"; done; exit 0'
Ask = Callable[[Command], CommandResult]  # in a sandbox without the change


class HijackRemoval(NamedTuple):
    overlays: tuple[FileOverlay, ...]
    notes: tuple[str, ...] = ()


def without_path_hijacks(
    environment: Environment, path_variable: str, overlays: tuple[FileOverlay, ...], ask: Ask
) -> HijackRemoval:
    outside = [folder for folder in path_variable.split(":") if not is_in_tree(folder)]
    if len(outside) == len(path_variable.split(":")) or not overlays:
        return HijackRemoval(overlays)
    names = {posixpath.basename(one.path) for one in overlays if one.kind in {"file", "symlink"}}
    # A link or a folder on the way has another name than what is found behind it.
    programs = _namesakes(sorted(names | STARTING), ":".join(outside), ask)
    tree = (environment.baseline, entries_of(environment.setup.change if environment.setup else None))
    out: set[str] = set()
    for _ in range(MAX_ROUNDS):  # what was left out may have hidden another
        kept = [one for one in overlays if one.path not in out]
        more = found_on_path(programs, path_variable, tree, kept) - out
        out |= {path for path in more if path not in environment.baseline}
        if not more - environment.baseline.keys():
            break
    notes = (
        f"{printable(path)} would replace a program of the bench and was left out" for path in sorted(out)
    )
    return HijackRemoval(tuple(one for one in overlays if one.path not in out), tuple(notes)[:MAX_NOTES])


def is_in_tree(folder: str) -> bool:
    """An empty part of PATH, and `.`, are wherever the command is."""
    return not posixpath.relpath(posixpath.join(WORKSPACE, folder or "."), WORKSPACE).startswith("..")


def _namesakes(names: Sequence[str], outside: str, ask: Ask) -> set[str]:
    """Those of the names that mean a program without the workspace, too; all of them if the sandbox does not answer."""
    found: set[str] = set()
    for first in range(0, len(names), NAMES_AT_ONCE):
        some = names[first : first + NAMES_AT_ONCE]
        argv = ("/bin/sh", "-c", _LOOK, "look", *some)
        done = ask(Command(argv, cwd="/", env={"PATH": outside}, timeout_s=LOOK_S))
        present = (done.stdout.head + done.stdout.tail).decode(errors="surrogateescape").split("\0")
        found |= set(present) & set(some) if done.exit_code == 0 else set(some)
    return found
