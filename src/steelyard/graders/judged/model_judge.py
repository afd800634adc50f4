"""How good it is, by a rubric that only a reader can apply."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import Annotated, ClassVar

from steelyard.contract.catalogue import LintWarning, Material
from steelyard.contract.model import NonEmpty
from steelyard.deferred.model import Field
from steelyard.errors import GraderFault
from steelyard.evidence.change.render import render_patch
from steelyard.graders.base import Case, Grader
from steelyard.graders.grade import Grade
from steelyard.judge import score as judge_score
from steelyard.judge.panel import MOST_MODELS, Panel
from steelyard.judge.provider import maker_of
from steelyard.judge.scoring import RUBRIC_BYTES, ModelScore, ScoredWork

_FILE = re.compile(r"[\w.\-/]+\.(md|markdown|txt|rst)")


@dataclass(frozen=True)
class ModelJudge(Grader):
    """The mean of the scores, 0 to 1, that `model` or each of `models` gives the change by `rubric`.

    `rubric` is a text, or a file of the contract (`*.md`, `*.txt`, `*.rst`). A model reads rubric, brief and diff, but
    not the results of checks. Passes at 0.7 by default (`pass_threshold`). Without a key, or if no model can be
    reached, the grade is not applicable. A model whose answer is malformed, or that obeys the change instead of the
    rubric, is left out; if fewer than half are left the grade is an error: it fails nothing, is tagged, and is not in the
    score. If the change steers or addresses a model, the grade is 0 instead. The page of the [judge](judge.md) lists
    the models and the default.

    Why: open-ended quality cannot be tested, only read.
    Example: `{type: model_judge, rubric: ./graders/rubric.md, model: claude-opus-4-8, pass_threshold: 0.7}`
    Fooled by: a change that is written for the model that reads it; keep its weight small.
    """

    TYPE = "model_judge"
    UNDER = "acceptance"
    REQUIRED = False
    WEIGHT = 1.0
    PASS_THRESHOLD: ClassVar[float] = 0.7

    rubric: NonEmpty
    model: NonEmpty | None = None
    models: Annotated[tuple[NonEmpty, ...], Field(max_length=MOST_MODELS)] = ()

    def __post_init__(self) -> None:
        if self.model is not None and self.models:
            raise ValueError("set model or models, not both")
        for name in self.named_models:
            if maker_of(name) is None:
                raise ValueError(
                    f"unknown provider of the model {name!r}; write anthropic:NAME or openai:NAME"
                )

    @property
    def named_models(self) -> tuple[str, ...]:
        return (self.model,) if self.model is not None else self.models

    @property
    def _file(self) -> str | None:
        return posixpath.normpath(self.rubric) if _FILE.fullmatch(self.rubric) else None

    def contract_files(self) -> tuple[str, ...]:
        return (self._file,) if self._file else ()

    def file_warnings(self, material: Material) -> tuple[LintWarning, ...]:
        file = material.files.get(self._file or "")
        if file is None or 0 < file.path.stat().st_size <= RUBRIC_BYTES:
            return ()
        return (
            LintWarning("rubric", f"{self.rubric} is empty or longer than {RUBRIC_BYTES} bytes", fatal=True),
        )

    def grade(self, case: Case) -> Grade:
        panel = Panel.from_environment(self.named_models, case.keys)
        if isinstance(panel, str):
            return Grade.not_applicable(panel)
        if known := _earlier(case, panel, judge_score.prompt_id()):
            return known
        patch = render_patch(case.change, case.blobs).patch.decode("utf-8", "replace")
        jury = judge_score.score_output(ScoredWork(self._text(case), case.brief, patch), panel)
        return _mean(jury, judge_score.prompt_id())

    def _text(self, case: Case) -> str:
        if self._file is None:
            return self.rubric
        try:
            return case.files[self._file].path.read_text("utf-8", "replace")
        except (KeyError, OSError) as error:
            raise GraderFault(f"the rubric {self.rubric} cannot be read") from error


def _earlier(case: Case, panel: Panel, prompt: str) -> Grade | None:
    """What the same models answered to the same question before; it is not paid for twice."""
    score, data = case.earlier.get("score"), case.earlier.get("data") or {}
    asked = tuple(one["model"] for one in data.get("opinions", ()))
    if score is None or (data.get("prompt"), asked) != (prompt, panel.models):
        return None
    return Grade.share(score, str(case.earlier.get("why", "")), data={**data, "reused": True})


def _mean(jury: list[ModelScore], prompt: str) -> Grade:
    """What the jury's scores come to."""
    read = [one.score for one in jury if one.readable and one.score is not None]
    data = {"prompt": prompt, "opinions": [one.to_json() for one in jury]}
    opinions = "; ".join(f"{one.model}: {_in_words(one)}" for one in jury)
    if read and 2 * len(read) >= len(jury):
        return Grade.share(sum(read) / len(read), opinions, data=data)
    if any(one.answered and not one.readable for one in jury):
        return Grade.error(opinions, data=data)
    return Grade("not_applicable", None, opinions, data=data)


def _in_words(one: ModelScore) -> str:
    return one.error or f"{one.score:g}, {one.reasoning[:300]}"
