"""The trials of two agents -> their paired difference, what undecided trials could change, and whether they may be compared."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

from steelyard.report.study_summary.agent_numbers import counts_by_contract, durations_of
from steelyard.report.study_summary.model import AgentComparison, Difference, Flip
from steelyard.report.study_summary.sentence import among_others, comparison_sentence
from steelyard.report.study_summary.trial_record import TrialRecord, by_contract
from steelyard.stats.bootstrap import Resampling
from steelyard.stats.clusters import Cluster
from steelyard.stats.compare.difference import (
    bootstrap_difference,
    mcnemar,
    paired_difference,
    permutation_test,
)
from steelyard.stats.compare.multiplicity import benjamini_hochberg, holm
from steelyard.stats.compare.pairs import Pair, pair_contracts
from steelyard.stats.design.power import contracts_to_decide
from steelyard.stats.design.sequential import anytime_interval
from steelyard.stats.estimate import Estimate, unknown
from steelyard.stats.indeterminate import Counts, conclusion, is_fragile
from steelyard.stats.skewed_mean import kurtosis_degrees
from steelyard.stats.survival import log_rank

NOT_COMPARABLE = "not comparable"
JUDGES = "judge models"
_DIGEST = re.compile(r"[0-9a-f]{32,}").fullmatch
MOST_NAMED = 5  # contracts that a difference names
RESAMPLING = Resampling(2000)
NOT_AT_EVERY_LOOK = "a test that holds at one look only"

MULTIPLICITY = "p-values are adjusted for the number of comparisons of this summary ({count}): Holm, and Benjamini-Hochberg; each interval stands by itself"


class Look(NamedTuple):
    """When a study is looked at: the level that its rule leaves, or the repeats of a contract that counts at any time."""

    level: float = 0.95
    anytime_repeats: int | None = None


AT_THE_END = Look()


def compare_all(agents: dict[str, list[TrialRecord]], look: Look = AT_THE_END) -> tuple[AgentComparison, ...]:
    """Every pair of agents, the one that solved more second, with p-values that account for each other. Pairs of the best agent come first."""
    descending = sorted(agents, key=lambda name: (_share(agents[name]), name), reverse=True)
    pairs = [(worse, better) for better, worse in combinations(descending, 2)]
    found = [_only_comparable(compare_agents(agents, *pair, look)) for pair in pairs]
    return _adjust(found)


def _share(records: Sequence[TrialRecord]) -> float:
    decided = [one.succeeded for one in records if one.is_decided]
    return sum(decided) / len(decided) if decided else 0.0


def _only_comparable(one: AgentComparison) -> AgentComparison:
    """Without numbers where conditions differ: a report has no `--anyway`."""
    if not one.differences:
        return one
    what = ", ".join(dict.fromkeys(each.what for each in one.differences))
    nothing = unknown(f"conditions differ: {what}", clusters=one.contracts)
    return replace(
        one,
        difference=nothing,
        bootstrap=nothing,
        worst=nothing,
        best=nothing,
        p=None,
        mcnemar_p=None,
        log_rank_p=None,
        is_fragile=False,
        conclusion=NOT_COMPARABLE,
        flips=(),
        more_contracts=None,
        sentence=f"{one.second} and {one.first} are not compared: conditions differ ({what}); "
        "`steelyard compare A B --anyway` compares them",
    )


def _adjust(found: Sequence[AgentComparison]) -> tuple[AgentComparison, ...]:
    tested = [one.p for one in found if one.p is not None]
    by_holm, by_hochberg = iter(holm(tested)), iter(benjamini_hochberg(tested))
    adjusted = (
        one if one.p is None else replace(one, p_holm=next(by_holm), p_benjamini_hochberg=next(by_hochberg))
        for one in found
    )
    family = sum(one.difference.is_known for one in found)
    counted = (replace(one, family=max(1, family)) for one in adjusted)
    return tuple(replace(one, sentence=one.sentence + among_others(one)) for one in counted)


def compare_agents(
    agents: dict[str, list[TrialRecord]], first: str, second: str, look: Look = AT_THE_END
) -> AgentComparison:
    """With alpha spending the level is higher (`interim_level`); at any time only contracts that are complete are compared."""
    one, two = agents[first], agents[second]
    order: Sequence[str] | None = None
    if look.anytime_repeats is not None:
        order = complete_contracts(one, two, look.anytime_repeats)
        one, two = ([each for each in side if each.digest in set(order)] for side in (one, two))
    counts = counts_by_contract(one), counts_by_contract(two)
    decided = (
        {digest: each.decided for digest, each in counts[0].items()},
        {digest: each.decided for digest, each in counts[1].items()},
    )
    pairs = pair_contracts(*decided)
    difference = _difference(*decided, order, look.level)
    worst, best = (
        _difference(*_extreme(*counts, for_second=which), order, look.level) for which in (False, True)
    )
    undecided = sum(
        counts[0][digest].undecided + counts[1][digest].undecided
        for digest in counts[0]
        if digest in counts[1]
    )
    comparison = AgentComparison(
        first=first,
        second=second,
        difference=difference,
        **_checks(one, two, pairs, look),
        p_holm=None,
        p_benjamini_hochberg=None,
        worst=worst,
        best=best,
        undecided=undecided,
        is_fragile=undecided > 0 and is_fragile(difference, worst, best),
        conclusion=conclusion(difference),
        contracts=len(pairs),
        only_first=_missing(one, decided[0], decided[1]),
        only_second=_missing(two, decided[1], decided[0]),
        flips=flips(one, two),
        differences=differences(agents[first], agents[second]),
        more_contracts=_more(difference, pairs),
        sentence="",
    )
    return replace(comparison, sentence=comparison_sentence(comparison, pairs))


def _checks(
    one: Sequence[TrialRecord], two: Sequence[TrialRecord], pairs: Sequence[Pair], look: Look
) -> dict[str, Any]:
    """Tests and the bootstrap, which are shown beside the interval. None of them holds at every look."""
    if look.anytime_repeats is not None:
        nothing = {"p": None, "p_method": NOT_AT_EVERY_LOOK, "mcnemar_p": None, "log_rank_p": None}
        return {**nothing, "bootstrap": unknown(NOT_AT_EVERY_LOOK, clusters=len(pairs))}
    test = permutation_test(pairs)
    times = [durations_of([each for each in side if each.is_decided]) for side in (one, two)]
    return {
        "p": test.p,
        "p_method": test.method,
        "mcnemar_p": mcnemar(pairs).p,
        "log_rank_p": log_rank(*times).p,
        "bootstrap": bootstrap_difference(pairs, RESAMPLING, look.level),
    }


def extreme_pairs(one: Sequence[TrialRecord], two: Sequence[TrialRecord], *, for_second: bool) -> list[Pair]:
    """The pairs if every undecided trial had been decided for the second agent, or against it."""
    return pair_contracts(*_extreme(counts_by_contract(one), counts_by_contract(two), for_second=for_second))


def _difference(
    first: dict[str, Cluster], second: dict[str, Cluster], order: Sequence[str] | None, level: float
) -> Estimate:
    """Over all contracts; or, valid at any time, over complete ones in the order in which they became so."""
    if order is None:
        return paired_difference(pair_contracts(first, second), level)
    pairs = [
        pair for name in order for pair in pair_contracts({name: first[name]}, {name: second[name]})
    ]  # a contract without decided trials has none
    return anytime_interval([float(pair.difference) for pair in pairs])


def complete_contracts(
    one: Sequence[TrialRecord], two: Sequence[TrialRecord], repeats: int
) -> tuple[str, ...]:
    """Contracts that both agents have all planned trials of, in the order in which the last of them was started."""
    ends: dict[str, int] = {}
    for side in (one, two):
        counts: Counter[str] = Counter()
        for place, each in enumerate(side):
            counts[each.digest] += 1
            if counts[each.digest] == repeats:
                ends[each.digest] = max(ends.get(each.digest, 0), place)
        ends = {name: place for name, place in ends.items() if counts[name] >= repeats}
    shared = {each.digest for each in one} & {each.digest for each in two}
    return tuple(sorted((name for name in ends if name in shared), key=lambda name: (ends[name], name)))


def _extreme(
    first: dict[str, Counts], second: dict[str, Counts], *, for_second: bool
) -> tuple[dict[str, Cluster], dict[str, Cluster]]:
    """The outcomes if every undecided trial had been decided for the second agent, or against it."""

    def completed(one: Counts, *, succeed: bool) -> Cluster:
        return Cluster(one.successes + (one.undecided if succeed else 0), sum(one))

    return (
        {digest: completed(one, succeed=not for_second) for digest, one in first.items()},
        {digest: completed(one, succeed=for_second) for digest, one in second.items()},
    )


def _missing(
    records: Sequence[TrialRecord], own: dict[str, Cluster], other: dict[str, Cluster]
) -> tuple[str, ...]:
    names = {one.digest: one.contract for one in records}
    found = [names[digest] for digest, each in own.items() if each.trials and not _has_trials(other, digest)]
    return tuple(sorted(found))


def _has_trials(clusters: dict[str, Cluster], digest: str) -> bool:
    return digest in clusters and clusters[digest].trials > 0


def _more(difference: Estimate, pairs: Sequence[Pair]) -> int | None:
    """Contracts that are missing until the interval would exclude 0, at least 1; None if it does already, or never would."""
    is_anytime = difference.method.startswith("anytime")
    if conclusion(difference) != "undecided" or len(pairs) < 2 or not difference.value or is_anytime:
        return None
    off = [float(pair.difference) - difference.value for pair in pairs]
    spread = math.sqrt(math.fsum(one**2 for one in off) / (len(off) - 1))
    share = kurtosis_degrees(off) / (len(off) - 1)
    more = contracts_to_decide(difference.value, spread, len(off), 1 - difference.level, share)
    return None if more is None else max(1, more)


def flips(one: Sequence[TrialRecord], two: Sequence[TrialRecord]) -> tuple[Flip, ...]:
    """Contracts whose rates differ, the largest differences first."""
    first, second = (by_contract([each for each in side if each.is_decided]) for side in (one, two))
    found = []
    for digest in first:
        if digest not in second:
            continue
        left, right = first[digest], second[digest]
        won = [sum(each.succeeded for each in side) for side in (left, right)]
        gap = won[1] / len(right) - won[0] / len(left)
        if gap:
            found.append(
                Flip(
                    left[0].contract,
                    digest,
                    f"{won[0]} of {len(left)}",
                    f"{won[1]} of {len(right)}",
                    gap,
                    _runs(left),
                    _runs(right),
                )
            )
    return tuple(sorted(found, key=lambda flip: (-abs(flip.difference), flip.contract)))


def _runs(records: Sequence[TrialRecord]) -> tuple[str, ...]:
    return tuple(one.folder or one.run or "?" for one in records)


def differences(one: Sequence[TrialRecord], two: Sequence[TrialRecord]) -> tuple[Difference, ...]:
    """Conditions that are not the same on a contract that both agents were tried on, and agents of several versions."""
    first, second = by_contract(one), by_contract(two)
    where: dict[tuple[str, str, str], list[str]] = {}
    for digest in first:
        if digest in second:
            for what, left, right in _unlike(first[digest], second[digest]):
                where.setdefault((what, left, right), []).append(first[digest][0].contract)
    found = [
        Difference(*key, tuple(sorted(names)[:MOST_NAMED]), max(0, len(names) - MOST_NAMED))
        for key, names in where.items()
    ]
    for side in (one, two):
        versions = sorted({each.context.agent_version for each in side if each.context})
        if len(versions) > 1:
            found.append(Difference(f"version of {side[0].agent}", versions[0], ", ".join(versions[1:])))
    found += [*_other_versions(one, two), *_unjudged(one, two)]
    return tuple(found)


def _unlike(left: Sequence[TrialRecord], right: Sequence[TrialRecord]) -> list[tuple[str, str, str]]:
    sides = [_conditions(side) for side in (left, right)]
    if not all(sides):
        return _unlike_judges(left, right)
    names = sorted({name for side in sides for name in side})
    pairs = [
        (name, *(", ".join(sorted(side.get(name, {"not recorded"}))) for side in sides)) for name in names
    ]
    return [(name, one, two) for name, one, two in pairs if one != two] + _unlike_judges(left, right)


def _unlike_judges(left: Sequence[TrialRecord], right: Sequence[TrialRecord]) -> list[tuple[str, str, str]]:
    """Of runs that were judged: a run that did not complete is not."""
    one, two = (_judges(side) for side in (left, right))
    return [(JUDGES, one, two)] if one and two and one != two else []


def _judges(records: Sequence[TrialRecord]) -> str:
    return "; ".join(sorted({", ".join(one.judge) for one in records if one.judge}))


def _unjudged(one: Sequence[TrialRecord], two: Sequence[TrialRecord]) -> list[Difference]:
    """One agent was judged and the other never, although it completed runs."""
    shared = {each.digest for each in one} & {each.digest for each in two}
    sides = [[each for each in side if each.digest in shared] for side in (one, two)]
    models = [_judges(side) for side in sides]
    completed = [any(each.termination_class == "completed" for each in side) for side in sides]
    if bool(models[0]) != bool(models[1]) and completed[0] and completed[1]:
        return [Difference(JUDGES, models[0] or "none", models[1] or "none")]
    return []


def _conditions(records: Sequence[TrialRecord]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for one in records:
        if one.context is None:
            continue
        for name, value in one.context.conditions.items():
            found.setdefault(name, set()).add(_short(value))
    return found


def _short(value: str) -> str:
    """Of a digest its beginning; every other word as it is, for hosts and image names may begin alike."""
    prefix, _, digest = value.rpartition(":")
    return (
        f"{value[: len(value) - len(digest) + 16]}" if prefix in {"", "sha256"} and _DIGEST(digest) else value
    )


def _other_versions(one: Sequence[TrialRecord], two: Sequence[TrialRecord]) -> list[Difference]:
    """A contract that has one digest for the first agent and another for the second: no pair, and no comparison."""
    sides = []
    for records in (one, two):
        versions: dict[str, set[str]] = {}
        for each in records:
            versions.setdefault(each.contract, set()).add(each.digest[:16])
        sides.append(versions)
    return [
        Difference(
            "contract digest", ", ".join(sorted(sides[0][name])), ", ".join(sorted(sides[1][name])), (name,)
        )
        for name in sorted(sides[0])
        if name in sides[1] and sides[0][name] != sides[1][name]
    ]
