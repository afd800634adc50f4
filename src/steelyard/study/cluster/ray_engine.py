"""Trials -> results, on the machines of a Ray cluster: Ray schedules, the run folders decide what has happened.

    controller:  gate -> submit -> wait -> gate          one small thread for each trial that is under way
    worker:      Engine, one trial, one attempt          the same code, the same run folder as on one machine

A task returns the names of run folders and nothing else; its evidence is on disk (or at `blobs`) before it returns. When a worker or
a node is lost, the controller looks whether the run was sealed and graded before: then it counts, else the trial is attempted
again as a new run. Ray itself repeats no task, so nothing is run twice behind the controller's back.

Workers find contracts at the same path, or get a copy; a contract whose digest differs there is refused. `out` is a folder that
all machines share, unless `blobs` is a URL: then workers send their runs there while they are under way, and the controller takes
them from there (`worker_runs.py`).
"""

from __future__ import annotations

import io
import itertools
import logging
import tarfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import Any

from steelyard.contract.contract import Contract
from steelyard.deferred.data_class import dataclass
from steelyard.errors import InfraFault, MissingCapability, OperatorFault, SteelyardError
from steelyard.evidence.folder.folder import RunFolder
from steelyard.plan.trial import Retry, Trial
from steelyard.store.place import Unreachable
from steelyard.study.cluster.worker import FAULTS, Answer, CopyTo, Grading, Task, work
from steelyard.study.cluster.worker_runs import WorkerRuns, recorded_use, worker_runs
from steelyard.study.gate import Gate, Withheld
from steelyard.study.observer import Observer, SerialObserver, TrialResult
from steelyard.study.retry_policy import TrialRetryPolicy

POLL_S = 0.5
STOP_S = 60.0
MOST_SHIPPED = 512 << 20  # bytes of a contract's folder


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
    retry: TrialRetryPolicy = field(default_factory=TrialRetryPolicy)
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
        finally:
            cluster.runs.close()
        pool.shutdown()


class _Cluster:
    """One call of `RayEngine.run`."""

    def __init__(self, engine: RayEngine) -> None:
        self._ray = _import_ray()
        self._engine = engine
        self._observer = SerialObserver(engine.observer)
        self._ray.init(
            address=engine.address,
            namespace="steelyard",
            log_to_driver=False,
            logging_level=logging.WARNING,
            ignore_reinit_error=True,
        )
        self._work = self._ray.remote(max_retries=0)(work)
        self.runs = worker_runs(engine.blobs, engine.out)
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
        answer = Answer(is_tried=False)
        try:
            task = self._submit(trial, retries)
            answer = Answer()  # from here on a run may cost its bound, whatever becomes of its worker
            answer = self._await_answer(trial, len(retries) + 1, *task)
            return answer
        finally:
            if answer.is_tried:
                gate.leave(trial, answer.use)
            else:
                gate.cancel(trial)

    def _submit(self, trial: Trial, retries: tuple[Retry, ...]) -> tuple[CopyTo | None, Any]:
        """Where the run is copied, and Ray's reference to the answer. Raises what keeps the task from being submitted."""
        spec = trial.contract.spec.environment
        needs = {"num_cpus": spec.cpu, "memory": spec.memory_mb.guaranteed << 20}
        self._refuse_infeasible(needs)
        bundle = self._bundle(trial.contract)
        to = self.runs.expect(trial, len(retries) + 1)
        ref = self._work.options(**needs).remote(self._task(trial, retries, to), bundle)
        with self._lock:
            self._refs[trial.id] = ref
        if self._stopped.is_set():  # `stop` may have come before it was known
            with suppress(Exception):
                self._ray.cancel(ref, force=False)
        return to, ref

    def _await_answer(self, trial: Trial, attempt: int, to: CopyTo | None, ref: Any) -> Answer:
        try:
            answer = Answer(*self._ray.get(ref))
        except self._ray.exceptions.RayTaskError as failed:  # its own text begins with the worker's process
            why = f"a worker of the cluster failed: {str(failed.cause).strip() or repr(failed.cause)}"
            return self._after_loss(trial, attempt, to, why)
        except self._ray.exceptions.RayError as error:
            lines = str(error).strip().splitlines()
            why = f"a worker of the cluster was lost: {lines[0] if lines else repr(error)}"
            return self._after_loss(trial, attempt, to, why)
        finally:
            with self._lock:
                self._refs.pop(trial.id, None)
        return receive_answer(self.runs, to, answer)

    def _refuse_infeasible(self, needs: Mapping[str, float]) -> None:
        """Ray would wait for ever for a node that is large enough."""
        nodes = [one["Resources"] for one in self._ray.nodes() if one["Alive"]]
        for need, resource in (("num_cpus", "CPU"), ("memory", "memory")):
            most = max((one.get(resource, 0.0) for one in nodes), default=0.0)
            if most < needs[need]:
                raise MissingCapability(
                    f"no node of the cluster has {resource} {needs[need]:g}, which the contract asks for (the largest has {most:g})"
                )

    def _after_loss(self, trial: Trial, attempt: int, to: CopyTo | None, why: str) -> Answer:
        """The run that the lost worker sealed, if it got that far."""
        if run := self.runs.find_sealed(to, trial, attempt):
            return Answer((run,), recorded_use(RunFolder(self._engine.out / run)))
        return Answer(fault=("infrastructure", why))

    def _task(self, trial: Trial, retries: tuple[Retry, ...], to: CopyTo | None) -> Task:
        trial_fields = {
            "agent": trial.agent,
            "repeat": trial.repeat,
            "options": trial.options,
            "place": trial.place,
            "acceptance_s": trial.acceptance_s,
        }
        engine = self._engine
        return Task(
            trial_fields, str(trial.contract.folder.absolute()), trial.contract.digest, str(engine.out.absolute()),
            to, engine.sandbox, retries, engine.grading,
        )  # fmt: skip

    def _bundle(self, contract: Contract) -> Any:
        """The contract's folder in Ray's object store, put there once."""
        with self._lock:
            if contract.digest not in self._bundles:
                self._bundles[contract.digest] = self._ray.put(pack(contract.folder))
            return self._bundles[contract.digest]


def receive_answer(runs: WorkerRuns, to: CopyTo | None, answer: Answer) -> Answer:
    """The answer, with its runs here. A copy that is damaged is a run that the machine lost; a store that is away decides nothing."""
    try:
        runs.receive(to, answer)
    except Unreachable:
        raise
    except InfraFault as damaged:
        return Answer(fault=("infrastructure", str(damaged)))
    return answer


def _fault(named: tuple[str, str] | None) -> SteelyardError | None:
    return None if named is None else FAULTS[named[0]](named[1])


def pack(folder: Path) -> bytes:
    """A folder as a tar archive."""
    size = sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())
    if size > MOST_SHIPPED:
        raise OperatorFault(f"{folder} has {size >> 20} MB; put it on a folder that all workers share")
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        archive.add(folder, ".")
    return stream.getvalue()


def _import_ray() -> Any:
    try:
        import ray  # noqa: PLC0415  # an extra, and heavy
        import ray.exceptions  # noqa: PLC0415  # as above
    except ImportError:
        raise OperatorFault("--engine ray: install steelyard[ray]") from None
    return ray
