"""aider, by Paul Gauthier: edits files that the model names, runs no command."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from steelyard.agents.clients.base import Client, Launch, Task, python_module
from steelyard.agents.installation.package import Package
from steelyard.agents.options import ClientOptions, option
from steelyard.agents.traces.aider import parse_aider, parse_aider_output
from steelyard.agents.traces.items import Failure, Item, NativeFile
from steelyard.agents.traces.recorder import decoded_lines

_ANALYTICS = "aider/analytics.jsonl"
# aider keeps an index of the repository in the repository itself, and nothing can turn that off: it is no work of the agent's.
_WITHOUT_INDEX = '"$@"; code=$?; rm -rf .aider.tags.cache.v*; exit $code'


@dataclass(frozen=True, kw_only=True)
class Options(ClientOptions):
    model: str = option(about="the model with its provider, for example openai/gpt-4o")
    files: str = option(
        "", "files of the repository that are in the chat from the beginning, separated by spaces"
    )
    edit_format: str = option("diff", "how the model writes its edits: diff, whole, udiff")


class Aider(Client):
    """It keeps no session for a message that follows; its chat history is restored from its file."""

    kind = "aider"
    title = "aider"
    package = Package(*("pypi", "aider-chat", "0.86.2", "python"), program="runtime/bin/python3")
    options = Options
    providers = ("openai", "anthropic", "gemini")
    gives = ("messages", "edits", "tokens", "cost")
    session_files = (_ANALYTICS, "aider/chat.md", "aider/llm.log")

    def provider(self, options: Options) -> str:
        first = options.model.partition("/")[0]
        return first if first in self.providers else "openai"

    def launch(self, options: Options, task: Task) -> Launch:
        provider, folder = self.provider(options), f"{task.home}/aider"
        model = options.model if "/" in options.model else f"{provider}/{options.model}"
        quiet = "--yes-always --no-stream --no-auto-commits --no-dirty-commits --no-check-update --analytics-disable"
        quiet += (
            " --no-gitignore --no-pretty --no-fancy-input --no-show-model-warnings --no-show-release-notes"
        )
        quiet += " --no-suggest-shell-commands --no-detect-urls"
        argv = [
            *("/bin/sh", "-c", _WITHOUT_INDEX, "aider"),
            *python_module("aider"),
            "--model",
            model,
            "--weak-model",
            model,
            "--edit-format",
            options.edit_format,
        ]
        argv += [
            *quiet.split(),
            "--analytics-log",
            f"{task.home}/{_ANALYTICS}",
            "--llm-history-file",
            f"{folder}/llm.log",
        ]
        argv += ["--chat-history-file", f"{folder}/chat.md", "--input-history-file", f"{folder}/input"]
        argv += ["--restore-chat-history"] if task.session else []
        argv += ["--message-file", f"{folder}/message.md", *options.files.split()]
        name = provider.upper()
        env = {
            f"{name}_API_KEY": task.endpoint.key,
            f"{name}_API_BASE": task.endpoint.url(provider),
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "AIDER_ANALYTICS": "false",
        }
        files = {"aider/message.md": task.text.encode(errors="replace"), _ANALYTICS: b""}
        return Launch(tuple(argv), env, files=files)

    def read_session(self, files: Sequence[NativeFile], output: str) -> Iterable[Item]:
        log = next((file for file in files if file.name == _ANALYTICS), None)
        for record in decoded_lines(log.content) if log is not None else ():
            yield from parse_aider(record) or ()
        if log is None:
            yield Failure("error", "aider left no log")
        yield from parse_aider_output(output)
