"""A suite on a tree that nobody need suspect: the snapshot with the reference's change, or with none.

As it is, and with twins in the place of some of its files. Asked once for a contract, a command, the hidden files and a
set of twins; the answer is kept in the cache.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, Protocol

import orjson

from steelyard.bench.apply_patch import apply_patch
from steelyard.bench.ground import Ground
from steelyard.bench.rebuild import rebuild
from steelyard.bench.reported import Reported
from steelyard.bench.twin.run_twin import Repeatable, Trusted
from steelyard.errors import AgentFault
from steelyard.evidence.blobs import Blobs
from steelyard.sandboxes.base import Laid

FORMAT = "steelyard.controls/3"


class TrustedBench(Repeatable, Protocol):
    """A suite that knows what it hides."""

    @property
    def hidden(self) -> tuple[Laid, ...]: ...


On = Callable[[tuple[Laid, ...]], TrustedBench]


class Told(NamedTuple):
    """What the trusted tree reports, and whether it has the reference's change."""

    reported: Reported
    has_reference: bool


def ask_trusted(ground: Ground, on: On, contents: Mapping[str, bytes]) -> Trusted:
    """`on` makes the same suite on another change."""
    twin = trusted_report(ground, on, contents)
    real = trusted_report(ground, on).reported if twin.has_reference else None
    return Trusted(real, twin.reported)


def trusted_report(ground: Ground, on: On, contents: Mapping[str, bytes] | None = None) -> Told:
    """What the suite reports there: as it is, or with other contents for some of its files."""

    def build(folder: Path) -> None:
        with ground.cache.temporary() as scratch:
            patch = reference_change(ground, scratch)
            reported = _run(on(patch or ()), contents or {})
        told = {"reported": reported.to_json(), "has_reference": patch is not None}
        (folder / "told.json").write_bytes(orjson.dumps(told))

    kept = ground.cache.build("controls", _key(ground, on(()), contents or {}), build)
    told = orjson.loads((kept / "told.json").read_bytes())
    return Told(Reported.from_json(told["reported"]), told["has_reference"])


def _run(bench: Repeatable, contents: Mapping[str, bytes]) -> Reported:
    try:
        (finished, reported), _ = bench.run(contents)
    except AgentFault as fault:  # of this tree, not of the candidate's
        return Reported("", "reporter", problems=(str(fault),))
    if finished.timed_out or finished.lost or finished.not_started:
        return replace(reported, problems=(*reported.problems, "it did not end normally"))
    return reported


def reference_change(ground: Ground, scratch: Path) -> tuple[Laid, ...] | None:
    """The reference's change as data, or None where there is none that applies."""
    path = ground.contract.reference
    if path is None:
        return None
    blobs = Blobs(scratch)
    applied = apply_patch(ground, path.read_bytes(), blobs)
    return None if applied.refused else rebuild(ground, applied.change, blobs).laid


def _key(ground: Ground, bench: TrustedBench, contents: Mapping[str, bytes]) -> str:
    material = [
        FORMAT,
        *ground.identity,
        [bench.suite.command, bench.suite.report, bench.suite.isolation],
        _digests(contents),
        _digests({one.path: one.source.read_bytes() for one in bench.hidden if one.source is not None}),
    ]
    return hashlib.sha256(orjson.dumps(material)).hexdigest()


def _digests(contents: Mapping[str, bytes]) -> list[tuple[str, str]]:
    return sorted(
        (path.encode(errors="surrogateescape").hex(), hashlib.sha256(text).hexdigest())
        for path, text in contents.items()
    )
