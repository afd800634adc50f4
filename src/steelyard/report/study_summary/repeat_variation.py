"""Trials -> why repeats differ: how much an agent varies, and how much the checks do on the same work.

    agent     two trials of one agent on one contract have different verdicts
    checks    two runs of one contract with the same change (or the same answer) have different results of the checks; the
              repeats of `noop` and `reference` are such runs
    certify   what `steelyard certify` found on this machine about the same version of a contract

A contract with n trials and c successes has c (n - c) of n (n - 1) / 2 pairs that differ: an unbiased estimate of 2 p (1 - p).
Its mean over contracts has an interval with contracts as clusters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from steelyard.report.stored.certificate import read_certificate
from steelyard.report.study_summary.model import (
    AgentVariation,
    Cause,
    CertifiedStability,
    ContractVariation,
    RepeatVariation,
)
from steelyard.report.study_summary.trial_record import BASELINES, TrialRecord, by_agent, by_contract
from steelyard.stats.bounded_mean import bounded_mean
from steelyard.stats.estimate import Estimate, unknown

CHECK_GATES = ("build", "acceptance")
STABLE_PREFIX = "check "  # rows of a certificate that say whether a check gives the same each time


class Pairs(NamedTuple):
    """Pairs of trials, how many of them differ, and of how many trials they are made."""

    different: int
    total: int
    trials: int

    def __add__(self, other: object) -> Pairs:
        if not isinstance(other, Pairs):
            return NotImplemented
        return Pairs(*(one + two for one, two in zip(self, other, strict=True)))


NO_PAIRS = Pairs(0, 0, 0)


def variation_of(records: Sequence[TrialRecord]) -> RepeatVariation:
    versions = by_contract(records)
    checks = {digest: check_pairs(each) for digest, each in versions.items()}
    of_checks = share_of(list(checks.values()))
    shares = {
        name: share_of([pairs_of(outcomes_of(one)) for one in by_contract(each).values()])
        for name, each in by_agent(records).items()
        if name not in BASELINES
    }
    certified = {digest: _certified(digest) for digest in versions}
    return RepeatVariation(
        agents=tuple(AgentVariation(name, one, cause_of(one, of_checks)) for name, one in shares.items()),
        checks=of_checks,
        certified=CertifiedStability(
            stable=sum(one is True for one in certified.values()),
            unstable=tuple(
                sorted(versions[digest][0].contract for digest, one in certified.items() if one is False)
            ),
            unknown=sum(one is None for one in certified.values()),
        ),
        contracts=tuple(_contracts(versions, checks, certified)),
    )


def cause_of(agent: Estimate, checks: Estimate) -> Cause:
    """Checks that vary less than the agent's repeats, by their intervals, do not explain those."""
    if agent.low is None or not agent.value:
        return "none seen"
    if checks.high is None:
        return "not measured"
    return "agent" if checks.high < agent.low else "open"


def pairs_of(outcomes: Sequence[bool]) -> Pairs:
    count, won = len(outcomes), sum(outcomes)
    return Pairs(won * (count - won), count * (count - 1) // 2, count if count > 1 else 0)


def share_of(pairs: Sequence[Pairs]) -> Estimate:
    """The mean over contracts of the share of pairs that differ."""
    method = "pairs that differ"
    found = [one for one in pairs if one.total]
    if not found:
        return unknown("no contract has two such runs", method=method)
    return bounded_mean(
        [one.different / one.total for one in found], sum(one.trials for one in found), method, k=2
    )


def outcomes_of(records: Sequence[TrialRecord]) -> list[bool]:
    return [one.succeeded for one in records if one.is_decided]


def check_pairs(records: Sequence[TrialRecord]) -> Pairs:
    """Of one version of a contract: pairs of runs with the same work."""
    by_work: dict[str, list[bool]] = {}
    for one in records:
        passed = checks_pass(one)
        if one.work is not None and passed is not None:
            by_work.setdefault(one.work, []).append(passed)
    return sum(map(pairs_of, by_work.values()), NO_PAIRS)


def judged_both_ways(records: Sequence[TrialRecord]) -> frozenset[tuple[str, str | None]]:
    """The works that the checks of their contract passed once and failed once: what they cover does not settle whether these are right."""
    found: dict[tuple[str, str | None], set[bool]] = {}
    for one in records:
        passed = checks_pass(one)
        if one.work is not None and passed is not None:
            found.setdefault((one.digest, one.work), set()).add(passed)
    return frozenset(key for key, results in found.items() if len(results) > 1)


def checks_pass(record: TrialRecord) -> bool | None:
    """Of its gates only those that checks decide; safety and budget may differ between two runs with the same work."""
    outcomes = [record.gates[name] for name in CHECK_GATES if name in record.gates] if record.gates else []
    if not record.is_decided or not outcomes or not set(outcomes) <= {"pass", "fail"}:
        return None
    return all(one == "pass" for one in outcomes)


def _certified(digest: str) -> bool | None:
    part = read_certificate(digest).get("repeats")
    rows = [one for one in part.results if one.name.startswith(STABLE_PREFIX)] if part else []
    return all(one.came == "as_expected" for one in rows) if rows else None


def _contracts(
    versions: dict[str, list[TrialRecord]], checks: dict[str, Pairs], certified: dict[str, bool | None]
) -> Iterator[ContractVariation]:
    """Those on which something differs; contracts with flaky checks first."""
    rows = []
    for digest, each in versions.items():
        mixed = {
            name: outcomes
            for name, of_agent in by_agent(each).items()
            if name not in BASELINES and len(set(outcomes := outcomes_of(of_agent))) > 1
        }
        pairs = checks[digest]
        if mixed or pairs.different or certified[digest] is False:
            rows.append(
                ContractVariation(
                    contract=each[0].contract,
                    digest=digest,
                    agents={name: (sum(outcomes), len(outcomes)) for name, outcomes in mixed.items()},
                    check_pairs=pairs.total,
                    check_pairs_different=pairs.different,
                    certified_stable=certified[digest],
                )
            )
    yield from sorted(
        rows, key=lambda one: (not one.has_flaky_checks, -one.check_pairs_different, one.contract)
    )
