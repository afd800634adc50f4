"""What an attempt on a cluster is charged: Ray itself is a fake here, which answers as it is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fake_study import FakeStudy

from steelyard.contract.contract import Contract
from steelyard.errors import InfraFault, OperatorFault
from steelyard.evidence.run_use import RunUse
from steelyard.plan.study_plan import Envelopes
from steelyard.plan.trial import Trial
from steelyard.study.cluster import ray_engine
from steelyard.study.cluster.ray_engine import RayEngine
from steelyard.study.cluster.worker import Answer, TriedGate
from steelyard.study.protocol.charges import Charges, CostSplit, micro
from steelyard.study.protocol.envelopes import EnvelopeGate
from steelyard.study.retry_policy import TrialRetryPolicy


class RayError(Exception):
    """As those of Ray."""


class RayTaskError(RayError):
    """What a worker raised; the first line of its text names only the process."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(f"ray::work() (pid=7, ip=192.0.2.7)\n{cause!r}")
        self.cause = cause


class FakeRay:
    """One node with some CPUs; each task has the answer that is given."""

    exceptions = SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)

    def __init__(self, answer: Answer | Exception, cpus: float) -> None:
        self._answer, self._cpus = answer, cpus

    def init(self, **keys: Any) -> None:
        del keys

    def remote(self, **keys: Any) -> Callable[[Any], Any]:
        del keys
        task = SimpleNamespace(remote=lambda *_: "ref")
        return lambda _: SimpleNamespace(options=lambda **_: task)

    def nodes(self) -> list[dict[str, Any]]:
        return [{"Alive": True, "Resources": {"CPU": self._cpus, "memory": float(1 << 40)}}]

    def put(self, data: bytes) -> bytes:
        return data

    def get(self, ref: str) -> Answer:
        del ref
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


class OneDollar(Charges):
    def most(self, trial: Trial) -> CostSplit:
        del trial
        return CostSplit(models=micro(1.0))


@pytest.fixture
def spent_on(
    tmp_path: Path, contract: Callable[..., Contract], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[float, float]]:
    """What is spent and reserved after one trial with one attempt."""

    def run(answer: Answer | Exception, cpus: float = 64.0) -> tuple[float, float]:
        gate = EnvelopeGate(Envelopes(total_usd=5.0), OneDollar())
        monkeypatch.setattr(ray_engine, "_import_ray", lambda: FakeRay(answer, cpus))
        engine = RayEngine(tmp_path / "runs", gate=gate, jobs=1, retry=TrialRetryPolicy(runs=1))
        list(engine.run([Trial(contract(), "noop")]))
        return gate.spent_usd, gate.reserved_usd

    return run


def test_a_task_that_no_node_can_take_is_charged_nothing(
    spent_on: Callable[..., tuple[float, float]],
) -> None:
    assert spent_on(Answer(), cpus=0.0) == (0.0, 0.0)


def test_a_task_that_a_worker_could_not_begin_is_charged_nothing(
    spent_on: Callable[..., tuple[float, float]],
) -> None:
    """Its sandbox is missing there: no run is left, so a resumed study would not know of a charge either."""
    assert spent_on(Answer(fault=("lasting", "bwrap is missing"), is_tried=False)) == (0.0, 0.0)


def test_a_task_whose_worker_is_lost_is_charged_its_bound(
    spent_on: Callable[..., tuple[float, float]],
) -> None:
    assert spent_on(RayError("the worker died")) == (1.0, 0.0)


def test_a_task_that_left_a_run_is_charged_what_it_used(
    spent_on: Callable[..., tuple[float, float]],
) -> None:
    assert spent_on(Answer(use=RunUse(models=0.25))) == (0.25, 0.0)


@pytest.mark.parametrize("fault", [None, InfraFault("no mount"), OperatorFault("no key")])
def test_a_worker_says_whether_there_was_a_run(
    fake_study: FakeStudy, contract: Callable[..., Contract], fault: Exception | None
) -> None:
    def refuse(_: Contract) -> None:
        if fault is not None:
            raise fault

    fake_study.on_prepare = refuse
    gate = TriedGate()
    list(replace(fake_study.engine(), gate=gate).run([Trial(contract(), "noop")]))
    assert gate.is_tried is (fault is None)


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (RayError("the worker died\nmore"), "a worker of the cluster was lost: the worker died"),
        (
            RayTaskError(InfraFault("s3://runs: timed out")),
            "a worker of the cluster failed: s3://runs: timed out",
        ),
    ],
)
def test_the_fault_of_a_worker_is_in_the_message_and_not_its_process(
    tmp_path: Path,
    contract: Callable[..., Contract],
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    why: str,
) -> None:
    monkeypatch.setattr(ray_engine, "_import_ray", lambda: FakeRay(error, 64.0))
    engine = RayEngine(tmp_path / "runs", jobs=1, retry=TrialRetryPolicy(runs=1))
    (result,) = engine.run([Trial(contract(), "noop")])
    assert str(result.fault) == why
