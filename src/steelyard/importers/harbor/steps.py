"""A Harbor task of several steps -> `steps` of a contract.

[[steps]] name = "one"           steps: - name: one
steps/one/instruction.md                  brief_file: steps/one/instruction.md
steps/one/tests/ on tests/                checks: a verifier with steps/one/tests/test.sh
steps/one/solution/solve.sh               reference: a script
steps/one/workdir/                        files: written into the agent's folder before the step
min_reward, agent.timeout_sec             min_reward, wall_s
healthcheck                               ready
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from steelyard.contract.parse.yaml_source import Source
from steelyard.importers.harbor.model import HarborTask, Healthcheck, Step
from steelyard.importers.harbor.separate_verifier import ConvertedVerifier
from steelyard.importers.harbor.users import Users
from steelyard.importers.harbor.variables import resolve_variables
from steelyard.importers.reading import fault, read_text
from steelyard.importers.task import FileCopy, Options, brief_of

VERIFIER_S = 120.0
WORKDIR = "workdir"


class ReadTask(NamedTuple):
    """A task as it was read."""

    task: HarborTask
    source: Source
    folder: Path
    options: Options
    users: Users


class StepKeys(NamedTuple):
    """Keys of a contract, and the files that they name."""

    contract: dict[str, Any]
    files: dict[str, bytes]
    copied: dict[str, FileCopy]


def converted_steps(given: ReadTask) -> StepKeys:
    task, source, folder = given[:3]
    steps: list[dict[str, Any]] = []
    files: dict[str, bytes] = {}
    copied: dict[str, FileCopy] = {}
    for number, step in enumerate(task.steps):
        _check(step, number, source, folder)
        own = f"steps/{step.name}"
        files[f"{own}/instruction.md"] = brief_of(
            read_text(folder, f"{own}/instruction.md"), f"{folder}/{own}/instruction.md", ""
        )
        copied |= _tests(folder, own)
        if _brings(folder / own):
            copied[f"{own}/{WORKDIR}"] = FileCopy(folder / own / WORKDIR, folder)
        if (folder / own / "solution").is_dir():
            copied[f"{own}/solution"] = FileCopy(folder / own / "solution", folder)
        steps.append(_step(given, step, number))
    seconds = [one["wall_s"] for one in steps if "wall_s" in one]
    budget = (
        {"budget": {"wall_s": sum(seconds) + VERIFIER_S, "headroom": {"wall_s": VERIFIER_S}}}
        if len(seconds) == len(steps)
        else {}
    )
    strategy = task.multi_step_reward_strategy
    return StepKeys(
        {"steps": steps, **({"step_reward": strategy} if strategy else {}), **budget}, files, copied
    )


def _step(given: ReadTask, step: Step, number: int) -> dict[str, Any]:
    task, source, folder, options, users = given
    own = f"steps/{step.name}"
    wall_s = step.agent.timeout_sec or task.agent.timeout_sec
    env = {
        **resolve_variables(task.verifier.env, ("verifier", "env"), source, options),
        **resolve_variables(step.verifier.env, ("steps", number, "verifier", "env"), source, options),
    }
    made: dict[str, Any] = {
        "name": step.name,
        "brief_file": f"{own}/instruction.md",
        "checks": [
            {
                "id": f"verify-{step.name}",
                "type": "verifier",
                "script": f"{own}/tests/test.sh",
                **({"env": env} if env else {}),
                **users.verifier(step.verifier),
                **ConvertedVerifier(task, source, folder, options, step, number).keys(),
                "timeout_s": step.verifier.timeout_sec,
            }
        ],
        "min_reward": _least(step, number, source),
        **({"wall_s": wall_s} if wall_s else {}),
        **({"files": f"{own}/{WORKDIR}"} if _brings(folder / own) else {}),
        **({"ready": ready_of(step.healthcheck)} if step.healthcheck else {}),
    }
    if (folder / own / "solution" / "solve.sh").is_file():
        solution = resolve_variables(task.solution.env, ("solution", "env"), source, options)
        made["reference"] = {"script": f"{own}/solution/solve.sh", **({"env": solution} if solution else {})}
    return made


def _brings(folder: Path) -> bool:
    return (folder / WORKDIR).is_dir() and any((folder / WORKDIR).iterdir())


def ready_of(wanted: Healthcheck) -> dict[str, Any]:
    return {
        "cmd": wanted.command,
        "timeout_s": wanted.timeout_sec,
        "interval_s": wanted.interval_sec,
        "retries": wanted.retries,
        "start_period_s": wanted.start_period_sec,
        "start_interval_s": wanted.start_interval_sec,
    }


def _tests(folder: Path, own: str) -> dict[str, FileCopy]:
    """Those of the task, and those of the step over them."""
    shared, steps = folder / "tests", folder / own / "tests"
    if not (shared / "test.sh").is_file() and not (steps / "test.sh").is_file():
        raise fault(f"{folder}/{own}/tests/test.sh", "", "does not exist, so nothing would verify the work")
    return {
        **({f"{own}/tests": FileCopy(shared, folder)} if shared.is_dir() else {}),
        **({f"{own}/tests/.": FileCopy(steps, folder)} if steps.is_dir() else {}),
    }


def _check(step: Step, number: int, source: Source, folder: Path) -> None:
    where = folder / "steps" / step.name / WORKDIR / "setup.sh"
    if where.exists():
        raise fault(str(where), "", "a script that sets up a step is not supported yet")
    if not (folder / "steps" / step.name).is_dir():
        raise fault(
            source.where(("steps", number, "name")), f"steps[{number}].name", f"there is no steps/{step.name}"
        )


def _least(step: Step, number: int, source: Source) -> float:
    """Harbor goes on whatever a step earned, if it does not say how much it must be."""
    least = step.min_reward
    if isinstance(least, dict):
        others = sorted(set(least) - {"reward"})
        if others:
            place = ("steps", number, "min_reward")
            message = f"a minimum of {others[0]} is not supported: only the reward decides"
            raise fault(source.where(place), f"steps[{number}].min_reward", message, "{reward = 0.5}")
        least = least.get("reward")
    return 0.0 if least is None else least
