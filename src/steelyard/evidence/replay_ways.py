"""The record of a run -> how its result can be had again without anything outside the record.

    changes    `steelyard replay RUN`: the recorded changes are made again, and the checks run on them
    cassette   `steelyard run ... --replay DIR`: the agent runs, and the recorded answers of its models are given again
    agent      `steelyard run ...`: the agent runs, and had no network

None where the checks reach a network: their results depend on what answers there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from steelyard.deferred.named_tuple import NamedTuple
from steelyard.evidence.trace.summary import Summary

Kind = Literal["changes", "cassette", "agent"]


class ReplayWay(NamedTuple):
    kind: Kind
    cassette: str = ""  # its folder, as the operator named it

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, **({"cassette": self.cassette} if self.cassette else {})}


def replay_ways(manifest: Mapping[str, Any], summary: Summary) -> tuple[ReplayWay, ...]:
    configuration = _mapping(manifest.get("configuration"))
    if configuration.get("oracle_network", "none") != "none":
        return ()
    ways = []
    # Checks of a live bench run where the agent worked, among what it left there.
    if summary.gaps == 0 and configuration.get("bench") != "live":
        ways.append(ReplayWay("changes"))
    gateway, network = _mapping(manifest.get("gateway")), _mapping(manifest.get("environment")).get("network")
    folder = gateway.get("cassette")
    if isinstance(folder, str) and folder and _is_gateway_only(network):
        ways.append(ReplayWay("cassette", folder))
    if network == "none":
        ways.append(ReplayWay("agent"))
    return tuple(ways)


def _is_gateway_only(network: Any) -> bool:
    return isinstance(network, list) and all(str(one).startswith("model gateway ") for one in network)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
