"""`--require-assurance` -> result lines whose verdict is worth as much, and refusals of the others.

    twin                                            oracle=twin
    oracle=twin,isolation=bubblewrap,control_coverage=0.5

A pass below is not a pass: its verdict is `ungraded`, its reward null, and `refused` says what is missing. A failure
stays a failure with reward 0: a patch must not lose its zero because it passed too little to earn a label.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from steelyard.deferred.data_class import dataclass
from steelyard.errors import OperatorFault

# Key -> its values, worst first; those in one group are worth the same.
_SCALES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "oracle": (("in_process",), ("twin",), ("split",)),
    "isolation": (("none",), ("bubblewrap", "container"), ("vm",)),
    "tree": (("live",), ("fresh",)),
    "runner": (("judge",), ("candidate",), ("exit_code", "verifier"), ("report_file",), ("reporter",)),
    "network": (("host",), ("allow_list",), ("none",)),
}
COVERAGE = "control_coverage"


@dataclass(frozen=True, slots=True)
class RequiredAssurance:
    """The least that a verdict must be worth; nothing when empty."""

    least: Mapping[str, str | float]

    def missing(self, label: Mapping[str, Any]) -> str | None:
        """`oracle in_process < twin`, or None when the label is good enough. An unknown value is the worst."""
        for name, least in self.least.items():
            value = label.get(name)
            if isinstance(least, float):
                enough = label.get("oracle") == "split" or (isinstance(value, int | float) and value >= least)
            else:
                enough = _rank(name, value) >= _rank(name, least)
            if not enough:
                return f"{name} {value} < {least}"
        return None

    def applied(self, result: Mapping[str, Any]) -> dict[str, Any]:
        """The result, or the same refused. Only a pass, or a reward above 0, can be worth too little."""
        claims = result["verdict"] == "pass" or (result["reward"] or 0.0) > 0
        missing = self.missing(result["assurance"]) if claims and result["status"] == "scorable" else None
        if missing is None:
            return {**result, "refused": None}
        # The partial reward of a failure is not believed either, but null would drop the failure from averages.
        verdict, reward = ("fail", 0.0) if result["verdict"] == "fail" else ("ungraded", None)
        return {**result, "verdict": verdict, "reward": reward, "refused": f"assurance: {missing}"}


NOTHING = RequiredAssurance({})


def parse_required(text: str) -> RequiredAssurance:
    """What the operator typed; a wrong word is found before anything is spent."""
    least: dict[str, str | float] = {}
    for word in filter(None, (part.strip() for part in text.split(","))):
        name, separator, value = word.partition("=")
        if not separator:
            name, value = "oracle", word
        least[name] = _check(name, value, word)
    if not least:
        raise OperatorFault("--require-assurance needs something like oracle=twin")
    return RequiredAssurance(least)


def _check(name: str, value: str, word: str) -> str | float:
    if name == COVERAGE:
        share = _number(value)
        if not 0 <= share <= 1:
            raise OperatorFault(f"--require-assurance {word}: {COVERAGE} is a number in 0..1")
        return share
    if name not in _SCALES:
        raise OperatorFault(
            f"--require-assurance {word}: there is no {name!r}; choose from {', '.join((*_SCALES, COVERAGE))}"
        )
    values = [one for group in _SCALES[name] for one in group]
    if value not in values:
        raise OperatorFault(f"--require-assurance {word}: {name} is one of {', '.join(values)}")
    return value


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _rank(name: str, value: object) -> int:
    return next((rank for rank, group in enumerate(_SCALES[name]) if value in group), -1)
