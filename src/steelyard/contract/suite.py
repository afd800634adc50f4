"""A contract and the `suite.yaml` beside its folder -> the contract with what its suite shares.

    suite/suite.yaml          graders, judge, policy, budget: defaults for every contract of the suite
    suite/a/contract.yaml     its own keys win; the suite's graders come first

What is shared is copied in before anything is checked, so it is in every digest.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from steelyard.contract.parse import explain as explanation
from steelyard.contract.parse.yaml_source import Source, YamlPath, dotted_path, read_yaml
from steelyard.errors import ContractFault, Problem

SHARED = ("graders", "judge", "policy", "budget")


def with_suite(contract: Source, folder: Path) -> Source:
    file = Path(os.path.normpath(folder / ".." / "suite.yaml"))
    if not file.is_file():
        return contract
    suite = read_yaml(file)
    _refuse_others(suite)
    data = dict(contract.data)
    positions = {**suite.positions, **contract.positions}
    for key, shared in suite.data.items():
        own = data.get(key)
        if key not in data:
            data[key] = shared
        elif isinstance(own, dict) and isinstance(shared, dict):
            data[key] = {**shared, **own}
        elif key == "graders" and isinstance(own, list) and isinstance(shared, list):
            data[key] = [*shared, *own]
            positions = _shifted(suite, contract, len(shared))
    return Source(contract.file, data, positions)


def _refuse_others(suite: Source) -> None:
    wrong = [
        Problem(
            suite.where((key,)),
            dotted_path((key,)),
            "unknown key",
            explanation.suggestion(key, SHARED) or f"{', '.join(SHARED)}",
        )
        for key in suite.data
        if key not in SHARED
    ]
    wrong += [
        Problem(suite.where((key,)), key, "expected a list" if key == "graders" else "expected a mapping")
        for key, value in suite.data.items()
        if key in SHARED
        and not isinstance(value, list if key == "graders" else dict)
        and not (key == "judge" and value is False)  # `judge: off`
    ]
    if wrong:
        raise ContractFault(wrong)


def _shifted(suite: Source, contract: Source, by: int) -> dict[YamlPath, str]:
    """The contract's own graders stand after the suite's."""
    moved: dict[YamlPath, Any] = {}
    for place, where in contract.positions.items():
        if place[:1] == ("graders",) and len(place) > 1 and isinstance(place[1], int):
            moved["graders", place[1] + by, *place[2:]] = where
        else:
            moved[place] = where
    return {**suite.positions, **moved}
