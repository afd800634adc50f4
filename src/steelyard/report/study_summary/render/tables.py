"""`StudySummary` -> titled tables and lines, the same for a terminal and for Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.report.percent import amount, percent
from steelyard.report.study_summary.model import AgentComparison, AgentNumbers, CountedRate, StudySummary
from steelyard.report.study_summary.render.variation import (
    VARIATION_COLUMNS,
    variation_lines,
    variation_rows,
)
from steelyard.report.study_summary.render.words import (
    bounds_words,
    dollars,
    format_count,
    mean_count,
    mean_money,
    mean_time,
    money,
    p_value,
    rate,
    rate_of,
    time_estimate,
    with_n,
    without_interval,
)
from steelyard.report.terminal import seconds

MOST_MODES = 12  # failure modes of a table
MOST_FLIPS = 10
COST = "Cost of models (whatever else has a price: --section disclosures)"
HONEYPOTS = (
    "Honeypots: these contracts cannot be satisfied, so an agent that passes one cheated; they are in no rate"
)


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, a table (its last column may move below the row, or is cut where the table is not `whole`) and lines under it."""

    title: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    lines: tuple[str, ...] = ()
    whole: bool = True


def sections(summary: StudySummary, names: Iterable[str] = ()) -> Iterator[Section]:
    """Everything below the leaderboard, in order of what a decision needs; or those of these names."""
    for name in tuple(names) or SECTIONS:
        yield from SECTIONS[name](summary)


def _comparisons(summary: StudySummary) -> Iterator[Section]:
    if not summary.comparisons:
        return
    lines = []
    for one in summary.comparisons:
        lines.append(one.sentence)
        lines.append(f"  {significance(one)}")
        lines += [f"  not the same: {text}" for text in unlike(one)]
    yield Section("Comparisons", lines=(*lines, *filter(None, [summary.multiplicity])))


def _ranking(summary: StudySummary) -> Section:
    ranking = summary.ranking
    rows = tuple((str(one.place), one.agent, rate_of(one.rate, "trial")) for one in ranking.rows)
    return Section("Ranking", ("", "agent", "success") if rows else (), rows, (ranking.words,))


def envelope_line(envelope: Mapping[str, Any]) -> str:
    """`when it ended, the study had cost 3.10 USD of B_total 100.00: models 2.90, execution 0.15, ...; 96.90 not spent`."""
    total, left = envelope["total_usd"], envelope["left_usd"]
    parts = ", ".join(f"{name} {_usd(amount)}" for name, amount in envelope["spent"].items())
    of = "" if total is None else f" of B_total {_usd(total)}"
    rest = (
        "" if left is None else f"; {_usd(left)} not spent" if left >= 0 else f"; exceeded by {_usd(-left)}"
    )
    return f"when it ended, the study had cost {_usd(envelope['spent_usd'])} USD{of}: {parts}{rest}"


def _usd(value: float) -> str:
    """With as many digits as `dollars` has: a small amount is not 0.00."""
    return dollars(value).replace("$", "")


def _honeypots(summary: StudySummary) -> Iterator[Section]:
    if summary.honeypots:
        rows = tuple((one.name, format_count(one)) for one in summary.honeypots)
        yield Section(HONEYPOTS, ("agent", "passed"), rows)


def significance(one: AgentComparison) -> str:
    adjusted = "" if one.p_holm is None else f", Holm {p_value(one.p_holm)}"
    return f"{one.p_method}: {p_value(one.p)}{adjusted}"


def unlike(one: AgentComparison) -> list[str]:
    """Conditions that differ between the two agents."""
    return [each.sentence for each in one.differences]


def _outcomes(agents: Sequence[AgentNumbers]) -> Section:
    names = [one.name for one in agents[0].categories]
    return Section(
        "Outcomes (of scorable trials; invalid: of all trials, and of all runs with retries)",
        ("agent", *(name.replace("_", " ") for name in names), "invalid runs"),
        tuple(
            (one.agent, *(format_count(each) for each in one.categories), format_count(one.invalid_attempts))
            for one in agents
        ),
    )


