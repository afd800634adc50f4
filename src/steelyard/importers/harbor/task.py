"""A Harbor task folder (terminal-bench 2, aec-bench) -> a contract with a `verifier`.

task.toml                  timeouts, limits, variables; [metadata], [task] and artifacts are kept
instruction.md             brief.md
environment/Dockerfile     environment.build, as it is; the agent is root and the whole system is captured
[environment] docker_image environment.image
tests/test.sh, tests/...   tests/, at /tests on the bench only: reward.txt or reward.json in /logs/verifier
solution/solve.sh          oracle.reference, a script; its folder is at /solution for `--agent reference` only
steps/NAME/...             steps, each with its instruction, tests and solution (harbor_steps.py)

For a sandbox without images (`--sandbox bubblewrap`) the Dockerfile is taken apart: see dockerfile.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from steelyard.contract.model import PINNED_PATTERN, SYSTEM_FOLDERS
from steelyard.contract.parse.yaml_source import Source, dotted_path
from steelyard.filesystem.tree import printable
from steelyard.importers.collected import FaultCollector
from steelyard.importers.harbor.dockerfile import NEEDS, DockerfileError, DockerfileParts, is_pinned, part
from steelyard.importers.harbor.limits import limits
from steelyard.importers.harbor.model import AEC_KEYS, VERSIONS, AecTask, HarborTask, unsupported_keys
from steelyard.importers.harbor.network import reach_of
from steelyard.importers.harbor.separate_verifier import ConvertedVerifier
from steelyard.importers.harbor.steps import ReadTask, StepKeys, converted_steps, ready_of
from steelyard.importers.harbor.users import Users
from steelyard.importers.harbor.variables import host_variables, resolve_variables
from steelyard.importers.reading import fault, read_model, read_text, read_toml
from steelyard.importers.task import (
    BRIEF,
    HARBOR_FILE,
    REPO,
    FileCopy,
    Options,
    Task,
    as_name,
    brief_of,
    checked_id,
)
from steelyard.sandbox_paths import WORKSPACE

FILE = HARBOR_FILE
VERIFIER_S = 120.0  # of the wall clock, kept for the verifier as for every contract
USED = {FILE, "instruction.md", "environment", "tests", "solution", "steps"}
_OUTPUT = re.compile(rf"{WORKSPACE}/[\w./-]*\w")


class Container(NamedTuple):
    """Where the task runs, and the repository that it starts from."""

    environment: dict[str, Any]
    copied: dict[str, FileCopy]
    setup: tuple[str, ...] = ()
    network: str | None = None  # of building or setting up
    notes: tuple[str, ...] = ()


def convert(folder: Path, options: Options, *, as_aec: bool | None = None) -> Task:
    """`as_aec`: whether keys of aec-bench are known; None: if the task has one."""
    source = read_toml(folder, FILE)
    aec = as_aec if as_aec is not None else is_aec(source)
    found = FaultCollector()
    with found:
        _check_compose(folder)
    with found:
        task = read_model(source, AecTask if aec else HarborTask, unsupported_keys(source.data))
        return _convert(task, source, folder, options, found)
    found.raise_all()
    raise AssertionError("settle raises what kept the task from being converted")


def _convert(task: HarborTask, source: Source, folder: Path, options: Options, found: FaultCollector) -> Task:
    """Raises ContractFault with the problems of every part, and those that were found before."""
    aec = isinstance(task, AecTask)
    with found:
        _check(task, source, folder)
    with found:
        name = checked_id(_id(task, folder), source.where(("task", "name")), "task.name")
    with found:
        reach = reach_of(task, source, options)
    with found:
        container = _container(task, source, folder, options)
        exports = _exports(task, source, options, container)
    with found:
        env = resolve_variables(task.environment.env, ("environment", "env"), source, options)
    with found:
        sizes = limits(task.environment, ("environment",), source)
    with found:
        given = ReadTask(task, source, folder, options, Users(task, source, folder, options))
        agent = given.users.agent()
        asked = converted_steps(given) if task.steps else _single_step(given, aec=aec)
    found.raise_all()
    contract: dict[str, Any] = {
        "id": name,
        **({"repository": {"tree": REPO}} if container.environment["sandbox"] == "bubblewrap" else {}),
        "environment": {
            **container.environment,
            **sizes,
            **_variables(env, container),
            **_ready(task),
            **reach.environment,
            **agent,
        },
        **options.setup(*container.setup),
        **({"setup_network": options.setup_network or container.network} if container.network else {}),
        "build": "none",
        **exports,
        **asked.contract,
        **({"oracle": {**asked.contract.get("oracle", {}), **reach.oracle}} if reach.oracle else {}),
        "reward": "verifier",
        "metadata": {"aec_bench" if aec else "harbor": _describe(task)},
    }
    if names := host_variables(contract, options):
        contract["environment"]["host_variables"] = names
    kind = "an aec-bench task" if aec else "a Harbor task"
    notes = (*reach.notes, *_notes(task, folder), *container.notes)
    return Task(name, kind, contract, asked.files, {**container.copied, **asked.copied}, notes)


def is_aec(source: Source) -> bool:
    data = source.data
    environment = data.get("environment")
    return any(
        key[0] in data if len(key) == 1 else isinstance(environment, dict) and key[1] in environment
        for key in AEC_KEYS
    )


def _check(task: HarborTask, source: Source, folder: Path) -> None:
    """What contradicts itself, and what is missing."""
    if not task.steps and (folder / "steps").is_dir():
        raise fault(f"{folder}/steps", "", f"is there, and {FILE} names no steps", "[[steps]] with each name")
    if not task.steps and task.multi_step_reward_strategy:
        place = ("multi_step_reward_strategy",)
        raise fault(source.where(place), place[0], "there are no steps")


def _check_compose(folder: Path) -> None:
    # By another name it is a file like any other, there too.
    compose = folder / "environment/docker-compose.yaml"
    if compose.exists():
        raise fault(str(compose), "", "several containers are not supported yet")


def _single_step(given: ReadTask, *, aec: bool) -> StepKeys:
    """What a task in one step asks for, and how it is verified."""
    task, source, folder, options, _ = given
    found = FaultCollector()
    instruction = ""
    with found:
        _check_verifier(folder)
    with found:
        instruction = read_text(folder, "instruction.md")
        brief = brief_of(instruction, f"{folder}/instruction.md", "")
    with found:
        env = resolve_variables(task.solution.env, ("solution", "env"), source, options)
    with found:
        oracle: dict[str, Any] = {"checks": [_verifier(given, instruction if aec else "")]}
    found.raise_all()
    copied = {"tests": FileCopy(folder / "tests", folder)}
    if (folder / "solution").is_dir():
        copied["solution"] = FileCopy(folder / "solution", folder)
    if (folder / "solution" / "solve.sh").is_file():
        oracle["reference"] = {"script": "solution/solve.sh", **({"env": env} if env else {})}
    return StepKeys({"brief_file": BRIEF, "oracle": oracle, **_budget(task)}, {BRIEF: brief}, copied)


def _check_verifier(folder: Path) -> None:
    if not (folder / "tests" / "test.sh").is_file():
        raise fault(f"{folder}/tests/test.sh", "", "does not exist, so nothing would verify the work")


def _id(task: HarborTask, folder: Path) -> str:
    return as_name(task.task.name if task.task else folder.absolute().name)


def _container(task: HarborTask, source: Source, folder: Path, options: Options) -> Container:
    wanted = task.environment
    workdir = wanted.workdir or options.workdir
    if options.sandbox == "local":
        raise fault(str(folder), "", "needs docker, or bubblewrap where its Dockerfile allows that")
    if options.sandbox == "bubblewrap":
        return _without_image(task, source, folder, workdir)
    system = {"sandbox": "docker", "scope": "system", **({"workdir": workdir} if workdir else {})}
    if wanted.docker_image is not None:
        unpinned = {} if re.match(PINNED_PATTERN, wanted.docker_image) else {"allow_unpinned": True}
        return Container({**system, "image": wanted.docker_image, **unpinned}, {})
    with _explain_failures(folder):
        unpinned = {} if is_pinned(read_text(folder, "environment/Dockerfile")) else {"allow_unpinned": True}
    copied = {"environment": FileCopy(folder / "environment", folder)}
    return Container({**system, "build": "environment", **unpinned}, copied, network="host")


def _without_image(task: HarborTask, source: Source, folder: Path, workdir: str | None) -> Container:
    """This machine's own system instead of the image: what is done in the working folder, and no more."""
    if task.environment.docker_image is not None:
        place = ("environment", "docker_image")
        raise fault(source.where(place), "environment.docker_image", f"what is in an image {NEEDS}")
    context = folder / "environment"
    parted = _split_dockerfile(folder, workdir)
    place_name = str(parted.workdir)
    if place_name == "/" or (place_name != WORKSPACE and _is_of_system(place_name)):
        where = f"{folder}/environment/Dockerfile"
        raise fault(where, "WORKDIR", f"{place_name} is the system's own, which {NEEDS}")
    if any(one.is_folder for one in parted.moved) and (context / ".dockerignore").exists():
        raise fault(f"{context}/.dockerignore", "", f"beside a COPY of a folder {NEEDS}")
    copied = {
        REPO if one.dest == "." else f"{REPO}/{one.dest}": FileCopy(context / one.source, context)
        for one in parted.moved
    }
    at = {} if place_name == WORKSPACE else {"workdir": place_name}
    environment = {"sandbox": "bubblewrap", **at, **({"env": parted.env} if parted.env else {})}
    note = f"this machine's own system stands in for its image {parted.base}"
    network = "host" if parted.commands else None
    return Container(environment, copied, parted.commands, network, (note,))


