"""Brief the agent, let it work, and make sure that nothing of it outlives its time.

The agent's session has one message, or several: the brief and the contract's `turns`, or one for each step. What the
agent has spent of its time is spent. An agent that hands over data reads the first message and is done.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal

from steelyard.agents.base import AGENT_BYTES, Delivery, Ending, Turn
from steelyard.contract.briefing import briefing, obligations
from steelyard.deferred.data_class import dataclass
from steelyard.errors import AgentFault, InfraFault
from steelyard.evidence.folder.folder import FINAL_RESPONSE
from steelyard.evidence.redact import RedactedStream
from steelyard.execution import native_files
from steelyard.execution.alerts import (
    TIME_IS_UP,
    alert_of_output,
    alerts_of_exit,
    stop_for_limits,
    stop_for_time,
)
from steelyard.execution.collect import collect
from steelyard.execution.live_output import LiveOutput
from steelyard.execution.live_run import LiveRun
from steelyard.execution.network.gateway_route import check_gateway
from steelyard.sandboxes.base import WORKSPACE, AllowedHost, CapturedOutput, OnOutput, Sandbox

BRIEF_BYTES = 256 << 10  # of a brief in its event; a longer one is whole in a blob
# A command of the agent ends at its own deadline. This is for an agent that does not come back after that.
BACKSTOP_S = 20.0
LEFTOVER_S = 0.1  # a process that ends by itself within it is none that an agent left
PREFIX_CHARS = 4096  # of an answer in its event; the file that it points to has more


@dataclass(frozen=True, slots=True)
class Message:
    """What a user says: the `number`th of so many, in one conversation of the run's."""

    text: str
    number: int
    of: int
    step: str = ""  # a step is a conversation of its own
    wall_s: float | None = None  # of the agent's time, at most

    @property
    def conversation(self) -> int:
        return self.number if self.step else 1

    @property
    def index(self) -> int:
        """Among the messages and answers of its conversation."""
        return 0 if self.step else 2 * (self.number - 1)

    @property
    def answer_place(self) -> dict[str, Any]:
        """Of the answer, as its events have it."""
        return {"conversation": self.conversation, "index": self.index + 1, "step": self.step or None}

    @property
    def where(self) -> str:
        """For a rationale; nothing where there is only one."""
        if self.step:
            return f"step {self.step}: "
        return f"turn {self.number} of {self.of}: " if self.of > 1 else ""


def messages(run: LiveRun) -> Iterator[Message]:
    """Those of a contract without steps."""
    texts = run.trial.contract.messages
    for number, text in enumerate(texts, start=1):
        yield Message(text, number, len(texts))


def converse(run: LiveRun) -> None:
    """Message by message, until all are answered or one answer does not end as it should."""
    ending = Ending("infrastructure", "no message was delivered")
    for message in messages(run):
        ending = attend(run, message)
        if ending.code != "completed" or run.delivery is not None:
            break
    collect(run, run.trial.contract.checks, ending)
    conclude(run, ending)
    final_response(run)


def attend(run: LiveRun, message: Message) -> Ending:
    """One message and the agent's answer to it; what it left running runs on."""
    text = brief(run, message)
    if run.delivery is not None:
        return Ending("completed", _delivery_text(run.delivery))
    ending = _work(run, message, text)
    check_gateway(run)
    if ending.code == "wall_time":
        stop_for_time(run, _wall_s(run, message), run.spent_s)
    ending = run.ended(ending)
    _keep_answer(run, message, ending)
    return replace(ending, rationale=f"{message.where}{ending.rationale}")


def _delivery_text(delivery: Delivery) -> str:
    if delivery.applied is None:
        return "change applied; no agent ran"
    return f"{'the patch does not apply' if delivery.applied.refused else 'patch applied'}; no agent ran"