def _undecided(agents: Sequence[AgentNumbers]) -> Iterator[Section]:
    rows = tuple(
        (
            one.agent,
            f"{one.bounds.undecided} of {one.bounds.trials}",
            bounds_words(one.bounds),
            rate(one.imputed),
        )
        for one in agents
        if one.bounds.undecided
    )
    if rows:
        yield Section(
            "Undecided trials: the success rate if all had failed or succeeded, and with imputed outcomes",
            ("agent", "undecided", "bounds", "imputed"),
            rows,
        )


def _pass_k(agents: Sequence[AgentNumbers]) -> Iterator[Section]:
    rows = tuple(
        (
            one.agent,
            str(each.k),
            rate(each.at_least_one),
            rate(each.all_of_them),
            f"{each.at_least_one.clusters} of {one.success.clusters}",
        )
        for one in agents
        for each in one.pass_k
        if each.k > 1
    )
    if rows:
        yield Section(
            "Repeats: the chance that at least one of k trials succeeds, and that all do",
            ("agent", "k", "pass@k", "pass^k", "contracts with k decided trials"),
            rows,
        )


def _variation(summary: StudySummary) -> Iterator[Section]:
    found = summary.repeat_variation
    lines = variation_lines(found)
    flaky = [one for one in found.contracts if one.has_flaky_checks]
    if lines:
        title = "Repeats that differ: the agent or the checks"
        yield Section(title, VARIATION_COLUMNS if flaky else (), variation_rows(flaky[:MOST_MODES]), lines)


def _strata(agents: Sequence[AgentNumbers]) -> Iterator[Section]:
    if max(len(one.strata) for one in agents) < 2:
        return
    rows = tuple(
        (
            stratum.name,
            one.agent,
            str(stratum.contracts),
            rate_of(stratum.success),
            mean_money(stratum.cost_usd),
        )
        for one in agents
        for stratum in one.strata
    )
    columns = ("stratum", "agent", "contracts", "success", "cost of a trial")
    why = without_interval(each.cost_usd.mean for one in agents for each in one.strata)
    yield Section("Strata", columns, tuple(sorted(rows)), why)


def _versions(summary: StudySummary) -> Iterator[Section]:
    rows = tuple(
        (one.contract, one.version, one.agent, rate_of(one.success)) for one in summary.version_rates
    )
    if rows:
        title = (
            "Contracts with several versions: each version apart; elsewhere they count as several contracts"
        )
        yield Section(title, ("contract", "version", "agent", "success"), rows)


def _gates(agents: Sequence[AgentNumbers]) -> Iterator[Section]:
    names = list(dict.fromkeys(gate.name for one in agents for gate in one.gates))
    if not names:
        return
    rows = []
    for one in agents:
        found = {gate.name: format_count(gate) for gate in one.gates}
        quality = rate_of(one.quality) if one.quality.is_known else "-"
        rows.append((one.agent, *(found.get(name, "-") for name in names), quality))
    title = "Gates passed (of scorable trials), and quality over trials that pass all gates"
    yield Section(title, ("agent", *names, "quality"), tuple(rows))


def _weights(agents: Sequence[AgentNumbers]) -> Iterator[Section]:
    names = sorted({each.dimension for one in agents for each in one.weight_sensitivity})
    if not names:
        return
    rows = []
    for one in agents:
        found = {
            each.dimension: rate_of(each.quality) for each in one.weight_sensitivity if each.quality.is_known
        }
        if found:
            rows.append((one.agent, rate_of(one.quality), *(found.get(name, "-") for name in names)))
    title = "Quality by its weights: those of the contracts, and all weight on one dimension"
    yield Section(title, ("agent", "as published", *names), tuple(rows))


def _modes(agents: Sequence[AgentNumbers]) -> Iterator[Section]:
    rows = _rows_of([(one.agent, one.tags) for one in agents])
    if rows:
        columns = ("agent", "mode", "trials", "rate")
        yield Section(
            "Failure modes (of all trials)", columns, rows, _left_out((one.agent, one.tags) for one in agents)
        )


