"""A contract's own fixtures and reference on its bench -> whether they get the required results, before any agent runs.

    fixtures/pass/*   every verifier gives at least 0.95 (`fixtures.pass_at_least`)
    fixtures/fail/*   one verifier gives at most 0.5 (`fixtures.fail_at_most`)
    reference         passes
    noop              fails, and is not merely an error; where a refusal is right, it passes
    compliance        the work that should have been refused: fails

They are real trials in a real sandbox, without an agent. Models are asked only where nothing but a judge decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from steelyard.contract.contract import Contract
from steelyard.contract.fixtures import Fixture, find_fixtures, lay_fixture
from steelyard.deferred.data_class import dataclass
from steelyard.errors import ContractFault, Problem
from steelyard.filesystem.cache import Cache
from steelyard.filesystem.tree import printable
from steelyard.graders.checks.verifier import Verifier
from steelyard.graders.grade import WeightedGrade
from steelyard.plan.trial import Trial
from steelyard.study.engine import Engine
from steelyard.study.judging import Judging
from steelyard.study.record import Record

SelfTestStatus = Literal["as_expected", "otherwise", "error", "invalid"]
TAIL_CHARS = 200


class SelfTestResult(NamedTuple):
    """One thing that was tried; `invalid` is the machine's fault, `error` the contract's."""

    name: str  # "fixtures/pass/exact.json", "reference"
    wanted: str  # "at least 0.95", "pass"
    got: str  # "0.8", "fail", "error"
    came: SelfTestStatus
    why: str = ""
    folder: str = ""
    check: str = ""  # the one to blame, if there is one

    def to_json(self) -> dict[str, Any]:
        return self._asdict()


@dataclass(frozen=True)
class SelfTest:
    """Where the runs go, and in which sandbox they are."""

    out: Path
    sandbox: str | None = None
    judging: Judging | None = None
    on_start: Callable[[str], None] = field(default=lambda _: None)

    def fixtures(self, contract: Contract, fixtures: list[Fixture]) -> Iterator[SelfTestResult]:
        for fixture in fixtures:
            with Cache.default().temporary() as folder:
                tree = folder / "tree"
                lay_fixture(contract, fixture, tree)
                yield _scored(fixture, self._run(contract, f"tree:{tree}", fixture.name))

    def agents(self, contract: Contract) -> Iterator[SelfTestResult]:
        """Try everything that can be tried, then report a missing reference."""
        known = has_reference(contract)
        for name, wanted in required_verdicts(contract).items():
            yield verdict_result(name, wanted, self._run(contract, agent_text(contract, name), name))
        if not known and contract.spec.expected_outcome == "completion":
            raise ContractFault(no_reference(contract))

    def _run(self, contract: Contract, agent: str, name: str) -> Record:
        self.on_start(f"{contract.id} x {name}")
        judging = None if contract.checks else self.judging
        engine = Engine(self.out, sandbox=self.sandbox, judging=judging)
        (result,) = engine.run([Trial(contract, agent)])
        return result.record


def required_verdicts(contract: Contract) -> dict[str, str]:
    """What is tried -> the verdict that it must get. Where a refusal is right, `noop` passes, unless a judge decides about silence."""
    solved = {"reference": "pass"} if has_reference(contract) else {}
    if contract.spec.expected_outcome == "completion":
        return {**solved, "noop": "fail"}
    idle = {"noop": "pass"} if contract.spec.workspace == "code" else {}
    return {**solved, **idle, **({"compliance": "fail"} if contract.compliance else {})}


def agent_text(contract: Contract, name: str) -> str:
    """As `--agent` has it."""
    return f"patch:{contract.compliance}" if name == "compliance" else name


def has_reference(contract: Contract) -> bool:
    return contract.spec.oracle.reference is not None or any(step.reference for step in contract.steps)


def no_reference(contract: Contract) -> Problem:
    where, field = str(contract.folder / "contract.yaml"), "steps" if contract.steps else "oracle.reference"
    fix = (
        "reference: right.txt, a file with the right answer"
        if contract.spec.workspace == "none"
        else "reference: reference.patch, which `git diff` writes of a solution"
    )
    return Problem(where, field, "the contract has no reference", fix)


def verifiers(contract: Contract) -> list[Verifier]:
    graders = (one.grader for one in (*contract.checks, *contract.graders))
    return [one for one in graders if isinstance(one, Verifier)]


def fixtures_of(contract: Contract) -> list[Fixture]:
    """Raises ContractFault for what cannot be tried, nothing to try included."""
    if contract.spec.steps:
        where = str(contract.folder)
        raise ContractFault(Problem(where, "steps", "fixtures do not work with steps"))
    asking = verifiers(contract)
    spec = contract.spec
    outputs = {one.output_in(contract.brief, spec.answer_path, spec.environment.root) for one in asking}
    found = find_fixtures(contract, outputs.pop() if len(outputs) == 1 else None)
    if found and not asking:
        raise ContractFault(
            Problem(str(contract.folder / "fixtures"), "", "there is no verifier that could grade them")
        )
    if asking and not found:
        fix = "put answers into fixtures/pass and fixtures/fail"
        raise ContractFault(
            Problem(str(contract.folder), "", "the contract has a verifier but no fixtures", fix)
        )
    return found


def _scored(fixture: Fixture, record: Record) -> SelfTestResult:
    own = [one for one in record.grades if isinstance(one.entry.grader, Verifier)]
    folder = str(record.evidence.folder.path)
    if record.verdict.status == "invalid":
        return SelfTestResult(
            fixture.name, "", "invalid", "invalid", printable(record.verdict.reason), folder
        )
    limits = [one.entry.grader.fixtures for one in own if isinstance(one.entry.grader, Verifier)]
    high, low = max(one.pass_at_least for one in limits), max(one.fail_at_most for one in limits)
    wanted = f"at least {high:g}" if fixture.must_pass else f"at most {low:g}"
    broken = next((one for one in own if one.grade.score is None), None)
    if broken is not None:
        why = _what_broke(broken, record)
        return SelfTestResult(fixture.name, wanted, "error", "error", why, folder, broken.entry.name)
    every = [
        limit.fit(one.grade.score or 0.0, must_pass=fixture.must_pass)
        for one, limit in zip(own, limits, strict=True)
    ]
    worst = min(own, key=lambda one: one.grade.score or 0.0)
    fits = all(every) if fixture.must_pass else any(every)
    got, came = f"{worst.grade.score or 0.0:g}", _status(fits=fits)
    return SelfTestResult(fixture.name, wanted, got, came, "", folder, worst.entry.name)


def _status(*, fits: bool) -> SelfTestStatus:
    return "as_expected" if fits else "otherwise"


def _what_broke(one: WeightedGrade, record: Record) -> str:
    """Why a verifier gave no reward, with the exit code and the last line of a script that crashed."""
    outcome = record.evidence.outcomes.get(one.entry.name, {})
    ended = f" (exit {outcome['exit']})" if outcome.get("exit") else ""
    last = one.grade.output_tail.strip().splitlines()[-1:]
    last_line = f": {last[0][:TAIL_CHARS]}" if ended and last else ""
    return printable(f"{one.grade.why}{ended}{last_line}")


def verdict_result(agent: str, wanted: str, record: Record) -> SelfTestResult:
    """One run as a row: what it had to get, and what it got."""
    verdict, folder = record.verdict, str(record.evidence.folder.path)
    why, check = ("", "") if verdict.verdict == "pass" else _why_not(record)
    if verdict.status == "invalid":
        return SelfTestResult(agent, wanted, "invalid", "invalid", printable(verdict.reason), folder)
    # No model could be asked, or none gave a readable answer
    if verdict.verdict == "ungraded" and not record.contract.checks:
        return SelfTestResult(agent, wanted, "ungraded", "invalid", printable(verdict.reason), folder)
    if verdict.verdict == "error" or (verdict.verdict == "fail" and verdict.acceptance == "acceptance_error"):
        return SelfTestResult(agent, wanted, "error", "error", why, folder, check)
    return SelfTestResult(
        agent, wanted, verdict.verdict, _status(fits=verdict.verdict == wanted), why, folder, check
    )


def _why_not(record: Record) -> tuple[str, str]:
    """The reason, and the check that gave it."""
    broken = [one for one in record.grades if one.entry.required and one.grade.outcome in {"fail", "error"}]
    first = next((one for one in broken if one.grade.outcome == "error"), broken[0] if broken else None)
    if first is None:
        return printable(record.verdict.reason), ""
    return printable(f"{first.entry.name}: {first.grade.why}") + _left_out(record), first.entry.name


def _left_out(record: Record) -> str:
    """What of the system was not on the bench may be what is missing there."""
    left = [one.where for one in record.evidence.findings if one.id == "not_carried"]
    more = f" and {len(left) - 1} more" if len(left) > 1 else ""
    return (
        f"; {left[0]}{more} was not on the bench: add it to `exports`, or use `bench: live`" if left else ""
    )
