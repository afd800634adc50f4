"""Contracts and patches -> result lines, several at a time, each pair graded once.

    async with Grader(".steelyard/runs", jobs=4) as grader:
        lines = await grader.grade_many([(contract, patch), ...])

The bench, the checks and the evidence are those of `steelyard grade`: each grading is a sealed run in the folder of runs. A pair
that has been graded before by the same version of Steelyard, in this process or an earlier one, is answered from its record;
pairs that are asked for twice at the same time are graded once. A grading that the machine spoiled is not remembered.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from steelyard import __version__
from steelyard.contract.contract import Contract
from steelyard.errors import DAMAGED, OperatorFault
from steelyard.evidence.folder.folder import MANIFEST, RUNS, RunFolder
from steelyard.evidence.live_state import started_at
from steelyard.filesystem.cache import Cache
from steelyard.plan.trial import Trial
from steelyard.report.fault_line import fault_line
from steelyard.report.result import result_line
from steelyard.report.stored.open_store import is_altered, open_store
from steelyard.store import database, query
from steelyard.store.entry import entry_of_line
from steelyard.study.engine import Engine, prepare_and_keep

if TYPE_CHECKING:
    from steelyard.environment.prepare import Environment
    from steelyard.study.judging import Judging

_DIGITS = 32  # of the patch's digest, in the name of the agent


class Key(NamedTuple):
    """What makes two gradings the same."""

    contract: str  # digest
    patch: str  # sha256
    version: str  # of Steelyard: the contract's digest covers its graders
    sandbox: str


class Grader:
    """`out` is the folder of runs; `store` is the URL of its index, where that is PostgreSQL."""

    def __init__(  # options, by name
        self,
        out: str | Path = RUNS,
        *,
        jobs: int = 1,
        sandbox: str | None = None,
        store: str | None = None,
        judging: Judging | None = None,
    ) -> None:
        if jobs < 1:
            raise OperatorFault("jobs is at least 1")
        self._out = Path(out).absolute()
        self._out.mkdir(parents=True, exist_ok=True)
        self._jobs, self._sandbox, self._judging = jobs, sandbox, judging
        self._store = open_store(self._out, store)
        self._store.sync()
        self._names = {str(row["agent"]) for row in self._store.tally(("agent",))}  # that may have a record
        self._pool = ThreadPoolExecutor(jobs, "steelyard-grader")
        self._environments: dict[str, Environment] = {}
        self._locks: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()
        self._running: dict[Key, asyncio.Future[dict[str, Any]]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._store.close()

    @property
    def jobs(self) -> int:
        return self._jobs

    def key(self, contract: Contract, patch: bytes) -> Key:
        sandbox = self._sandbox or contract.spec.environment.sandbox
        return Key(contract.digest, hashlib.sha256(patch).hexdigest(), __version__, sandbox)

    async def grade(self, contract: Contract, patch: bytes | str) -> dict[str, Any]:
        """One result line."""
        data = patch.encode() if isinstance(patch, str) else patch
        key = self.key(contract, data)
        running = self._running.get(key)
        if running is None:
            loop = asyncio.get_running_loop()
            running = loop.run_in_executor(self._pool, self._grade, contract, data, key)
            self._running[key] = running
            running.add_done_callback(lambda _: self._running.pop(key, None))
        # A caller that gives up does not end the grading that others wait for
        return await asyncio.shield(running)

    async def grade_many(self, pairs: Iterable[tuple[Contract, bytes | str]]) -> list[dict[str, Any]]:
        """The result lines, in the order of the pairs; `jobs` are graded at a time."""
        return list(await asyncio.gather(*(self.grade(contract, patch) for contract, patch in pairs)))

    def known(self, key: Key) -> dict[str, Any] | None:
        """The result line of an earlier grading whose record holds."""
        if _name(key.patch) not in self._names:
            return None
        for entry in self._store.query(query.Query(agent=_name(key.patch)), lines=True):
            if entry.digest == key.contract and entry.line is not None and entry.status != "invalid":
                folder = RunFolder(self._out / entry.run)
                if _key_of(folder) == key and not is_altered(folder):
                    return dict(entry.line)
        return None

    def _grade(self, contract: Contract, patch: bytes, key: Key) -> dict[str, Any]:
        """On a thread of the pool."""
        known = self.known(key)
        if known is not None:
            return known
        with Cache.default().temporary() as folder:
            file = folder / "change.patch"
            file.write_bytes(patch)
            trial = Trial(contract, f"{_name(key.patch)}=patch:{file}")
            engine = Engine(self._out, 1, self._sandbox, judging=self._judging, prepare=self._prepare)
            (result,) = engine.run([trial])
        if result.fault is not None:
            return fault_line(trial, _name(key.patch), result.fault, result.retries)
        record = result.record
        line = result_line(record.evidence, record.grading)
        run = record.evidence.folder
        with suppress(*database.UNREACHABLE):  # the folder is the truth; the index reads it when it is back
            self._store.put(entry_of_line(run.run_id, line, started_at(run)))
        self._names.add(_name(key.patch))
        return line

    def _prepare(self, contract: Contract, sandbox: str | None) -> Environment:
        """Each environment once; others that need it wait."""
        with self._lock:
            lock = self._locks.setdefault(contract.digest, threading.Lock())
        with lock:
            if contract.digest not in self._environments:
                self._environments[contract.digest] = prepare_and_keep(contract, sandbox)
            return self._environments[contract.digest]


def _name(patch: str) -> str:
    return f"patch-{patch[:_DIGITS]}"


def _key_of(folder: RunFolder) -> Key | None:
    try:
        manifest = folder.read_json(MANIFEST)
        patch = manifest["agent"]["parameters"]["patch"]["sha256"]
        version = manifest["harness"]["version"]
        return Key(manifest["contract"]["digest"], patch, version, manifest["environment"]["sandbox"])
    except DAMAGED:
        return None
