"""The steps of a contract, one after the other over one workspace: brief, watch, capture, accept, each.

    steps/<name>/change.json, patch.diff    the workspace as that step left it, against the first baseline

After a step every process is dead, the workspace is imported as data, and the step's checks run on fresh benches; the
sandbox, and with it workspace and HOME, lives on for the next. A step that earns too little ends the sequence: the checks of
later steps are recorded as failed, with the reason, because a step that was not taken earns nothing. After a step that
no check could decide, the later ones are undecided too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from steelyard.agents.base import Ending
from steelyard.bench.live import LiveTree
from steelyard.bench.outcome import CheckOutcome
from steelyard.bench.step_files import step_files_of
from steelyard.bench.transfer.hidden_files import files_as_overlays
from steelyard.contract.catalogue import GraderEntry
from steelyard.contract.contract import Step
from steelyard.contract.step_reward import Result, step_reward
from steelyard.contract.threshold import is_enough
from steelyard.errors import AgentFault, ContractFault, Problem
from steelyard.evidence.trace.termination import CLASS_OF
from steelyard.execution.accept import accept, refuse_all
from steelyard.execution.alerts import alerts_of_exit
from steelyard.execution.capture import capture
from steelyard.execution.collect import collect
from steelyard.execution.live_run import LiveRun
from steelyard.execution.ready import await_ready, unready
from steelyard.execution.watch import Message, attend, conclude, final_response, leave, leftover_processes


def take_steps(run: LiveRun) -> None:
    halted: Halt | None = None
    for number, step in enumerate(run.trial.contract.steps, start=1):
        if halted is None:
            halted = _take(run, number, step)
        else:
            _pass_over(run, step, halted)
    final_response(run)


class Halt(NamedTuple):
    """Why no further step is taken, and what that makes of the checks of those that follow."""

    why: str
    outcome: CheckOutcome = "fail"


def _pass_over(run: LiveRun, step: Step, halted: Halt) -> None:
    why = halted.why
    if run.started_sandbox is not None:
        run.exit_stats = run.started_sandbox.stop()  # no later step uses it
        alerts_of_exit(run, run.exit_stats)
    if run.stop.is_at_once:
        return
    refuse_all(run, step.checks, halted.outcome, f"not run: {why}")
    if run.ending is not None and run.ending.code == "completed":
        run.ending = Ending("completed", why)


def _take(run: LiveRun, number: int, step: Step) -> Halt | None:
    """One step; why none follows it, or nothing."""
    steps = run.trial.contract.steps
    if why := _bring(run, number, step):
        _pass_over(run, step, Halt(why))
        return Halt(why)
    if number > 1:
        run.stages.resume()
    run.events.append("step.start", "harness", {"step": step.name, "number": number, "of": len(steps)})
    message = Message(step.brief, number, len(steps), step.name, step.wall_s)
    run.on_phase("agent", step.name)
    ending = _watch(run, message, step.checks)
    run.on_phase("capture", step.name)
    capture(run, step.name)
    if run.stop.is_at_once:
        return Halt(ending.rationale)
    run.on_phase("checks", step.name)
    crashed = CLASS_OF[ending.code] == "agent"
    if crashed:
        # What a crashed agent had finished by then is chance. Crashing is its failure, or it would be a way out of one.
        how = ending.rationale.removeprefix(message.where)
        outcomes = refuse_all(run, step.checks, "fail", f"the agent crashed in this step: {how}")
    else:
        outcomes = accept(run, step.checks)
        if run.stop.is_at_once:
            return Halt(ending.rationale)
    results = {name: Result(one.outcome, one.score) for name, one in outcomes.items()}
    reward = 0.0 if crashed else step_reward(run.trial.contract.spec.reward, step.checks, results)
    step_end = {"step": step.name, "number": number, "code": ending.code, "rationale": ending.rationale}
    run.events.append("step.end", "harness", {**step_end, "reward": reward, "min_reward": step.min_reward})
    if ending.code != "completed":
        return Halt(ending.rationale)
    return None if is_enough(reward, step.min_reward) else _not_enough(step, reward)


def _bring(run: LiveRun, number: int, step: Step) -> str:
    """What comes with a step into the agent's sandbox, in which nothing runs now; why it could not, or nothing.

    Before the first step that is the contract's fault. Later the agent has had the sandbox, and may have locked it.
    """
    if step.files:
        run.step_files |= step_files_of(run.environment, [step])
    if run.delivery is not None:
        return ""
    field = f"steps[{number - 1}]"
    try:
        LiveTree(run.sandbox).write(files_as_overlays(step.files), ())
    except AgentFault as fault:
        if number == 1:
            raise ContractFault(Problem("contract.yaml", f"{field}.files", str(fault))) from fault
        return f"step {step.name}: {fault}"
    if number == 1:
        await_ready(run.sandbox, step.ready, f"{field}.ready")
        return ""
    why = unready(run.sandbox, step.ready)
    return f"step {step.name}: {why}" if why else ""


def _watch(run: LiveRun, message: Message, checks: Sequence[GraderEntry]) -> Ending:
    """The agent at work on one step; nothing of it runs any more when this returns."""
    if run.agent.delivers_by_step:
        run.delivery = run.agent.deliver_until(run.environment, run.blobs, message.number)
    ending = attend(run, message)
    collect(run, checks, ending)
    if run.delivery is None and ending.code == "completed" and message.number < message.of:
        leftover = leftover_processes(run.sandbox)
        run.sandbox.kill_processes()
        leave(run, ending, leftover)
    else:
        conclude(run, ending)
    return run.ending or ending


def _not_enough(step: Step, reward: float | None) -> Halt:
    if reward is None:
        return Halt(f"the reward of step {step.name} is unknown", "error")
    return Halt(f"step {step.name} earned {reward:.2f}, needed {step.min_reward:.2f}")
