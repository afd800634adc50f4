"""A run folder -> what a table of many runs shows of it, and whether that much of the record holds.

Looked at: the seal and its digest; the manifest, the outcomes of checks and the end of the chain, each against the seal;
every grading and their head, as `verify` looks at them. Not looked at: the change, blobs, what the agent printed, the
events before the last ones, and `report.json`. That takes a tenth of the time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from steelyard.errors import DAMAGED
from steelyard.evidence.change.change import Change
from steelyard.evidence.evidence import Evidence, load_evidence
from steelyard.evidence.folder.folder import CHECKS, EVENTS, MANIFEST, OUTCOME, RunFolder
from steelyard.evidence.folder.gradings import GradingChain, SealedFacts
from steelyard.evidence.folder.seal import Break, read_seal
from steelyard.evidence.trace.chain import ChainBreak, last_events
from steelyard.evidence.trace.summary import Summary, summarise_events
from steelyard.filesystem.plain_file import read_plain


class Glance(NamedTuple):
    evidence: Evidence  # without its change and its outcomes
    gradings: Sequence[Mapping[str, Any]]  # those that hold together


def glance(folder: RunFolder) -> Glance:
    """Manifest, ending, gradings and first fault of a sealed run."""
    seal = read_seal(folder)
    if isinstance(seal, Break):
        return Glance(load_evidence(folder), ())
    try:
        sealed = _sealed(folder, seal)
        chain = GradingChain(folder, seal, sealed.facts)
    except DAMAGED:
        return Glance(load_evidence(folder), ())  # which says what is wrong
    broken = next((Break(*fault) for fault in chain.faults()), None)
    evidence = Evidence(
        folder=folder,
        manifest=sealed.manifest,
        change=Change(baseline="", complete=False),
        outcomes={},
        findings=(),
        summary=sealed.summary,
        head=seal["head"],
        seal_digest=seal["digest"],
        broken=None if broken is None else str(broken),
    )
    return Glance(evidence, chain.gradings)


class _RunState(NamedTuple):
    manifest: dict[str, Any]
    summary: Summary
    facts: SealedFacts


def _sealed(folder: RunFolder, seal: Mapping[str, Any]) -> _RunState:
    """Raises ValueError where something is not as it was sealed."""
    files = seal["files"]
    manifest = _read_verified(folder, MANIFEST, files)
    if not manifest.get("run", seal["run"]) == seal["run"] == folder.path.absolute().name:
        raise ValueError("another run")
    outcomes = {
        name.split("/")[1]: str(_read_verified(folder, name, files)["outcome"])
        for name in files
        if name.startswith(f"{CHECKS}/") and name.endswith(f"/{OUTCOME}")
    }
    contract = manifest.get("contract", {}).get("digest")
    return _RunState(
        manifest, _ending(folder, seal["head"]), SealedFacts(contract, outcomes, manifest.get("workspace"))
    )


def _read_verified(folder: RunFolder, name: str, files: Mapping[str, str]) -> dict[str, Any]:
    raw = read_plain(f"{folder.path}/{name}")
    if hashlib.sha256(raw).hexdigest() != files[name]:
        raise ValueError(name)
    read: dict[str, Any] = orjson.loads(raw)
    return read


def _ending(folder: RunFolder, head: str) -> Summary:
    """How the run ended, from the end of its log."""
    events = last_events(folder.file(EVENTS), head, "termination")
    if isinstance(events, ChainBreak) or events[-1].type != "termination":
        raise ValueError("it is unknown how it ended")
    return summarise_events(reversed(events))
