"""Brief the agent, let it work, and make sure that nothing of it outlives its time.

A session is one message, or several: the brief and the contract's `turns`. An agent that is a process is started
again for each, in the same sandbox; what it has spent of its time is spent. One that hands over data reads the
first and is done.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

from steelyard.agents.base import Delivery, Ending, Session
from steelyard.errors import AgentFault
from steelyard.execution.collect import collect
from steelyard.execution.live_run import LiveRun
from steelyard.sandboxes.base import WORKSPACE, Death

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
    ending = Ending("infrastructure", "nothing was said")
    for message in messages(run):
        ending = attend(run, message)
        if ending.code != "completed" or run.delivery is not None:
            break
    collect(run, run.trial.contract.checks, ending)
    conclude(run, ending)


def attend(run: LiveRun, message: Message) -> Ending:
    """One message and the agent's answer to it; what it left running runs on."""
    brief(run, message)
    if run.delivery is not None:
        return Ending("completed", _delivered(run.delivery))
    ending = _worked(run, message)
    _keep_answer(run, message, ending)
    return replace(ending, rationale=f"{message.where}{ending.rationale}")


def _delivered(delivery: Delivery) -> str:
    if delivery.applied is None:
        return "change handed over; no agent ran"
    return f"{'the patch does not apply' if delivery.applied.refused else 'patch applied'}; no agent ran"


def conclude(run: LiveRun, ending: Ending) -> None:
    """The end of all work in the sandbox: every process is dead afterwards."""
    if run.is_graded_live(ending):
        run.sandbox.settle()
    elif run.delivery is None:
        run.death = run.sandbox.stop()
        ending = _explained(ending, run.death)
    leave(run, ending)


def leave(run: LiveRun, ending: Ending) -> None:
    run.ending = ending
    run.events.append("stage.leave", "harness", {"stage": "write", "code": ending.code})


def brief(run: LiveRun, message: Message) -> None:
    """What the agent reads, verbatim; what it must satisfy is named apart, and hidden files not at all."""
    contract = run.trial.contract
    run.events.append(
        "brief",
        "harness",
        {
            "role": "user",
            "conversation": message.conversation,
            "index": message.index,
            "step": message.step or None,
            "text": message.text,
            "hints": list(contract.spec.hints) if message.index == 0 else [],
            "obligations": {
                "allowed_paths": list(contract.spec.policy.allowed_paths),
                "network": _reachable(contract.spec.environment.network),
            },
        },
    )


def _reachable(said: str | tuple[str, ...]) -> str | list[str]:
    return said if isinstance(said, str) else list(said)


def _worked(run: LiveRun, message: Message) -> Ending:
    left_s = run.trial.contract.spec.budget.agent_wall_s - run.spent_s
    if left_s <= 0:
        return Ending("wall_time", "the wall-clock budget of the run was used up")
    begun = time.monotonic()
    try:
        return run.agent.work(_session(run, message, min(left_s, message.wall_s or left_s)))
    except AgentFault as fault:
        return Ending("agent_crash", str(fault))
    finally:
        run.spent_s += time.monotonic() - begun


def _session(run: LiveRun, message: Message, wall_s: float) -> Session:
    spec = run.trial.contract.spec
    hints = "".join(f"\n- {hint}" for hint in spec.hints) if message.index == 0 else ""
    return Session(
        sandbox=run.sandbox,
        brief=message.text + (f"\n\nHints:{hints}\n" if hints else ""),
        placeholders={
            "workspace": WORKSPACE,
            "contract": spec.id,
            "repeat": str(run.trial.repeat),
            "seed": str(run.trial.seed),
            "turn": str(message.number),
            "step": message.step,
        },
        events=run.events,
        wall_s=wall_s,
        env={"STEELYARD_TURN": str(message.number), "STEELYARD_STEP": message.step},
        turn=message.number,
    )


def _explained(ending: Ending, death: Death) -> Ending:
    """A crash or a lost sandbox with the kernel's own word for why: a resource that ran out is the agent's."""
    if ending.code not in {"agent_crash", "infrastructure"}:
        return ending
    if death.oom_kills:
        return replace(ending, code="memory", rationale=f"out of memory; {ending.rationale}")
    if ending.code == "agent_crash" and death.disk_full:
        return replace(ending, code="disk", rationale=f"the disk quota is used up; {ending.rationale}")
    if ending.code == "agent_crash" and death.processes_refused:
        return replace(
            ending, code="processes", rationale=f"the process limit was reached; {ending.rationale}"
        )
    return ending


def _keep_answer(run: LiveRun, message: Message, ending: Ending) -> None:
    """What the agent's process printed, and as an event that its standard output is its answer."""
    finished = ending.finished
    if finished is None:
        return
    number = f"-{message.number}" if message.number > 1 else ""
    for name, stream in (("stdout", finished.stdout), ("stderr", finished.stderr)):
        run.folder.write_bytes(f"agent/{name}{number}.txt", stream.text.encode(errors="replace"))
    run.answer = finished.stdout
    run.events.append(
        "agent.message",
        "agent",
        {
            "role": "assistant",
            "conversation": message.conversation,
            "index": message.index + 1,
            "step": message.step or None,
            "digest": finished.stdout.sha256,
            "bytes": finished.stdout.size,
            "prefix": finished.stdout.text[:PREFIX_CHARS],
            "pointer": f"agent/stdout{number}.txt",
        },
    )
