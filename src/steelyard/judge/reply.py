"""A model's reply -> the one JSON object that was asked for, or why there is none.

Lenient about what stands around the object (a code fence, a sentence), strict about the object: unknown and doubled
keys, numbers that are none, a boolean for a score, NaN: all refused. Two answers in one reply are no answer, for one
of them may be quoted from the evidence.
"""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from steelyard.judge.fence import visible
from steelyard.judge.judgement import FactCheck

MOST_REPLY_BYTES = 64 << 10
MOST_OBJECTS = 64  # that are tried; an answer has its own and a row for each fact
PREFIX = 300  # of an unreadable reply, for its error message
_HALF = re.compile(r"[\ud800-\udfff]")


class Unreadable(Exception):
    """The reply is not what was asked for; the message says how. It was paid for all the same: `tokens` in and out."""

    tokens: tuple[int | None, int | None] = (None, None)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


_Score = Annotated[int, Field(ge=1, le=5)]
_Sentence = Annotated[str, Field(max_length=2_000)]


class _Scores(_Strict):
    task_completion: _Score
    instruction_adherence: _Score
    efficiency: _Score


class _Fact(_Strict):
    claim: _Sentence
    supported: bool
    evidence: _Sentence


class Verdict(_Strict):
    """What the judge answers."""

    verdict: Literal["PASS", "FAIL"]
    scores: _Scores
    failure_mode: Annotated[str, Field(max_length=100)] | None = None
    reasoning: Annotated[str, Field(min_length=1, max_length=20_000)]
    facts: Annotated[list[_Fact], Field(max_length=50)] = []

    @model_validator(mode="after")
    def _explains_a_failure(self) -> Verdict:
        if self.verdict == "FAIL" and not (self.failure_mode or "").strip():
            raise ValueError("failure_mode is missing")
        if self.verdict == "PASS" and self.failure_mode is not None:
            raise ValueError("failure_mode beside PASS")
        return self

    def fact_checks(self) -> tuple[FactCheck, ...]:
        return tuple(
            FactCheck(visible(row.claim), row.supported, visible(row.evidence)) for row in self.facts
        )


class Score(_Strict):
    """What a `model_judge` answers."""

    score: Annotated[float, Field(ge=0, le=1)]
    reasoning: Annotated[str, Field(min_length=1, max_length=20_000)]


Answer = TypeVar("Answer", Verdict, Score)


def read_reply(text: str, wanted: type[Answer]) -> Answer:
    """The answer in `text`; raises `Unreadable` and nothing else."""
    if len(text.encode("utf-8", "backslashreplace")) > MOST_REPLY_BYTES:
        raise Unreadable(f"more than {MOST_REPLY_BYTES} bytes")
    key = next(iter(wanted.model_fields))  # verdict, score: what tells the answer from a row of it
    found = [one for one in _objects(text) if key in one]
    if not found:
        raise Unreadable(f"no JSON object with {key} in it: {prefix(text)}")
    if any(one != found[0] for one in found):
        raise Unreadable(f"{len(found)} different answers in one reply")
    try:
        return wanted.model_validate(found[0])
    except ValidationError as error:
        raise Unreadable(f"{_first(error)}: {prefix(text)}") from error


def prefix(text: str) -> str:
    """The beginning of a text, fit for a record and a terminal."""
    return " ".join(visible(text[:PREFIX]).split())


class _UnreadableReply(ValueError):
    """Well-formed, and yet not to be read."""


def _objects(text: str) -> list[dict[str, Any]]:
    """The outermost JSON objects in `text`."""
    decoder = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_constant)
    found, at = [], text.find("{")
    for _ in range(MOST_OBJECTS):
        if at < 0:
            break
        try:
            value, end = decoder.raw_decode(text, at)
        except _UnreadableReply as error:
            raise Unreadable(f"{error}: {prefix(text)}") from error
        except RecursionError as error:
            raise Unreadable("nested too deeply") from error
        except ValueError:
            end = at + 1
        else:
            found.append(value)
        at = text.find("{", end)
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise _UnreadableReply("a key occurs twice in one object")
    # Half a character, quoted from what an agent wrote, is no reason to throw an answer away.
    return {key: _HALF.sub("\ufffd", value) if isinstance(value, str) else value for key, value in pairs}


def _no_constant(name: str) -> Any:
    raise _UnreadableReply(f"{name} is not a number")


def _first(error: ValidationError) -> str:
    one = error.errors(include_url=False, include_context=False)[0]
    where = ".".join(map(str, one["loc"])) or "the answer"
    return f"{visible(where[:100])}: {one['msg'].removeprefix('Value error, ')}"
