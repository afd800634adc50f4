"""Split oracles for JavaScript: stubs where the candidate's scripts were, and a worker that loads the real ones.

A stub asks the candidate's sandbox for each use of what its script exports (`inside/node/split_link.cjs`). They are
written inside the tests' sandbox, where the tests and package.json say what kind of module each of them is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from steelyard.bench.runners.exit_code import how_it_ended
from steelyard.bench.runners.node import INSIDE
from steelyard.bench.runners.node_command import node_command
from steelyard.bench.split.programs import Launch
from steelyard.bench.split.trees import is_oracles
from steelyard.bench.suite.suite import Suite
from steelyard.bench.transfer.oracle.files import OracleFiles
from steelyard.sandboxes.base import Command, FileOverlay, Sandbox

MAX_SCRIPTS = 20_000
STUBS_S = 60.0
FOR_TESTS = {"split.cjs": "split_link.cjs", "values.cjs": "split_values.cjs"}
_SCRIPT = re.compile(r"\.[cm]?[jt]sx?$")
_NOT_THEIRS = re.compile(r"(^|/)node_modules/|^candidate/")
# The asks on 4 and the answers on 3: what the candidate prints goes to stderr, and what it reads is empty.
_OWN_CHANNEL = 'exec "$@" 3>&1 1>&2 4<&0 0</dev/null'


class Scripts(NamedTuple):
    """The scripts of the candidate's side: those of the baseline, and those that only the change has."""

    own: list[str]
    new: list[str]  # they get a stub only where a test names one and nothing else has that name


def candidate_scripts(
    baseline: Collection[str], theirs: OracleFiles, work: Sequence[FileOverlay], hidden: Sequence[FileOverlay]
) -> Scripts:
    def scripts(paths: Iterable[str]) -> set[str]:
        found = {path for path in paths if _SCRIPT.search(path) and not _NOT_THEIRS.search(path)}
        return {path for path in found if not is_oracles(path, theirs)} - {one.path for one in hidden}

    own = scripts(baseline)
    new = scripts(one.path for one in work if one.kind != "gone") - own
    return Scripts(sorted(own), sorted(new))


def lay_stubs(tester: Sandbox, suite: Suite, scripts: Scripts) -> str:
    """Write the stubs, before any test runs. Why it cannot be done, or ""."""
    command = node_command(suite)
    if command is None:
        return ""
    count = len(scripts.own) + len(scripts.new)
    if count > MAX_SCRIPTS:
        return f"{count} scripts; the limit for a split is {MAX_SCRIPTS}"
    files = [(name, (INSIDE / source).read_text()) for name, source in FOR_TESTS.items()]
    done = tester.run(
        Command(
            (command.program, "--input-type=commonjs", "-e", (INSIDE / "split_stubs.cjs").read_text()),
            stdin=json.dumps({**scripts._asdict(), "files": files}).encode(),
            timeout_s=STUBS_S,
        )
    )
    return "" if done.exit_code == 0 else f"no stubs for the candidate's scripts: {how_it_ended(done)}"


def node_worker(suite: Suite) -> dict[str, Launch]:
    """The program that loads the candidate's scripts, with the options that the tests' own processes have."""
    command = node_command(suite)
    if command is None:
        return {}
    program = (INSIDE / "candidate_worker.cjs").read_text()
    start = (command.program, *command.options, "--input-type=commonjs", "-e", program)
    order = {"parts": [["values", (INSIDE / "split_values.cjs").read_text()]], "config": {}}
    argv = ("/bin/sh", "-c", _OWN_CHANNEL, "sh", *start)
    return {"node": Launch(argv, json.dumps(order).encode() + b"\n", env=command.env)}