def conclude(run: LiveRun, ending: Ending) -> None:
    """The end of all work in the sandbox: every process is dead afterwards."""
    run.close_session()
    is_own_end = run.delivery is None and ending.code in {"completed", "agent_crash"}
    leftover = leftover_processes(run.sandbox) if is_own_end else 0
    if run.delivery is None:
        run.attempts.finish(run.sandbox)
    if run.is_graded_live(ending):
        run.sandbox.kill_processes()
        # What the agent may reach of its own is nothing for the checks that run where it worked.
        run.sandbox.forget_hosts(AllowedHost.each(run.trial.contract.spec.environment.network))
    elif run.delivery is None:
        run.exit_stats = run.sandbox.stop()
        alerts_of_exit(run, run.exit_stats)
        stop_for_limits(run, ending, run.exit_stats)
    run.close_route()
    run.stop.end_agent()
    leave(run, run.ended(ending), leftover)


def leftover_processes(sandbox: Sandbox) -> int:
    """How many processes outlive an agent that ended by itself; those that end within a moment do not count."""
    tree = sandbox.process_tree()
    if tree is None or not tree.processes():
        return 0
    time.sleep(LEFTOVER_S)
    return len(tree.processes())


def leave(run: LiveRun, ending: Ending, leftover: int = 0) -> None:
    if run.watch is not None:
        run.watch.finish()  # nothing of the agent's runs any more: its last changes are of this stage
    run.ending = ending
    run.left = run.stages.leave(ending.code, leftover)


def brief(run: LiveRun, message: Message) -> str:
    """The text that the agent reads, and the event that holds it to the byte; hidden files are not named in it."""
    contract = run.trial.contract
    is_first = message.index == 0
    hints = list(contract.spec.hints) if is_first else []
    rules = obligations(contract, message.wall_s) if is_first else None
    text = message.text if rules is None else briefing(message.text, hints, rules)
    data = text.encode(errors="replace")
    is_long = len(data) > BRIEF_BYTES
    run.events.append(
        "brief",
        "harness",
        {
            "role": "user",
            "conversation": message.conversation,
            "index": message.index,
            "step": message.step or None,
            "text": data[:BRIEF_BYTES].decode(errors="replace") if is_long else text,
            "digest": hashlib.sha256(data).hexdigest(),
            "bytes": len(data),
            "blob": run.blobs.put_bytes(data).sha256 if is_long else None,
            "hints": hints,
            "obligations": rules,
        },
    )
    return text


def _wall_s(run: LiveRun, message: Message) -> float:
    return message.wall_s or run.trial.contract.spec.budget.agent_wall_s


def _work(run: LiveRun, message: Message, text: str) -> Ending:
    left_s = run.trial.contract.spec.budget.agent_wall_s - run.spent_s
    stop = run.stop.current
    if stop is not None:
        return Ending(stop.code, stop.why)
    if left_s <= 0:
        return Ending("wall_time", TIME_IS_UP)
    begun, paused_before_s = time.monotonic(), run.interventions.paused_s
    turn_s = min(left_s, message.wall_s or left_s)
    live = LiveOutput(run.folder, _suffix(message), lambda: RedactedStream(run.folder.secrets))
    try:
        with (
            _ended_by_budget(run, message, turn_s),
            run.interventions.acting(run.sandbox),
            run.stop.working(run.sandbox),
        ):
            turn = replace(_turn(run, message, text, turn_s), on_output=_both(live.write, run))
            return run.open_session().respond(turn)
    except AgentFault as fault:
        return Ending("agent_crash", str(fault))
    except InfraFault as fault:
        if run.stop.current is None:
            raise
        return Ending("infrastructure", str(fault))  # by the kill; the stop is what counts
    finally:
        live.close()
        run.spent_s += time.monotonic() - begun - (run.interventions.paused_s - paused_before_s)


def _both(write: OnOutput, run: LiveRun) -> OnOutput:
    """What the agent prints is kept, and shows a write that its stage did not allow."""

    def take(stream: Literal["stdout", "stderr"], data: bytes) -> None:
        write(stream, data)
        run.stages.observe_output(data)

    return take


