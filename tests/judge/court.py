"""Clients of a scripted model for tests: over real HTTP, with short waits between two attempts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from steelyard.gateway.scripted import Replies, ScriptedModel
from steelyard.judge.ask import Panel, judge_run
from steelyard.judge.judge_input import JudgeInput
from steelyard.judge.judgement import Judgement
from steelyard.judge.provider import JudgeRetryPolicy

Sits = Callable[[Replies], "Court"]
QUICK = JudgeRetryPolicy(total_s=120, backoff_s=0.01)


@dataclass(frozen=True)
class Court:
    """A scripted model and its clients."""

    model: ScriptedModel
    env: dict[str, str]
    retry_policy: JudgeRetryPolicy = QUICK

    def panel(self, *models: str) -> Panel:
        panel = Panel.from_environment(models, self.env)
        assert isinstance(panel, Panel)
        return replace(panel, retry_policy=self.retry_policy)

    def judge(self, shown: JudgeInput, *models: str) -> Judgement:
        return judge_run(shown, self.panel(*(models or ("claude-test",))))

    @property
    def asked(self) -> list[str]:
        """The words of each question, without the fixed ones."""
        return [request["body"]["messages"][-1]["content"] for request in self.model.requests]
