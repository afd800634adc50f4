"""The keys of `contract.yaml`, all of them, strict: what is not listed here is refused.

Keys whose part of Steelyard does not exist yet are listed too, so that a contract that uses one is refused
by name (`not supported yet`, see `NOT_YET` in `not_yet.py`). Some caps of `budget` are accepted, and nothing enforces them
yet: `Budget` says which.
"""

from __future__ import annotations

import math
import re
from typing import Annotated, Any, Literal

from steelyard.contract.allowed_hosts import MOST_HOSTS, check_host, check_hosts
from steelyard.contract.threshold import TOLERANCE
from steelyard.deferred.model import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)
from steelyard.deferred.plain_model import field_names
from steelyard.sandbox_paths import WORKSPACE

Fraction = Annotated[float, Field(ge=0, le=1)]
NonEmpty = Annotated[str, Field(min_length=1)]
NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"
VARIABLE_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]*$"
HOST_PORT_PATTERN = r"^[^\s:/]+:\d{1,5}$"
RELEASE_PATTERN = r"^\d+(\.\d+){0,2}$"
IMAGE_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_./:@-]*$"
PINNED_PATTERN = r"^(?:[^@\s]+@)?sha256:[0-9a-f]{64}$"
MODEL_PATTERN = (
    r"^(?:(?:anthropic|openai):[A-Za-z0-9]|claude-|gpt-|chatgpt-|o[0-9])[A-Za-z0-9._:/@+-]{0,150}$"
)
USER_PATTERN = r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,63})?$"
WORKDIR_PATTERN = r"^(/[A-Za-z0-9_][A-Za-z0-9._-]*)+$"

Name = Annotated[str, Field(pattern=NAME_PATTERN)]  # also the name of a folder
Variable = Annotated[str, Field(pattern=VARIABLE_PATTERN)]
HostPort = Annotated[str, Field(pattern=HOST_PORT_PATTERN), AfterValidator(check_host)]
EgressProxy = Annotated[
    tuple[HostPort, ...],
    Field(max_length=MOST_HOSTS, json_schema_extra={"minItems": 1, "uniqueItems": True}),
    AfterValidator(check_hosts),
]
Release = Annotated[str, Field(pattern=RELEASE_PATTERN)]
ImageName = Annotated[str, Field(pattern=IMAGE_PATTERN)]
Workdir = Annotated[str, Field(pattern=WORKDIR_PATTERN)]  # absolute
ModelName = Annotated[str, Field(pattern=MODEL_PATTERN)]
# Of an image
User = Annotated[str, Field(pattern=USER_PATTERN)] | Annotated[int, Field(ge=0, le=0xFFFF_FFFE)]
Under = Literal["patch", "build", "static", "acceptance", "safety"]
Layer = Literal["unit", "integration", "e2e"]

MOST_TURNS, MOST_STEPS, MOST_EXPORTS, MOST_JURORS = 100, 100, 100, 15
ANSWER = "answer.txt"  # where an agent's final text lies on the bench

# Byte-code and tool caches that running the tests leaves behind: counted, never graded, never carried.
GENERATED = (
    "*.pyc",
    "__pycache__/*",
    "*/__pycache__/*",
    ".pytest_cache/*",
    "*/.pytest_cache/*",
    ".mypy_cache/*",
    ".ruff_cache/*",
)

# Where no file of a contract may be written: what is there is the image's, or the engine's.
SYSTEM_FOLDERS = frozenset(
    {"bin", "boot", "dev", "etc", "lib", "lib64", "proc", "run", "sbin", "sys", "tmp", "usr", "workspace"}
)


