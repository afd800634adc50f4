"""Brief the agent, let it work, and make sure that nothing of it outlives its time."""

from __future__ import annotations

from dataclasses import replace

from steelyard.agents.base import Ending, Session
from steelyard.execution.live_run import LiveRun
from steelyard.sandboxes.base import WORKSPACE, Death


def brief(run: LiveRun) -> None:
    """What the agent reads, verbatim; what it must satisfy is named apart, and hidden files not at all."""
    contract = run.trial.contract
    run.events.append(
        "brief",
        "harness",
        {
            "text": contract.brief,
            "hints": list(contract.spec.hints),
            "obligations": {"allowed_paths": list(contract.spec.policy.allowed_paths), "network": "none"},
        },
    )


def watch(run: LiveRun) -> None:
    if run.delivery is None:
        ending = run.agent.work(_session(run))
        run.death = run.sandbox.stop()
        run.ending = _explained(ending, run.death)
        _keep_output(run)
    else:
        run.ending = Ending("completed", "a change was handed over as data")
    run.events.append("stage.leave", "harness", {"stage": "write", "code": run.ending.code})


def _session(run: LiveRun) -> Session:
    spec = run.trial.contract.spec
    hints = "".join(f"\n- {hint}" for hint in spec.hints)
    return Session(
        sandbox=run.sandbox,
        brief=run.trial.contract.brief + (f"\n\nHints:{hints}\n" if hints else ""),
        placeholders={
            "workspace": WORKSPACE,
            "contract": spec.id,
            "repeat": str(run.trial.repeat),
            "seed": str(run.trial.seed),
        },
        events=run.events,
        wall_s=spec.budget.agent_wall_s,
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


def _keep_output(run: LiveRun) -> None:
    finished = run.ending.finished if run.ending else None
    if finished is None:
        return
    for name, stream in (("stdout", finished.stdout), ("stderr", finished.stderr)):
        run.folder.write_bytes(f"agent/{name}.txt", stream.text.encode(errors="replace"))
