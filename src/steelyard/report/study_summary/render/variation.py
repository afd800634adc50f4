"""`RepeatVariation` -> sentences and rows, the same for a terminal, Markdown and HTML."""

from __future__ import annotations

from collections.abc import Iterable

from steelyard.report.percent import amount
from steelyard.report.study_summary.model import Cause, CertifiedStability, ContractVariation, RepeatVariation
from steelyard.report.study_summary.render.words import rate

VARIATION_COLUMNS = ("contract", "successes of an agent's repeats", "the same work, checked again", "certify")
NAMED = 5  # contracts of a sentence
_CAUSES: dict[Cause, str] = {
    "agent": "the checks vary less than that, so it is the agent that varies",
    "open": "how much of this comes from the checks is not known yet",
    "not measured": "how much of this comes from the checks is not measured",
    "none seen": "",
}


def variation_lines(found: RepeatVariation) -> tuple[str, ...]:
    """Nothing where no agent has two decided trials of a contract."""
    agents = [
        f"{one.agent}: two repeats on one contract have different verdicts in {rate(one.share)} of pairs "
        f"({amount(one.share.clusters or 0, 'contract')}, {amount(one.share.n, 'trial')})"
        + (f"; {_CAUSES[one.cause]}" if _CAUSES[one.cause] else "")
        for one in found.agents
        if one.share.is_known
    ]
    return (*agents, _checks(found), *_certified(found.certified)) if agents else ()


def _checks(found: RepeatVariation) -> str:
    checks = found.checks
    if not checks.is_known:
        return (
            "checks: no contract has two runs with the same work here, so their flakiness is not measured; "
            "`steelyard certify` measures it"
        )
    return (
        f"checks: two runs with the same work have different results in {rate(checks)} of pairs "
        f"({amount(checks.clusters or 0, 'contract')}, {amount(checks.n, 'run')})"
    )


def _certified(found: CertifiedStability) -> tuple[str, ...]:
    tested = found.stable + len(found.unstable)
    if not tested:
        return ()
    named = ", ".join(found.unstable[:NAMED]) + (" and more" if len(found.unstable) > NAMED else "")
    return (
        f"certify, on this machine: the checks of {found.stable} of {amount(tested, 'contract')} gave the same each time"
        + (f", those of {named} did not" if named else "")
        + (f"; {amount(found.unknown, 'contract')} not certified" if found.unknown else ""),
    )


def variation_rows(contracts: Iterable[ContractVariation]) -> tuple[tuple[str, ...], ...]:
    return tuple((one.contract, _agents(one), _pairs(one), _stable(one)) for one in contracts)


def _agents(one: ContractVariation) -> str:
    return ", ".join(f"{name} {won} of {trials}" for name, (won, trials) in one.agents.items()) or "-"


def _pairs(one: ContractVariation) -> str:
    if not one.check_pairs:
        return "not run twice"
    return f"{one.check_pairs_different} of {amount(one.check_pairs, 'pair')} differ"


def _stable(one: ContractVariation) -> str:
    return {True: "the same each time", False: "flaky", None: "not certified here"}[one.certified_stable]
