"""Whoever asks a scripted model in a test: over real HTTP, with little patience."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from steelyard.judge.ask import Panel, judged
from steelyard.judge.case import Told
from steelyard.judge.judgement import Judgement
from steelyard.judge.scripted import Replies, ScriptedModel
from steelyard.judge.wire import Patience

Sits = Callable[[Replies], "Court"]
QUICK = Patience(total_s=20, backoff_s=0.01)


@dataclass(frozen=True)
class Court:
    """A scripted model and whoever asks it."""

    model: ScriptedModel
    env: dict[str, str]
    patience: Patience = QUICK

    def panel(self, *models: str) -> Panel:
        panel = Panel.from_environment(models, self.env)
        assert isinstance(panel, Panel)
        return replace(panel, patience=self.patience)

    def judge(self, told: Told, *models: str) -> Judgement:
        return judged(told, self.panel(*(models or ("claude-test",))))

    @property
    def asked(self) -> list[str]:
        """The words of each question, without the fixed ones."""
        return [request["body"]["messages"][-1]["content"] for request in self.model.requests]
