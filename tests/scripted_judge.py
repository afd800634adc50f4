"""`steelyard` with the keys of a model that answers as it was told to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from authoring import Author, CliResult, Steelyard
from steelyard.gateway.scripted import Replies, ScriptedModel, environment, serving


@dataclass(frozen=True)
class Judged:
    """`steelyard` with keys for a model that answers as it was told."""

    steelyard: Steelyard
    model: ScriptedModel
    env: dict[str, str]

    def __call__(self, *arguments: object, **keys: Any) -> CliResult:
        return self.steelyard(*arguments, env=self.env, **keys)

    @property
    def questions(self) -> list[str]:
        return [str(one["body"]["messages"][-1]["content"]) for one in self.model.requests]


@contextmanager
def judged_by(steelyard: Steelyard, *replies: Any, by_model: Replies | None = None) -> Iterator[Judged]:
    model = ScriptedModel(by_model or replies)
    with serving(model) as url:
        yield Judged(steelyard, model, environment(url))


def answering(author: Author, **keys: Any) -> Path:
    """A contract without a workspace that only a judge can decide."""
    folder: Path = author.write(**{"workspace": "none", "judge": {}, "oracle": {}, **keys})
    text = (folder / "contract.yaml").read_text()
    for line in ("repository:\n  tree: repo\n", "build: none\n", "oracle: {}\n"):
        text = text.replace(line, "")
    (folder / "contract.yaml").write_text(text)
    return folder
