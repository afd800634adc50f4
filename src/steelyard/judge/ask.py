"""The description of a run -> the judgement of a jury of models.

    panel = Panel.from_environment(("claude-opus-4-8",), os.environ)
    judgement = judge_run(judge_input, panel)

Each model is asked once, all at the same time. Nothing here raises because of a model, a network or a run: an answer that
is missing or malformed is an UNPARSEABLE opinion with its reason.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import TypeVar

from steelyard.judge import client
from steelyard.judge.fence import visible
from steelyard.judge.judge_input import JudgeInput
from steelyard.judge.judgement import Judgement, Opinion, rule
from steelyard.judge.panel import Panel
from steelyard.judge.prompt import Prompt, build_prompt, prompt_id, question_of
from steelyard.judge.provider import JudgeRetryPolicy, Juror, NoAnswer, Words
from steelyard.judge.reply import Answer, Unreadable, Verdict, read_reply

__all__ = ["KnownOpinions", "Panel", "judge_run", "question"]

KnownOpinions = Mapping[tuple[str, str], Opinion]  # (model, question) -> its opinion of an earlier grading
T = TypeVar("T")

_GRACE_S = 1.0
_LEADING = re.compile(r"^[\W_]+")


def question(judge_input: JudgeInput, model: str) -> str:
    """sha256 of the judge input, the prompt and the model, without what is random in each call."""
    return question_of(judge_input, model)


def judge_run(judge_input: JudgeInput, panel: Panel, known: KnownOpinions | None = None) -> Judgement:
    """The judgement of the jury. An opinion in `known` is reused and costs nothing."""

    def opinion(juror: Juror) -> Opinion:
        before = (known or {}).get((juror.model, question(judge_input, juror.model)))
        if before is not None and before.verdict != "UNPARSEABLE":
            return before
        return _opinion(judge_input, juror, panel.retry_policy)

    def late(juror: Juror) -> Opinion:
        return _unread(judge_input, juror, "timed out")

    return rule(at_once(panel, opinion, late))


def _opinion(judge_input: JudgeInput, juror: Juror, retry_policy: JudgeRetryPolicy) -> Opinion:
    try:
        prompt = build_prompt(judge_input)
        answer, words = answer_of(juror, prompt, retry_policy, Verdict)
    except Unreadable as error:
        return replace(
            _unread(judge_input, juror, str(error)), tokens_in=error.tokens[0], tokens_out=error.tokens[1]
        )
    except NoAnswer as error:
        return _unread(judge_input, juror, str(error))
    except Exception as defect:  # noqa: BLE001  # a defect here says nothing about the run
        return _unread(judge_input, juror, f"internal error in the judge: {type(defect).__name__}")
    return Opinion(
        model=juror.model,
        verdict=answer.verdict,
        scores=answer.scores.model_dump(),
        failure_mode=visible(answer.failure_mode) if answer.failure_mode else None,
        reasoning=visible(answer.reasoning),
        facts=answer.fact_checks(),
        steered=obeys(prompt, answer.reasoning, words.text, label=answer.failure_mode),
        question=question(judge_input, juror.model),
        at=_utc(),
        tokens_in=words.tokens_in,
        tokens_out=words.tokens_out,
        prompt=prompt_id(judge_input.kind),
    )


def _unread(judge_input: JudgeInput, juror: Juror, why: str) -> Opinion:
    return Opinion(
        juror.model,
        "UNPARSEABLE",
        error=why,
        asked=not juror.missing,
        question=question(judge_input, juror.model),
        at=_utc(),
        prompt=prompt_id(judge_input.kind),
    )


def _utc() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def at_once(panel: Panel, ask: Callable[[Juror], T], late: Callable[[Juror], T]) -> list[T]:
    """Ask each juror in its own thread. A juror without an answer by the deadline is `late`, however slowly its server sends."""
    answers: dict[str, T] = {}

    def run(juror: Juror) -> None:
        answers[juror.model] = ask(juror)

    threads = [threading.Thread(target=run, args=(juror,), daemon=True) for juror in panel.jurors]
    ends = time.monotonic() + panel.retry_policy.total_s + _GRACE_S
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, ends - time.monotonic()))
    return [answers[juror.model] if juror.model in answers else late(juror) for juror in panel.jurors]


def answer_of(
    juror: Juror, prompt: Prompt, retry_policy: JudgeRetryPolicy, wanted: type[Answer]
) -> tuple[Answer, Words]:
    """The model's answer as asked; raises `NoAnswer` or `Unreadable`."""
    words = client.words_of(juror, prompt.system, prompt.user, retry_policy)
    try:
        return read_reply(words.text, wanted), words
    except Unreadable as error:
        why = str(error) if words.complete else "the answer was cut off at the token limit"
        unreadable = Unreadable(why)
        unreadable.tokens = words.tokens_in, words.tokens_out
        raise unreadable from error


def obeys(prompt: Prompt, *begins: str, label: str | None = None) -> bool:
    """Whether the answer starts with the word that the planted section asks for, or its label has it. A quotation does not count."""
    return prompt.word in (label or "") or any(
        _LEADING.sub("", one).startswith(prompt.word) for one in begins
    )
