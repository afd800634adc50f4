"""Twins on a tree that nobody need suspect: the snapshot with the reference's change, or with none.

Asked once for a contract, a command and a set of twins; the answer is kept in the cache.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path

import orjson

from steelyard.bench.apply_patch import apply_patch
from steelyard.bench.ground import Ground
from steelyard.bench.rebuild import rebuild
from steelyard.bench.reported import Reported
from steelyard.bench.twin.run_twin import Repeatable, Trusted
from steelyard.evidence.blobs import Blobs
from steelyard.sandboxes.base import Laid

FORMAT = "steelyard.controls/1"


def ask_trusted(
    ground: Ground, on: Callable[[tuple[Laid, ...]], Repeatable], contents: Mapping[str, bytes]
) -> Trusted:
    """`on` makes the same suite on another change."""

    def build(folder: Path) -> None:
        with ground.cache.temporary() as scratch:
            patch = _reference(ground, scratch)
            bench = on(patch or ())
            real = None if patch is None else bench.run()[0].reported
            twin = bench.run(contents)[0].reported
        told = {"real": None if real is None else real.to_json(), "twin": twin.to_json()}
        (folder / "told.json").write_bytes(orjson.dumps(told))

    kept = ground.cache.build("controls", _key(ground, on(()), contents), build)
    told = orjson.loads((kept / "told.json").read_bytes())
    real = None if told["real"] is None else Reported.from_json(told["real"])
    return Trusted(real, Reported.from_json(told["twin"]))


def _reference(ground: Ground, scratch: Path) -> tuple[Laid, ...] | None:
    """The reference's change as data, or None where there is none that applies."""
    path = ground.contract.reference
    if path is None:
        return None
    blobs = Blobs(scratch)
    applied = apply_patch(ground, path.read_bytes(), blobs)
    return None if applied.refused else rebuild(ground, applied.change, blobs).laid


def _key(ground: Ground, bench: Repeatable, contents: Mapping[str, bytes]) -> str:
    material = [
        FORMAT,
        ground.contract.digest,
        ground.setup.digest if ground.setup else "",
        ground.sandbox,
        ground.image.id if ground.image else "",
        [chain.digest for chain in ground.toolchains],
        [bench.suite.command, bench.suite.report],
        sorted(
            (path.encode(errors="surrogateescape").hex(), hashlib.sha256(text).hexdigest())
            for path, text in contents.items()
        ),
    ]
    return hashlib.sha256(orjson.dumps(material)).hexdigest()
