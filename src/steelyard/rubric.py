"""Scores by dimension -> one reward, for verifier scripts.

    from steelyard.rubric import Dimension, score
    score({"drop": Dimension(0.95), "unit": Dimension(3, max_score=5, weight=2)}).reward     # 0.7167

    echo '{"dimensions": {"drop": {"score": 0.95}}}' | python3 -I /opt/steelyard/steelyard/rubric.py

On the bench start it by its path and with `-I`, as above: a verifier runs in the workspace under test, and
`python3 -m steelyard.rubric` would import an `argparse.py` or a `steelyard/` of the candidate's instead. Where nothing
hostile lies in the current folder `-m` is the same. A script that was started with `-I` imports it after
`sys.path.append("/opt/steelyard")`.

Each dimension is normalised to score / max_score and clamped to 0..1. `weighted_mean` is the default; with `min` the
worst dimension wins. A weight of 0 leaves both; a dimension that was asked for and is missing counts 0. The reward has
four decimals. Standard library only: a verifier may run where nothing is installed.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

Strategy = Literal["weighted_mean", "min"]
STRATEGIES = ("weighted_mean", "min")
REWARD_PATH, DETAILS_PATH = "/logs/verifier/reward.json", "/logs/verifier/details.json"
MOST = 1e100  # of a score, a maximum or a weight; sums of what is larger may overflow
_KEYS = {"score", "max_score", "weight", "evidence"}


class Dimension(NamedTuple):
    """What one aspect of the output earned."""

    score: float
    max_score: float = 1.0
    weight: float = 1.0
    evidence: str = ""


class RubricScore(NamedTuple):
    reward: float
    details: dict[str, dict[str, Any]]

    def write(self, reward_path: str = REWARD_PATH, details_path: str = DETAILS_PATH) -> None:
        """The two files that a verifier leaves; the reward last, so that it is never there without its details."""
        for path, content in ((details_path, self.details), (reward_path, {"reward": self.reward})):
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_text(json.dumps(content, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def score(
    dimensions: Mapping[str, Dimension], strategy: Strategy = "weighted_mean", asked_for: Sequence[str] = ()
) -> RubricScore:
    """Raises ValueError for what is not a score: unknown is never quietly zero."""
    if strategy not in STRATEGIES:
        raise ValueError(f"the strategy is one of {', '.join(STRATEGIES)}, not {strategy!r}")
    missing = {name: Dimension(0.0, evidence="missing") for name in asked_for if name not in dimensions}
    every = {**dimensions, **missing}
    shares = {name: _share(name, one) for name, one in every.items()}
    weights = {name: one.weight for name, one in every.items() if one.weight > 0}
    if not weights:
        raise ValueError("no dimension has a weight, so there is nothing to score")
    if strategy == "min":
        reward = min(shares[name] for name in weights)
    else:
        reward = math.fsum(shares[name] * weight for name, weight in weights.items()) / math.fsum(
            weights.values()
        )
    details = {name: {**one._asdict(), "normalised": round(shares[name], 4)} for name, one in every.items()}
    return RubricScore(round(min(1.0, reward), 4), details)


def _share(name: str, one: Dimension) -> float:
    for field, value in (("score", one.score), ("max_score", one.max_score), ("weight", one.weight)):
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= MOST:
            raise ValueError(f"{name}: {field} must be a finite number, not {str(value)[:40]!r}")
    if one.max_score <= 0 or one.weight < 0:
        raise ValueError(f"{name}: max_score must be above 0 and weight not below 0")
    return min(1.0, max(0.0, one.score / one.max_score))


def parse(data: Any) -> RubricScore:
    """`{"strategy": "min", "asked_for": ["unit"], "dimensions": {"drop": {"score": 0.95}}}` -> the reward."""
    if not isinstance(data, dict) or not isinstance(data.get("dimensions"), dict):
        raise ValueError("the input must be an object with `dimensions`")  # noqa: TRY004  # one exception for all
    unknown = sorted(data.keys() - {"strategy", "asked_for", "dimensions"})
    for name, row in data["dimensions"].items():
        if not isinstance(row, dict) or "score" not in row:
            raise ValueError(f"{name}: a dimension is an object with a `score`")
        unknown += [f"{name}.{key}" for key in sorted(row.keys() - _KEYS)]
    asked_for = data.get("asked_for", [])
    if not isinstance(asked_for, list) or not all(isinstance(name, str) for name in asked_for):
        raise ValueError("`asked_for` must be a list of names")
    if unknown:
        raise ValueError(f"unknown key: {', '.join(unknown)}")
    dimensions = {name: Dimension(**row) for name, row in data["dimensions"].items()}
    return score(dimensions, data.get("strategy", "weighted_mean"), asked_for)


def _json(text: str, name: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"{name} is not JSON: {error}") from None


def main(argv: Sequence[str] | None = None) -> int:
    import argparse  # noqa: PLC0415  # importing the function should not pay for the command

    parser = argparse.ArgumentParser(
        prog="python3 -m steelyard.rubric", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("input", nargs="?", default="-", help="a JSON file; - for standard input")
    parser.add_argument("--reward", default=REWARD_PATH, metavar="PATH", help="where the reward goes")
    parser.add_argument("--details", default=DETAILS_PATH, metavar="PATH", help="where the details go")
    options = parser.parse_args(argv)
    try:
        text = sys.stdin.read() if options.input == "-" else Path(options.input).read_text(encoding="utf-8")
        scored = parse(_json(text, "standard input" if options.input == "-" else options.input))
        scored.write(options.reward, options.details)
    except (OSError, ValueError) as problem:
        sys.stderr.write(f"steelyard.rubric: {problem}\n")
        return 2
    sys.stdout.write(f"{scored.reward}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
