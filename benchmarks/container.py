"""Containers, each thing beside the same thing done with the engine's API alone. No engine: no rows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.bare import TRUE, spawn_true
from benchmarks.measure import Measured, measure, ratio, timed
from benchmarks.sandbox import LIMITS
from benchmarks.workshop import Workshop
from steelyard.api import run_trial
from steelyard.errors import InfraFault
from steelyard.sandboxes.base import Command, SandboxSpec
from steelyard.sandboxes.docker.api import Engine, engine
from steelyard.sandboxes.docker.backend import DockerBackend
from steelyard.sandboxes.docker.image import find_image

NAME = "localhost/steelyard-benchmarks:1"
SHELL = ["/bin/sh", "-c", "true"]


def container(workshop: Workshop) -> Iterator[Measured]:
    """A trivial trial, a command and a teardown."""
    try:
        found = engine()
        image = _image(found)
    except InfraFault as fault:
        sys.stderr.write(f"no rows about containers: {fault}\n")
        return
    yield from _trials(workshop, found, image)
    box = SandboxSpec(layers=(workshop.tree(100),), limits=LIMITS, image=image)
    with DockerBackend().start(box) as sandbox:
        command = Command((TRUE,))
        variants = {"command": timed(lambda: sandbox.run(command)), "bare spawn": timed(spawn_true)}
        rounds = measure(variants, workshop.rounds(200))
    yield Measured.of(
        "container", "a command in a live container", rounds, ratio("command", "bare spawn"), target=3
    )
    yield from _teardowns(workshop, found, box)


def _trials(workshop: Workshop, found: Engine, image: str) -> Iterator[Measured]:
    environment = {"sandbox": "docker", "image": image, "memory_mb": {"guaranteed": 64, "limit": 512}}
    contract = workshop.contract("contained", {"README.md": "nothing\n"}, "true", environment=environment)

    def one_trial() -> None:
        result = run_trial(contract, "command:true", out=workshop.folder / "runs")
        assert result["verdict"] == "pass", result

    def two_of_the_engine() -> None:
        for _ in range(2):
            ident = _created(found, image, SHELL)
            found.call("POST", f"/containers/{ident}/wait")
            found.call("DELETE", f"/containers/{ident}", None, {"force": 1})

    variants = {"trial": timed(one_trial), "two of the engine alone": timed(two_of_the_engine)}
    rounds = measure(variants, workshop.rounds(15))
    what = "a trivial trial in containers, all included, against two containers of the API alone: create, start, one command, remove"
    yield Measured.of("container", what, rounds, ratio("trial", "two of the engine alone"), target=1.5)


def _teardowns(workshop: Workshop, found: Engine, box: SandboxSpec) -> Iterator[Measured]:
    def ours() -> float:
        sandbox = DockerBackend().start(box)
        begin = time.perf_counter()
        sandbox.close()
        return time.perf_counter() - begin

    def the_engines() -> float:
        ident = _created(found, box.image, ["/bin/sh", "-c", "read nothing"])
        begin = time.perf_counter()
        found.call("DELETE", f"/containers/{ident}", None, {"force": 1})
        return time.perf_counter() - begin

    rounds = measure({"teardown": ours, "the engine's remove": the_engines}, workshop.rounds(15))
    what = "the teardown of a container, all dead and proven so, against the engine's own remove"
    yield Measured.of("container", what, rounds, ratio("teardown", "the engine's remove"), target=1.2)


def _created(found: Engine, image: str, argv: list[str]) -> str:
    body = {"Image": image, "Cmd": argv, "OpenStdin": True, "HostConfig": {"NetworkMode": "none"}}
    ident = str(found.call("POST", "/containers/create", body)["Id"])
    found.call("POST", f"/containers/{ident}/start")
    return ident


def _image(found: Engine) -> str:
    """A shell, what the trial of an agent wants of it, and their libraries, from this machine."""
    names = ["/bin/sh", TRUE, "/bin/cat", "/bin/mkdir", "/bin/chmod"]
    programs = [os.path.realpath(name) for name in names]
    printed = subprocess.run(["ldd", *programs], capture_output=True, text=True, check=True).stdout
    libraries = re.findall(r"^\s.*?(/\S+)", printed, re.MULTILINE)
    with tempfile.TemporaryFile() as image:
        with tarfile.open(fileobj=image, mode="w", format=tarfile.GNU_FORMAT) as tar:
            for source, name in [
                *zip(programs, names, strict=True),
                *((one, one) for one in {*libraries}),
            ]:
                tar.add(Path(source).resolve(), name.lstrip("/"))
        repository, _, tag = NAME.partition(":")
        query = {"fromSrc": "-", "repo": repository, "tag": tag}
        with found.opened("POST", "/images/create", image, query) as answer:
            answer.read()
    return find_image(found, NAME).id


ROWS = {"container": container}
