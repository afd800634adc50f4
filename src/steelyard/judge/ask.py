"""A run, told in words -> what a jury of models says of it.

    panel = Panel.from_environment(("claude-opus-4-8",), os.environ)
    judgement = judged(told, panel)

Each model is asked once, all at the same time. Nothing here raises because of a model, a network or a run: what did not
come back as asked is an UNPARSEABLE opinion with its reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from steelyard.judge.case import Told
from steelyard.judge.judgement import Judgement, Opinion

Known = Mapping[tuple[str, str], Opinion]  # (model, question) -> what it said when it was asked before


@dataclass(frozen=True, slots=True)
class Panel:
    """Who is asked."""

    models: tuple[str, ...]

    @classmethod
    def from_environment(cls, models: Sequence[str], env: Mapping[str, str]) -> Panel | str:
        """The models that a contract names, or the default one; or, in words, why nobody can be asked."""
        del models, env
        return "no key: set ANTHROPIC_API_KEY or OPENAI_API_KEY"


def question(told: Told, model: str) -> str:
    """sha256 of what a model is asked: told data, prompt and model, without what is random in each call."""
    raise NotImplementedError


def judged(told: Told, panel: Panel, known: Known | None = None) -> Judgement:
    """What the jury says. An opinion in `known` is taken from there and costs nothing."""
    del told, panel, known
    return Judgement.not_applicable("no key: set ANTHROPIC_API_KEY or OPENAI_API_KEY")
