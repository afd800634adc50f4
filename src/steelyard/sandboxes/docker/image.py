"""What a contract says of its image -> the image, here, by its id.

sha256:<64 hex>          an image of this engine, by its own id; it cannot be fetched by that
NAME@sha256:<64 hex>     fetched if it is not here
NAME:TAG                 only with `allow_unpinned`: the owner of a tag can change what it names
a folder                 its Dockerfile, built once for its contents: localhost/steelyard-build:<digest>
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import tarfile
import tempfile
import urllib.parse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.client import HTTPResponse
from typing import Any

from steelyard.contract.catalogue import ContractFile
from steelyard.errors import ContractFault, InfraFault, Problem
from steelyard.sandboxes.docker.api import Engine, EngineRefusal, advice_on
from steelyard.sandboxes.docker.buildkit import NeedsBuildKitError, Plain, plain_dockerfile
from steelyard.sandboxes.first_error import explain_failure

BUILD_TAG = "localhost/steelyard-build"
BUILD_LABEL = "steelyard.build"
BUILD_TIMEOUT_S = 3600.0
PULL_TIMEOUT_S = 1800.0
_TAIL_CHARS = 2000
_HEAD_CHARS = 1 << 20  # of what a build prints, from its start
_PINNED = re.compile(r"^(?:[^@\s]+@)?sha256:[0-9a-f]{64}$")
# What an engine says when a registry, and not the image's name, is the trouble.
_OUT_OF_REACH = re.compile(
    r"no such host|dial tcp|timeout|connection (refused|reset)|tls|x509|toomanyrequests|network is"
    r"|content-type header|unexpected (http )?status",
    re.IGNORECASE,
)
# What Docker and Podman say of a command of the Dockerfile that fails; the command itself stands in it.
_STEP_FAILED = re.compile(r"returned a non-zero code: \d+|while running runtime", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Image:
    """An image of this engine; `id` is a digest of its content."""

    id: str
    reference: str  # as the contract has it, or the tag of what was built
    env: Mapping[str, str]
    workdir: str = ""
    volumes: tuple[str, ...] = ()


def is_pinned(reference: str) -> bool:
    return _PINNED.match(reference) is not None


def find_image(engine: Engine, reference: str) -> Image:
    """The image of that name, fetched if need be. One that is nowhere is the contract's fault."""
    found = _inspect(engine, reference)
    if found is None and not reference.startswith("sha256:"):
        _pull(engine, reference)
        found = _inspect(engine, reference)
    if found is None:
        fix = "a digest alone cannot be fetched: `docker load` the image, or write NAME@sha256:..."
        raise _fault("image", f"the image {reference} is not on this machine", fix)
    return found


def _inspect(engine: Engine, reference: str) -> Image | None:
    try:
        details = engine.call("GET", f"/images/{urllib.parse.quote(reference, safe='/:@')}/json")
    except EngineRefusal as refused:
        if refused.status == 404:
            return None
        raise
    config = details.get("Config") or {}
    env = dict(line.split("=", 1) for line in config.get("Env") or () if "=" in line)
    return Image(
        details["Id"], reference, env, config.get("WorkingDir") or "", (*(config.get("Volumes") or ()),)
    )


def _pull(engine: Engine, reference: str) -> None:
    name, tag = _split(reference)
    try:
        query = {"fromImage": name, "tag": tag}
        with engine.opened("POST", "/images/create", None, query, timeout_s=PULL_TIMEOUT_S) as answer:
            wrong = next((line["error"] for line in _lines(answer) if "error" in line), "")
    except EngineRefusal as refused:
        wrong = refused.message
    if wrong and (advice := advice_on(wrong)):
        raise InfraFault(f"the image {reference} could not be fetched: {wrong}{advice}")
    if wrong and _OUT_OF_REACH.search(wrong):
        raise InfraFault(
            f"the image {reference} could not be fetched: {wrong}; run `docker pull {reference}`"
        )
    if wrong:
        raise _fault("image", f"there is no image {reference}: {wrong}")


def _split(reference: str) -> tuple[str, str]:
    if "@" in reference:
        name, _, digest = reference.partition("@")
        return name, digest
    name, colon, tag = reference.rpartition(":")
    return (name, tag) if colon and "/" not in tag else (reference, "latest")


@dataclass(frozen=True, slots=True)
class Recipe:
    """A folder of a contract that an image is built from."""

    files: Mapping[str, ContractFile]  # relative to the folder
    network: str  # none | host
    allow_unpinned: bool = False

    @property
    def digest(self) -> str:
        parts = [[name, file.mode, file.sha256] for name, file in sorted(self.files.items())]
        return hashlib.sha256(json.dumps([self.network, parts]).encode()).hexdigest()


