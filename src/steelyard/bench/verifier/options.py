"""Options of a verifier with a system of its own: `{image: NAME@sha256:..., artifacts: [{source: /app/out}]}`."""

from __future__ import annotations

import posixpath
from dataclasses import field
from typing import Annotated

from steelyard.bench.transfer.system.places import KERNEL, PLACES, matches
from steelyard.contract.model import ImageName, NonEmpty, Variable, Workdir
from steelyard.deferred.data_class import dataclass
from steelyard.deferred.model import AfterValidator, ConfigDict, Field
from steelyard.sandbox_paths import PUBLISHED

MOST_ARTIFACTS, MOST_EXCLUDES, MOST_HOOKS = 100, 100, 20


def _collectable(path: str) -> str:
    plain = posixpath.normpath(path)
    if not path.startswith("/") or ".." in path.split("/") or plain in {"/", "//"}:
        raise ValueError("is an absolute path below the root, without `..`")
    if plain.startswith(f"{PUBLISHED}/") or plain == PUBLISHED:
        return plain
    if matches(plain[1:], (*PLACES, *KERNEL)) or plain == "/logs":
        raise ValueError(f"{plain} belongs to the verifier or the kernel")
    return plain


@dataclass(frozen=True)
class Artifact:
    """A file or folder of the agent's system; names that match `exclude` stay behind."""

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    source: Annotated[NonEmpty, AfterValidator(_collectable)]
    exclude: Annotated[tuple[NonEmpty, ...], Field(max_length=MOST_EXCLUDES)] = ()


@dataclass(frozen=True)
class Hook:
    """A command in the agent's system, when the agent has ended and its services still run."""

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    cmd: NonEmpty
    timeout_s: Annotated[float, Field(gt=0, le=600)] = 60.0


@dataclass(frozen=True)
class SeparateVerifier:
    """A fresh container of another image, or of the same one, with nothing of the agent's but `artifacts`."""

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    image: ImageName | None = None
    build: NonEmpty | None = None
    allow_unpinned: bool = False
    brings_tests: bool = False  # /tests is in the image already
    workdir: Workdir | None = None
    env: dict[Variable, str] = field(default_factory=dict)
    cpu: Annotated[float, Field(gt=0, le=1024)] | None = None
    memory_mb: Annotated[int, Field(ge=16)] | None = None
    disk_mb: Annotated[int, Field(ge=1)] | None = None
    artifacts: Annotated[tuple[Artifact, ...], Field(max_length=MOST_ARTIFACTS)] = ()
    collect: Annotated[tuple[Hook, ...], Field(max_length=MOST_HOOKS)] = ()

    @property
    def collected(self) -> tuple[Artifact, ...]:
        published = [] if any(one.source == PUBLISHED for one in self.artifacts) else [Artifact(PUBLISHED)]
        return (*self.artifacts, *published)
