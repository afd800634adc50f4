"""A Harbor task folder (terminal-bench 2, aec-bench) -> a contract in a container with a `verifier`.

task.toml                  timeouts, limits, variables; [metadata] and [task] are kept
instruction.md             brief.md
environment/Dockerfile     environment.build; files copied into WORKDIR become repo/
[environment] docker_image environment.image
tests/test.sh, tests/...   tests/, at /tests on the bench only: reward.txt or reward.json in /logs/verifier
solution/solve.sh          solution/, for `--agent script:CONTRACT/solution/solve.sh`
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from steelyard.contract.importing.dockerfile import DockerfileError, Parted, part
from steelyard.contract.importing.harbor_model import AEC_KEYS, UNSUPPORTED, VERSIONS, AecTask, HarborTask
from steelyard.contract.importing.reading import fault, read_text, read_toml, validated
from steelyard.contract.importing.task import (
    BRIEF,
    REPO,
    Copied,
    Options,
    Task,
    as_name,
    brief_of,
    checked_id,
)
from steelyard.contract.model import PINNED_PATTERN
from steelyard.contract.tree import shown
from steelyard.contract.yaml_source import Source

FILE = "task.toml"
VERIFIER_S = 120.0  # of the wall clock, kept for the verifier as for every contract
MOST_MEMORY_GUARANTEED = 1024
USED = {FILE, "instruction.md", "environment", "tests", "solution"}
_WORKSPACE = "/workspace"
_OUTPUT = re.compile(r"/workspace/[\w./-]*\w")
_TEMPLATE = re.compile(r"\$\{[^}]*\}")
_UNITS = {"K": 1 / 1024, "M": 1, "G": 1024}


class Container(NamedTuple):
    """Where the task runs, and the repository that it starts from."""

    environment: dict[str, Any]
    copied: dict[str, Copied]
    files: dict[str, bytes]
    is_built: bool


def convert(folder: Path, options: Options, *, as_aec: bool | None = None) -> Task:
    """`as_aec`: whether keys of aec-bench are known; None: if the task has one."""
    source = read_toml(folder, FILE)
    aec = as_aec if as_aec is not None else is_aec(source)
    task = validated(source, AecTask if aec else HarborTask, UNSUPPORTED)
    _check(task, source, folder)
    name = checked_id(_id(task, folder), source.where(("task", "name")), "task.name")
    instruction = read_text(folder, "instruction.md")
    container = _container(task, source, folder, options)
    network = "host" if container.is_built else None
    contract: dict[str, Any] = {
        "id": name,
        "brief_file": BRIEF,
        "repository": {"tree": REPO},
        "environment": {**container.environment, **_limits(task, source), **_variables(task, source)},
        **options.setup(),
        **({"setup_network": options.setup_network or network} if network else {}),
        "build": "none",
        "oracle": {"checks": [_verifier(task, instruction if aec else "")]},
        **_budget(task),
        "reward": "verifier",
        "metadata": {"aec_bench" if aec else "harbor": _described(task)},
    }
    copied = {**container.copied, "tests": Copied(folder / "tests", folder)}
    if (folder / "solution").is_dir():
        copied["solution"] = Copied(folder / "solution", folder)
    files = {BRIEF: brief_of(instruction, f"{folder}/instruction.md", ""), **container.files}
    kind = "an aec-bench task" if aec else "a Harbor task"
    return Task(name, kind, contract, files, copied, tuple(_notes(task, source, folder, options)))


def is_aec(source: Source) -> bool:
    data = source.data
    environment = data.get("environment")
    return any(
        key[0] in data if len(key) == 1 else isinstance(environment, dict) and key[1] in environment
        for key in AEC_KEYS
    )


def _check(task: HarborTask, source: Source, folder: Path) -> None:
    """What contradicts itself, and what is missing."""
    if task.version and task.schema_version and task.version != task.schema_version:
        said = f"contradicts schema_version {shown(task.schema_version)!r}"
        raise fault(source.where(("version",)), "version", said)
    version = task.schema_version or task.version or VERSIONS[0]
    if version not in VERSIONS:
        key = "schema_version" if task.schema_version else "version"
        said = f"{shown(version)!r} is not a version that is known; there are {', '.join(VERSIONS)}"
        raise fault(source.where((key,)), key, said)
    for name in ("docker-compose.yaml", "docker-compose.yml"):
        if (folder / "environment" / name).exists():
            raise fault(f"{folder}/environment/{name}", "", "several containers are not supported yet")
    if not (folder / "tests" / "test.sh").is_file():
        raise fault(f"{folder}/tests/test.sh", "", "does not exist, so nothing would verify the work")
    if (folder / "steps").is_dir():
        raise fault(f"{folder}/steps", "", "tasks of several steps are not supported yet")


def _id(task: HarborTask, folder: Path) -> str:
    return as_name(task.task.name if task.task else folder.absolute().name)


def _container(task: HarborTask, source: Source, folder: Path, options: Options) -> Container:
    wanted = task.environment
    workdir = wanted.workdir or options.workdir
    if wanted.docker_image is None:
        return _built(folder, workdir)
    if workdir is None:
        message = "only its image tells in which folder the agent works"
        where = source.where(("environment", "docker_image"))
        raise fault(where, "environment.docker_image", message, "say --workdir /app")
    unpinned = {} if re.match(PINNED_PATTERN, wanted.docker_image) else {"allow_unpinned": True}
    environment = {"sandbox": "docker", "image": wanted.docker_image, **unpinned, **_at(workdir)}
    return Container(environment, {}, {}, is_built=False)


def _built(folder: Path, workdir: str | None) -> Container:
    context, where = folder / "environment", f"{folder}/environment/Dockerfile"
    parted = _parted(folder, workdir)
    if parted.workdir is None:
        message = "has no WORKDIR, so nobody knows in which folder the agent works"
        raise fault(where, "WORKDIR", message, "say --workdir /app")
    if parted.workdir == "/":
        raise fault(where, "WORKDIR", "the whole system cannot be the agent's folder", "say --workdir /app")
    if any(one.is_folder for one in parted.moved) and (context / ".dockerignore").exists():
        raise fault(f"{context}/.dockerignore", "", "is not supported beside a COPY of a folder")
    copied = {"environment": Copied(context, folder)}
    for one in parted.moved:
        copied[REPO if one.dest == "." else f"{REPO}/{one.dest}"] = Copied(context / one.source, context)
    unpinned = {} if parted.is_pinned else {"allow_unpinned": True}
    environment = {"sandbox": "docker", "build": "environment", **unpinned, **_at(parted.workdir)}
    return Container(environment, copied, {"environment/Dockerfile": parted.text.encode()}, is_built=True)


def _parted(folder: Path, workdir: str | None) -> Parted:
    context = folder / "environment"
    text = read_text(folder, "environment/Dockerfile")

    def is_folder(name: str) -> bool | None:
        path = context / name
        return path.is_dir() if path.exists() else None

    try:
        return part(text, is_folder, workdir)
    except DockerfileError as wrong:
        raise fault(f"{folder}/environment/Dockerfile:{wrong.line}", "", str(wrong)) from wrong


def _at(workdir: str) -> dict[str, str]:
    return {} if workdir == _WORKSPACE else {"workdir": workdir}


def _limits(task: HarborTask, source: Source) -> dict[str, Any]:
    wanted = task.environment
    memory = _megabytes(source, "memory", wanted.memory, wanted.memory_mb)
    disk = _megabytes(source, "storage", wanted.storage, wanted.storage_mb)
    room = (
        {"memory_mb": {"guaranteed": min(memory, MOST_MEMORY_GUARANTEED), "limit": memory}} if memory else {}
    )
    return {
        **({"cpu": wanted.cpus} if wanted.cpus else {}),
        **room,
        **({"disk_mb": disk} if disk else {}),
    }


def _megabytes(source: Source, key: str, size: str | None, megabytes: int | None) -> int | None:
    if size is None:
        return megabytes
    text = size.strip().upper()
    meant = int(float(text[:-1]) * _UNITS[text[-1]])
    if megabytes is not None and megabytes != meant:
        place = ("environment", key)
        raise fault(source.where(place), f"environment.{key}", f"contradicts {key}_mb = {megabytes}")
    return meant


def _variables(task: HarborTask, source: Source) -> dict[str, Any]:
    for name, value in task.environment.env.items():
        if _TEMPLATE.search(value):
            place = ("environment", "env", name)
            message = "takes its value from this machine, which is not supported yet"
            raise fault(source.where(place), f"environment.env.{name}", message)
    return {"env": task.environment.env} if task.environment.env else {}


def _verifier(task: HarborTask, instruction: str) -> dict[str, Any]:
    output = next((path for path in reversed(_OUTPUT.findall(instruction)) if ".." not in path), None)
    return {
        "id": "verify",
        "type": "verifier",
        "script": "tests/test.sh",
        **({"expected_output_path": output} if output else {}),
        "timeout_s": task.verifier.timeout_sec,
    }


def _budget(task: HarborTask) -> dict[str, Any]:
    """The agent has exactly the time that the task gives it; the head-room comes on top."""
    own = task.agent.timeout_sec
    if own is None:
        return {}
    kept = min(VERIFIER_S, own)
    return {"budget": {"wall_s": own + kept, "headroom": {"wall_s": kept}}}


def _described(task: HarborTask) -> dict[str, Any]:
    kept: dict[str, Any] = {"metadata": task.metadata, "source": task.source}
    if task.task is not None:
        kept["task"] = task.task.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    if isinstance(task, AecTask):
        kept |= {"tools": task.tools, "generation": task.generation}
        kept["extensions"] = list(task.environment.extensions)
    return {key: value for key, value in kept.items() if value}


def _notes(task: HarborTask, source: Source, folder: Path, options: Options) -> Iterator[str]:
    yield from _network(task, source, options)
    yield "its processes have an unprivileged user, whatever USER its image has"
    if (folder / "solution" / "solve.sh").is_file():
        yield "its solution is a script: steelyard run CONTRACT --agent script:CONTRACT/solution/solve.sh"
    left = sorted(path.name for path in folder.iterdir() if path.name not in USED)
    if left:
        yield f"left behind: {', '.join(left[:10])}{' and more' if len(left) > 10 else ''}"


def _network(task: HarborTask, source: Source, options: Options) -> Iterator[str]:
    """Who asks for a network is refused, unless the operator says that it goes without."""
    wanted = task.environment
    mode, allowed = wanted.network_mode, wanted.allow_internet
    if mode is not None and allowed is not None and allowed != (mode == "public"):
        where = source.where(("environment", "allow_internet"))
        raise fault(where, "environment.allow_internet", f"contradicts network_mode = {mode!r}")
    asked = [
        (place, key)
        for place, key, value in (
            (("environment", "network_mode"), "environment.network_mode", wanted.network_mode == "public"),
            (("environment", "allow_internet"), "environment.allow_internet", wanted.allow_internet),
            (("agent", "network_mode"), "agent.network_mode", task.agent.network_mode == "public"),
            (("verifier", "network_mode"), "verifier.network_mode", task.verifier.network_mode == "public"),
        )
        if value
    ]
    if asked and not options.offline:
        place, key = asked[0]
        fix = "--offline imports it without a network"
        raise fault(source.where(place), key, "a network is not supported yet", fix)
    if asked or (mode is None and allowed is None):
        yield "neither its agent nor its verifier has a network here"
