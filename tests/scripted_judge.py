"""`steelyard` with the keys of a model that answers as it was told to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from authoring import Said, Steelyard
from steelyard.judge.scripted import Replies, ScriptedModel, environment, serving


@dataclass(frozen=True)
class Judged:
    """`steelyard` with keys for a model that answers as it was told."""

    steelyard: Steelyard
    model: ScriptedModel
    env: dict[str, str]

    def __call__(self, *arguments: object, **keys: Any) -> Said:
        return self.steelyard(*arguments, env=self.env, **keys)

    @property
    def questions(self) -> list[str]:
        return [str(one["body"]["messages"][-1]["content"]) for one in self.model.requests]


@contextmanager
def judged_by(steelyard: Steelyard, *replies: Any, by_model: Replies | None = None) -> Iterator[Judged]:
    model = ScriptedModel(by_model or replies)
    with serving(model) as url:
        yield Judged(steelyard, model, environment(url))
