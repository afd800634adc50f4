"""A coding agent's own command-line client, run in the sandbox: what each adapter says, and what all of them share.

An adapter (`Client`) says how to install its client, which options it has, how it is started for a message, where it keeps
its session files, and how its trace is parsed. `ClientAgent` is the agent that a trial runs.

Inside the sandbox:
    /opt/steelyard-agent           the installed client with its runtime, read-only
    $HOME/.steelyard-agent         its configuration and session files
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, NamedTuple

from steelyard.agents.base import AgentResources, Ending, Session, StageRole, Turn, Workplace
from steelyard.agents.clients.ending import ModelAnswers, client_ending
from steelyard.agents.clients.native_files import collect_files, make_home, write_file
from steelyard.agents.installation.install import RECORD
from steelyard.agents.installation.installed import Installation, find_installed
from steelyard.agents.installation.package import Package
from steelyard.agents.options import ClientOptions, non_default_options
from steelyard.agents.traces.items import Item, NativeFile, Parser
from steelyard.agents.traces.recorder import TraceRecorder
from steelyard.environment.prepare import Environment
from steelyard.errors import InfraFault
from steelyard.evidence.folder.blobs import Blobs
from steelyard.sandboxes.base import CommandResult, HostFolder, Mount, OnOutput

INSTALLED_AT = "/opt/steelyard-agent"
LONGEST_ARGUMENT = 100_000  # bytes; the kernel takes 128 KiB


@dataclass(frozen=True)
class Endpoint:
    """Where a client finds its models: the gateway's base URL for each provider, and the placeholder of a key."""

    urls: Mapping[str, str]
    key: str

    def url(self, provider: str) -> str:
        return self.urls[provider]


TEMPLATE = Endpoint({name: f"{{gateway:{name}}}" for name in ("anthropic", "openai", "gemini")}, "{key}")


@dataclass(frozen=True)
class Task:
    """One message to a client."""

    text: str
    endpoint: Endpoint
    home: str  # of the client, in the sandbox
    session: str = ""  # of the message before, to be resumed


@dataclass(frozen=True)
class Launch:
    """How a client is started."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: bytes = b""
    # Below the client's home, written before it starts
    files: Mapping[str, bytes] = field(default_factory=dict)


class Client(ABC):
    """One adapter. Its subclasses are frozen values without state."""

    kind: ClassVar[str]
    title: ClassVar[str]
    package: ClassVar[Package]
    options: ClassVar[type[ClientOptions]]
    providers: ClassVar[tuple[str, ...]]  # that it can use
    gives: ClassVar[tuple[str, ...]]  # facts that its trace has
    session_files: ClassVar[tuple[str, ...]] = ()  # patterns below the client's home
    is_resumable: ClassVar[bool] = True
    prints_text: ClassVar[bool] = False  # beside the records of its trace, which are JSON objects

    def provider(self, options: Any) -> str:
        """Whose wire format it speaks with these options."""
        del options
        return self.providers[0]

    def parser(self) -> Parser | None:
        """Of its standard output, line by line; None where that is no trace."""
        return None

    @abstractmethod
    def launch(self, options: Any, task: Task) -> Launch:
        """The exact command line for one message."""

    @property
    def installed_as(self) -> str:
        """The name of its folder in the cache."""
        return self.kind

    def agent(self, options: Any) -> ClientAgent:
        """The agent with these options. Raises OperatorFault where the client is not installed."""
        return ClientAgent(self, options, find_installed(self.kind, self.package, options.version))

    def read_session(self, files: Sequence[NativeFile], output: str) -> Iterable[Item]:
        """What the session files and the output tell beside the stream that was parsed while the client worked."""
        del files, output
        return ()


def program(client: Client) -> str:
    return f"{INSTALLED_AT}/{client.package.start_path}"


def python_module(module: str) -> tuple[str, ...]:
    """How a Python client starts: its own interpreter, which reads no variable and nothing of the workspace."""
    return (f"{INSTALLED_AT}/runtime/bin/python3", "-I", "-B", "-m", module)


@dataclass(frozen=True)
class ClientAgent:
    """The agent of a trial: a client, its options, and the installed version."""

    client: Client
    options: ClientOptions
    installed: Installation
    in_sandbox: ClassVar[bool] = True
    delivers_by_step: ClassVar[bool] = False
    stage_role: ClassVar[StageRole] = "asks"

    @property
    def name(self) -> str:
        """`claude_code:claude-opus-5-5`; options beside the model show as a digest."""
        model = self.options.model
        others = {key: value for key, value in non_default_options(self.options).items() if key != "model"}
        digest = hashlib.sha256(json.dumps(others, sort_keys=True).encode()).hexdigest()[:6]
        return f"{self.client.kind}{f':{model}' if model else ''}{f'#{digest}' if others else ''}"

    @property
    def resources(self) -> AgentResources:
        folder = HostFolder(INSTALLED_AT, self.installed.folder)
        return AgentResources(folders=(folder,), providers=frozenset({self.client.provider(self.options)}))

    def parameters(self) -> Mapping[str, Any]:
        """The command line and the variables as they will be, with names in braces for what only the run knows."""
        launch = self.client.launch(self.options, Task("{brief}", TEMPLATE, "{home}"))
        record = self.installed.record
        return {
            "client": self.client.kind,
            "version": self.installed.version,
            "registry": record.get("registry"),
            "package": record.get("package"),
            "packages_sha256": hashlib.sha256(
                json.dumps(record.get("packages", {}), sort_keys=True).encode()
            ).hexdigest(),
            "record": RECORD,
            "model": self.options.model,
            "options": dataclasses.asdict(self.options),
            "command": list(launch.argv),
            "env": dict(launch.env),
            "stdin": launch.stdin.decode(errors="replace") or None,
            "files": {name: content.decode(errors="replace") for name, content in launch.files.items()},
        }

    def extra_mounts(self) -> tuple[Mount, ...]:
        return ()

    def programs(self) -> tuple[str, ...]:
        """Whatever else it needs is mounted with it."""
        return ("/bin/sh",)

    def deliver(self, environment: Environment, blobs: Blobs) -> None:
        del environment, blobs

    def deliver_until(self, environment: Environment, blobs: Blobs, step: int) -> None:
        del environment, blobs, step

    def open(self, workplace: Workplace) -> Session:
        return ClientSession(self, endpoint_of(self, workplace))


def endpoint_of(agent: ClientAgent, workplace: Workplace) -> Endpoint:
    if workplace.gateway is None:
        raise InfraFault(f"agent {agent.name} needs the model gateway, and this run has none")
    provider = agent.client.provider(agent.options)
    return Endpoint({provider: workplace.gateway.base_url(provider)}, workplace.gateway.key)


class Work(NamedTuple):
    """How a client's process ended, and what we recorded of it beside its own files."""

    finished: CommandResult
    files: tuple[NativeFile, ...] = ()


