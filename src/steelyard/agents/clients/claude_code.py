"""Claude Code, by Anthropic."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.agents.clients.base import Client, Launch, Task, program
from steelyard.agents.installation.package import Package
from steelyard.agents.options import ClientOptions, option
from steelyard.agents.traces.claude_code import parse_claude_code
from steelyard.agents.traces.items import Parser


@dataclass(frozen=True, kw_only=True)
class Options(ClientOptions):
    model: str = option(about="the model, for example claude-opus-5-5")
    max_turns: int = option(0, "stop after so many turns; 0: no limit")
    max_budget_usd: float = option(0.0, "the client's own limit of cost; 0: none")
    small_model: str = option("", "for side requests; none: the same model")
    system_prompt: str = option("", "a text that is appended to the client's system prompt")


class ClaudeCode(Client):
    """Permissions are not asked for: the sandbox is the boundary. The client refuses that as root unless IS_SANDBOX is set."""

    kind = "claude_code"
    title = "Claude Code"
    package = Package(
        *("npm", "@anthropic-ai/claude-code", "2.1.325", "native"),
        program="node_modules/@anthropic-ai/claude-code-linux-{machine}/claude",
    )
    options = Options
    providers = ("anthropic",)
    gives = ("messages", "tool calls", "tool results", "denials", "retries", "tokens", "cost", "session")
    session_files = ("config/projects/*/*.jsonl", "config/projects/*/*/subagents/*.jsonl")

    def parser(self) -> Parser:
        return parse_claude_code

    def launch(self, options: Options, task: Task) -> Launch:
        argv = [
            program(self),
            "-p",
            "--output-format",
            "stream-json",
            "--verbose",
            "--dangerously-skip-permissions",
        ]
        argv += ["--model", options.model]
        argv += ["--max-turns", str(options.max_turns)] if options.max_turns else []
        argv += ["--max-budget-usd", f"{options.max_budget_usd:g}"] if options.max_budget_usd else []
        argv += ["--append-system-prompt", options.system_prompt] if options.system_prompt else []
        argv += ["--resume", task.session] if task.session else []
        env = {
            "ANTHROPIC_BASE_URL": task.endpoint.url("anthropic"),
            "ANTHROPIC_API_KEY": task.endpoint.key,
            "ANTHROPIC_SMALL_FAST_MODEL": options.small_model or options.model,
            "ANTHROPIC_DEFAULT_HAIKU_MODEL": options.small_model or options.model,
            "CLAUDE_CONFIG_DIR": f"{task.home}/config",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "3",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "IS_SANDBOX": "1",
        }
        return Launch(tuple(argv), env, stdin=task.text.encode(errors="replace"))
