"""A plan, a forecast, the state of a study -> lines of text; every name is escaped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from steelyard.report.plain import one_line
from steelyard.report.terminal import seconds

if TYPE_CHECKING:
    from steelyard.plan.study_plan import StudyPlan

COUNTS = ("planned", "finished", "running", "invalid", "error", "waiting", "passed")
_WIDEST = 40


def plan_lines(plan: StudyPlan) -> Iterator[str]:
    agents = [one.name for one in plan.agents if one.role == "agent"]
    baselines = [one.name for one in plan.agents if one.role == "baseline"]
    strata = sorted({one.stratum for one in plan.contracts})
    yield f"study {plan.name}  {plan.identity[:16]}"
    yield f"agents     {', '.join(one_line(name, _WIDEST) for name in agents) or '-'}"
    yield f"baselines  {', '.join(one_line(name, _WIDEST) for name in baselines)}"
    kinds = "1 stratum" if len(strata) == 1 else f"{len(strata)} strata"
    yield f"contracts  {len(plan.contracts)} in {kinds}: {one_line(', '.join(strata), 80)}"
    budget = plan.budget
    yield (
        f"repeats    {plan.repeats} of each agent on each contract; seed {plan.seed}"
        + ("" if not plan.deviations() else " (a protocol deviation)")
    )
    yield (
        f"budget     B_total {_usd(budget.total_usd)}, B_task {_usd(budget.task_usd)}, B_run {_usd(budget.run_usd)}"
    )
    if budget.review_usd is not None:
        yield f"reviews    {_usd(budget.review_usd)} of B_total are kept back for minutes of people"
    if (looks := plan.looks) is not None:
        count = "valid at every look" if looks.count is None else f"{looks.count} looks, equally spaced"
        yield f"looks      {looks.rule.replace('_', '-')}: {count}"


def forecast_lines(forecast: Mapping[str, Any], total_usd: float | None = None) -> Iterator[str]:
    """`total_usd` is B_total, if the plan has one."""
    if not forecast:
        return
    usd, hours = forecast["usd"], forecast["hours"]
    yield f"trials     {forecast['trials']}"
    source = "" if hours["expected"] is None else f"; from {forecast['from']}"
    unknown = {name: forecast["trials"] - count for name, count in forecast["known"].items()}
    yield f"cost       {_spread(usd, _dollars, unknown['usd'])}"
    if total_usd is not None and usd["most"] > total_usd:
        yield f"note: the most that all trials may cost exceeds B_total ({_usd(total_usd)}); trials that no longer fit do not start"
    yield f"time       {_spread(hours, _hours, unknown['hours'])} with {forecast['jobs']} at a time{source}"
    if forecast.get("envelope"):
        yield from _envelope(forecast["envelope"], forecast["jobs"])
    if forecast.get("power"):
        yield from _power(forecast["power"])


def _envelope(one: Mapping[str, Any], jobs: int) -> Iterator[str]:
    """What is reserved for a run before it starts, where more than models has a price."""
    parts = {name: amount for name, amount in one["run"].items() if amount}
    if parts.keys() - {"models"}:
        named = ", ".join(f"{name} {amount:.2f}" for name, amount in parts.items())
        yield f"a run      reserves up to {sum(parts.values()):.2f} USD: {named}"
    if one["at_once"] is not None and one["at_once"] < jobs:
        yield f"warning: B_total has room for {one['at_once']} of {jobs} runs at a time; the others wait"


def _power(one: Mapping[str, Any]) -> Iterator[str]:
    """What is assumed before anything has run, and a warning where the study cannot decide what it asks."""
    yield f"power      {one['expected']:.2f} to detect the minimum effect, at a rate of 0.5 and a correlation of 0.5"
    if one["expected"] < one["wanted"]:
        needed = "more than a million" if one["contracts_needed"] is None else one["contracts_needed"]
        yield (
            f"warning: the main stage begins only with power {one['wanted']:g}, which takes {needed} contracts at these rates; add "
            "contracts, raise --minimum-effect, or plan --minimum-power 0 (no claim of power)"
        )


def _spread(one: Mapping[str, float | None], shown: Callable[[float | None], str], unknown: int) -> str:
    if one["most"] == 0:
        return "none: no agent of this plan can reach a model"
    most = f"at most {shown(one['most'])}"
    if one["expected"] is None:
        of = "1 trial has" if unknown == 1 else f"{unknown} trials have"
        return f"not known ({of} no earlier run to go by); {most}"
    return f"about {shown(one['expected'])} [{shown(one['low'])}, {shown(one['high'])}], {most}"


def _dollars(amount: float | None) -> str:
    return "-" if amount is None else f"{amount:.2f} USD"


def _hours(value: float | None) -> str:
    return seconds(None if value is None else value * 3600)


def _usd(amount: float | None) -> str:
    return "unlimited" if amount is None else f"{amount:g} USD"


def status_lines(state: Mapping[str, Any], width: int = 0) -> Iterator[str]:
    """Of what `study status --json` prints; `width` is that of a terminal, 0 without one."""
    yield f"study {one_line(state['name'], _WIDEST)}  {state['digest'][:16]}  {state['state']}"
    if state["why"]:
        yield from (f"  {part}" for part in one_line(state["why"], 1000).split("; "))
    rows: list[tuple[str, ...]] = [("agent", *COUNTS, "spent")]
    rows += [_row(one) for one in state["agents"]]
    rows.append(_row({**state["trials"], "name": "all", "spent_usd": state["spent_usd"]}))
    yield from _table(rows, width)
    total = state["budget"]["total_usd"]
    limit = ", without a limit" if total is None else f" of {_usd(total)}"
    yield f"spent {state['spent_usd']:.2f} USD{limit}{_left(state)}"
    if any(amount for name, amount in state["spent"].items() if name != "models"):
        yield f"of that {', '.join(f'{name} {amount:.2f}' for name, amount in state['spent'].items())} USD"
    if state["runs_of_other_versions"]:
        other, usd = state["runs_of_other_versions"], state["spent_on_other_versions_usd"]
        yield f"of that {usd:.2f} USD for {_runs(other)} of removed or changed contracts"
    if state["runs_over_budget"]:
        yield f"{_runs(state['runs_over_budget'])} cost more than B_run: minutes of people, or a run that was paused"
    for one in state["agents"]:
        if one["honeypots"]["passed"]:
            found = one["honeypots"]
            yield (
                f"honeypots: {one_line(one['name'], _WIDEST)} passed {found['passed']} of {found['finished']} trials that cannot be "
                "passed honestly"
            )
    for one in state["faults"]:
        trials = "1 trial" if one["trials"] == 1 else f"{one['trials']} trials"
        yield f"{trials} could not be run: {one_line(one['why'], 300)}"
    for one in state["deviations"]:
        yield f"deviation: {one_line(_deviation(one), 200)}"
    for name, why in state["removed"].items():
        yield f"removed: {one_line(name, _WIDEST)}: {one_line(why, 160)}"


def _runs(number: int) -> str:
    return "1 run" if number == 1 else f"{number} runs"


def _left(state: Mapping[str, Any]) -> str:
    """What runs under way reserve, what is kept back for reviews, and what further runs may cost."""
    if state["left_usd"] is None:
        return ""
    parts = [("reserved", state["reserved_usd"]), ("kept back for reviews", state["kept_back_usd"])]
    held = "".join(f", {amount:.2f} {name}" for name, amount in parts if amount)
    left = state["left_usd"]
    return f"{held}, {left:.2f} left" if left >= 0 else f"{held}; exceeded by {-left:.2f} USD"


def _table(rows: Sequence[tuple[str, ...]], width: int) -> Iterator[str]:
    """Where a terminal is too narrow, each name stands on a line of its own above its numbers."""
    sizes = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    is_narrow = 0 < width < sum(sizes) + 2 * (len(sizes) - 1)
    for row in rows:
        numbers = [cell.rjust(size) for cell, size in zip(row[1:], sizes[1:], strict=True)]
        if is_narrow:
            yield row[0]
            yield f" {' '.join(numbers)}"
        else:
            yield "  ".join([row[0].ljust(sizes[0]), *numbers])


def _deviation(one: Mapping[str, Any]) -> str:
    """A line of the log, or of the plan's own departures, in words."""
    match one.get("deviation"):
        case "stage":
            return f"{one.get('stage')} was begun with --force-stage; not met: {', '.join(one.get('unmet') or ())}"
        case "change":
            return f"accepted with --accept-changes: {one.get('change')}"
    return f"{one.get('what')}: planned {one.get('planned')}, observed {one.get('observed')}"


def _row(one: Mapping[str, Any]) -> tuple[str, ...]:
    return (one_line(one["name"], _WIDEST), *(str(one[name]) for name in COUNTS), f"{one['spent_usd']:.2f}")
