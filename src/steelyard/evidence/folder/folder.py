"""A run id -> the folder that a run leaves.

    <root>/20260307T120000123Z-widgets-1412-noop-3fa9c1/
      manifest.json  events.jsonl  change.json  patch.diff  final_response.txt  agent/  checks/<id>/  blobs/
      steps/<name>/change.json, patch.diff      of a contract with steps: the workspace as each left it
      step_files.json  there and above: files that came with steps and were left as they came
      seal.json      everything above is sealed by it
      gradings/0001.json ...  gradings-head.json  report.json
      annotations/0001.json ...  annotations-head.json      what people say of the run; none of it changes a grading

A file appears whole (temporary name, rename) or not at all; without `seal.json` a run is incomplete. The seal makes
all before it durable, and is written last.
"""

from __future__ import annotations

import os
import shlex
import stat
import threading
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import orjson

from steelyard.deferred.data_class import dataclass
from steelyard.deferred.pattern import deferred_pattern
from steelyard.errors import InfraFault, OperatorFault
from steelyard.evidence.folder.blobs import Blobs
from steelyard.evidence.redact import NO_SECRETS, Secrets
from steelyard.filesystem.plain_file import read_plain
from steelyard.filesystem.tree import printable

State = Literal["sealed", "incomplete"]
MANIFEST, EVENTS, CHANGE, PATCH = "manifest.json", "events.jsonl", "change.json", "patch.diff"
STEP_FILES = "step_files.json"
RUNS = Path(".steelyard/runs")  # where run folders are, unless the operator says otherwise
FINAL_RESPONSE, SEAL, REPORT = "final_response.txt", "seal.json", "report.json"
GRADINGS_HEAD = "gradings-head.json"
ANNOTATIONS, ANNOTATIONS_HEAD = "annotations", "annotations-head.json"
AGENT, CHECKS, BLOBS, GRADINGS, STEPS = "agent", "checks", "blobs", "gradings", "steps"
OUTCOME, FINDINGS = "outcome.json", "findings.json"
TEMPORARY = ".tmp-"
HOME_FOLDER = ".steelyard"  # of the default folder of runs
_SYNCERS = 6  # threads beside the one that waits
LAST = "last"  # names the newest run of a folder of runs

_RUN_ID = deferred_pattern(r"[0-9]{8}T[0-9]{9}Z(?:-[A-Za-z0-9._]{1,40}){2}-[0-9a-f]{6}")
_ODD = deferred_pattern(r"[^A-Za-z0-9._]+")
# No `..`, nothing hidden, nothing absolute
_NAME = deferred_pattern(r"[^./\x00][^/\x00]*(?:/[^./\x00][^/\x00]*)*")


@dataclass(frozen=True, slots=True)
class RunFolder:
    path: Path
    secrets: Secrets = field(default=NO_SECRETS, repr=False, compare=False)  # values that no file shows

    @classmethod
    def create(cls, root: Path, run_id: str, secrets: Secrets = NO_SECRETS) -> RunFolder:
        folder = cls(root / run_id, secrets)
        try:
            root.mkdir(parents=True, exist_ok=True)
            _keep_out_of_git(root.parent)
            folder.path.mkdir(mode=0o700)
            for name in (AGENT, CHECKS, BLOBS, GRADINGS):
                (folder.path / name).mkdir(mode=0o700)
        except OSError as error:
            raise InfraFault(
                f"the run folder {folder.path} could not be created: {error.strerror}"
            ) from error
        return folder

    @property
    def run_id(self) -> str:
        return self.path.name

    @property
    def typed(self) -> str:
        """How a command names this run from here: its id, or its path where it is not in the default folder."""
        if self.path.parent.resolve() == RUNS.resolve():
            return shlex.quote(printable(self.run_id))
        path, here = self.path.absolute(), Path.cwd()
        return shlex.quote(printable(str(path.relative_to(here) if path.is_relative_to(here) else path)))

    @property
    def state(self) -> State:
        try:
            is_plain = stat.S_ISREG(os.lstat(f"{self.path}/{SEAL}").st_mode)
        except OSError:
            is_plain = False
        return "sealed" if is_plain else "incomplete"

    @property
    def blobs(self) -> Blobs:
        return Blobs(self.path / BLOBS, self.secrets)

    @property
    def events(self) -> Path:
        return self.file(EVENTS)

    def file(self, name: str) -> Path:
        return self.path / name

    def check(self, check_id: str) -> Path:
        """The folder of one check, made if need be."""
        folder = self.path / CHECKS / _check(check_id)
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    def write_bytes(self, name: str, data: bytes, *, durable: bool = False) -> Path:
        target = self.path / _check(name)
        if "/" in name:  # the run folder itself is there
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            write_atomic(target, self.secrets.redact(data), durable=durable)
        except OSError as error:
            raise InfraFault(f"{target} could not be written: {error.strerror}") from error
        return target

    def write_json(self, name: str, data: Any, *, durable: bool = False) -> Path:
        return self.write_bytes(name, json_bytes(data), durable=durable)

    def read_bytes(self, name: str) -> bytes:
        return read_plain(f"{self.path}/{name}")

    def read_json(self, name: str) -> Any:
        return orjson.loads(self.read_bytes(name))


def json_bytes(data: Any) -> bytes:
    """As JSON files of a run folder are written."""
    return orjson.dumps(data, option=orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def write_atomic(target: Path, data: bytes, *, durable: bool) -> None:
    """`target` holds all of `data`, or is as it was; `durable`, a power cut does not change that."""
    # Paths as text: a run writes a dozen files
    temporary = f"{target.parent}/{TEMPORARY}{os.urandom(8).hex()}"
    try:
        write_new(temporary, data, durable=durable)
        os.replace(temporary, target)  # noqa: PTH105  # as above
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)  # noqa: PTH108  # as above
        raise
    if durable:
        sync(target.parent)


