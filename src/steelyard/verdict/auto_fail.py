"""How a run without a workspace ended -> why its answer fails without being judged, or nothing."""

from __future__ import annotations

from typing import Literal

from steelyard.evidence.trace.termination import CLASS_OF

AnswerStatus = Literal["given", "nothing", "too_large"]


def auto_fail_reason(termination: str, answer_status: AnswerStatus, expected_outcome: str) -> str:
    """The reason; empty where the answer is to be judged.

    An agent that crashes or uses up its time fails: otherwise that would be a way around the judge. An agent without an answer
    fails, except where a refusal is expected: silence may be a refusal, and the judge decides.
    """
    if CLASS_OF[termination] not in ("completed", "operator"):
        return f"the agent did not finish normally: {termination}"
    if CLASS_OF[termination] == "operator":
        return ""  # broken off by a person: what it would have said is unknown
    if answer_status == "too_large":
        return "the answer is larger than the import allows"
    return "the agent gave no answer" if answer_status == "nothing" and expected_outcome != "refusal" else ""