def _is_of_system(place: str) -> bool:
    first = place.split("/")[1]
    return first in SYSTEM_FOLDERS | {"root"} or place in {"/home", "/home/agent"}


def _split_dockerfile(folder: Path, workdir: str | None) -> DockerfileParts:
    context = folder / "environment"

    def is_folder(name: str) -> bool | None:
        path = context / name
        return path.is_dir() if path.exists() else None

    with _explain_failures(folder):
        return part(read_text(folder, "environment/Dockerfile"), is_folder, workdir)


@contextmanager
def _explain_failures(folder: Path) -> Iterator[None]:
    try:
        yield
    except DockerfileError as wrong:
        raise fault(f"{folder}/environment/Dockerfile:{wrong.line}", "", str(wrong)) from wrong


def _variables(own: dict[str, str], container: Container) -> dict[str, Any]:
    env = {**container.environment.get("env", {}), **own}
    return {"env": env} if env else {}


def _exports(task: HarborTask, source: Source, options: Options, container: Container) -> dict[str, Any]:
    """`[metadata.steelyard] exports`, and the operator's."""
    described = task.metadata.get("steelyard")
    own = described.get("exports", []) if isinstance(described, dict) else []
    if not isinstance(own, list) or not all(isinstance(one, str) for one in own):
        place = ("metadata", "steelyard", "exports")
        raise fault(source.where(place), dotted_path(place), "is no list of texts", 'like ["/etc/nginx/**"]')
    exports = [*dict.fromkeys((*own, *options.exports))]
    if exports and container.environment.get("scope") != "system":
        raise fault(
            source.where(("metadata", "steelyard", "exports")),
            "exports",
            f"what is outside of the working folder {NEEDS}",
        )
    return {"exports": exports} if exports else {}


