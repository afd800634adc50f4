"""Whole trials without a sandbox: real contracts, a real engine, and commands that a function answers."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from steelyard.contract.contract import Contract
from steelyard.environment.prepare import Environment
from steelyard.filesystem.cache import Cache
from steelyard.plan.phase import Phase
from steelyard.plan.trial import Retry, Trial
from steelyard.sandboxes.base import SandboxSpec
from steelyard.sandboxes.fake import Answer, FakeBackend, Script
from steelyard.study.engine import Engine
from steelyard.study.observer import Observer, TrialResult
from steelyard.study.retry_policy import TrialRetryPolicy


def ignore(_: Contract) -> None:
    """A preparation that succeeds."""


def succeed(_: object) -> Answer:
    return Answer()


@dataclass
class Watcher(Observer):
    """Keeps what an observer is called with."""

    calls: list[tuple[str, str, str]] = field(default_factory=list)  # method, agent, phase or reason
    running: int = 0
    most_running: int = 0

    def started(self, trial: Trial) -> None:
        self.calls.append(("started", trial.agent, ""))
        self.running += 1
        self.most_running = max(self.most_running, self.running)

    def phase(self, trial: Trial, phase: Phase, detail: str = "") -> None:
        del detail
        self.calls.append(("phase", trial.agent, phase))

    def retried(self, trial: Trial, retry: Retry) -> None:
        self.calls.append(("retried", trial.agent, retry.why))

    def finished(self, result: TrialResult) -> None:
        self.calls.append(("finished", result.trial.agent, ""))
        self.running -= 1


@dataclass
class FakeStudy:
    """Makes engines whose environments are fake, and counts what they prepare."""

    out: Path
    cache: Path
    script: Script = succeed
    on_start: Callable[[SandboxSpec], None] | None = None
    on_prepare: Callable[[Contract], None] = ignore
    signer: Path | None = None
    prepared: list[str] = field(default_factory=list)
    waits_s: list[float] = field(default_factory=list)
    watcher: Watcher = field(default_factory=Watcher)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def engine(self, jobs: int = 1) -> Engine:
        retry = TrialRetryPolicy(sleep=self.waits_s.append, draw=lambda: 1.0)
        return Engine(
            self.out, jobs, signer=self.signer, observer=self.watcher, retry=retry, prepare=self.prepare
        )

    def prepare(self, contract: Contract, sandbox: str | None) -> Environment:
        del sandbox
        with self._lock:
            self.prepared.append(contract.id)
        self.on_prepare(contract)
        backend = FakeBackend(self.script, self.on_start)
        return Environment(contract, backend, "fake", (), None, Cache(self.cache))