class ClientSession:
    """A client in one trial: a process for each message, in one session of the client's own where it can resume."""

    def __init__(self, agent: ClientAgent, endpoint: Endpoint) -> None:
        self._agent = agent
        self._endpoint = endpoint
        self._home = ""
        self._native = ""  # the client's name for its session

    def respond(self, turn: Turn) -> Ending:
        client = self._agent.client
        self._home = self._home or make_home(turn)
        task = Task(_short(turn), self._endpoint, self._home, self._native if client.is_resumable else "")
        launch = client.launch(self._agent.options, task)
        for name, content in launch.files.items():
            write_file(turn, f"{self._home}/{name}", content)
        recorder = TraceRecorder(
            turn.events, client.kind, client.parser(), turn.place, skips_text=client.prints_text
        )
        model = ModelAnswers()
        unsubscribe = turn.events.subscribe(model)
        try:
            work = self.work(turn, launch, task, recorder)
        finally:
            unsubscribe()
        finished = work.finished
        recorder.end_output()
        files = collect_files(turn, self._home, client.session_files) if not finished.lost else ()
        recorder.take_items(client.read_session(files, finished.stdout.text))
        recorder.claim_cost()
        self._native = recorder.facts.session or self._native
        ending = client_ending(client.kind, finished, recorder.facts, model)
        facts = {"client": client.kind, **recorder.facts.to_json()}
        return replace(ending, native=(*work.files, *files), answer=recorder.facts.answer, trace=facts)

    def work(self, turn: Turn, launch: Launch, task: Task, recorder: TraceRecorder) -> Work:
        """Run the client until it has answered the message."""
        del task
        with_variables = replace(turn, env={**turn.env, **launch.env}, on_output=both(turn, recorder.take))
        return Work(with_variables.run(launch.argv, launch.stdin))

    def close(self) -> None:
        """Each process of the client has ended with its message."""


def both(turn: Turn, take: OnOutput) -> OnOutput:
    """Pass a client's output to the live output files and to its trace."""
    shown = turn.on_output

    def receive(stream: Literal["stdout", "stderr"], data: bytes) -> None:
        if shown is not None:
            shown(stream, data)
        take(stream, data)

    return receive


def _short(turn: Turn) -> str:
    """The brief, or where it is too long for an argument, where it can be read."""
    data = turn.brief.encode(errors="replace")
    if len(data) <= LONGEST_ARGUMENT:
        return data.decode()
    path = turn.put("brief.md", data)
    return f"Your task is described in the file {path}. Read all of it first, then do what it asks."