def _errors(agents: Sequence[AgentNumbers]) -> Iterator[Section]:
    errors = _rows_of([(one.agent, one.errors) for one in agents])
    if errors:
        title = "Errors named by verifiers (mechanical), judges and people (of all trials)"
        columns = ("agent", "category", "trials", "rate")
        yield Section(title, columns, errors, _left_out((one.agent, one.errors) for one in agents))
    unfit = _rows_of([(one.agent, one.unfit) for one in agents])
    if unfit:
        yield Section(
            "Outputs not fit for scoring (of all trials)", ("agent", "why", "trials", "rate"), unfit
        )


def _rows_of(found: Sequence[tuple[str, Sequence[CountedRate]]]) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (agent, each.name, format_count(each), rate(each.rate))
        for agent, names in found
        for each in names[:MOST_MODES]
    )


def _left_out(found: Iterable[tuple[str, Sequence[CountedRate]]]) -> tuple[str, ...]:
    """A line for each agent that has more names than `_rows_of` shows."""
    return tuple(
        f"{agent}: {len(names) - MOST_MODES:,} less frequent ones are not shown; --json has them"
        for agent, names in found
        if len(names) > MOST_MODES
    )


def _endings(agents: Sequence[AgentNumbers]) -> Iterator[Section]:
    rows = tuple(
        (one.agent, each.name, format_count(each))
        for one in agents
        for each in one.terminations
        if each.name != "completed"
    )
    if rows:
        yield Section("How runs ended, other than completed", ("agent", "ending", "trials"), rows)


def _cost(agents: Sequence[AgentNumbers]) -> Section:
    rows = tuple(
        (
            one.agent,
            mean_money(one.economics.cost_usd),
            mean_count(one.economics.tokens),
            with_n(money(one.economics.cost_per_success), one.economics.cost_per_success),
        )
        for one in agents
    )
    known = [one.economics for one in agents]
    why = without_interval(
        each for one in known for each in (one.cost_usd.mean, one.tokens.mean, one.cost_per_success)
    )
    columns = ("agent", "cost of a trial", "tokens of a trial", "cost of a success")
    return Section(COST, columns, rows, why)


def _time(agents: Sequence[AgentNumbers]) -> Section:
    rows = tuple(
        (
            one.agent,
            mean_time(one.economics.wall_s_success),
            mean_time(one.economics.wall_s_failure),
            with_n(time_estimate(one.time_to_success.median), one.time_to_success.median),
            with_n(time_estimate(one.time_to_success.restricted_mean), one.time_to_success.restricted_mean),
        )
        for one in agents
    )
    columns = ("agent", "run that succeeds", "run that fails", "median to success", "restricted mean")
    note = "times to success are Kaplan-Meier estimates of the agent's own time; trials without success are censored, as if they had gone on "
    note += "like the others: they say how long a success takes, not how many trials succeed; "
    note += "the restricted mean counts each agent up to the longest time that all agents have reached, baselines apart"
    means = [each for one in agents for each in (one.economics.wall_s_success, one.economics.wall_s_failure)]
    why = without_interval(
        [*(one.mean for one in means), *(one.time_to_success.restricted_mean for one in agents)]
    )
    return Section("Time", columns, rows, (note, *why))


def _pareto(summary: StudySummary) -> Iterator[Section]:
    front = summary.pareto
    if len(front.points) < 2:
        return
    rows = tuple(
        (
            one.agent,
            money(one.cost),
            rate_of(one.rate),
            "yes" if one.on_front else "no",
            percent(one.probability),
        )
        for one in front.points
    )
    columns = ("agent", "cost of a trial", "success", "on the front", "share of resamples on it")
    lines = (
        f"over {amount(front.contracts, 'shared contract')}; {front.method}",
        *([front.why] if front.why else ()),
        *without_interval(one.cost for one in front.points),
    )
    yield Section("Cost against success: agents that no other agent beats in both", columns, rows, lines)


def _deviations(summary: StudySummary) -> Iterator[Section]:
    if summary.deviations:
        rows = tuple(
            (one.what, one.planned, one.observed, str(one.runs), one.example) for one in summary.deviations
        )
        yield Section(
            "Deviations from the protocol", ("what", "planned", "observed", "runs", "for example"), rows
        )