class Strict(BaseModel):
    """Frozen, no unknown keys, no silent conversion of "5" to 5."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False, defer_build=True)


class Repository(Strict):
    """Where the snapshot comes from: exactly one of `git`, `archive`, `tree`."""

    git: NonEmpty | None = None
    archive: NonEmpty | None = None
    tree: NonEmpty | None = None
    commit: NonEmpty | None = None  # full commit id; for an archive its sha256; optional for a tree
    history: Literal["none", "full"] = "none"
    submodules: dict[str, NonEmpty] = Field(default_factory=dict)  # path in the tree -> repository

    @model_validator(mode="after")
    def _one_source(self) -> Repository:
        if sum(source is not None for source in (self.git, self.archive, self.tree)) != 1:
            raise ValueError("set exactly one of git, archive, tree")
        if self.git is not None and self.commit is None:
            raise ValueError("git needs the full commit id in `commit`")
        if self.history == "full" and self.git is None:
            raise ValueError("`history: full` needs `git`")
        return self


class Memory(Strict):
    guaranteed: Annotated[int, Field(ge=16)] = 1024
    limit: Annotated[int, Field(ge=16)] = 4096

    @model_validator(mode="after")
    def _room(self) -> Memory:
        if self.limit < self.guaranteed:
            raise ValueError(f"limit ({self.limit}) is below guaranteed ({self.guaranteed})")
        return self


Phase = Literal["setup", "agent", "checks"]
PHASES: tuple[Phase, ...] = ("setup", "agent", "checks")


class Secret(Strict):
    """A variable of this machine for one phase, if the operator gives `--take-env NAME`. The manifest has its name; no record
    has its value.
    """

    name: Variable
    for_: Phase = Field(alias="for")


class Ready(Strict):
    """An agent starts when `cmd` has exited with 0 in its sandbox. It is run at most `retries` times, and as
    often as it takes during the start period.
    """

    cmd: NonEmpty
    timeout_s: Annotated[float, Field(gt=0, le=3600)] = 30
    interval_s: Annotated[float, Field(ge=0, le=600)] = 5
    retries: Annotated[int, Field(ge=1, le=1000)] = 3
    start_period_s: Annotated[float, Field(ge=0, le=3600)] = 0
    start_interval_s: Annotated[float, Field(ge=0, le=600)] = 5


class EnvironmentSpec(Strict):
    sandbox: Literal["bubblewrap", "docker", "local"] = "bubblewrap"
    image: ImageName | None = None
    build: NonEmpty | None = None
    allow_unpinned: bool = False
    workdir: Workdir | None = None
    user: User | None = None
    toolchains: dict[Literal["python", "node", "go", "rust"], Release] = Field(default_factory=dict)
    env: dict[Variable, str] = Field(default_factory=dict)
    host_variables: tuple[Variable, ...] = ()
    secrets: tuple[Secret, ...] = ()
    cpu: Annotated[float, Field(gt=0, le=1024)] = 2
    memory_mb: Memory = Memory()
    disk_mb: Annotated[int, Field(ge=1)] = 2048
    processes: Annotated[int, Field(ge=8)] = 512
    network: Literal["none"] | EgressProxy = "none"
    rename: Literal["auto", "full"] = "auto"
    scope: Literal["workspace", "system"] = "workspace"
    read_only: bool = False
    ready: Ready | None = None

    @model_serializer(mode="wrap")
    def _without_empty(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Contracts without `host_variables` keep the digests that they had before there were any."""
        data: dict[str, Any] = serialise(self)
        if not self.host_variables:
            data.pop("host_variables", None)
        return data

    @property
    def root(self) -> str:
        """Where the tree that is captured and graded lies in a sandbox; "" is the whole system."""
        return "" if self.scope == "system" else WORKSPACE

    @model_validator(mode="after")
    def _of_containers(self) -> EnvironmentSpec:
        """What an image needs, and what needs an image."""
        if taken := [one.name for one in self.secrets if one.name in self.env]:
            raise ValueError(f"`{taken[0]}` is both in `env` and in `secrets`")
        own = {"image": self.image, "build": self.build, "allow_unpinned": self.allow_unpinned,
               "read_only": self.read_only, "user": self.user is not None, "scope: system": self.scope == "system"}  # fmt: skip
        _check_workdir(self)
        if self.sandbox != "docker":
            if given := [key for key, value in own.items() if value]:
                raise ValueError(f"`{given[0]}` needs `sandbox: docker`")
            return self
        if self.user is not None and self.scope != "system":
            raise ValueError("`user` needs `scope: system`; otherwise Steelyard chooses the user")
        if self.scope == "system" and self.read_only:
            raise ValueError("`scope: system` and `read_only` exclude each other")
        if (self.image is None) == (self.build is None):
            raise ValueError("`sandbox: docker` needs exactly one of image, build")
        if self.toolchains:
            raise ValueError("toolchains are those of this machine; a container uses what is in its image")
        if self.image is not None and not self.allow_unpinned and not re.match(PINNED_PATTERN, self.image):
            raise ValueError(
                "name the image by its digest (NAME@sha256:... or sha256:...), or set `allow_unpinned: true`"
            )
        return self


def _check_workdir(environment: EnvironmentSpec) -> None:
    workdir = environment.workdir
    if workdir is None or environment.scope == "system":
        return
    if environment.sandbox == "local":
        raise ValueError("`workdir` needs `sandbox: docker` or `sandbox: bubblewrap`")
    if workdir in {"/home", "/home/agent"} or workdir.split("/")[1] in SYSTEM_FOLDERS:
        raise ValueError(f"{workdir} is a system folder; choose another, like /app")


