"""The models that a contract names, and the available keys -> the models that are asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from steelyard.deferred.data_class import dataclass
from steelyard.judge.provider import JudgeRetryPolicy, Juror, default_models, juror_of

NO_KEY = "no key: set ANTHROPIC_API_KEY or OPENAI_API_KEY"
MOST_MODELS = 16


@dataclass(frozen=True, slots=True)
class Panel:
    """The models that are asked, and how long they may take."""

    jurors: tuple[Juror, ...]
    retry_policy: JudgeRetryPolicy = field(default_factory=JudgeRetryPolicy)

    @property
    def models(self) -> tuple[str, ...]:
        return tuple(one.model for one in self.jurors)

    @classmethod
    def from_environment(cls, models: Sequence[str], env: Mapping[str, str]) -> Panel | str:
        """The models that a contract names, or the default one; or a message that says why no model can be asked."""
        named = tuple(dict.fromkeys(models))[:MOST_MODELS] or default_models(env)
        jurors = tuple(juror_of(model, env) for model in named)
        if all(one.missing for one in jurors):
            return "; ".join(dict.fromkeys(one.missing for one in jurors)) or NO_KEY
        return cls(jurors)