def disclosures(summary: StudySummary) -> Iterator[Section]:
    """The four minimum disclosures."""
    disclosed = summary.disclosures
    rows = tuple(
        (one.mode, rate_of(one.false_positive, "label"), rate_of(one.false_negative, "label"))
        for one in disclosed.label_errors
    )
    columns = ("failure mode", "correct work rejected", "defects accepted") if rows else ()
    why = (disclosed.label_errors_why,) if disclosed.label_errors_why else ()
    yield Section("Disclosure 1: errors of the automatic verdict, by failure mode", columns, rows, why)
    reasons = ", ".join(
        f"{one.name.replace('_', ' ')} {one.count}" for one in disclosed.indeterminate_by_reason
    )
    share = f"{disclosed.indeterminate.count:,} of {amount(disclosed.indeterminate.of, 'trial')}, {rate(disclosed.indeterminate.rate)}"
    bounded = tuple(
        (one.agent, f"{one.bounds.undecided} of {one.bounds.trials}", bounds_words(one.bounds))
        for one in disclosed.indeterminate_bounds
    )
    yield Section(
        "Disclosure 2: indeterminate outcomes",
        ("agent", "indeterminate", "success rate if all had failed or succeeded") if bounded else (),
        bounded,
        (share + (f" ({reasons})" if reasons else ""), disclosed.indeterminate_model),
    )
    charged = () if summary.envelope is None else (envelope_line(summary.envelope),)
    phases = tuple(_phases(disclosed.cost_by_phase))
    yield Section("Disclosure 3: cost by phase", ("phase", "total"), phases, charged)
    yield from _found_modes(summary)
    yield Section(
        "Disclosure 4: what it takes to repeat this study",
        ("what", "which"),
        tuple(
            (name, "; ".join(values) or "none recorded") for name, values in disclosed.reproducibility.items()
        ),
    )


def _found_modes(summary: StudySummary) -> Iterator[Section]:
    disclosed = summary.disclosures
    if disclosed.discoveries:
        rows = tuple(
            (one.mode, str(one.trials), dollars(one.cost_usd), one.run or "-")
            for one in disclosed.discoveries
        )
        columns = ("failure mode", "seen after trials", "cost until then", "run")
        yield Section("Cost of finding one more failure mode", columns, rows)
    if disclosed.precision:
        rows = tuple(
            (one.agent, str(one.contracts), f"+-{percent(one.half_width)}", dollars(one.cost_usd))
            for one in disclosed.precision
        )
        columns = ("agent", "contracts", "expected interval", "cost")
        yield Section("Cost of precision (projected from these trials)", columns, rows)


def _phases(phases: Mapping[str, Mapping[str, float | None]]) -> Iterator[tuple[str, str]]:
    for phase, parts in phases.items():
        amounts = []
        for unit, value in parts.items():
            if unit.endswith("_unknown_runs"):
                amounts += [f"({amount(int(value), 'run')} unknown)"] if value else []
            else:
                amounts.append(_amount(unit, value))
        yield phase, " ".join(amounts)


def _amount(unit: str, value: float | None) -> str:
    if value is None:
        return f"{unit} unknown"
    if unit == "usd":
        return dollars(value)
    return seconds(value) if unit == "seconds" else f"{value:,.0f} {unit}"


def _notes(summary: StudySummary) -> Iterator[Section]:
    yield Section("Notes", lines=summary.notes)


# What `report --section NAME` prints.
SECTIONS: dict[str, Callable[[StudySummary], Iterable[Section]]] = {
    "ranking": lambda summary: (_ranking(summary),),
    "comparisons": _comparisons,
    "honeypots": _honeypots,
    "outcomes": lambda summary: (_outcomes(summary.agents),),
    "undecided": lambda summary: _undecided(summary.agents),
    "repeats": lambda summary: _pass_k(summary.agents),
    "variation": _variation,
    "strata": lambda summary: _strata(summary.agents),
    "versions": _versions,
    "gates": lambda summary: _gates(summary.agents),
    "quality": lambda summary: _weights(summary.agents),
    "modes": lambda summary: _modes(summary.agents),
    "errors": lambda summary: _errors(summary.agents),
    "endings": lambda summary: _endings(summary.agents),
    "cost": lambda summary: (_cost(summary.agents),),
    "time": lambda summary: (_time(summary.agents),),
    "pareto": _pareto,
    "deviations": _deviations,
    "disclosures": disclosures,
    "notes": _notes,
}
