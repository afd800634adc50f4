"""Grades of a sealed run -> `gradings/0001.json`, `0002.json` ...: appended, never rewritten.

    {"schema": "steelyard.grading/1", "number": 2, "seal": "<digest of the seal>",
     "previous": "<sha256 of gradings/0001.json>", "grades": [...], "verdict": {...}, ...,
     "report": {"schema": "steelyard.report/1", "digest": "<of report.json>"},     in the first alone
     "digest": "<64 hex>", "signature": {"algorithm": "ed25519", "public_key": "...", "value": "..."}}

The first is the result of record. Each names the seal it judges and the bytes of the one before it; `digest` and
`signature` are over the canonical bytes (RFC 8785) of the rest. A run whose seal is signed has signed gradings.
`gradings-head.json` says how many there are, and which bytes the last one has:

    {"schema": "steelyard.gradings_head/1", "seal": "...", "count": 2, "last": "<sha256 of gradings/0002.json>",
     "digest": "<64 hex>", "signature": {...}}

A process that is killed between a grading and its head leaves one grading more than the head counts, and that is whole.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson

from steelyard.deferred.named_tuple import NamedTuple
from steelyard.deferred.pattern import deferred_pattern
from steelyard.errors import DAMAGED, OperatorFault
from steelyard.evidence.folder import signature as signatures
from steelyard.evidence.folder.canonical import canonical, has_its_digest
from steelyard.evidence.folder.folder import (
    CHECKS,
    GRADINGS,
    GRADINGS_HEAD,
    MANIFEST,
    OUTCOME,
    REPORT,
    TEMPORARY,
    RunFolder,
)
from steelyard.evidence.folder.numbered import NUMBERED, Series, append_record, numbered_files
from steelyard.filesystem.plain_file import read_plain
from steelyard.filesystem.tree import printable

SCHEMA = "steelyard.grading/1"
HEAD_SCHEMA = "steelyard.gradings_head/1"
SERIES = Series(GRADINGS, GRADINGS_HEAD, HEAD_SCHEMA)
_TEMPORARY = deferred_pattern(rf"{re.escape(TEMPORARY)}[0-9a-f]{{16}}(?:\.new)?")


class Fault(NamedTuple):
    """What is wrong with a grading or with the report, and where."""

    where: str
    why: str


def grading_files(folder: RunFolder) -> list[Path]:
    return numbered_files(folder, SERIES)


def read_gradings(folder: RunFolder) -> list[dict[str, Any]]:
    return [orjson.loads(read_plain(path)) for path in grading_files(folder)]


def append_grading(folder: RunFolder, data: Mapping[str, Any], signer: Path | None = None) -> Path:
    """Write the next grading, signed with the key in `signer`; two writers at once get two numbers."""
    if folder.state != "sealed":
        raise OperatorFault(f"{folder.run_id} is not sealed, so it cannot be graded")
    return append_record(folder, SERIES, data, signer)


def grading_faults(folder: RunFolder, seal: Mapping[str, Any], public_key: Path | None) -> Iterator[Fault]:
    """What in `gradings/` and `report.json` contradicts itself, the seal, or what is sealed."""
    yield from _strangers(folder)
    sealed = SealedFacts.of(folder)
    chain = GradingChain(folder, seal, sealed, public_key)
    yield from chain.faults()
    if not chain.cut:
        yield from (Fault(REPORT, why) for why in _report_faults(folder, chain.gradings, sealed))


class GradingChain:
    """The gradings of a run, in order; `cut` where one does not follow the one before it."""

    def __init__(
        self, folder: RunFolder, seal: Mapping[str, Any], sealed: SealedFacts, public_key: Path | None = None
    ) -> None:
        self.gradings: list[dict[str, Any]] = []
        self.cut = False
        self._digests: list[str] = []
        self._folder, self._seal, self._sealed, self._key = folder, seal, sealed, public_key

    def faults(self) -> Iterator[Fault]:
        found = [*self._grading_faults()]
        yield from found
        if not found:  # a grading that was altered is named itself
            yield from (Fault(GRADINGS_HEAD, why) for why in self._head_faults())

    def _grading_faults(self) -> Iterator[Fault]:
        previous = ""
        for number, path in enumerate(grading_files(self._folder), start=1):
            name = f"{GRADINGS}/{path.name}"
            try:
                raw = read_plain(path)
                grading = orjson.loads(raw)
                gap = _misplaced(grading, path.name, number, self._seal["digest"], previous)
                faults = (
                    []
                    if gap
                    else [*_unbound(grading, self._seal, self._key), *_contradictions(grading, self._sealed)]
                )
            except DAMAGED:
                gap, faults = "altered: it is not a grading", []
            if gap:
                self.cut = True
                yield Fault(name, gap)
                return
            yield from (Fault(name, why) for why in faults)
            previous = hashlib.sha256(raw).hexdigest()
            self._digests.append(previous)
            self.gradings.append(grading)

    def _head_faults(self) -> Iterator[str]:
        try:
            head = orjson.loads(read_plain(self._folder.file(GRADINGS_HEAD)))
            count, last = head["count"], head["last"]
            if head["schema"] != HEAD_SCHEMA or not isinstance(count, int) or count < 1:
                raise ValueError
            faults = [*_unbound(head, self._seal, self._key)]
        except FileNotFoundError:
            # Of one grading alone: killed before the head. A report is written after that.
            whole = len(self.gradings) <= 1 and not self._folder.file(REPORT).exists()
            if not whole and any("head" in one for one in self.gradings):
                yield "missing"
            return
        except DAMAGED:
            yield "altered: it is not a head of gradings"
            return
        yield from faults
        if head["seal"] != self._seal["digest"]:
            yield "it belongs to another seal"
        elif len(self.gradings) < count:
            yield f"{_counted(count - len(self.gradings))} removed: it counts {count}, but {len(self.gradings)} are here"
        elif self._digests[count - 1] != last:
            yield f"the hash of grading {count} does not match"
        elif len(self.gradings) > count + 1:
            yield f"it counts {count} gradings, but {len(self.gradings)} are here"


def _counted(number: int) -> str:
    return "1 grading was" if number == 1 else f"{number} gradings were"


def _strangers(folder: RunFolder) -> Iterator[Fault]:
    """Everything in `gradings/` that no grading is, and a link in its place."""
    root = folder.file(GRADINGS)
    if root.is_symlink() or (root.exists() and not root.is_dir()):
        yield Fault(GRADINGS, "not a folder, but a link or a file")
        return
    for path in sorted(root.iterdir()) if root.is_dir() else ():
        if not NUMBERED.fullmatch(path.name) and not is_leftover(path):
            yield Fault(f"{GRADINGS}/{printable(path.name)}", "it is not a grading")


def is_leftover(path: Path) -> bool:
    """A file that a write which never finished left under its temporary name. Nothing reads it."""
    return bool(_TEMPORARY.fullmatch(path.name)) and path.is_file() and not path.is_symlink()


class SealedFacts(NamedTuple):
    """What gradings are held against; of a damaged folder what there is, for its files are named elsewhere."""

    contract: str | None
    outcomes: Mapping[str, str]  # check id -> outcome
    workspace: str | None

    @classmethod
    def of(cls, folder: RunFolder) -> SealedFacts:
        outcomes: dict[str, str] = {}
        with suppress(*DAMAGED):
            root = folder.file(CHECKS)
            for path in sorted(root.iterdir()) if root.is_dir() else ():
                outcomes[path.name] = folder.read_json(f"{CHECKS}/{path.name}/{OUTCOME}")["outcome"]
        try:
            manifest = folder.read_json(MANIFEST)
            return cls(manifest.get("contract", {}).get("digest"), outcomes, manifest.get("workspace"))
        except DAMAGED:
            return cls(None, outcomes, None)


def _misplaced(grading: Mapping[str, Any], name: str, number: int, seal: str, previous: str) -> str:
    if name != f"{number:04d}.json" or grading["number"] != number:
        return f"grading {number} is missing"
    if grading["seal"] != seal:
        return "it grades another seal"
    return "" if grading["previous"] == previous else "it does not continue the grading before it"


def _unbound(grading: Mapping[str, Any], seal: Mapping[str, Any], public_key: Path | None) -> Iterator[str]:
    if not has_its_digest(grading):
        yield "altered: its content does not match its digest"
    signature, sealed_by = grading.get("signature"), seal.get("signature")
    if signature is None:
        if public_key is not None or sealed_by is not None:
            yield "not signed"
        return
    # By the key of the seal, not by one that the grading names itself: a forger has a key too.
    named = {**signature, "public_key": sealed_by["public_key"]} if sealed_by else signature
    if not signatures.signature_holds(canonical(grading), named, public_key):
        yield "bad signature"


def _contradictions(grading: Mapping[str, Any], sealed: SealedFacts) -> Iterator[str]:
    verdict, grades = grading["verdict"], grading["grades"]
    if grading["schema"] != SCHEMA:
        yield f"altered: it is not a {SCHEMA}"
    # Only a run without a workspace has grades and no gates.
    ungated = verdict["gates"] is None and verdict["status"] == "scorable" and sealed.workspace != "none"
    if ungated or not _follows(verdict, grades):
        yield "its verdict does not follow from its grades"
    if verdict["status"] == "invalid":  # perhaps because of the contract, and without any grades
        return
    if sealed.contract not in (None, grading["contract"]["digest"]):
        yield "it used another contract than the run"
    outcomes = {grade["name"]: grade["outcome"] for grade in grades if grade["check"]}
    for name in sorted({*outcomes, *sealed.outcomes}):
        outcome = sealed.outcomes.get(name)
        # A grader may fail to decide on any outcome; it may not decide otherwise.
        if outcomes.get(name) not in (outcome, "error") or name not in outcomes:
            claim = f"it says {outcomes[name]} for" if name in outcomes else "it says nothing of"
            sealed_as = f"the sealed outcome is {outcome}" if outcome else "there is no sealed outcome"
            yield f"{claim} the check {name}, but {sealed_as}"


def blocks(grade: Mapping[str, Any]) -> bool:
    """Whether a grade, as JSON, keeps its run from passing whatever the score is."""
    disqualifies = grade.get("disqualifies")
    if disqualifies is None:  # a record from before this member; only `swebench` disqualifies
        data = grade.get("data")
        preserved = data.get("pass_to_pass") if isinstance(data, dict) else None
        disqualifies = isinstance(preserved, dict) and bool(preserved.get("failed"))
    return bool(grade.get("required") or disqualifies) and grade.get("outcome") in ("fail", "error")


def _follows(verdict: Mapping[str, Any], grades: list[Mapping[str, Any]]) -> bool:
    """Whether a verdict could come from these grades; the threshold of the score is not in the record."""
    gates = [gate["outcome"] for gate in (verdict["gates"] or {}).values()]
    blocked = any(map(blocks, grades))
    if (verdict["verdict"] == "invalid") != (verdict["status"] == "invalid"):
        return False
    if verdict["gates"] and blocked and all(gate == "pass" for gate in gates):
        return False
    if verdict["verdict"] != "pass":
        return True
    passed = all(gate == "pass" for gate in gates) and not blocked
    if verdict["gates"] is None and all(grade["outcome"] == "not_applicable" for grade in grades):
        passed = (verdict.get("judge") or {}).get("verdict") == "PASS"  # only the judge looked at the answer
    return passed and all(step["outcome"] == "pass" for step in verdict.get("steps", ()))


def _report_faults(folder: RunFolder, gradings: list[dict[str, Any]], sealed: SealedFacts) -> Iterator[str]:
    """Of a report that is there: its run, outcomes and status are those of the record."""
    try:
        report = folder.read_json(REPORT)
        reported = (report["status"], report["acceptance"])
        run, checks = report["run"], report["checks"]
    except FileNotFoundError:
        return
    except DAMAGED:
        yield "altered: it is not a report"
        return
    if not gradings:
        yield "the grading it is made from is missing"
    # Any grading, not the newest: a run may be killed between a grading and its report.
    elif reported not in [(one["verdict"]["status"], one["verdict"]["acceptance"]) for one in gradings]:
        yield "altered: no grading has its status"
    if run != folder.path.absolute().name:
        yield "it belongs to another run"
    if checks != sealed.outcomes:
        yield "altered: its checks differ from the sealed outcomes"