def build_image(engine: Engine, recipe: Recipe) -> Image:
    """The image of a Dockerfile, from an earlier build of the same folder or from one now."""
    tag = f"{BUILD_TAG}:{recipe.digest[:40]}"
    plain = _plain_recipe(recipe)
    if not recipe.allow_unpinned:
        _check_bases(plain.text)
    found = _inspect(engine, tag)
    if found is None:
        _build(engine, recipe, plain, tag)
        found = _inspect(engine, tag)
    if found is None:
        raise InfraFault(f"the container engine built {tag} but does not have it; run `steelyard doctor`")
    return found


def _check_bases(dockerfile: str) -> None:
    stages = {"scratch"}
    for line in dockerfile.splitlines():
        words = line.split()
        if not words or words[0].upper() != "FROM":
            continue
        base, *named = [word for word in words[1:] if not word.startswith("--")] or [""]
        if base.lower() not in stages and not is_pinned(base):
            message = f"FROM {base} is not pinned by a digest, so it may change"
            raise _fault("build", message, "FROM NAME@sha256:..., or `allow_unpinned: true`")
        if len(named) == 2:
            stages.add(named[1].lower())


@dataclass
class _Output:
    """The start and the end of what a build prints."""

    head: list[str] = field(default_factory=list)
    head_chars: int = 0
    tail: str = ""

    def add(self, text: str) -> None:
        if self.head_chars < _HEAD_CHARS:
            self.head.append(text)
        self.head_chars += len(text)
        self.tail = (self.tail + text)[-_TAIL_CHARS:]

    @property
    def text(self) -> str:
        head = "".join(self.head)
        return head if self.head_chars == len(head) else f"{head}\n{self.tail}"


def _plain_recipe(recipe: Recipe) -> Plain:
    text = recipe.files["Dockerfile"].path.read_text(errors="surrogateescape")
    try:
        return plain_dockerfile(text)
    except NeedsBuildKitError as wrong:
        raise _fault("build", str(wrong)) from wrong


def _build(engine: Engine, recipe: Recipe, plain: Plain, tag: str) -> None:
    query: dict[str, Any] = {"t": tag, "networkmode": recipe.network, "forcerm": 1}
    query["labels"] = json.dumps({BUILD_LABEL: recipe.digest})
    output, wrong = _Output(), ""
    try:
        with tempfile.TemporaryFile() as context:
            with tarfile.open(fileobj=context, mode="w", format=tarfile.GNU_FORMAT) as tar:
                for name, file in sorted(recipe.files.items()):
                    if name != "Dockerfile":
                        tar.add(file.path, name, recursive=False, filter=_plain)
                written = {"Dockerfile": plain.text.encode("utf-8", "surrogateescape"), **plain.files}
                for name, content in written.items():
                    entry = _plain(tarfile.TarInfo(name))
                    entry.size = len(content)
                    tar.addfile(entry, io.BytesIO(content))
            with engine.opened("POST", "/build", context, query, timeout_s=BUILD_TIMEOUT_S) as answer:
                for line in _lines(answer):
                    output.add(line.get("stream", ""))
                    wrong = line.get("error", wrong)
    except EngineRefusal as refused:
        wrong = refused.message
    if wrong and (advice := advice_on(f"{wrong}\n{output.tail}")):
        raise InfraFault(f"the image could not be built: {wrong}{advice}")
    if wrong and _OUT_OF_REACH.search(wrong) and not _STEP_FAILED.search(wrong):
        raise InfraFault(f"the image could not be built: {wrong}; run `steelyard doctor`")
    if wrong:
        offline = "" if recipe.network == "host" else "a build is offline unless `setup_network: host`"
        raise _fault(
            "build", f"the Dockerfile fails: {wrong}\n{explain_failure(output.text, '')}".rstrip(), offline
        )


def _plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Contents and modes, not owners and times."""
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    entry.mode = 0o755 if entry.mode & 0o100 else 0o644
    return entry


def _lines(answer: HTTPResponse) -> Iterator[dict[str, Any]]:
    """JSON objects, one a line; what is none is left out."""
    while line := answer.readline(1 << 20):
        try:
            message = json.loads(line)
        except ValueError:
            continue
        if isinstance(message, dict):
            yield message


def _fault(key: str, message: str, fix: str = "") -> ContractFault:
    return ContractFault(Problem("contract.yaml", f"environment.{key}", message, fix))
