"""A verifier script on a fresh bench -> what it left in its logs.

    /tests            the script and its neighbours from the contract, read-only
    /opt/steelyard    steelyard/rubric.py, read-only
    /logs             empty when it starts, so whatever is there was written while it ran
    /workspace        snapshot, setup and the change, where it runs

Before it ends init kills every other process: nothing writes a reward after it. Before it, or a program of its own, opens a reward for
writing, init kills what the tested code left behind or still runs, and init says whose process wrote last
(`sandboxes/init/guard_files.py`). A script that was killed has no reward, and neither has one whose reward could not be written over:
the code that it tests may have been there first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from steelyard.bench.execution_spec import VerifierSpec
from steelyard.bench.kept_output import STREAM_BYTES
from steelyard.bench.transfer.hidden_files import files_as_overlays
from steelyard.bench.verifier.reward_files import (
    LOCKED,
    MAX_ARTIFACT_BYTES,
    UNREAD,
    Artifacts,
    RewardFiles,
    read_artifacts,
)
from steelyard.contract.contract import Contract
from steelyard.contract.parse.host_variables import with_host_values
from steelyard.sandboxes.base import Command, CommandResult, FileOverlay, GuardedFile, Mount, Sandbox

TESTS, LOGS, TOOLS = "/tests", "/logs", "/opt/steelyard"
RUBRIC = Path(__file__).parents[2] / "rubric.py"
READ_S = 20.0
OWN_PATH = "/usr/bin:/bin"
REWARD_TXT = "reward.txt"
# What the script could not write over, it did not write: a link, a folder or a device instead of a file, or a file without the
# right to write it. An image may lack `head`; then the reader's own bound is the only one.
_READ = (
    'kill -KILL -1 2>/dev/null; [ -e "$1" ] || [ -L "$1" ] || exit 3; [ -f "$1" ] && [ ! -L "$1" ] || exit 4; '
    '[ -w "$1" ] && [ -w "${1%/*}" ] || exit 4; '
    'command -v head >/dev/null 2>&1 && exec head -c "$2" -- "$1"; exec cat -- "$1"'
)
_ABSENT, _LOCKED = 3, 4
_MENTIONS = re.compile(rb"reward|rubric", re.IGNORECASE)
MAX_PROGRAMS, MAX_PATH_BYTES = 60, 255  # that init takes


class VerifierRan(NamedTuple):
    finished: CommandResult
    verified: RewardFiles
    found: tuple[str, ...] = ()  # names of the reward files
    writer: str = ""  # the command line of another process that wrote one, as that process shows it


def verifier_mounts(
    contract: Contract, spec: VerifierSpec, published: tuple[FileOverlay, ...] = ()
) -> tuple[Mount, ...]:
    overlays = files_as_overlays(contract.files_beside(spec.script))
    below = {str(PurePosixPath(path).parent) for path in (spec.reward_path, spec.details_path)}
    logs = tuple(FileOverlay(path.removeprefix(f"{LOGS}/"), "dir") for path in sorted(below) if path != LOGS)
    rubric = FileOverlay("steelyard/rubric.py", "file", source=RUBRIC)
    brings = spec.separate is not None and spec.separate.brings_tests
    tests = () if brings else (Mount(TESTS, overlays, read_only=True),)
    return *tests, Mount(TOOLS, (rubric,), read_only=True), Mount(LOGS, (*published, *logs))


def verifier_argv(contract: Contract, spec: VerifierSpec) -> tuple[str, ...]:
    """Itself when it is a program; otherwise by its ending, as its author would start it."""
    path = f"{TESTS}/{PurePosixPath(spec.script).name}"
    file = contract.files[spec.script]
    if file.mode == "755" and _is_program(file.path):
        return (path,)
    return ("python3", path) if path.endswith(".py") else ("bash", path)


def own_programs(contract: Contract, spec: VerifierSpec) -> tuple[str, ...]:
    """Programs of the verifier that may write the reward: its files that mention one, and the rubric. A folder ends with /."""
    rubric = f"{TOOLS}/steelyard/rubric.py"
    if spec.separate is not None and spec.separate.brings_tests:
        return rubric, f"{TESTS}/"
    files = {
        name: file.path for name, file in contract.files_beside(spec.script).items() if file.mode != "link"
    }
    programs = [f"{TESTS}/{name}" for name, path in files.items() if _MENTIONS.search(_beginning(path))]
    longest = max((len(one.encode(errors="surrogateescape")) for one in programs), default=0)
    fit = len(programs) <= MAX_PROGRAMS and longest <= MAX_PATH_BYTES
    return rubric, *(programs if fit else [f"{TESTS}/"])


def _beginning(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(MAX_ARTIFACT_BYTES)


def _is_program(path: Path) -> bool:
    """Whether a kernel starts it: a script may be executable and not say by what."""
    with path.open("rb") as file:
        return file.read(4).startswith((b"#!", b"\x7fELF"))


def run_verifier(
    sandbox: Sandbox, contract: Contract, spec: VerifierSpec, env: Mapping[str, str], *, is_live: bool = False
) -> VerifierRan:
    """`is_live`: in the agent's own sandbox, whose services the verifier may ask after it has written a reward."""
    folder = PurePosixPath(spec.reward_path).parent
    declared = contract.spec.environment.env.get("PYTHONPATH")
    declared = spec.env.get("PYTHONPATH", declared)
    names = contract.spec.environment.host_variables
    own = {**with_host_values(spec.env, names), "PYTHONPATH": f"{declared}:{TOOLS}" if declared else TOOLS}
    command = Command(
        verifier_argv(contract, spec),
        env={**env, **own},
        timeout_s=spec.timeout_s,
        whole_bytes=STREAM_BYTES,
        ends_all=True,
        guarded=() if is_live else (spec.reward_path, str(folder / REWARD_TXT)),
        writers=own_programs(contract, spec),
    )
    finished = sandbox.run(command)
    if finished.timed_out or finished.lost or finished.not_started:
        return VerifierRan(finished, RewardFiles(completed=False, reward=None))
    if finished.signal is not None:
        why = f"the verifier was killed by signal {finished.signal}"
        return VerifierRan(finished, RewardFiles(completed=False, reward=None, errors=(why,)))
    artifacts = Artifacts(
        reward_json=_read(sandbox, spec.reward_path),
        reward_txt=_read(sandbox, str(folder / REWARD_TXT)),
        details=_read(sandbox, spec.details_path),
        errors=_read(sandbox, str(folder / "errors.json")),
    )
    found = {PurePosixPath(spec.reward_path).name: artifacts.reward_json, REWARD_TXT: artifacts.reward_txt}
    present = tuple(name for name, content in found.items() if content is not None)
    writers = [one for one in finished.guarded if PurePosixPath(one.path).name in present]
    other = next((one for one in writers if one.writer != "command"), None)
    written_by = "" if not writers else "verifier" if other is None else _written_by(other)
    verified = replace(read_artifacts(artifacts), written_by=written_by)
    return VerifierRan(finished, verified, present, "" if other is None else other.argv)


def _written_by(file: GuardedFile) -> str:
    return f"others {file.chain:016x}" if file.writer == "others" else file.writer


def _read(sandbox: Sandbox, path: str) -> bytes | None:
    """A file as it is now, cut where it is larger than allowed; None when there is none."""
    limit = MAX_ARTIFACT_BYTES + 1
    argv = ("/bin/sh", "-c", _READ, "read", path, str(limit))
    env = {"PATH": OWN_PATH}  # the contract's may lead into the workspace, to a `head` of the candidate's
    done = sandbox.run(Command(argv, cwd="/", env=env, timeout_s=READ_S, keep_bytes=2 * limit))
    if done.exit_code == _ABSENT:
        return None
    if done.exit_code == _LOCKED:
        return LOCKED
    return done.stdout.head + done.stdout.tail if done.exit_code == 0 else UNREAD
