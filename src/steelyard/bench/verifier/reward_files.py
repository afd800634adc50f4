"""What a verifier script left behind -> a reward that may be believed, or why not.

    reward.json    {"reward": 0.93}, or a flat object of numbers; without one called `reward` their mean is the reward
    reward.txt     0.93; beside a reward.json it must say the same
    details.json   scores by field; kept as written, never looked into
    errors.json    [{"category": "unit mismatch", "description": "..."}]

The reward is the verifier's word: finite, within 0..1, a number and neither a bool nor a string. It is never computed
again from the details. Nothing here raises: `errors` says what is wrong with a file.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

from steelyard.deferred.data_class import dataclass

MAX_ARTIFACT_BYTES = 1 << 20
MAX_DEPTH = 64
MAX_TAGS = 100
LOCKED = b"\0locked"  # instead of a file's content: it cannot be written, or something else is in its place
UNREAD = b"\0unread"  # likewise: there is one, and it could not be read
MAX_TEXT = 500
MOST_REWARD = 1 << 53  # what every reader of JSON takes as it is
_NUMBER = re.compile(rb"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")


class Tag(NamedTuple):
    category: str
    description: str | None = None


@dataclass(frozen=True, slots=True)
class RewardFiles:
    """What one execution of a verifier came to."""

    completed: bool  # did a reward appear that can be used?
    reward: float | None  # as written
    breakdown: Mapping[str, Any] | None = None
    tags: tuple[Tag, ...] = ()
    errors: tuple[str, ...] = ()
    rewards: Mapping[str, float] | None = None  # every number of reward.json; they decide nothing
    written_by: str = ""  # whose process wrote the reward last (`believed_reward.py`)

    @property
    def is_of_others(self) -> bool:
        """Whether a reward was refused because the verifier did not write it."""
        return not self.completed and self.written_by not in {"", "verifier"}

    def to_json(self) -> dict[str, Any]:
        return {
            "completed": self.completed,
            "reward": self.reward,
            "breakdown": self.breakdown,
            "tags": [list(tag) for tag in self.tags],
            "errors": list(self.errors),
            "rewards": self.rewards,
            "written_by": self.written_by,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RewardFiles:
        tags = tuple(Tag(*tag) for tag in data["tags"])
        return cls(**{**data, "tags": tags, "errors": tuple(data["errors"])})


class Artifacts(NamedTuple):
    """The files as they were found; None: not there."""

    reward_json: bytes | None = None
    reward_txt: bytes | None = None
    details: bytes | None = None
    errors: bytes | None = None


class _UnusableError(ValueError):
    """Why a file says nothing, in words."""


def read_artifacts(found: Artifacts) -> RewardFiles:
    errors: list[str] = []
    reward = None
    try:
        reward = _reward(found)
    except _UnusableError as problem:
        errors.append(str(problem))
    breakdown = _optional(found.details, "details.json", _breakdown, errors)
    tags = _optional(found.errors, "errors.json", _tags, errors) or ()
    rewards = None if reward is None else _rewards(found)
    return RewardFiles(reward is not None, reward, breakdown, tags, tuple(errors), rewards)


def _rewards(found: Artifacts) -> dict[str, float] | None:
    """The numbers beside the reward, as Harbor has them; what is none is left out."""
    if found.reward_json is None:
        return None
    data = _parse(found.reward_json, "reward.json")
    numbers = {
        name[:MAX_TEXT]: value
        for name, value in data.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < MOST_REWARD
        if name.isprintable()
    }
    return dict(list(numbers.items())[:MAX_TAGS])


def _reward(found: Artifacts) -> float:
    if LOCKED in (found.reward_json, found.reward_txt):
        raise _UnusableError(
            "the reward is no file that the verifier can write, so the verifier may not have written it"
        )
    if UNREAD in (found.reward_json, found.reward_txt):
        raise _UnusableError(
            "the reward could not be read: no permission, or neither `head` nor `cat` in /usr/bin:/bin"
        )
    reasons = []
    if found.reward_json is not None:
        reasons.append(_number_of(_parse(found.reward_json, "reward.json")))
    if found.reward_txt is not None:
        reasons.append(_text_number(found.reward_txt))
    if not reasons:
        raise _UnusableError("the verifier wrote no reward")
    if len(set(reasons)) > 1:
        raise _UnusableError("reward.json and reward.txt disagree")
    return reasons[0]


def _text_number(data: bytes) -> float:
    if len(data) > MAX_ARTIFACT_BYTES or not _NUMBER.fullmatch(data):
        raise _UnusableError("reward.txt must contain one number and nothing else")
    return _check(float(data), "reward.txt")


def _number_of(data: Any) -> float:
    if not isinstance(data, dict) or not data:
        raise _UnusableError('reward.json must be an object such as {"reward": 0.5}')
    if "reward" in data:
        return _check(data["reward"], "`reward` in reward.json")
    if len(data) > MAX_TAGS:
        raise _UnusableError(f"reward.json has more than {MAX_TAGS} numbers and none is called `reward`")
    numbers = [_check(value, f"`{name[:MAX_TEXT]}` in reward.json") for name, value in data.items()]
    return math.fsum(numbers) / len(numbers)


def _check(value: Any, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _UnusableError(f"{what} must be a number")
    if not 0 <= value <= 1:  # NaN neither
        raise _UnusableError(f"{what} must be within 0..1, not {value!r}"[:MAX_TEXT])
    return float(value)


def _parse(data: bytes, name: str) -> Any:
    if data == UNREAD:
        raise _UnusableError(f"{name} could not be read")
    if len(data) > MAX_ARTIFACT_BYTES:
        raise _UnusableError(f"{name} is larger than {MAX_ARTIFACT_BYTES >> 20} MiB")
    try:
        parsed = json.loads(data, parse_constant=_no_constant, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise _UnusableError(f"{name} is not JSON: {error}"[:MAX_TEXT]) from None
    if _is_deep(parsed):
        raise _UnusableError(f"{name} is nested deeper than {MAX_DEPTH} levels")
    try:
        orjson.dumps(parsed)
    except TypeError as error:  # half a character, a number beyond 64 bits: no record could hold it
        raise _UnusableError(f"{name} cannot be kept: {error}"[:MAX_TEXT]) from None
    return parsed


def _is_deep(data: Any) -> bool:
    level = [data]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for one in level
            if isinstance(one, dict | list)
            for inner in (one.values() if isinstance(one, dict) else one)
        ]
    return bool(level)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:20]} is too large a number")
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number of JSON")


def _breakdown(data: Any) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise _UnusableError("details.json must be an object")
    return data


def _tags(data: Any) -> tuple[Tag, ...]:
    rows = data if isinstance(data, list) else None
    if rows is None or not all(
        isinstance(row, dict) and isinstance(row.get("category"), str) for row in rows
    ):
        raise _UnusableError("errors.json must be a list of objects with a `category`")
    return tuple(
        Tag(
            row["category"][:MAX_TEXT],
            None if row.get("description") is None else str(row["description"])[:MAX_TEXT],
        )
        for row in rows[:MAX_TAGS]
    )


def _optional(data: bytes | None, name: str, read: Any, errors: list[str]) -> Any:
    """What a file that need not be there says; one that is broken leaves the reward alone."""
    if data is None:
        return None
    try:
        return read(_parse(data, name))
    except _UnusableError as problem:
        errors.append(str(problem))
        return None
