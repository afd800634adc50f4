"""A contract -> whether its oracle is sound: the same work gets the same result, doing nothing fails, known cheats do not pass.

    repeats   the reference passes and an empty change fails, each several times; every check and test gives the same each time
    cheats    no script of `cheats/` passes
    partial   the reference without one of its parts fails                 (advice: the part may not matter)
    time      each check of the reference ends in half of its time limit   (advice)

Every row is of real trials in a real sandbox, graded as an agent's work is. No model is asked, unless only a judge decides.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Literal, NamedTuple

from steelyard.contract.contract import Contract
from steelyard.deferred.data_class import dataclass
from steelyard.errors import ContractFault, InfraFault
from steelyard.filesystem.tree import printable
from steelyard.plan.trial import Trial
from steelyard.stats.proportion import clopper_pearson
from steelyard.study.certify.cheats import Cheat, cheats_for
from steelyard.study.certify.partial_references import partial_references
from steelyard.study.certify.stability import CheckFacts, check_facts, stability
from steelyard.study.engine import Engine
from steelyard.study.judging import Judging
from steelyard.study.observer import Observer, TrialResult
from steelyard.study.self_test import (
    SelfTestResult,
    SelfTestStatus,
    agent_text,
    has_reference,
    no_reference,
    required_verdicts,
    verdict_result,
)

CertifyPart = Literal["repeats", "cheats", "partial", "time"]
REPEATS = 5
TIME_SHARE = 0.5  # of its limit, that a check of the reference may take
NAMED = 3  # tests of a row


class CertifyTrial(NamedTuple):
    """One trial, reduced to what a certificate needs."""

    result: SelfTestResult
    checks: Mapping[str, CheckFacts]


class CertifyPlan(NamedTuple):
    """The trials of one contract, by what they are for."""

    repeated: Mapping[str, Sequence[Trial]]  # agent -> its repeats
    cheats: Sequence[tuple[Cheat, Trial]]
    partial: Mapping[str, Trial]  # what is missing -> the trial

    @property
    def trials(self) -> list[Trial]:
        repeats = [trial for trials in self.repeated.values() for trial in trials]
        return [*repeats, *(trial for _, trial in self.cheats), *self.partial.values()]


class Findings(NamedTuple):
    parts: Mapping[CertifyPart, Sequence[SelfTestResult]]
    check_seconds: tuple[float, ...]  # of the reference


@dataclass(frozen=True)
class Certifier:
    """Where the runs go, in which sandbox they are, and how often the same work is graded."""

    out: Path  # the runs, and the patches that are made for them
    sandbox: str | None = None
    jobs: int = 1
    repeats: int = REPEATS
    judging: Judging | None = None
    observer: Observer = field(default_factory=Observer)

    def plan(self, contract: Contract) -> CertifyPlan:
        """Raises ContractFault for a task that nothing is known to solve: without a reference it is not certified."""
        verdicts = required_verdicts(contract)
        if contract.spec.expected_outcome == "completion" and not has_reference(contract):
            raise ContractFault(no_reference(contract))
        repeated = {
            name: [
                Trial(contract, agent_text(contract, name), number) for number in range(1, self.repeats + 1)
            ]
            for name in verdicts
        }
        # Where a refusal is right, doing nothing passes, and so does whatever solves nothing.
        cheats = _cheats(contract) if verdicts.get("noop") == "fail" else []
        return CertifyPlan(repeated, cheats, self._partial(contract))

    def certify(self, contract: Contract, plan: CertifyPlan) -> Findings:
        """A part without rows is not there."""
        verdicts = required_verdicts(contract)
        tried = self._run(plan.trials, verdicts)
        repeated = {agent: [tried[one.id] for one in trials] for agent, trials in plan.repeated.items()}
        solved = repeated.get("reference") or repeated.get("noop", [])
        rows: dict[CertifyPart, list[SelfTestResult]] = {
            "repeats": [
                *(self._verdicts(contract, agent, verdicts[agent], repeated[agent]) for agent in repeated),
                *self._stable_checks(contract, list(repeated.values())),
            ],
            "cheats": [_must_not_pass(one.name, one.what, tried[trial.id]) for one, trial in plan.cheats],
            "partial": [
                _must_not_pass(f"without {missing}", "", tried[trial.id])
                for missing, trial in plan.partial.items()
            ],
            "time": list(_check_times(solved)),
        }
        times = tuple(fact.observed_s for one in solved for fact in one.checks.values())
        return Findings({part: found for part, found in rows.items() if found}, times)

    def _partial(self, contract: Contract) -> dict[str, Trial]:
        if contract.reference is None or contract.steps or contract.spec.answer_path is not None:
            return {}
        folder = self.out / f"partial-{contract.digest[:12]}"
        trials = {}
        for number, one in enumerate(partial_references(contract.reference.read_bytes()), start=1):
            folder.mkdir(parents=True, exist_ok=True)
            file = folder / f"{number}.patch"
            file.write_bytes(one.patch)
            trials[printable(one.missing)] = Trial(contract, f"patch:{file}")
        return trials

    def _run(self, trials: Sequence[Trial], verdicts: Mapping[str, str]) -> dict[str, CertifyTrial]:
        judging = None if trials and trials[0].contract.checks else self.judging
        engine = Engine(
            self.out, jobs=self.jobs, sandbox=self.sandbox, judging=judging, observer=self.observer
        )
        return {
            done.trial.id: _certify_trial(done, verdicts.get(done.trial.agent, "fail"))
            for done in engine.run(trials)
        }

    def _allowed(self, contract: Contract) -> int:
        """Repeats that may come out otherwise, by the contract's own tolerance."""
        return math.floor(contract.spec.oracle.tolerance * self.repeats)

    def _verdicts(
        self, contract: Contract, agent: str, wanted: str, tried: Sequence[CertifyTrial]
    ) -> SelfTestResult:
        odd = [one.result for one in tried if one.result.got != wanted]
        allowed, total = self._allowed(contract), len(tried)
        needed = f"{wanted} in all {total}" if not allowed else f"{wanted} in {total - allowed} of {total}"
        got = f"{wanted} in {_share(total - len(odd), total)}"
        if not odd or (len(odd) <= allowed and all(one.came == "otherwise" for one in odd)):
            return SelfTestResult(agent, needed, got, "as_expected")
        return odd[0]._replace(name=agent, wanted=needed, got=got)

    def _stable_checks(
        self, contract: Contract, repeated: Sequence[Sequence[CertifyTrial]]
    ) -> Iterator[SelfTestResult]:
        names = dict.fromkeys(name for tried in repeated for one in tried for name in one.checks)
        for name in names:
            found = stability(
                [[one.checks[name] for one in tried if name in one.checks] for tried in repeated]
            )
            allowed = self._allowed(contract) * len(repeated)
            is_stable = found.total - found.same <= allowed
            yield SelfTestResult(
                f"check {name}",
                f"the same in all {found.total}" if not allowed else f"the same in {found.total - allowed}",
                f"the same in {_share(found.same, found.total)}",
                "as_expected" if is_stable else "otherwise",
                _unstable(found.unstable),
                check=name,
            )


