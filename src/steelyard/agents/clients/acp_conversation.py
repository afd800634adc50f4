"""One message to an agent that speaks the Agent Client Protocol, through the package `agent-client-protocol`.

    initialize -> session/new, or session/load of the session before -> session/prompt -> end of stdin

The agent writes its files itself and runs its commands itself: no file system and no terminal is offered to it. Its requests
for permission are answered by the contract's policy. Everything that is sent or received is kept, bounded.

The library gets only what it must answer: responses and requests. Notifications are parsed by us, open-world.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

import orjson

from steelyard import __version__
from steelyard.agents.clients.permission import decide
from steelyard.agents.traces.acp import call_of, parse_acp
from steelyard.agents.traces.items import NativeFile
from steelyard.agents.traces.recorder import TraceRecorder
from steelyard.contract.model import Policy
from steelyard.evidence.trace.events import EventLog
from steelyard.sandboxes.base import WORKSPACE
from steelyard.sandboxes.init.feed import Feed, FeedFullError

MOST_LINE_BYTES = 8 << 20
MOST_WAITING = 10_000  # messages that the library has not taken yet
MOST_KEPT_BYTES = 8 << 20  # of the conversation
GRACE_S = 5.0  # for an agent to end after its stdin has ended
_ALLOW, _REJECT = ("allow_once", "allow_always"), ("reject_once", "reject_always")


@dataclass
class Conversation:
    """Fed by the sandbox's thread, conducted by a thread of its own."""

    events: EventLog
    policy: Policy
    recorder: TraceRecorder
    prompt: str
    session: str = ""  # to be resumed
    auth_method: str = ""  # that an agent asks for before a session
    allows_writes: Callable[[], bool] = lambda: True  # false in an enforced stage `inspect`
    feed: Feed = field(default_factory=Feed)
    is_answered: bool = False
    failure: str = ""
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    _incoming: asyncio.Queue[dict[str, Any] | None] = field(default_factory=asyncio.Queue)
    _waiting: bytearray = field(default_factory=bytearray)
    _is_skipping: bool = False
    _recorded: bytearray = field(default_factory=bytearray)
    _total_bytes: int = 0  # bytes of the conversation, kept or not

    def start(self) -> threading.Thread:
        thread = threading.Thread(target=self._conduct, name="steelyard-acp", daemon=True)
        thread.start()
        return thread

    def take(self, stream: Literal["stdout", "stderr"], data: bytes) -> None:
        """Bytes of the agent's output."""
        if stream != "stdout":
            return
        *lines, rest = data.split(b"\n")
        for line in lines:
            whole = bytes(self._waiting) + line
            self._waiting.clear()
            if not self._is_skipping:
                self._take_line(whole)
            self._is_skipping = False
        self._waiting += rest
        if len(self._waiting) > MOST_LINE_BYTES:
            self._waiting.clear()
            self._is_skipping = True

    def end(self) -> None:
        """The agent's process is over."""
        self._hand_on(None)

    @property
    def record(self) -> NativeFile:
        return NativeFile("acp.jsonl", bytes(self._recorded), self._total_bytes)

    def _take_line(self, line: bytes) -> None:
        """A message of the agent: into its trace here, and to the library where it waits for an answer."""
        if not line.strip():
            return
        self.recorder.facts.lines += 1
        try:
            message = orjson.loads(line)
        except orjson.JSONDecodeError:
            message = None
        self.recorder.take_records([message], parse_acp)
        if not isinstance(message, dict):
            return
        self._keep("agent", message)
        if "id" in message and self._incoming.qsize() < MOST_WAITING:
            self._hand_on(message)

    def _hand_on(self, message: dict[str, Any] | None) -> None:
        with suppress(RuntimeError):  # the conversation is over, and its loop is closed
            self._loop.call_soon_threadsafe(self._incoming.put_nowait, message)

    def _keep(self, sender: str, message: Mapping[str, Any]) -> None:
        line = orjson.dumps({"from": sender, "message": message}, default=str) + b"\n"
        self._total_bytes += len(line)
        if len(self._recorded) + len(line) <= MOST_KEPT_BYTES:
            self._recorded += line

    def _conduct(self) -> None:
        try:
            self._loop.run_until_complete(self._converse())
            self.is_answered = True
        except Exception as error:  # noqa: BLE001  # whatever an agent answers must not end more than its run
            self.failure = f"{type(error).__name__}: {error}"[:500]
        finally:
            self._loop.close()
            self.feed.close()
            ended = threading.Timer(GRACE_S, self.feed.kill)
            ended.daemon = True
            ended.start()

    async def _converse(self) -> None:
        from acp import connect_to_agent  # noqa: PLC0415  # heavy

        agent = connect_to_agent(self, self)  # type: ignore[arg-type]  # what an agent may ask for is below
        try:
            await self._ask(agent)
        finally:
            await agent.close()

    async def _ask(self, agent: Any) -> None:
        from acp import PROTOCOL_VERSION, text_block  # noqa: PLC0415  # heavy
        from acp.schema import ClientCapabilities, FileSystemCapabilities, Implementation  # noqa: PLC0415

        files = FileSystemCapabilities(read_text_file=False, write_text_file=False)
        started = await agent.initialize(
            PROTOCOL_VERSION,
            ClientCapabilities(fs=files, terminal=False),
            Implementation(name="steelyard", version=__version__),
        )
        if self.auth_method and any(one.id == self.auth_method for one in started.auth_methods or ()):
            await agent.authenticate(self.auth_method)
        can_load = bool(started.agent_capabilities and started.agent_capabilities.load_session)
        session = await self._resume(agent) if self.session and can_load else ""
        if not session:
            session = (await agent.new_session(cwd=WORKSPACE, mcp_servers=[])).session_id
        await agent.prompt(prompt=[text_block(self.prompt)], session_id=session)

    async def _resume(self, agent: Any) -> str:
        """The session of the message before; nothing where the agent does not find it, which its trace says."""
        from acp import RequestError  # noqa: PLC0415  # heavy

        try:
            await agent.load_session(cwd=WORKSPACE, session_id=self.session, mcp_servers=[])
        except RequestError:
            return ""
        return self.session

    # The library's transport: messages that are decoded already.

    async def send(self, message: dict[str, Any]) -> None:
        self._keep("steelyard", message)
        try:
            self.feed.write(orjson.dumps(message) + b"\n")
        except (FeedFullError, ValueError) as error:
            raise ConnectionError(str(error)) from error

    async def receive(self) -> dict[str, Any] | None:
        return await self._incoming.get()

    async def close(self) -> None:
        """The thread that conducts the conversation ends it."""

    # What an agent may ask for.

    async def request_permission(self, session_id: str, tool_call: Any, options: list[Any], **_: Any) -> Any:
        from acp.schema import AllowedOutcome, DeniedOutcome, RequestPermissionResponse  # noqa: PLC0415

        del session_id
        request = tool_call.model_dump(mode="json", by_alias=True, exclude_none=True)
        call = call_of(request)
        call_fields = {"id": call.id[:200], "tool": call.tool[:200], "kind": call.kind}
        offered = [{"id": one.option_id[:200], "kind": one.kind} for one in options[:20]]
        number = self.events.append("permission.request", "agent", {**call_fields, "options": offered})
        may_write = self.allows_writes()
        decision = decide(self.policy, call, request, may_write=may_write)
        wanted = _ALLOW if decision.is_allowed else _REJECT
        chosen = next((one.option_id for kind in wanted for one in options if one.kind == kind), None)
        answer = {"decision": "allow" if decision.is_allowed else "deny", "by": "policy", "why": decision.why}
        if call.kind == "write" and not may_write:
            answer["stage"] = "inspect"
        self.events.append(
            "permission.decision", "harness", {**call_fields, **answer, "option": chosen, "request": number}
        )
        if chosen is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=chosen))

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        """Never called: notifications do not reach the library."""
