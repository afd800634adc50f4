"""Trials -> results, on the machines of a Ray cluster: Ray schedules, the run folders decide what has happened.

    controller:  gate -> submit -> wait -> gate          one small thread for each trial that is under way
    worker:      Engine, one trial, one attempt          the same code, the same run folder as on one machine

A task returns the names of run folders and nothing else; its evidence is on disk (or at `blobs`) before it returns. When a worker or
a node is lost, the controller looks whether the run was sealed and graded before: then it counts, else the trial is attempted
again as a new run. Ray itself repeats no task, so nothing is run twice behind the controller's back.

Workers find contracts at the same path, or get a copy; a contract whose digest differs there is refused. `out` is a folder that
all machines share, unless `blobs` is a URL: then workers copy sealed runs there, and the controller fetches them.
"""

from __future__ import annotations

import io
import itertools
import os
import tarfile
import threading
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import Any, NamedTuple

from steelyard.contract.contract import Contract
from steelyard.contract.load import load_contract
from steelyard.deferred.data_class import dataclass
from steelyard.errors import (
    ContractFault,
    InfraFault,
    LastingFault,
    MissingCapability,
    OperatorFault,
    SteelyardError,
)
from steelyard.evidence.folder.folder import MANIFEST, RunFolder, names_contract
from steelyard.evidence.folder.gradings import grading_files
from steelyard.filesystem.cache import Cache
from steelyard.graders.catalogue import installed_catalogue
from steelyard.plan.trial import Retry, Trial
from steelyard.store.blobs import fetch_run, list_runs, put_run
from steelyard.study.engine import Engine
from steelyard.study.gate import Gate, Withheld
from steelyard.study.judging import judging_by
from steelyard.study.observer import Observer, SerialObserver, TrialEngine, TrialResult
from steelyard.study.protocol.dominance import DominanceWatch
from steelyard.study.retry_policy import RetryPolicy, fault_of