def _ready(task: HarborTask) -> dict[str, Any]:
    wanted = task.environment.healthcheck
    return {} if wanted is None else {"ready": ready_of(wanted)}


def _verifier(given: ReadTask, instruction: str) -> dict[str, Any]:
    task, source, _, options, users = given
    output = next((path for path in reversed(_OUTPUT.findall(instruction)) if ".." not in path), None)
    env = resolve_variables(task.verifier.env, ("verifier", "env"), source, options)
    return {
        "id": "verify",
        "type": "verifier",
        "script": "tests/test.sh",
        **({"expected_output_path": output} if output else {}),
        **({"env": env} if env else {}),
        **users.verifier(),
        **ConvertedVerifier(task, source, given.folder, options).keys(),
        "timeout_s": task.verifier.timeout_sec,
    }


def _budget(task: HarborTask) -> dict[str, Any]:
    """The agent has exactly the time that the task gives it; the head-room comes on top."""
    own = task.agent.timeout_sec
    if own is None:
        return {}
    kept = min(VERIFIER_S, own)
    return {"budget": {"wall_s": own + kept, "headroom": {"wall_s": kept}}}


def _describe(task: HarborTask) -> dict[str, Any]:
    kept: dict[str, Any] = {"metadata": task.metadata, "source": task.source, "sources": list(task.sources)}
    if task.version and task.schema_version and task.version != task.schema_version:
        kept["version"] = task.version
    if task.task is not None:
        kept["task"] = task.task.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    if isinstance(task, AecTask):
        kept |= {"tools": task.tools, "generation": task.generation}
        kept["extensions"] = list(task.environment.extensions)
    kept["artifacts"] = [
        {"source": one} if isinstance(one, str) else one.model_dump(mode="json", exclude_defaults=True)
        for one in task.artifacts
    ]
    return {key: value for key, value in kept.items() if value}


def _notes(task: HarborTask, folder: Path) -> Iterator[str]:
    version = task.schema_version or task.version or VERSIONS[0]
    if version not in VERSIONS:  # Harbor too looks at keys only
        yield f"says schema {printable(version)}, and was read as {VERSIONS[-1]}"
    left = sorted(path.name for path in folder.iterdir() if path.name not in USED)
    if left:
        yield f"left behind: {', '.join(left[:10])}{' and more' if len(left) > 10 else ''}"
