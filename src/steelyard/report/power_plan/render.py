"""`PowerPlan` -> lines for a terminal, and a curve as SVG that needs nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.report.percent import percent
from steelyard.report.power_plan.plan_power import PowerPlan
from steelyard.report.study_summary.render.words import rate

WIDTH, HEIGHT, MARGIN = 640, 360, 50


def power_lines(plan: PowerPlan) -> Iterator[str]:
    design = plan.design
    yield (
        f"{percent(design.first)} against {percent(design.second)}, {design.contracts} contracts, {design.repeats} repeats, "
        f"correlation {design.icc:.4g}, pairing {design.pairing:g}: {design.trials:,} trials"
    )
    yield f"power {percent(plan.power)} by formula, {rate(plan.simulated)} by simulation ({plan.simulated.method})"
    if not plan.agrees:
        yield (
            "formula and simulation disagree, because differences of contracts are far from normal: rely on the simulation; what "
            "follows is by formula"
        )
    if plan.cautious_power is not None and plan.icc is not None and plan.icc.high is not None:
        yield (
            f"power {percent(plan.cautious_power)} if the correlation is {plan.icc.high:.2f}, the upper end of its interval in the "
            "earlier runs; --icc plans with it"
        )
    yield f"design effect of repeats: {plan.design_effect:.2f}"
    effect = plan.detectable_effect
    yield (
        f"smallest improvement with {percent(plan.wanted)} power: "
        + ("none: not even a rate of 100%" if effect is None else f"+{100 * effect:.1f} points")
    )
    yield f"contracts for {percent(plan.wanted)} power: {_number(plan.contracts_needed, 'more than a million')}"
    yield (
        f"repeats for {percent(plan.wanted)} power with {design.contracts} contracts: "
        f"{_number(plan.repeats_needed, 'no number of repeats is enough; more contracts are needed')}"
    )
    for one in plan.sanity:
        yield f"{'ok' if one.holds else 'WRONG'}  {one.what}: {one.detail}"
    yield "assumptions, no results:"
    yield from (f"  {one}" for one in plan.assumptions)


def _number(value: int | None, otherwise: str) -> str:
    return otherwise if value is None else f"{value:,}"


def power_svg(plan: PowerPlan) -> str:
    """Power by number of contracts, with the wanted power and the planned number marked."""
    most = plan.curve[-1][0]

    def at(count: float, chance: float) -> str:
        x = MARGIN + (WIDTH - 2 * MARGIN) * count / most
        return f"{x:.1f},{HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * chance:.1f}"

    def line(start: str, end: str, style: str) -> str:
        (x1, y1), (x2, y2) = start.split(","), end.split(",")
        return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" {style}/>'

    def text(place: str, words: str, anchor: str = "middle", below: int = 0) -> str:
        x, y = place.split(",")
        return f'<text x="{x}" y="{float(y) + below:.1f}" text-anchor="{anchor}">{words}</text>'

    faint, dashed = 'stroke="#ddd"', 'stroke="#888" stroke-dasharray="4 4"'
    parts = [line(at(0, share), at(most, share), faint) for share in (0, 0.25, 0.5, 0.75, 1)]
    parts += [text(at(0, share), f"{share:.0%} ", "end", 4) for share in (0, 0.25, 0.5, 0.75, 1)]
    parts += [text(at(count, 0), f"{count:g}", below=18) for count in _ticks(most)]
    parts.append(line(at(0, plan.wanted), at(most, plan.wanted), dashed))
    parts.append(line(at(plan.design.contracts, 0), at(plan.design.contracts, 1), dashed))
    points = " ".join(at(count, chance) for count, chance in plan.curve)
    parts.append(f'<polyline points="{points}" fill="none" stroke="#2a6fb0" stroke-width="2"/>')
    title = f"Power to tell {plan.design.first:.0%} from {plan.design.second:.0%}, {plan.design.repeats} repeats, icc {plan.design.icc:g}"
    parts.append(text(f"{WIDTH / 2},{MARGIN / 2}", title))
    parts.append(text(f"{WIDTH / 2},{HEIGHT - 8}", "contracts (an assumption, no result)"))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">'
        f'<title>{title}</title><rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>{"".join(parts)}</svg>\n'
    )


def _ticks(most: int) -> list[float]:
    return [round(most * share) for share in (0.25, 0.5, 0.75, 1)]
