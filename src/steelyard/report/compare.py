"""Two runs -> what is the same, what differs, and whether they may be compared at all."""

from __future__ import annotations

from typing import Any

from steelyard.deferred.data_class import dataclass
from steelyard.evidence.change.change import Change
from steelyard.evidence.evidence import Evidence, load_evidence
from steelyard.evidence.folder.folder import RunFolder
from steelyard.evidence.folder.gradings import read_gradings
from steelyard.filesystem.tree import printable


@dataclass(frozen=True, slots=True)
class Comparison:
    runs: tuple[str, str]
    incomparable: tuple[str, ...]  # why these two must not be compared; empty when they may
    differences: tuple[tuple[str, str, str], ...]  # what, in the first, in the second
    only_first: tuple[str, ...]  # changed paths
    only_second: tuple[str, ...]
    otherwise: tuple[str, ...]  # changed by both, differently

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": "steelyard.comparison/1",
            "runs": list(self.runs),
            "comparable": not self.incomparable,
            "incomparable": list(self.incomparable),
            "differences": [
                {"what": what, "first": one, "second": two} for what, one, two in self.differences
            ],
            "changed": {
                "only_first": list(self.only_first),
                "only_second": list(self.only_second),
                "differently": list(self.otherwise),
            },
        }


def compare_runs(first: RunFolder, second: RunFolder) -> Comparison:
    one, two = load_evidence(first), load_evidence(second)
    left, right = _after(one.change), _after(two.change)
    return Comparison(
        runs=(first.run_id, second.run_id),
        incomparable=_incomparable(one, two),
        differences=_differences(_facts(first, one), _facts(second, two)),
        only_first=tuple(printable(path) for path in left if path not in right),
        only_second=tuple(printable(path) for path in right if path not in left),
        otherwise=tuple(printable(path) for path in left if path in right and left[path] != right[path]),
    )


def _after(change: Change) -> dict[str, object]:
    return {entry.path: entry.new for entry in change.file_entries}


def _incomparable(one: Evidence, two: Evidence) -> tuple[str, ...]:
    pairs = (
        (
            "contract digest",
            one.manifest.get("contract", {}).get("digest"),
            two.manifest.get("contract", {}).get("digest"),
        ),
        (
            "comparability class (sandbox, limits, network, caps)",
            one.manifest.get("configuration", {}).get("comparability_class"),
            two.manifest.get("configuration", {}).get("comparability_class"),
        ),
    )
    reasons = [f"{what} differs: {a} and {b}" for what, a, b in pairs if a != b]
    reasons += [f"{evidence.folder.run_id}: {evidence.broken}" for evidence in (one, two) if evidence.broken]
    return tuple(reasons)


def _facts(folder: RunFolder, evidence: Evidence) -> dict[str, str]:
    try:
        gradings = read_gradings(folder)
    except (OSError, ValueError):
        gradings = []  # damaged; `incomparable` says so
    facts = {
        "agent": str(evidence.manifest.get("agent", {}).get("name")),
        "termination": evidence.termination,
    }
    if not gradings:
        return {**facts, "verdict": "never graded"}
    verdict = gradings[0]["verdict"]  # the result of record
    facts |= {key: str(verdict[key]) for key in ("verdict", "checks", "score", "reward")}
    facts |= {"judge": str(verdict["judge"]["verdict"])} if verdict.get("judge") else {}
    facts |= {f"gate {name}": gate["outcome"] for name, gate in (verdict["gates"] or {}).items()}
    facts |= {f"step {step['name']}": step["outcome"] for step in verdict.get("steps", ())}
    facts |= {f"grade {grade['name']}": grade["outcome"] for grade in gradings[0]["grades"]}
    return facts


def _differences(one: dict[str, str], two: dict[str, str]) -> tuple[tuple[str, str, str], ...]:
    keys = [*one, *(key for key in two if key not in one)]
    return tuple(
        (key, one.get(key, "-"), two.get(key, "-")) for key in keys if one.get(key, "-") != two.get(key, "-")
    )