def _suffix(message: Message) -> str:
    """The suffix that separates the output files of later messages from those of the first."""
    return f"-{message.number}" if message.number > 1 else ""


@contextmanager
def _ended_by_budget(run: LiveRun, message: Message, turn_s: float) -> Iterator[None]:
    """An agent that is still at work well after its time is stopped from here."""
    late_s = turn_s + BACKSTOP_S
    ended = threading.Event()
    paused_before_s = run.interventions.paused_s

    def watch_clock() -> None:
        begun = time.monotonic()
        while (left := late_s + run.interventions.paused_s - paused_before_s + begun - time.monotonic()) > 0:
            if ended.wait(max(left, 0.1)):
                return
        stop_for_time(run, _wall_s(run, message), run.spent_s + late_s)

    thread = threading.Thread(target=watch_clock, name="steelyard-clock", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _turn(run: LiveRun, message: Message, text: str, wall_s: float) -> Turn:
    spec = run.trial.contract.spec
    return Turn(
        workplace=run.workplace,
        brief=text,
        placeholders={
            "workspace": WORKSPACE,
            "contract": spec.id,
            "repeat": str(run.trial.repeat),
            "seed": str(run.trial.seed),
            "turn": str(message.number),
            "step": message.step,
        },
        wall_s=wall_s,
        env={"STEELYARD_TURN": str(message.number), "STEELYARD_STEP": message.step},
        number=message.number,
        place=message.answer_place,
    )


def _keep_answer(run: LiveRun, message: Message, ending: Ending) -> None:
    """What the agent's process printed, and as an event that its standard output is its answer."""
    finished = ending.finished
    if finished is None:
        return
    suffix = _suffix(message)
    streams = {
        name: _store_stream(run, f"agent/{name}{suffix}.txt", stream)
        for name, stream in (("stdout", finished.stdout), ("stderr", finished.stderr))
    }
    run.answer = finished.stdout if ending.answer is None else _as_output(ending.answer)
    run.answer_event = streams["stdout"] if ending.answer is None else _answer_event(run.answer)
    if ending.trace is not None:  # the messages of a client with a trace are events already
        files = native_files.keep_native_files(run, ending.native, suffix)
        facts = {**message.answer_place, **ending.trace, **streams, "files": files}
        run.events.append("agent.trace", "harness", facts)
        return
    answer = {"role": "assistant", **message.answer_place, **streams["stdout"], "stderr": streams["stderr"]}
    run.events.append("agent.message", "agent", answer)


def _as_output(text: str) -> CapturedOutput:
    data = text.encode(errors="replace")
    return CapturedOutput(data, b"", len(data), hashlib.sha256(data).hexdigest())


def _answer_event(answer: CapturedOutput) -> dict[str, Any]:
    return {
        "digest": answer.sha256,
        "bytes": answer.size,
        "prefix": answer.text[:PREFIX_CHARS],
        "blob": None,
        "cut": 0,
    }


def _store_stream(run: LiveRun, name: str, stream: CapturedOutput) -> dict[str, Any]:
    """A file with a view of the stream; of one that is longer, a blob with the rest of it."""
    run.folder.write_bytes(name, stream.view)
    kept = run.outputs.keep(stream, AGENT_BYTES)
    alert_of_output(run, name, stream.size, kept.cut)
    return {
        "digest": stream.sha256,
        "bytes": stream.size,
        "prefix": stream.text[:PREFIX_CHARS],
        "pointer": name,
        "blob": kept.blob,
        "cut": kept.cut,
    }


def final_response(run: LiveRun) -> None:
    """The last thing that the agent's process printed, as its final response; an agent without a process gives none."""
    if run.answer_event is None or run.answer is None:
        return
    run.folder.write_bytes(FINAL_RESPONSE, run.answer.view)
    run.events.append("agent.final", "agent", {**run.answer_event, "pointer": FINAL_RESPONSE})