class Reruns(Strict):
    max: Annotated[int, Field(ge=1, le=100)] = 1
    rule: Literal["any_failure_fails", "majority", "all_fail_fails"] = "any_failure_fails"


class ScriptReference(Strict):
    """A script as a solution: run like an agent, with its folder at /solution, which no other agent sees."""

    script: NonEmpty
    env: dict[Variable, str] = Field(default_factory=dict)


class Oracle(Strict):
    checks: tuple[dict[str, Any], ...] = ()  # `shapes.py` says which contracts need some
    mode: Literal["in_process", "twin", "split"] = "twin"
    isolation: Literal["suite", "process"] = "suite"
    tolerance: Fraction = 0.0
    # That work which only guesses passes the controls
    max_chance: Annotated[float, Field(ge=0.001, le=1)] = 0.125
    reruns: Reruns = Reruns()
    reference: NonEmpty | ScriptReference | None = None
    compliance: NonEmpty | None = None
    network: Literal["none"] | EgressProxy = "none"  # what checks may reach


class Step(Strict):
    """One of several tasks over one workspace, with its own brief and checks."""

    name: Name
    brief: NonEmpty | None = None
    brief_file: NonEmpty | None = None
    checks: Annotated[tuple[dict[str, Any], ...], Field(min_length=1)]
    min_reward: Fraction = 1.0  # below it, the later steps are not run
    wall_s: Annotated[float, Field(gt=0, le=86_400)] | None = None  # of the agent's time, at most
    files: NonEmpty | None = None  # a folder, whose files are written into the agent's before it starts
    ready: Ready | None = None
    reference: NonEmpty | ScriptReference | None = None

    @model_validator(mode="after")
    def _one_brief(self) -> Step:
        if (self.brief is None) == (self.brief_file is None):
            raise ValueError("set exactly one of brief, brief_file")
        return self


class Tools(Strict):
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


class Dependencies(Strict):
    allow: tuple[str, ...] = ()
    registries: tuple[str, ...] = ()


Action = Literal["alert", "throttle", "suspend_writes", "pause", "quarantine", "terminate"]
RuleClass = Literal[
    "privilege_escalation",
    "persistence",
    "exfiltration",
    "secret_access",
    "network",
    "fork_storm",
    "destructive",
]


class Breaker(Strict):
    """What happens when something occurred so many times."""

    times: Annotated[int, Field(ge=2, le=1_000_000)]
    action: Action


class NoProgress(Strict):
    """What happens when the workspace reached no new state for so long, or in so many tool calls."""

    minutes: Annotated[float, Field(gt=0)] = 20
    calls: Annotated[int, Field(ge=1)] = 100
    action: Action = "alert"


class Burst(Strict):
    """What happens when so many tool calls begin within so many seconds."""

    calls: Annotated[int, Field(ge=2)] = 100
    within_s: Annotated[float, Field(gt=0)] = 10
    action: Action = "throttle"


