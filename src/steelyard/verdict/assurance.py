"""What actually ran -> the assurance label of a verdict: how far it can be trusted.

{"isolation": "bubblewrap", "tree": "fresh", "oracle": "twin", "control_coverage": 0.9, "chance": 0.0156,
 "runner": "reporter", "network": "none", "limits": {"cpu": "cgroup", ...}, "findings": 0}
 with allowed hosts too: "network": "allow_list", "allowed_hosts": {"agent": ["api.example:443"], "checks": [...]}

`oracle`, `runner` and `control_coverage` are those of the weakest acceptance check that earned anything; where none did,
`runner` is that of the weakest check.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from steelyard.deferred.data_class import dataclass
from steelyard.graders.grade import WeightedGrade

# Worst first.
ORACLES = ("in_process", "twin", "split")
RUNNERS = ("judge", "candidate", "exit_code", "verifier", "report_file", "reporter")


@dataclass(frozen=True, slots=True)
class Assurance:
    """The label on every verdict, computed from the record and never from intentions."""

    isolation: str  # none | bubblewrap | container | vm
    tree: str  # live | fresh
    oracle: str  # in_process | twin | split
    control_coverage: float  # passed tests with a control that counts, of all passed tests
    # That work which only guesses passes the controls; None where there are none, or nothing decides
    chance: float | None
    runner: str  # judge | candidate | exit_code | verifier | report_file | reporter
    network: str  # host | allow_list | none; the wider one of agent and checks
    limits: Mapping[str, str]
    findings: int
    allowed_hosts: Mapping[str, Sequence[str]] = field(default_factory=dict)  # agent, checks -> host:port

    def to_json(self) -> dict[str, Any]:
        return {
            "isolation": self.isolation,
            "tree": self.tree,
            "oracle": self.oracle,
            "control_coverage": self.control_coverage,
            "chance": self.chance,
            "runner": self.runner,
            "network": self.network,
            **(
                {"allowed_hosts": {who: list(named) for who, named in self.allowed_hosts.items()}}
                if self.allowed_hosts
                else {}
            ),
            "limits": dict(self.limits),
            "findings": self.findings,
        }


def assure(manifest: Mapping[str, Any], grades: Sequence[WeightedGrade], findings: int) -> Assurance:
    environment = manifest.get("environment", {})
    counting = [_CheckFacts.of(one.executed) for one in grades if one.executed is not None and _counts(one)]
    earned = [one for one in counting if one.passed]
    allowed_hosts = _allowed_hosts(manifest)
    return Assurance(
        isolation=environment.get("isolation", "none"),
        tree=manifest.get("configuration", {}).get("bench", "live"),
        oracle=min((one.oracle for one in earned), key=ORACLES.index, default=ORACLES[0]),
        control_coverage=_coverage(earned),
        chance=max((one.chance for one in earned if one.chance is not None), default=None),
        runner=min(
            (one.runner for one in earned),
            key=RUNNERS.index,
            default=_nothing_earned(manifest, counting),
        ),
        network=_network(environment.get("network", "host"), allowed_hosts),
        limits={name: limit["enforced"] for name, limit in environment.get("limits", {}).items()},
        findings=findings,
        allowed_hosts=allowed_hosts,
    )


def _allowed_hosts(manifest: Mapping[str, Any]) -> dict[str, list[str]]:
    hosts = {
        "agent": manifest.get("environment", {}).get("network"),
        "checks": manifest.get("configuration", {}).get("oracle_network"),
    }
    return {who: named for who, named in hosts.items() if isinstance(named, list)}


def _network(agents: Any, allowed_hosts: Mapping[str, Sequence[str]]) -> str:
    if agents == "host" or not allowed_hosts:
        return str(agents)
    return "allow_list"


def _nothing_earned(manifest: Mapping[str, Any], counting: Sequence[_CheckFacts]) -> str:
    """Where nothing passed: the weakest channel that reported so. Only a judge looks at an answer without a check."""
    nothing_ran = "judge" if manifest.get("workspace") == "none" else "exit_code"
    return min((one.runner for one in counting), key=RUNNERS.index, default=nothing_ran)


@dataclass(frozen=True, slots=True)
class _CheckFacts:
    """One acceptance check, as its sealed outcome tells it."""

    oracle: str
    runner: str
    passed: int  # tests; a command that says only one thing is one
    controlled: int
    chance: float | None = None

    @classmethod
    def of(cls, outcome: Mapping[str, Any]) -> _CheckFacts:
        reported, controls = outcome.get("reported"), outcome.get("controls")
        if reported is None:
            runner = "exit_code" if outcome.get("verified") is None else "verifier"
            return cls("in_process", runner, int(outcome["outcome"] == "pass"), 0)
        return cls(
            oracle=outcome["oracle"],
            runner="candidate" if reported["own_runner"] else reported["channel"],
            passed=reported["counts"].get("passed", 0),
            controlled=0 if controls is None or controls["problem"] else controls["counted"],
            chance=None if controls is None else controls.get("chance"),
        )


def _counts(graded: WeightedGrade) -> bool:
    """A check that can neither fail the run nor earn credit does not lower the label."""
    entry = graded.entry
    return entry.under == "acceptance" and (entry.required or entry.gate or entry.weight > 0)


def _coverage(earned: Sequence[_CheckFacts]) -> float:
    """Of the tests that ran beside the candidate; where it was split off there is nothing to control."""
    beside = [one for one in earned if one.oracle != "split"]
    passed = sum(one.passed for one in beside)
    return round(sum(one.controlled for one in beside) / passed, 4) if passed else 0.0
