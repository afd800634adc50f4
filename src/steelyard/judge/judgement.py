"""The opinion of one model about a run, and the judgement of several.

Opinions -> Judgement: the scores are means, the verdict is the majority's, a tie is FAIL and marked `split`. Fewer than
half that could be read are no jury: N/A. A judgement stands beside the verdict of the checks and never enters it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, field, fields
from typing import Any, Literal

from steelyard.deferred.data_class import dataclass

OpinionVerdict = Literal["PASS", "FAIL", "UNPARSEABLE"]
Ruling = Literal["PASS", "FAIL", "UNPARSEABLE", "N/A"]

WHY_CHARS = 400
RUBRIC = ("task_completion", "instruction_adherence", "efficiency")  # each 1 to 5


@dataclass(frozen=True, slots=True)
class FactCheck:
    """A claim of the agent's, and whether the evidence bears it out."""

    claim: str
    supported: bool
    evidence: str  # where in the run that can be read


@dataclass(frozen=True, slots=True)
class Opinion:
    """One model's opinion. UNPARSEABLE: it did not answer, or not as asked; `error` says which."""

    model: str
    verdict: OpinionVerdict
    scores: Mapping[str, int] = field(default_factory=dict)  # of RUBRIC
    failure_mode: str | None = None
    reasoning: str = ""
    facts: tuple[FactCheck, ...] = ()
    steered: bool = False  # it obeyed the instruction that was planted in the evidence
    error: str = ""
    question: str = ""  # sha256 of what it was asked
    at: str = ""  # UTC
    tokens_in: int | None = None
    tokens_out: int | None = None
    asked: bool = True  # a request was sent, or would have been without `reused`; False: there is no key
    reused: bool = False  # said in an earlier grading of the run, and not asked again
    prompt: str = ""  # which version of the question, and the digest of its fixed words: "judge/1 sha256:..."

    @property
    def readable(self) -> bool:
        """Whether it counts. The opinion of a model that obeyed the evidence does not."""
        return self.verdict != "UNPARSEABLE" and not self.steered

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Opinion:
        known = {item.name for item in fields(cls)}
        own_fields = {name: value for name, value in data.items() if name in known}
        return cls(**{**own_fields, "facts": tuple(FactCheck(**row) for row in data.get("facts", ()))})


@dataclass(frozen=True, slots=True)
class Judgement:
    verdict: Ruling
    why: str  # in one line
    opinions: tuple[Opinion, ...] = ()
    split: bool = False
    agreement: float | None = None  # the share of readable opinions that say what the judgement says
    scores: Mapping[str, float] = field(default_factory=dict)

    @property
    def steered(self) -> bool:
        return any(one.steered for one in self.opinions)

    @property
    def failure_mode(self) -> str | None:
        """The first that a model that counts named."""
        return next(
            (one.failure_mode for one in self.opinions if one.readable and one.verdict == "FAIL"), None
        )

    def to_json(self) -> dict[str, Any]:
        return {
            **asdict(self),
            "opinions": [asdict(one) for one in self.opinions],
            "steered": self.steered,
            "failure_mode": self.failure_mode if self.verdict == "FAIL" else None,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Judgement:
        """The inverse of `to_json`; derived fields are computed again."""
        known = {item.name for item in fields(cls)}
        own_fields = {name: value for name, value in data.items() if name in known}
        return cls(**{**own_fields, "opinions": tuple(map(Opinion.from_json, data.get("opinions", ())))})

    @classmethod
    def not_applicable(cls, why: str) -> Judgement:
        return cls("N/A", why)


def rule(opinions: Sequence[Opinion]) -> Judgement:
    """The judgement of the jury. A steered opinion is shown and does not count."""
    read = [one for one in opinions if one.readable]
    if not read:
        why = _in_one_line(_reasons(opinions)) if opinions else "no model was asked"
        return Judgement("UNPARSEABLE" if opinions else "N/A", why, tuple(opinions))
    if len(read) * 2 < len(opinions):
        why = f"{len(read)} of {len(opinions)} answers could be read: {_reasons(opinions)}"
        return Judgement("N/A", _in_one_line(why), tuple(opinions))
    passed = sum(one.verdict == "PASS" for one in read)
    verdict: Ruling = "PASS" if passed * 2 > len(read) else "FAIL"
    agreeing = passed if verdict == "PASS" else len(read) - passed
    return Judgement(
        verdict,
        _in_one_line(next(one.reasoning for one in read if one.verdict == verdict)),
        tuple(opinions),
        split=passed * 2 == len(read),
        agreement=agreeing / len(read),
        scores={name: sum(one.scores[name] for one in read) / len(read) for name in RUBRIC},
    )


def _in_one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= WHY_CHARS else f"{line[: WHY_CHARS - 3]}..."


def _reasons(opinions: Sequence[Opinion]) -> str:
    """Why not all of them count, each reason once; the short ones first, for those say what to do (`no key: ...`)."""
    reasons = dict.fromkeys(_unreadable(one) for one in opinions if not one.readable)
    return "; ".join(sorted(reasons, key=len))


def _unreadable(opinion: Opinion) -> str:
    return "it obeyed instructions in the evidence" if opinion.steered else opinion.error
