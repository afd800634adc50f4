"""One command of a check on a fake sandbox -> its outcome, and what is tried again."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from steelyard.bench.outcome import Outcome
from steelyard.bench.run_check import INFRASTRUCTURE_TRIES, Bench, check_environment, git_environment
from steelyard.contract.catalogue import GraderEntry
from steelyard.contract.model import Reruns
from steelyard.errors import InfraFault
from steelyard.graders.checks.command import Command
from steelyard.sandboxes.base import ExitStats, FileOverlay, SandboxSpec
from steelyard.sandboxes.fake import Answer, FakeSandbox
from steelyard.sandboxes.init.frames import Request


@dataclass
class FakeBackend:
    """Sandboxes that answer each command with the next of `answers`; the last answer is given again."""

    answers: list[Answer | InfraFault]
    exit_stats: ExitStats = field(default_factory=ExitStats)
    requests: list[Request] = field(default_factory=list)
    boxes: list[SandboxSpec] = field(default_factory=list)

    def start(self, sandbox_spec: SandboxSpec) -> FakeSandbox:
        self.boxes.append(sandbox_spec)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, InfraFault):
            raise answer

        def run(request: Request) -> Answer:
            self.requests.append(request)
            return answer

        return FakeSandbox(run, self.exit_stats)


def bench_of(backend: FakeBackend, *overlays: FileOverlay, **fields: Any) -> Bench:
    declared = SimpleNamespace(env={}, scope="workspace", host_variables=())
    oracle = SimpleNamespace(network="none", reruns=fields.pop("reruns", Reruns()))
    spec = SimpleNamespace(environment=declared, oracle=oracle)
    environment: Any = SimpleNamespace(
        contract=SimpleNamespace(spec=spec, files={}, snapshot=SimpleNamespace(tree=Path("snapshot"))),
        backend=backend,
        baseline={},
        sandbox_spec=lambda **keys: SandboxSpec((), overlays=keys["overlays"], env=keys["env"]),
    )
    return Bench(environment, overlays, fields.pop("env", {}), is_trusted=True, **fields)


def entry_of(**options: Any) -> GraderEntry:
    grader = Command(**{"cmd": "make check", "timeout_s": 60.0, **options})
    return GraderEntry("c", "command", grader, under="acceptance", required=True, weight=1.0)


def outcome_of(*answers: Answer | InfraFault, exit_stats: ExitStats | None = None, **options: Any) -> Outcome:
    return bench_of(FakeBackend(list(answers), exit_stats or ExitStats())).run(entry_of(**options))


@pytest.mark.parametrize(
    ("answer", "expect_exit", "outcome", "why"),
    [
        (Answer(), 0, "pass", "exit 0"),
        (Answer(exit_code=3), 3, "pass", "exit 3"),
        (Answer(exit_code=3), 0, "fail", "exit 3, expected 0"),
        (Answer(), 3, "fail", "exit 0, expected 3"),
        (Answer(signal=9), 0, "fail", "killed by signal 9"),
        (Answer(errno=2), 0, "error", "could not start: "),
    ],
)
def test_an_end_decides(answer: Answer, expect_exit: int, outcome: str, why: str) -> None:
    found = outcome_of(answer, expect_exit=expect_exit)
    assert found.outcome == outcome
    assert found.why.startswith(why)


def test_a_command_that_is_ended_at_its_limit_decides_nothing() -> None:
    found = outcome_of(Answer(hangs=True), timeout_s=0.05)
    assert (found.outcome, found.why, found.timed_out) == ("error", "timed out after 0.05 s", True)


def test_a_death_for_memory_is_noted() -> None:
    found = outcome_of(Answer(signal=9), exit_stats=ExitStats(oom_kills=1))
    assert (found.outcome, found.why) == ("fail", "killed by signal 9, out of memory")
    assert found.notes == ("out of memory",)


def test_a_sandbox_that_does_not_start_is_tried_again() -> None:
    backend = FakeBackend([InfraFault("no memory"), Answer()])
    assert bench_of(backend).run(entry_of()).outcome == "pass"
    assert len(backend.boxes) == 2


def test_a_sandbox_that_never_starts_is_the_machines_fault() -> None:
    backend = FakeBackend([InfraFault("no memory")])
    with pytest.raises(InfraFault, match="no memory"):
        bench_of(backend).run(entry_of())
    assert len(backend.boxes) == INFRASTRUCTURE_TRIES


def test_a_failure_is_not_tried_again() -> None:
    backend = FakeBackend([Answer(exit_code=1), Answer()])
    assert bench_of(backend).run(entry_of()).outcome == "fail"
    assert len(backend.boxes) == 1


def test_the_command_has_the_variables_of_the_bench_and_its_own_limit() -> None:
    backend = FakeBackend([Answer()])
    bench_of(backend, env=check_environment(7)).run(entry_of(cmd="make test"))
    (request,) = backend.requests
    assert request.argv == ["/bin/sh", "-c", "make test"]
    assert {"PYTHONHASHSEED": "7", "TZ": "UTC"}.items() <= dict(request.env).items()


def test_a_contract_with_settings_of_git_keeps_them() -> None:
    declared = SimpleNamespace(env={"GIT_CONFIG_COUNT": "0"}, scope="workspace")
    environment: Any = SimpleNamespace(contract=SimpleNamespace(spec=SimpleNamespace(environment=declared)))
    assert git_environment(environment) == {}


def test_each_execution_is_reported() -> None:
    seen: list[Outcome] = []
    found = bench_of(FakeBackend([Answer(exit_code=1)])).run(entry_of(), seen.append)
    assert [one.outcome for one in seen] == ["fail"]
    assert found.runs == ("fail",)


def test_a_refused_check_says_why_and_runs_nothing() -> None:
    backend = FakeBackend([Answer()])
    found = bench_of(backend).refuse(entry_of(), "the patch does not apply")
    assert (found.outcome, found.why, found.exit) == ("fail", "the patch does not apply", None)
    assert backend.boxes == []
