"""The keys of a Harbor task.toml, schema 1.0 to 1.4, and what aec-bench adds to them.

Every key that Harbor knows is here: a key that a contract cannot express is refused for what it asks, and any other key
as unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from steelyard.contract.model import MOST_STEPS, Name, NonEmpty, User, Variable, Workdir
from steelyard.contract.parse.yaml_source import YamlPath
from steelyard.importers.reading import UnsupportedKey
from steelyard.importers.strict import Strict

VERSIONS = ("1.0", "1.1", "1.2", "1.3", "1.4")
BUILD_S = 3600  # what a build has here

Size = Annotated[str, Field(pattern=r"^\s*\d+(\.\d+)?\s*[KMGkmg]\s*$")]
Megabytes = Annotated[int, Field(ge=16)]
NetworkMode = Literal["no-network", "public", "allowlist"]
Settings = dict[str, Any]


class Healthcheck(Strict):
    command: NonEmpty
    interval_sec: Annotated[float, Field(ge=0, le=600)] = 5
    timeout_sec: Annotated[float, Field(ge=1, le=3600)] = 30
    start_period_sec: Annotated[float, Field(ge=0, le=3600)] = 0
    start_interval_sec: Annotated[float, Field(ge=0, le=600)] = 5
    retries: Annotated[int, Field(ge=1, le=1000)] = 3


class Artifact(Strict):
    """What Harbor copies out of the container when a trial ends."""

    source: NonEmpty
    destination: str | None = None
    exclude: tuple[str, ...] = ()
    service: str | None = None


class Environment(Strict):
    build_timeout_sec: Annotated[float, Field(gt=0, le=BUILD_S)] = 600
    docker_image: NonEmpty | None = None
    os: str = "linux"
    cpus: Annotated[float, Field(gt=0)] | None = None
    memory_mb: Megabytes | None = None
    memory: Size | None = None
    storage_mb: Megabytes | None = None
    storage: Size | None = None
    gpus: int | None = None
    gpu_types: tuple[str, ...] | None = None
    tpu: Settings | None = None
    network_mode: NetworkMode | None = None
    allow_internet: bool | None = None
    allowed_hosts: tuple[str, ...] | None = None
    mcp_servers: tuple[Settings, ...] = ()
    env: dict[Variable, str] = Field(default_factory=dict)
    skills_dir: str | None = None
    healthcheck: Healthcheck | None = None
    workdir: Workdir | None = None


class Phase(Strict):
    """Keys that agents and verifiers share."""

    user: User | None = None
    network_mode: NetworkMode | None = None
    allowed_hosts: tuple[str, ...] | None = None


class Hook(Strict):
    """A command in the agent's container before it is stopped."""

    command: NonEmpty
    service: str = "main"
    timeout_sec: Annotated[float, Field(gt=0, le=600)] = 60
    user: User | None = None


class Verifier(Phase):
    timeout_sec: Annotated[float, Field(ge=1, le=86_400)] = 600
    env: dict[Variable, str] = Field(default_factory=dict)
    environment_mode: Literal["shared", "separate"] | None = None
    environment: Environment | None = None
    collect: tuple[Hook, ...] = ()
    continuous: Settings | None = None


class Agent(Phase):
    timeout_sec: Annotated[float, Field(ge=1, le=80_000)] | None = None


class Solution(Strict):
    env: dict[Variable, str] = Field(default_factory=dict)


class Step(Strict):
    name: Name
    agent: Agent = Agent()
    verifier: Verifier = Verifier()
    min_reward: float | dict[str, float] | None = None
    healthcheck: Healthcheck | None = None
    artifacts: tuple[str | Artifact, ...] = ()


class Author(Strict):
    name: str
    email: str | None = None


class Package(Strict):
    """What a task says of itself. Nothing follows from it, so there may be more of it than Harbor knows."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True, allow_inf_nan=False)

    name: NonEmpty
    version: str | None = None
    description: str = ""
    authors: tuple[Author, ...] = ()
    keywords: tuple[str, ...] = ()


class HarborTask(Strict):
    version: str | None = None  # the old name of schema_version; beside it, the task's own
    schema_version: str | None = None
    task: Package | None = None
    metadata: Settings = Field(default_factory=dict)
    verifier: Verifier = Verifier()
    agent: Agent = Agent()
    environment: Environment = Environment()
    solution: Solution = Solution()
    source: str | None = None
    sources: tuple[Settings | str, ...] = ()  # where the task comes from; nothing follows from it
    multi_step_reward_strategy: Literal["mean", "final"] | None = None
    steps: tuple[Step, ...] = ()
    artifacts: tuple[str | Artifact, ...] = ()


class AecEnvironment(Environment):
    extensions: tuple[str, ...] = ()  # which packages its Dockerfile was made with


class AecTask(HarborTask):
    environment: AecEnvironment = AecEnvironment()
    tools: Settings = Field(default_factory=dict)  # which scripts its Dockerfile brings
    generation: Settings = Field(default_factory=dict)  # how the task was made


AEC_KEYS = (("environment", "extensions"), ("tools",), ("generation",))


def _asks(value: Any) -> bool:
    return value not in (None, "", 0, [], {}, False)


def _more_than_zero(value: Any) -> bool:
    return isinstance(value, int) and value > 0


def _of_environment(at: YamlPath) -> tuple[UnsupportedKey, ...]:
    return (
        UnsupportedKey((*at, "os"), "only Linux is supported", lambda value: str(value or "linux").lower() != "linux"),
        UnsupportedKey((*at, "gpus"), "GPUs are not supported", _more_than_zero),
        UnsupportedKey((*at, "gpu_types"), "GPUs are not supported", _asks),
        UnsupportedKey((*at, "tpu"), "TPUs are not supported", _asks),
        UnsupportedKey((*at, "mcp_servers"), "MCP servers are not supported yet", _asks),
        UnsupportedKey((*at, "skills_dir"), "skills are the agent's, not the contract's", _asks),
    )  # fmt: skip


def _of_phases(at: YamlPath) -> tuple[UnsupportedKey, ...]:
    """What neither a task nor one of its steps may ask of its agent and its verifier."""
    return (
        *_of_environment((*at, "verifier", "environment")),
        UnsupportedKey((*at, "verifier", "environment", "healthcheck"), "a verifier is started at once", _asks),
        UnsupportedKey((*at, "verifier", "continuous"), "verifying while the agent works is not supported", _asks),
    )  # fmt: skip


UNSUPPORTED = (*_of_environment(("environment",)), *_of_phases(()))


def unsupported_keys(data: Mapping[str, Any]) -> tuple[UnsupportedKey, ...]:
    """The rows for one task: those of each of its steps too."""
    steps = data.get("steps")
    count = len(steps) if isinstance(steps, list) else 0
    of_steps = (row for number in range(min(count, MOST_STEPS)) for row in _of_phases(("steps", number)))
    return (*UNSUPPORTED, *of_steps)