def _keep_out_of_git(folder: Path) -> None:
    """The default place of runs is in the user's repository, where no run should be committed.

    A link of that name, which the repository may have, is not followed.
    """
    if folder.name == HOME_FOLDER:
        with suppress(FileExistsError):
            write_new(str(folder / ".gitignore"), b"*\n", durable=False)


def write_new(path: str, data: bytes, *, durable: bool) -> None:
    """A file that was not there before. Killed meanwhile, it holds a part of `data`."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.fchmod(fd, 0o600)
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(fd, rest) :]
        if durable:
            os.fsync(fd)
    finally:
        os.close(fd)


def sync(path: Path) -> None:
    """A file or a folder is on the disk as it is now."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def sync_together(paths: Iterable[Path]) -> None:
    """Files and folders are on the disk as they are now. They are synced at once: the disk is flushed for all, not for each."""
    left, faults = list(paths), list[OSError]()

    def work() -> None:
        with suppress(IndexError):  # none is left
            while not faults:
                path = left.pop()
                try:
                    sync(path)
                except OSError as fault:
                    faults.append(fault)

    helpers = [threading.Thread(target=work, daemon=True) for _ in range(min(_SYNCERS, len(left) - 1))]
    started = []
    with suppress(RuntimeError):  # no more threads: the others do it
        for helper in helpers:
            helper.start()
            started.append(helper)
    work()
    for helper in started:
        helper.join()
    if faults:
        raise faults[0]


def new_run_id(contract_id: str, agent: str, *, now: datetime | None = None) -> str:
    """Sorts by time, says what it is, and never collides."""
    moment = (now or datetime.now(UTC)).astimezone(UTC)
    stamp = f"{moment:%Y%m%dT%H%M%S}{moment.microsecond // 1000:03d}Z"
    return "-".join((stamp, _plain(contract_id), _plain(agent), os.urandom(3).hex()))


def is_run_id(name: str) -> bool:
    """Whether `new_run_id` may have made this name."""
    return _RUN_ID.fullmatch(name) is not None


def names_contract(run_id: str, contract_id: str) -> bool:
    """Whether a run of this contract may have this id."""
    return f"-{_plain(contract_id)}-" in run_id


def find_runs(root: Path) -> list[RunFolder]:
    """Every run under `root`, oldest first; sealed or not."""
    if not root.is_dir():
        return []
    folders = (path for path in root.iterdir() if _may_be_run(path))
    return [RunFolder(path) for path in sorted(folders) if _is_run(path)]


def _may_be_run(path: Path) -> bool:
    """A hidden folder is a run that is being fetched from elsewhere."""
    return not path.name.startswith(".") and path.is_dir() and not path.is_symlink()


def _is_run(path: Path) -> bool:
    return (path / MANIFEST).exists() or (path / EVENTS).exists()


def find_named(root: Path, name: str) -> list[RunFolder]:
    """All runs of a folder of runs, oldest first, sealed or not; of anything else the one run that it names."""
    folder = Path(name)
    if not name or not folder.is_dir() or _is_run(folder):
        return [find_run(root, name)]
    found = find_runs(folder)
    if not found and "/" in name:
        raise OperatorFault(f"{name} is not a run folder and contains none")
    return found or [find_run(root, name)]


def find_run(root: Path, prefix: str) -> RunFolder:
    """The run in the folder of this name, or the one whose id begins with `prefix` or ends with it as its last part.

    `last` is the one that started last.
    """
    if not prefix:
        raise OperatorFault(
            f"the name of a run is empty; `{LAST}` is the newest one, `steelyard runs` lists them"
        )
    refuse_file(root)
    if prefix == LAST:
        return _last(root)
    if "/" in prefix and Path(prefix).is_dir():
        if not _is_run(Path(prefix)):
            raise OperatorFault(f"{prefix} is not a run folder; `steelyard runs` lists runs")
        return RunFolder(Path(prefix).resolve())
    runs = [
        run for run in find_runs(root) if run.run_id.startswith(prefix) or run.run_id.endswith(f"-{prefix}")
    ]
    if len(runs) == 1:
        return runs[0]
    exact = [run for run in runs if run.run_id == prefix]
    if exact:
        return exact[0]
    if not runs and _is_run(Path(prefix)):  # a folder right here, said without a slash
        return RunFolder(Path(prefix).resolve())
    if not runs:
        raise OperatorFault(
            f"no run in {root} matches {prefix}; `steelyard runs` lists them (--runs DIR searches another folder)"
        )
    names = ", ".join(run.run_id for run in runs[:5])
    raise OperatorFault(f"{prefix} matches {len(runs)} runs: {names}; write more of the id")


def refuse_file(root: Path) -> None:
    """A folder that is not there yet has no runs; a file never has any."""
    if root.exists() and not root.is_dir():
        raise OperatorFault(f"--runs {root} is not a folder")


def _last(root: Path) -> RunFolder:
    runs = find_runs(root)
    if not runs:
        raise OperatorFault(f"there are no runs in {root} yet (--runs DIR searches another folder)")
    return runs[-1]


def _plain(text: str) -> str:
    return _ODD.sub("_", text).strip("._")[:40] or "x"


def _check(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(f"not a name for a file in a run folder: {name!r}")
    return name
