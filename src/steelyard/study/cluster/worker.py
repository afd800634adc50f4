"""One attempt at one trial on a worker of a Ray cluster -> the names of its run folders, and what went wrong.

The engine of one machine runs it, so the run folder is the same. Without a folder that all machines share (`blobs`), the run is sent while it is
under way (`store/run_stream.py`), and copied whole when it is sealed and graded.
"""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from steelyard.contract.contract import Contract
from steelyard.contract.load import load_contract
from steelyard.errors import ContractFault, InfraFault, LastingFault, OperatorFault, SteelyardError
from steelyard.evidence.folder.folder import find_runs
from steelyard.evidence.folder.gradings import grading_files
from steelyard.evidence.run_use import RunUse
from steelyard.filesystem.cache import Cache
from steelyard.graders.catalogue import installed_catalogue
from steelyard.plan.trial import Retry, Trial
from steelyard.store.blobs import put_run
from steelyard.store.place import ATTEMPT_WAITS_S, open_place, try_patiently
from steelyard.store.run_stream import RunStream
from steelyard.study.engine import Engine
from steelyard.study.gate import Gate
from steelyard.study.judging import judging_by
from steelyard.study.observer import TrialEngine, TrialResult
from steelyard.study.protocol.dominance import DominanceWatch
from steelyard.study.retry_policy import TrialRetryPolicy, fault_of

FAULTS: Mapping[str, type[SteelyardError]] = {
    "contract": ContractFault,
    "operator": OperatorFault,
    "lasting": LastingFault,
    "infrastructure": InfraFault,
}


class Grading(NamedTuple):
    """How a worker treats its runs: with the key file and the keys of models that its own machine has."""

    signer: str | None = None  # an ed25519 private key, at this path on each machine
    is_judged: bool = False
    dominance: float | None = None  # the part of its time after which a run without a change is stopped


class CopyTo(NamedTuple):
    """Where a worker without a shared folder sends its run: `key` names its parts while it is under way."""

    url: str
    key: str


class Task(NamedTuple):
    """The arguments of a worker. `trial` has no contract: the worker loads it."""

    trial: Mapping[str, Any]
    folder: str
    digest: str
    out: str
    copy_to: CopyTo | None
    sandbox: str | None
    retries: tuple[Retry, ...]
    grading: Grading


class Answer(NamedTuple):
    runs: tuple[str, ...] = ()
    use: RunUse | None = None
    fault: tuple[str, str] | None = None  # that left no record: whose, and what
    spoiled: tuple[str, str] | None = None  # the same of a run that is on record
    is_tried: bool = True  # there was a run, which may have cost its bound


def work(task: Task, bundle: bytes) -> tuple[Any, ...]:
    """On a worker: one attempt at one trial. Returns the fields of an `Answer`."""
    task = Task(*task)
    with Cache.default().temporary() as place:  # swept by the next start if this worker is killed
        try:
            contract = _load(task, bundle, place)
        except ContractFault as fault:
            return tuple(Answer(fault=("contract", str(fault)), is_tried=False))
        trial = Trial(contract, **task.trial)
        gate = TriedGate()
        if task.copy_to is None:
            (result,) = _worker_engine(task, Path(task.out), gate).run([trial])
        else:
            result = _run_and_copy(task, CopyTo(*task.copy_to), trial, place / "runs", gate)
        answer = _answer(result, tuple(one.name for one in result.folders))
        return tuple(answer._replace(is_tried=gate.is_tried))


class TriedGate(Gate):
    """Lets the attempt of a worker pass, which the controller's gate has let in, and keeps whether there was a run."""

    def __init__(self) -> None:
        self.is_tried = False

    def leave(self, trial: Trial, use: RunUse | None) -> None:
        del trial, use
        self.is_tried = True


def _run_and_copy(task: Task, to: CopyTo, trial: Trial, out: Path, gate: Gate) -> TrialResult:
    """A run that was sealed and graded is copied whatever follows, also when the study is being stopped."""
    stream = RunStream(open_place(to.url), to.key, out)
    try:
        with stream:
            (result,) = _worker_engine(task, out, gate).run([trial])
    finally:
        for folder in find_runs(out):
            if folder.state == "sealed" and grading_files(folder):
                deliver(stream, to.url, folder.path)
    return result


def deliver(stream: RunStream, url: str, folder: Path, waits_s: Sequence[float] = ATTEMPT_WAITS_S) -> None:
    """Copy a sealed run; its name is at the store before its last file is. Raises InfraFault after the last attempt."""

    def copy() -> None:
        stream.announce(folder.name)
        put_run(url, folder)

    try_patiently(copy, waits_s)


def _worker_engine(task: Task, out: Path, gate: Gate) -> TrialEngine:
    """The engine of one machine, for one attempt. The controller has announced what judges are sent."""
    grading = Grading(*task.grading)
    engine = Engine(
        out,
        1,
        task.sandbox,
        None if grading.signer is None else Path(grading.signer),
        judging_by(os.environ, lambda _: None, is_off=not grading.is_judged),
        retry=TrialRetryPolicy(runs=1),
        gate=gate,
        earlier=task.retries,
    )
    return engine if grading.dominance is None else DominanceWatch(engine, grading.dominance)


def _answer(result: TrialResult, runs: tuple[str, ...]) -> Answer:
    if result.fault is not None:
        return Answer(runs, fault=_describe_fault(result.fault))
    evidence = result.record.evidence
    spoiled = fault_of(evidence)
    return Answer(runs, result.record.use, spoiled=None if spoiled is None else _describe_fault(spoiled))


def _describe_fault(fault: SteelyardError) -> tuple[str, str]:
    kind = next((name for name, one in FAULTS.items() if isinstance(fault, one)), "infrastructure")
    return kind, str(fault)


def _load(task: Task, bundle: bytes, folder: Path) -> Contract:
    """The contract at its own path if that has the digest, else from the copy."""
    catalogue = installed_catalogue()
    if Path(task.folder).is_dir():
        with suppress(SteelyardError):
            contract = load_contract(Path(task.folder), catalogue)
            if contract.digest == task.digest:
                return contract
    place = folder / "contract"
    with tarfile.open(fileobj=io.BytesIO(bundle)) as archive:
        archive.extractall(place, filter="data")
    contract = load_contract(place, catalogue)
    if contract.digest != task.digest:
        raise ContractFault(
            f"{contract.id} has digest {contract.digest[:12]} on this worker, planned was {task.digest[:12]}"
        )
    return contract