class Breakers(Strict):
    """Loops that cost money and change nothing. The thresholds are policy choices, not optima."""

    no_progress: NoProgress = NoProgress()
    repeated_call: Breaker = Breaker(times=20, action="terminate")
    oscillation: Breaker = Breaker(times=5, action="terminate")
    reinstall: Breaker = Breaker(times=3, action="alert")
    idle_tests: Breaker = Breaker(times=4, action="throttle")
    burst: Burst = Burst()
    failed_tests: Breaker | None = None
    repeat: Breaker = Breaker(times=10, action="terminate")
    sampled: bool = False  # processes that were seen in the sandbox count as calls too
    throttle_s: Annotated[float, Field(gt=0, le=600)] = 1.0

    @model_serializer(mode="wrap")
    def _without_empty(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Contracts without `failed_tests` keep the digests that they had before there was such a breaker."""
        data: dict[str, Any] = serialise(self)
        if self.failed_tests is None:
            data.pop("failed_tests", None)
        return data


class OperatorPause(Strict):
    """How long a paused run waits for a decision, and what is decided without one."""

    deadline_s: Annotated[float, Field(gt=0, le=86_400)] = 600
    default: Literal["resume", "terminate", "quarantine"] = "terminate"


class Policy(Strict):
    """Rules for the agent's work. `require` names what the run must have: a trace without gaps, or stages that the sandbox
    enforces; where that cannot be had, the run fails, or is refused before it starts.
    """

    allowed_paths: tuple[NonEmpty, ...] = ()
    read_paths: tuple[NonEmpty, ...] = ()
    deny_commands: tuple[NonEmpty, ...] = ()
    stages: tuple[Literal["inspect", "write", "test"], ...] = ("write",)
    tools: Tools = Tools()
    dependencies: Dependencies = Dependencies()
    effect: Literal["gate", "penalty"] = "gate"
    require: tuple[Literal["complete_trace", "enforced_stages"], ...] = ()

    @field_validator("stages")
    @classmethod
    def _in_order(cls, stages: tuple[str, ...]) -> tuple[str, ...]:
        """Each once, in the order of an agent's work."""
        if not stages or list(stages) != [one for one in ("inspect", "write", "test") if one in stages]:
            raise ValueError("list stages once each, in the order inspect, write, test")
        return stages

    on_violation: Action = "terminate"
    on_write_in_inspect: Action = "alert"
    rules: dict[RuleClass, Action] = Field(default_factory=dict)
    breakers: Breakers = Breakers()
    operator: OperatorPause = OperatorPause()


class Headroom(Strict):
    wall_s: Annotated[float, Field(ge=0)] = 120
    cost_fraction: Fraction = 0.05


class Budget(Strict):
    """Caps of one run: a run that exceeds one is stopped and fails. Which caps bind depends on what can be measured of the
    agent; `enforced_caps` in the manifest lists them. The thirty minutes and five dollars are policy choices, not optima.
    """

    wall_s: Annotated[float, Field(gt=0, le=86_400)] = 1800
    cost_usd: Annotated[float, Field(ge=0)] = 5.0
    cost_units: Annotated[float, Field(ge=0)] = 1000
    tokens: Annotated[int, Field(ge=0)] = 2_000_000
    tool_calls: Annotated[int, Field(ge=0)] = 400
    failed_checks: Annotated[int, Field(ge=0)] = 20
    command_s: Annotated[float, Field(gt=0)] = 600
    dependency_installs: Annotated[int, Field(ge=0)] = 5
    cpu_s: Annotated[float, Field(gt=0)] | None = None
    memory_mb: Annotated[int, Field(gt=0)] | None = None
    disk_mb: Annotated[int, Field(gt=0)] | None = None
    processes: Annotated[int, Field(gt=0)] | None = None
    model_calls: Annotated[int, Field(ge=0)] | None = None  # requests to models; none: no cap
    headroom: Headroom = Headroom()

    @model_serializer(mode="wrap")
    def _without_empty(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Contracts without `model_calls` keep the digests that they had before there was such a cap."""
        data: dict[str, Any] = serialise(self)
        if self.model_calls is None:
            data.pop("model_calls", None)
        return data

    @property
    def agent_wall_s(self) -> float:
        """What the agent may use: the head-room is kept for acceptance, but never more than half."""
        return max(self.wall_s - self.headroom.wall_s, self.wall_s / 2)

    def less_headroom(self, cost: float) -> float:
        """What the agent may spend of a cap on cost: a fraction is kept for acceptance."""
        return cost * (1 - self.headroom.cost_fraction)


class QualityWeights(Strict):
    """The weight of each dimension; they sum to 1. The result publishes them."""

    minimal: Fraction = 0.0
    trace: Fraction = 0.0
    maintainability: Fraction = 0.0
    efficiency: Fraction = 0.0

    @model_validator(mode="after")
    def _sum_to_one(self) -> QualityWeights:
        total = math.fsum(self.model_dump().values())
        if abs(total - 1) > TOLERANCE:
            raise ValueError(f"the weights sum to {total:g}; they must sum to 1")
        if self.minimal + self.trace <= 0:
            raise ValueError("`minimal` or `trace` needs a weight: the other dimensions may not be known")
        return self


class Envelope(Strict):
    files: Annotated[int, Field(ge=1)]
    lines: Annotated[int, Field(ge=1)]


class Quality(Strict):
    """How a change is ranked that passes all gates: the weighted mean of its dimensions. Without `weights` they are 0.5
    minimal, 0.25 trace and 0.25 maintainability; without `maintainability` 2/3 minimal and 1/3 trace.
    """

    weights: QualityWeights | None = None
    lambda_: Annotated[float, Field(gt=0, le=1e6)] = Field(default=1.0, alias="lambda")
    envelope: Envelope | None = None
    maintainability: tuple[NonEmpty, ...] = ()

    @property
    def effective_weights(self) -> dict[str, float]:
        if self.weights is not None:
            return self.weights.model_dump()
        named = (0.5, 0.25, 0.25) if self.maintainability else (2 / 3, 1 / 3, 0.0)
        return dict(zip(field_names(QualityWeights), (*named, 0.0), strict=True))

    @model_validator(mode="after")
    def _each_weight_counts(self) -> Quality:
        weights = self.effective_weights
        if weights["minimal"] > 0 and self.envelope is None:
            raise ValueError(
                "`weights.minimal` needs `envelope`: how many files and lines the change may have"
            )
        if (weights["maintainability"] > 0) != bool(self.maintainability):
            raise ValueError(
                "`maintainability` names graders exactly if `weights.maintainability` is above 0"
            )
        if len(set(self.maintainability)) < len(self.maintainability):
            raise ValueError("`maintainability` names a grader twice")
        return self


class ContractScore(Strict):
    """S = w_ok x [verdict is pass] + w_val x V - w_viol x P, within 0..1."""

    w_ok: Fraction = 0.8
    w_val: Fraction = 0.2
    w_viol: Fraction = 0.5

    @model_validator(mode="after")
    def _has_room(self) -> ContractScore:
        if self.w_ok <= 0:
            raise ValueError("`w_ok` must be above 0: otherwise passing earns nothing")
        if self.w_ok + self.w_val > 1 + TOLERANCE:
            raise ValueError("`w_ok` and `w_val` sum to more than 1, so the limit of 1 would hide V")
        return self


class Judge(Strict):
    """Models that read the run and give an opinion beside the checks; without `models` the default model."""

    models: Annotated[tuple[ModelName, ...], Field(max_length=MOST_JURORS)] = ()
    max_diff_bytes: Annotated[int, Field(ge=1, le=10_000_000)] = 100_000

    @field_validator("models")
    @classmethod
    def _each_once(cls, models: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(models)) < len(models):
            raise ValueError("a model is listed twice")
        return models


class Intent(Strict):
    modules: tuple[str, ...] = ()
    entry_points: tuple[str, ...] = ()
    behaviour: str = ""


class Metadata(Strict):
    model_config = ConfigDict(extra="allow", frozen=True, strict=True, allow_inf_nan=False)

    language: str = ""
    kind: str = ""
    difficulty: int | None = None
    strata: tuple[str, ...] = ()
    intent: Intent = Intent()


class ContractSpec(Strict):
    """`contract.yaml` as its author wrote it, with every default filled in."""

    id: Name
    version: int | str | None = None
    brief: NonEmpty | None = None
    brief_file: NonEmpty | None = None
    hints: tuple[str, ...] = ()
    expected_outcome: Literal["completion", "refusal"] = "completion"
    workspace: Literal["code", "none"] = "code"
    answer: Name | None = None  # of `workspace: none`: the file that is the output
    turns: Annotated[tuple[NonEmpty, ...], Field(max_length=MOST_TURNS)] = ()
    steps: Annotated[tuple[Step, ...], Field(max_length=MOST_STEPS)] = ()
    step_reward: Literal["mean", "final"] = "mean"
    exports: Annotated[tuple[NonEmpty, ...], Field(max_length=MOST_EXPORTS)] = ()

    repository: Repository | None = None
    environment: EnvironmentSpec = EnvironmentSpec()
    setup: tuple[NonEmpty, ...] = ()
    setup_network: Literal["none", "host"] | EgressProxy = "none"
    setup_inputs: tuple[NonEmpty, ...] = ()
    oracle: Oracle = Oracle()
    bench: Literal["fresh", "live"] = "fresh"
    build: Literal["none"] | None = None
    generated: tuple[NonEmpty, ...] = GENERATED
    runner_files: tuple[NonEmpty, ...] = ()

    policy: Policy = Policy()
    budget: Budget = Budget()
    graders: tuple[dict[str, Any], ...] = ()
    pass_threshold: Fraction = 1.0
    reward: Literal["combined", "verifier", "quality", "contract", "binary"] = "combined"
    quality: Quality | None = None
    contract_score: ContractScore = ContractScore()
    judge: Judge | Literal[False] | None = None  # `off` is false in YAML
    metadata: Metadata = Metadata()

    @field_validator("generated")
    @classmethod
    def _and_byte_code(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        """A contract adds to the defaults: without them a planted `.pyc` would stand in for a frozen test."""
        return tuple(dict.fromkeys((*GENERATED, *patterns)))

    @model_validator(mode="after")
    def _one_brief(self) -> ContractSpec:
        if not self.steps and (self.brief is None) == (self.brief_file is None):
            raise ValueError("set exactly one of brief, brief_file")
        return self

    @property
    def history(self) -> str:
        """How much of the repository's past an agent sees."""
        return "none" if self.repository is None else self.repository.history

    @property
    def answer_path(self) -> str | None:
        """Where the output of a contract without a workspace lies on the bench, below /workspace."""
        return None if self.workspace == "code" else self.answer or ANSWER
