"""The page of one contract: what its self-test found, its runs by agent and version, and whether verdicts are stable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from steelyard.evidence.folder.folder import CHANGE, FINAL_RESPONSE, RunFolder
from steelyard.evidence.folder.seal import Break, read_seal
from steelyard.report.html.element import Child, Markup, join, tag
from steelyard.report.plain import one_line
from steelyard.report.stored import certificate
from steelyard.store.entry import Entry
from steelyard.web.layout import card, digest, document, notice, run_link, table
from steelyard.web.message import NotThere, Request
from steelyard.web.overview import (
    HEADINGS,
    NUMERIC,
    Counts,
    counts_table,
    exactly,
    group,
    newest_runs,
    summary_facts,
)
from steelyard.web.records import Records
from steelyard.web.words import badge, cut, moment, plural, short_run, shorten_middle

MOST_SEALS = 500  # of the newest runs, whose changes are compared
MOST_VERSIONS = 10
MOST_ROWS = 200
_OUTCOMES = {
    "as_expected": ("yes", "as expected"),
    "otherwise": ("no", "NOT as expected"),
    "error": ("error", "not decided"),
}
_TITLES = {
    "reference": "Verdicts of the reference and of an empty change",
    "fixtures": "Scores of the contract's own example answers",
    "repeats": "Verdicts and results of the same work, graded several times",
    "cheats": "Verdicts of known cheats",
    "partial": "Verdicts of the reference without one of its parts (advice)",
    "time": "Time of each check (advice)",
}


def contract_page(records: Records, request: Request) -> Markup:
    name = request.parts["name"]
    rows = records.tally(("agent", "digest", "state"), exactly(contract=name))
    if not rows:
        raise NotThere("No run of this store is of that contract.")
    versions = group(rows, "digest")
    return document(
        name,
        tag("h1", "Contract ", tag("code", name)),
        summary_facts(rows),
        notice(
            "These runs are of several versions of the contract; results of different versions are not compared.",
            "warning",
        )
        if len(versions) > 1
        else None,
        _certificates([one for one in versions if one]),
        card("Agents", counts_table("agent", group(rows, "agent"), "agent", "Runs of each agent")),
        _repeats(rows),
        _equal_changes(_changes_with_both_verdicts(records, name)),
        card(
            "Versions",
            table(
                ("digest", *HEADINGS),
                [(digest(one), *counts.cells()) for one, counts in versions.items()],
                caption="Versions of the contract",
                numeric=NUMERIC,
            ),
        ),
        newest_runs(records, exactly(contract=name), {"contract": name}),
        section="Contracts",
        crumbs=(("Contracts", "/contracts"),),
    )


def _certificates(versions: Sequence[str]) -> Markup:
    """What `steelyard check` found on this machine of the versions that have runs here."""
    content: list[Child] = []
    for version in versions[:MOST_VERSIONS]:
        parts = certificate.read_certificate(version)
        if len(versions) > 1:
            content.append(tag("h3", "Version ", digest(version)))
        if not parts:
            content.append(
                tag(
                    "p",
                    badge("not graded", label="not certified yet"),
                    " ",
                    tag("code", "steelyard certify CONTRACT"),
                    " tries the reference, an empty change and known cheats, and keeps the result for this page.",
                )
            )
        content += [_part(name, part) for name, part in parts.items()]
    return card("Certificate", content, id_="certificate")


def _badge(came: str) -> Markup:
    word, label = _OUTCOMES.get(came, ("warning", cut(came, 40)))
    return badge(word, label=label)


def _part(name: str, part: certificate.CertificatePart) -> Markup:
    rows = [
        (
            cut(one_line(one.name), 100),
            cut(one_line(one.wanted), 60),
            cut(one_line(one.got), 60),
            _badge(one.came),
            tag("div", shorten_middle(one.why, 600), class_="notes"),
        )
        for one in part.results[:MOST_ROWS]
    ]
    bad = (
        badge("warning", label="look at it")
        if name in certificate.ADVICE
        else badge("fail", label="does not hold")
    )
    holds = badge("pass", label="holds") if part.holds else bad
    command = f"check --{name}" if name in {"reference", "fixtures"} else "certify"
    return join(
        tag(
            "p",
            holds,
            f" {_TITLES[name]}: ",
            tag("code", command),
            f" on {moment(part.at)} UTC with Steelyard {cut(one_line(part.version), 40)}",
            f", in the sandbox {cut(one_line(str(part.sandbox)), 40)}." if part.sandbox else ".",
        ),
        [notice(cut(one_line(problem), 400), "warning") for problem in part.problems[:10]],
        table(("tried", "must get", "got", "outcome", "why"), rows, caption=f"What {command} found: {name}"),
    )


class ChangeVerdicts(NamedTuple):
    """Runs of one version of a contract that ended with the same change."""

    version: str
    change: str
    entries: tuple[Entry, ...]

    def of(self, state: str) -> list[Entry]:
        return [one for one in self.entries if one.state == state]


def _changes_with_both_verdicts(records: Records, contract: str) -> list[ChangeVerdicts]:
    """Changes that passed in one run and failed in another. An answer without a workspace is compared by its text."""
    query = replace(
        exactly(contract=contract),
        verdicts=("pass", "fail"),
        sort="started",
        descending=True,
        limit=MOST_SEALS,
    )
    found: dict[tuple[str, str], list[Entry]] = {}
    for entry in records.query(query, lines=True):
        sealed = read_seal(RunFolder(records.root / entry.run))
        if isinstance(sealed, Break) or not sealed["files"].get(CHANGE):
            continue
        key = str(sealed["files"][CHANGE])
        if (entry.line or {}).get("workspace") == "none":
            key = str(sealed["files"].get(FINAL_RESPONSE, key))
        found.setdefault((entry.digest or "", key), []).append(entry)
    changes = [ChangeVerdicts(*key, tuple(entries)) for key, entries in found.items()]
    return [one for one in changes if one.of("pass") and one.of("fail")]


def _repeats(rows: Iterable[Mapping[str, Any]]) -> Markup:
    """Agents whose repeats on one version of the contract had different verdicts."""
    cells: dict[tuple[str, str], Counts] = {}
    for row in rows:
        cells.setdefault((str(row["agent"]), str(row["digest"] or "")), Counts()).add(row)
    mixed = [
        (agent, version, counts) for (agent, version), counts in sorted(cells.items()) if counts.is_mixed
    ]
    if not mixed:
        return card(
            "Repeats", tag("p", "No agent has both passed and failed the same version of this contract.")
        )
    listed = [
        (cut(agent, 80), digest(version), f"{counts.states['pass']:,}", f"{counts.states['fail']:,}")
        for agent, version, counts in mixed[:200]
    ]
    return card(
        "Repeats",
        tag(
            "p",
            f"{plural(len(mixed), 'agent')} passed and failed the same version. That is the agent's variation, or a check that is not "
            "deterministic: then equal changes have different verdicts, which the next section lists.",
        ),
        table(
            ("agent", "version", "pass", "fail"),
            listed,
            caption="Agents with different verdicts",
            numeric=(2, 3),
        ),
    )


def _equal_changes(found: Sequence[ChangeVerdicts]) -> Markup:
    """The agent cannot be the cause here: the same change was graded twice, with two verdicts."""
    title = "Flakiness"
    if not found:
        said = f"No change has both passed and failed, among the newest {MOST_SEALS} runs with a verdict."
        return card(title, tag("p", said))
    rows = [
        (
            digest(one.change),
            digest(one.version),
            f"{len(one.of('pass')):,}",
            f"{len(one.of('fail')):,}",
            [
                join(run_link(entry.run, short_run(entry.run)), f" {entry.state} ")
                for entry in (*one.of("pass")[:2], *one.of("fail")[:2])
            ],
        )
        for one in found[:MOST_ROWS]
    ]
    return card(
        title,
        notice(
            f"{plural(len(found), 'change')} passed in one run and failed in another. A check is not deterministic, or the "
            "runs differ in what other gates look at: safety and budget.",
            "warning",
        ),
        table(
            ("change", "version", "pass", "fail", "runs"),
            rows,
            caption="Equal changes with different verdicts",
            numeric=(2, 3),
        ),
        id_="flakiness",
    )
