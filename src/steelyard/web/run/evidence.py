"""A record -> the Evidence tab: whether every byte is as it was sealed, the hashes, and in words what the verdict is worth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from steelyard.errors import DAMAGED
from steelyard.evidence.folder.folder import SEAL
from steelyard.report.html.element import Child, Markup, join, tag
from steelyard.report.one_run import label_of
from steelyard.report.plain import one_line
from steelyard.study.verify_record import record_breaks
from steelyard.web.layout import card, digest, empty, facts, notice
from steelyard.web.run.diff import finding_line
from steelyard.web.run.header import run_document
from steelyard.web.run.record import RunRecord
from steelyard.web.run.timeline import chain_status
from steelyard.web.words import badge, cut, plural, shorten_middle

MOST_FINDINGS, MOST_JSON = 300, 200_000
# Each part of the label -> what each of its values means.
_MEANING: dict[str, dict[str, str]] = {
    "isolation": {
        "none": "The agent and the checks ran as ordinary processes of this machine; nothing kept them from its files.",
        "bubblewrap": "The agent and the checks ran in Linux namespaces without the files of this machine.",
        "container": "The agent and the checks ran in containers.",
        "vm": "The agent and the checks ran in virtual machines.",
    },
    "tree": {
        "fresh": "The checks ran on a new tree: snapshot, setup and the imported change.",
        "live": "The checks ran in the tree that the agent left, where a left-behind process could still act.",
    },
    "oracle": {
        "in_process": "Tests ran in the same process as the tested code.",
        "twin": "Tests ran in the same process, and controls looked for faked results.",
        "split": "Tests ran in another sandbox than the tested code.",
    },
    "runner": {
        "judge": "A model's opinion decides.",
        "candidate": "The tested code reports its own results.",
        "exit_code": "The exit code of the command decides.",
        "verifier": "The contract's verifier decides.",
        "report_file": "A report file decides.",
        "reporter": "A reporter of Steelyard inside the test runner reports each test.",
    },
}


def evidence_tab(record: RunRecord) -> Markup:
    return run_document(
        record,
        "evidence",
        _seal_card(record),
        _assurance(record),
        _findings(record),
        _hashes(record),
        _manifest(record),
    )


def _seal_card(record: RunRecord) -> Markup:
    if record.state in ("running", "interrupted"):
        return card(
            "Record", empty("There is no seal yet.", "A record can be verified once its run has ended.")
        )
    breaks = record_breaks(record.folder)
    chain = chain_status(record)
    said: list[Child] = [
        tag(
            "p",
            badge("pass" if chain["holds"] else "fail", label="chain of events"),
            " ",
            one_line(chain["words"]),
        )
    ]
    if breaks:
        said.append(
            tag(
                "ul",
                [tag("li", badge("altered"), " ", one_line(str(one))) for one in breaks[:50]],
                class_="plain",
            )
        )
        said.append(notice("The record is not as it was left. What it shows does not count.", "alarm"))
    else:
        said.append(
            tag(
                "p",
                badge("pass", label="every file"),
                " has the hash that the seal names, and the gradings and the report follow from it.",
            )
        )
    return card("Record", said)


def _assurance(record: RunRecord) -> Markup:
    label = record.result.get("assurance")
    if not isinstance(label, dict):
        return card(
            "What this verdict is worth",
            empty("There is no verdict.", "A run that was not graded has no assurance label."),
        )
    return card(
        "What this verdict is worth",
        tag("p", _sentence(label, str(record.result.get("verdict")))),
        facts(_parts(label)),
        id_="assurance",
    )


def _sentence(label: Mapping[str, Any], verdict: str) -> str:
    try:
        words = label_of(label, verdict).removeprefix("trust: ").split(" (assurance:")[0]
    except DAMAGED:
        return "The label cannot be read."
    return f"{words[:1].upper()}{words[1:]}."


def _parts(label: Mapping[str, Any]) -> list[tuple[str, Child]]:
    found: list[tuple[str, Child]] = []
    for name, meanings in _MEANING.items():
        if name in label:
            value = str(label[name])
            found.append((name, join(tag("b", value.replace("_", " ")), ". ", meanings.get(value, ""))))
    coverage = label.get("control_coverage")
    if isinstance(coverage, int | float) and label.get("oracle") == "twin":
        found.append(("controls", f"on {coverage:.0%} of the passed tests"))
    hosts = label.get("allowed_hosts")
    network = str(label.get("network", "unknown")).replace("_", " ")
    more = f": {one_line(orjson.dumps(hosts).decode(), 300)}" if isinstance(hosts, dict) else ""
    found.append(("network", f"{network}{more}"))
    limits = label.get("limits")
    if isinstance(limits, dict):
        found.append(
            (
                "limits",
                ", ".join(f"{cut(str(name), 40)} by {cut(str(how), 60)}" for name, how in limits.items())
                or "none",
            )
        )
    return found


def _findings(record: RunRecord) -> Markup | None:
    findings = record.result.get("findings") or ()
    if not findings:
        return None
    rows = [tag("li", finding_line(one)) for one in findings[:MOST_FINDINGS] if isinstance(one, dict)]
    more = f", {MOST_FINDINGS} shown" if len(findings) > MOST_FINDINGS else ""
    return card(f"{plural(len(findings), 'finding')}{more}", tag("ul", rows, class_="plain"))


def _hashes(record: RunRecord) -> Markup:
    try:
        seal = record.folder.read_json(SEAL)
        seal = seal if isinstance(seal, dict) else {}
    except DAMAGED:
        seal = {}
    contract = record.result.get("contract") or record.manifest.get("contract") or {}
    repository = record.manifest.get("repository") or {}
    pairs: list[tuple[str, Child]] = [
        ("contract", digest(contract.get("digest") if isinstance(contract, dict) else None)),
        ("snapshot", digest(repository.get("content_root") if isinstance(repository, dict) else None)),
        ("last event", digest(seal.get("head"))),
        ("seal", digest(seal.get("digest"))),
        ("grading", digest(record.grading.get("digest"))),
        ("signature", "signed" if seal.get("signature") else "not signed"),
        ("trial", str(record.result.get("trial") or "\N{EN DASH}")),
    ]
    command = tag("p", "Verify it yourself: ", tag("code", f"steelyard verify {record.run}"), class_="dim")
    return card("Hashes", facts(pairs), command)


def _manifest(record: RunRecord) -> Markup:
    text = orjson.dumps(dict(record.manifest), option=orjson.OPT_INDENT_2).decode()
    return card(
        "Manifest",
        tag(
            "details",
            tag("summary", "As written before the agent started"),
            tag("pre", shorten_middle(text, MOST_JSON), tabindex="0"),
        ),
    )
