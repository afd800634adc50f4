"""Which keys fit together with allowed hosts -> problems. The names of hosts are checked in `allowed_hosts.py`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from steelyard.contract.parse.yaml_source import YamlPath

KEYS: tuple[YamlPath, ...] = (("environment", "network"), ("setup_network",), ("oracle", "network"))


def allowed_host_problems(data: dict[str, Any]) -> Iterator[tuple[YamlPath, str, str]]:
    environment = data.get("environment")
    environment = environment if isinstance(environment, dict) else {}
    opened = [key for key in KEYS if isinstance(_value_at(data, key), list)]
    if environment.get("sandbox") == "local":
        yield from ((key, "the local sandbox cannot restrict the network", "none") for key in opened)
    if environment.get("build") and ("setup_network",) in opened:
        yield (
            ("setup_network",),
            "an image build cannot be limited to a list of hosts",
            "`host` for the build, or `none`",
        )
    if data.get("bench") == "live" and _value_at(data, KEYS[0]) != _value_at(data, KEYS[2]):
        fix = "the same list for both, or `bench: fresh`"
        yield (
            KEYS[2],
            "a live bench uses the agent's sandbox and its allowed hosts (environment.network)",
            fix,
        )


def _value_at(data: Any, key: YamlPath) -> Any:
    for part in key:
        data = data.get(part) if isinstance(data, dict) else None
    return "none" if data is None else data
