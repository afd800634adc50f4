"""What `certify`, `check --reference` and `check --fixtures` found last of one version of a contract, kept in the cache by its digest.

    <cache>/certificates/<digest>.json
    {"schema": "steelyard.certificate/1", "digest": "...", "id": "widgets",
     "reference": {"at": "2026-03-07T12:00:00Z", "version": "0.2.0", "sandbox": null, "problems": [],
                   "results": [{"name": "reference", "wanted": "pass", "got": "pass", "came": "as_expected", "why": ""}, ...]},
     "fixtures": {...}, "repeats": {...}, "cheats": {...}, "partial": {...}, "time": {...}}

The file only says what was found on this machine; no grade depends on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import orjson

from steelyard import __version__
from steelyard.errors import DAMAGED
from steelyard.evidence.folder.folder import write_atomic
from steelyard.filesystem.cache import Cache
from steelyard.filesystem.plain_file import read_plain
from steelyard.study.self_test import SelfTestResult

SCHEMA = "steelyard.certificate/1"
FOLDER = "certificates"
MOST_CHARS = 1000
_KEPT = frozenset({"name", "wanted", "got", "came", "why"})  # not the folder, which is gone by then
_DIGEST_CHARS = frozenset("0123456789abcdef")
Part = Literal["reference", "fixtures", "repeats", "cheats", "partial", "time"]
# What an author should look at, and nothing must hold
ADVICE: frozenset[Part] = frozenset({"partial", "time"})
PARTS: tuple[Part, ...] = get_args(Part)


class CertificatePart(NamedTuple):
    """One self-test. `problems` is why something could not be tried."""

    at: str
    version: str
    sandbox: str | None
    results: tuple[SelfTestResult, ...]
    problems: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        return (
            bool(self.results)
            and not self.problems
            and all(one.came == "as_expected" for one in self.results)
        )


def make_part(
    results: Sequence[SelfTestResult], problems: Sequence[str], sandbox: str | None
) -> CertificatePart:
    at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return CertificatePart(at, __version__, sandbox, tuple(results), tuple(problems))


def save_certificate(digest: str, contract: str, part: Part, found: CertificatePart) -> None:
    """Keep it; the other part stays. A self-test that the machine spoiled says nothing, so it replaces nothing."""
    if any(one.came == "invalid" for one in found.results):
        return
    path = _path(digest)
    try:
        data = _read(path, digest)
    except DAMAGED:
        data = {"schema": SCHEMA, "digest": digest, "id": contract}
    data[part] = {
        "at": found.at,
        "version": found.version,
        "sandbox": found.sandbox,
        "problems": [one[:MOST_CHARS] for one in found.problems],
        "results": [
            {name: str(value)[:MOST_CHARS] for name, value in one.to_json().items() if name in _KEPT}
            for one in found.results
        ],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, orjson.dumps(data, option=orjson.OPT_INDENT_2), durable=False)


def read_certificate(digest: str) -> dict[Part, CertificatePart]:
    """The parts that there are; none of a contract that was never tested here, or of a file that cannot be read."""
    if not digest or set(digest) - _DIGEST_CHARS:
        return {}
    try:
        data = _read(_path(digest), digest)
        return {part: _part(data[part]) for part in PARTS if part in data}
    except DAMAGED:
        return {}


def is_certified(parts: Mapping[Part, CertificatePart]) -> bool:
    """`certify` ran here, and everything that must hold does; advice changes nothing."""
    return "repeats" in parts and all(part.holds for name, part in parts.items() if name not in ADVICE)


def _part(data: dict[str, Any]) -> CertificatePart:
    results = tuple(
        SelfTestResult(one["name"], one["wanted"], one["got"], one["came"], one["why"])
        for one in data["results"]
    )
    return CertificatePart(
        str(data["at"]), str(data["version"]), data["sandbox"], results, tuple(map(str, data["problems"]))
    )


def _read(path: Path, digest: str) -> dict[str, Any]:
    data: dict[str, Any] = orjson.loads(read_plain(path))
    if data["schema"] != SCHEMA or data["digest"] != digest:
        raise ValueError("not the certificate of this contract")
    return data


def _path(digest: str) -> Path:
    return Cache.default().root / FOLDER / f"{digest}.json"