def _certify_trial(done: TrialResult, wanted: str) -> CertifyTrial:
    """A fault of the machine spoils one trial; a fault of the contract is raised."""
    agent = done.trial.agent
    if isinstance(done.fault, InfraFault):
        return CertifyTrial(
            SelfTestResult(agent, wanted, "invalid", "invalid", printable(str(done.fault))), {}
        )
    record = done.record
    return CertifyTrial(verdict_result(agent, wanted, record), check_facts(record.evidence.outcomes))


def _cheats(contract: Contract) -> list[tuple[Cheat, Trial]]:
    """None for an answer without a workspace: the scripts change files."""
    if contract.spec.workspace == "none":
        return []
    found = cheats_for(contract.snapshot.entries)
    return [(one, Trial(contract, f"script:{one.script}")) for one in found]


def _must_not_pass(name: str, what: str, tried: CertifyTrial) -> SelfTestResult:
    """A check that breaks on it has not passed it either."""
    result = tried.result._replace(name=name, wanted="not pass")
    if result.came == "invalid":
        return result
    if result.got == "pass":
        return result._replace(came="otherwise", why=f"{what}: no check notices it".removeprefix(": "))
    return result._replace(came="as_expected", why=what)


def _check_times(tried: Sequence[CertifyTrial]) -> Iterator[SelfTestResult]:
    """The longest of all repeats; a check that needs most of its limit fails on a slower or busier machine."""
    names = dict.fromkeys(name for one in tried for name in one.checks)
    for name in names:
        facts = [one.checks[name] for one in tried if name in one.checks]
        longest, limit = max(one.observed_s for one in facts), max(one.ceiling_s for one in facts)
        fits = not limit or longest <= TIME_SHARE * limit
        why = "" if fits else "raise `timeout_s`: a slower machine would not end it in time"
        came: SelfTestStatus = "as_expected" if fits else "otherwise"
        needed = f"at most {TIME_SHARE * limit:g} s"
        yield SelfTestResult(f"time of {name}", needed, f"{longest:.2f} s", came, why, check=name)


def _share(count: int, total: int) -> str:
    """`5 of 5 [48%, 100%]`: a rate is never without its interval."""
    rate = clopper_pearson(count, total)
    if rate.low is None or rate.high is None:
        return f"{count} of {total}"
    return f"{count} of {total} [{rate.low:.0%}, {rate.high:.0%}]"


def _unstable(tests: Sequence[str]) -> str:
    if not tests:
        return ""
    more = f" and {len(tests) - NAMED} more" if len(tests) > NAMED else ""
    return printable(f"differs: {', '.join(tests[:NAMED])}{more}")