POLL_S = 0.5
STOP_S = 60.0
MOST_SHIPPED = 512 << 20  # bytes of a contract's folder
_DAMAGED = (OSError, ValueError, LookupError, TypeError, AttributeError)
_FAULTS: Mapping[str, type[SteelyardError]] = {
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


class Task(NamedTuple):
    """The arguments of a worker. `trial` has no contract: the worker loads it."""

    trial: Mapping[str, Any]
    folder: str
    digest: str
    out: str
    blobs: str | None
    sandbox: str | None
    retries: tuple[Retry, ...]
    grading: Grading


class Answer(NamedTuple):
    runs: tuple[str, ...] = ()
    cost_usd: float | None = None
    fault: tuple[str, str] | None = None  # that left no record: whose, and what
    spoiled: tuple[str, str] | None = None  # the same of a run that is on record


@dataclass(frozen=True)
class RayEngine:
    out: Path
    address: str = "auto"
    jobs: int = 64  # trials under way at most; Ray starts as many as there are resources
    sandbox: str | None = None
    blobs: str | None = None
    grading: Grading = field(default_factory=Grading)
    gate: Gate = field(default_factory=Gate)
    observer: Observer = field(default_factory=Observer)
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    interrupted: Callable[[], str] = field(default=lambda: "")

    def run(self, trials: Iterable[Trial]) -> Iterator[TrialResult]:
        """Each trial with all its runs, in the order in which they end."""
        cluster = _Cluster(self)
        plan, pool = iter(trials), ThreadPoolExecutor(self.jobs)
        running: set[Future[TrialResult]] = set()
        try:
            ahead = next(plan, None)
            while ahead is not None or running:
                while ahead is not None and len(running) < self.jobs:
                    running.add(pool.submit(cluster.run, ahead))
                    ahead = next(plan, None)
                done, running = wait(running, POLL_S, FIRST_COMPLETED)
                if signal := self.interrupted():
                    running |= done
                    raise KeyboardInterrupt(signal)  # noqa: TRY301  # as the exception that was lost
                while done:
                    yield done.pop().result()
        except BaseException:
            cluster.stop()
            pool.shutdown(wait=False, cancel_futures=True)
            wait([one for one in running if not one.cancelled()], STOP_S)
            raise
        pool.shutdown()


class _Cluster:
    """One call of `RayEngine.run`."""

    def __init__(self, engine: RayEngine) -> None:
        self._ray = _import_ray()
        self._engine = engine
        self._observer = SerialObserver(engine.observer)
        self._ray.init(
            address=engine.address, namespace="steelyard", log_to_driver=False, ignore_reinit_error=True
        )
        self._work = self._ray.remote(max_retries=0)(work)
        self._before = frozenset(_names(engine.out))
        self._bundles: dict[str, Any] = {}
        self._lock = threading.Lock()
        self._refs: dict[str, Any] = {}
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Workers stop and seal their runs, as a study on one machine does."""
        self._stopped.set()
        with self._lock:
            refs = list(self._refs.values())
        for ref in refs:
            with suppress(Exception):
                self._ray.cancel(ref, force=False)

    def run(self, trial: Trial) -> TrialResult:
        self._observer.started(trial)
        retries: list[Retry] = []
        folders: list[Path] = []
        fault: SteelyardError | None = None
        try:
            for number in itertools.count(1):
                answer = self._attempt(trial, tuple(retries))
                folders += [self._engine.out.absolute() / run for run in answer.runs]
                fault = _fault(answer.fault)
                known = fault or _fault(answer.spoiled)
                retry = (
                    self._engine.retry.next_run(number, str(known), known)
                    if isinstance(known, InfraFault)
                    else None
                )
                if retry is None or self._stopped.is_set():
                    break
                retries.append(retry)
                self._observer.retried(trial, retry)
                self._engine.retry.sleep(retry.wait_s)
        except SteelyardError as raised:
            fault = raised
        except Exception as defect:  # noqa: BLE001  # a defect of Steelyard fails this trial, with a message, and no other trial
            fault = InfraFault(f"internal error in Steelyard: {defect!r}")
        result = TrialResult(trial, (), fault, tuple(retries), tuple(folders))
        self._observer.finished(result)
        return result

    def _attempt(self, trial: Trial, retries: tuple[Retry, ...]) -> Answer:
        gate = self._engine.gate
        if why := gate.enter(trial, self._stopped.is_set):
            raise Withheld(why)
        answer = Answer()
        try:
            answer = self._ask(trial, retries)
            if self._engine.blobs is not None:
                for run in answer.runs:
                    fetch_run(self._engine.blobs, run, self._engine.out)
            return answer
        finally:
            gate.leave(trial, answer.cost_usd)

    def _ask(self, trial: Trial, retries: tuple[Retry, ...]) -> Answer:
        spec = trial.contract.spec.environment
        needs = {"num_cpus": spec.cpu, "memory": spec.memory_mb.guaranteed << 20}
        self._refuse_infeasible(needs)
        ref = self._work.options(**needs).remote(self._task(trial, retries), self._bundle(trial.contract))
        with self._lock:
            self._refs[trial.id] = ref
        try:
            return Answer(*self._ray.get(ref))
        except self._ray.exceptions.RayError as error:
            return self._after_loss(trial, len(retries) + 1, error)
        finally:
            with self._lock:
                self._refs.pop(trial.id, None)

    def _refuse_infeasible(self, needs: Mapping[str, float]) -> None:
        """Ray would wait for ever for a node that is large enough."""
        nodes = [one["Resources"] for one in self._ray.nodes() if one["Alive"]]
        for need, resource in (("num_cpus", "CPU"), ("memory", "memory")):
            most = max((one.get(resource, 0.0) for one in nodes), default=0.0)
            if most < needs[need]:
                raise MissingCapability(
                    f"no node of the cluster has {resource} {needs[need]:g}, which the contract asks for; the largest has {most:g}"
                )

    def _after_loss(self, trial: Trial, attempt: int, error: Exception) -> Answer:
        """The run that the lost worker sealed, if it got that far."""
        if self._engine.blobs is not None:
            for run in list_runs(self._engine.blobs):
                if run not in self._before and names_contract(run, trial.contract.id):
                    fetch_run(self._engine.blobs, run, self._engine.out)
        if run_id := sealed_run(self._engine.out, trial, attempt, self._before):
            return Answer((run_id,))
        text = str(error).strip().splitlines()
        return Answer(
            fault=("infrastructure", f"a worker of the cluster was lost: {text[0] if text else error!r}")
        )

    def _task(self, trial: Trial, retries: tuple[Retry, ...]) -> Task:
        trial_fields = {
            "agent": trial.agent,
            "repeat": trial.repeat,
            "options": trial.options,
            "place": trial.place,
        }
        engine = self._engine
        return Task(
            trial_fields, str(trial.contract.folder.absolute()), trial.contract.digest, str(engine.out.absolute()),
            engine.blobs, engine.sandbox, retries, engine.grading,
        )  # fmt: skip

    def _bundle(self, contract: Contract) -> Any:
        """The contract's folder in Ray's object store, put there once."""
        with self._lock:
            if contract.digest not in self._bundles:
                self._bundles[contract.digest] = self._ray.put(pack(contract.folder))
            return self._bundles[contract.digest]


def work(task: Task, bundle: bytes) -> tuple[Any, ...]:
    """On a worker: one attempt at one trial. Returns the fields of an `Answer`."""
    task = Task(*task)
    with Cache.default().temporary() as place:  # swept by the next start if this worker is killed
        try:
            contract = _load(task, bundle, place)
        except ContractFault as fault:
            return tuple(Answer(fault=("contract", str(fault))))
        out = place / "runs" if task.blobs is not None else Path(task.out)
        trial = Trial(contract, **task.trial)
        (result,) = _worker_engine(task, out).run([trial])
        folders = result.folders
        if task.blobs is not None:
            for folder in folders:
                put_run(task.blobs, folder)
        return tuple(_answer(result, tuple(one.name for one in folders)))


def _worker_engine(task: Task, out: Path) -> TrialEngine:
    """The engine of one machine, for one attempt. The controller has announced what judges are sent."""
    grading = Grading(*task.grading)
    engine = Engine(
        out,
        1,
        task.sandbox,
        None if grading.signer is None else Path(grading.signer),
        judging_by(os.environ, lambda _: None, is_off=not grading.is_judged),
        retry=RetryPolicy(runs=1),
        earlier=task.retries,
    )
    return engine if grading.dominance is None else DominanceWatch(engine, grading.dominance)


def _answer(result: TrialResult, runs: tuple[str, ...]) -> Answer:
    if result.fault is not None:
        return Answer(runs, fault=_describe_fault(result.fault))
    evidence = result.record.evidence
    spoiled = fault_of(evidence)
    return Answer(runs, evidence.cost_usd, spoiled=None if spoiled is None else _describe_fault(spoiled))


def _describe_fault(fault: SteelyardError) -> tuple[str, str]:
    kind = next((name for name, one in _FAULTS.items() if isinstance(fault, one)), "infrastructure")
    return kind, str(fault)


def _fault(named: tuple[str, str] | None) -> SteelyardError | None:
    return None if named is None else _FAULTS[named[0]](named[1])


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


def pack(folder: Path) -> bytes:
    """A folder as a tar archive."""
    size = sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())
    if size > MOST_SHIPPED:
        raise OperatorFault(f"{folder} has {size >> 20} MB; put it on a folder that all workers share")
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        archive.add(folder, ".")
    return stream.getvalue()


def sealed_run(out: Path, trial: Trial, attempt: int, before: Container[str]) -> str | None:
    """The run of an attempt that was sealed and graded; `before` has earlier runs, which may have the same number of attempt.

    No time decides: the clock of a worker may be wrong.
    """
    for name in sorted(_names(out)):
        if name not in before and names_contract(name, trial.contract.id):
            folder = RunFolder(out / name)
            if _is_of(folder, trial, attempt) and folder.state == "sealed" and grading_files(folder):
                return name
    return None


def _names(out: Path) -> list[str]:
    return [path.name for path in out.iterdir()] if out.is_dir() else []


def _is_of(folder: RunFolder, trial: Trial, attempt: int) -> bool:
    try:
        recorded = folder.read_json(MANIFEST)["trial"]
        return bool(recorded["id"] == trial.id and recorded["attempt"] == attempt)
    except _DAMAGED:
        return False


def _import_ray() -> Any:
    try:
        import ray  # noqa: PLC0415  # an extra, and heavy
        import ray.exceptions  # noqa: PLC0415  # as above
    except ImportError:
        raise OperatorFault("--engine ray: install steelyard[ray]") from None
    return ray
