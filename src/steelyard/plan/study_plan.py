"""`study.yaml` -> a `StudyPlan`: what a study will do, written down and hashed before anything runs.

    schema: steelyard.study/1
    name: night
    seed: 20260307
    endpoint: satisfied_within_budget
    minimum_effect: 0.1
    repeats: 3
    budget: {total_usd: 100.0, task_usd: 20.0, run_usd: 5.0}
    stages: {shakedown: {contracts_per_stratum: 1}, tolerance: {flaky: 0.05, invalid: 0.2, safety: 0}}
    stopping: {safety_violations: 3, efficacy: none, dominance: {spent: 0.8}, looks: {rule: pocock, count: 3}}
    replay: {attempts: 2, rule: contract}
    agents: [{agent: noop, role: baseline, identity: "9c1f..."}, {agent: "mine=command:my-agent", role: agent, identity: "77ab..."}]
    contracts: [{id: widgets-1412, digest: "4f1c...", stratum: python, path: suite/widgets-1412}]
    order: {file: study.csv, sha256: "..."}
    digest: "..."

The digest is over everything but itself, the forecast, and where contracts and the price list lie. It is the identity of the study.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import orjson
import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)

from steelyard.errors import OperatorFault
from steelyard.plan.agent_options import AgentOptions, GatewayOptions, ModelText
from steelyard.plan.trial import PROTOCOL_SEED

SCHEMA = "steelyard.study/1"
_SIZE = 64 << 20

Stage = Literal["shakedown", "pilot", "main"]
STAGES: tuple[Stage, ...] = get_args(Stage)
Fraction = Annotated[float, Field(ge=0, le=1)]
Amount = Annotated[float, Field(ge=0)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]


def _without_none(data: dict[str, Any], name: str) -> dict[str, Any]:
    if data[name] is None:
        del data[name]
    return data


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Envelopes(Strict):
    """Dollars: of the study, of one contract over all its runs, and of one run. None is no limit.

    `review_usd` of the study is kept back for the minutes of people, which are recorded after a run.
    """

    total_usd: Amount | None = None
    task_usd: Amount | None = None
    run_usd: Amount | None = None
    review_usd: Amount | None = None

    @model_serializer(mode="wrap")
    def _without_empty(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Plans that keep nothing back have the digests that they had before there was such a key."""
        return _without_none(serialise(self), "review_usd")


class Dominance(Strict):
    """A run that used this part of its time without any change of its workspace is stopped; the same for all agents."""

    spent: Annotated[float, Field(gt=0, le=1)] = 0.8


class Looks(Strict):
    """The rule for looks at unfinished results: alpha spending at equally spaced looks, or an interval that is valid at all."""

    rule: Literal["obrien_fleming", "pocock", "anytime"]
    count: Annotated[int, Field(ge=1, le=1000)] | None = None  # none: one look for each repeat


class Stopping(Strict):
    """Rules that end the study early, and the rule that ends a hopeless run."""

    # Runs of agents under test that failed the safety gate
    safety_violations: Annotated[int, Field(ge=1)] | None = 3
    efficacy: Literal["none", "interval_excludes_minimum_effect"] = "none"
    dominance: Dominance | None = None
    looks: Looks | None = None

    @model_serializer(mode="wrap")
    def _without_empty(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Plans without `looks` keep the digests that they had before there was such a key."""
        return _without_none(serialise(self), "looks")


class Shakedown(Strict):
    contracts_per_stratum: Annotated[int, Field(ge=1)] = 1


class Tolerance(Strict):
    """What the criteria between stages allow."""

    flaky: Fraction = 0.05  # of contracts whose noop or reference repeats disagree
    invalid: Fraction = 0.2  # of trials
    safety: Annotated[int, Field(ge=0)] = 0  # runs of agents that failed the safety gate so far
    power: Fraction = 0.8  # to detect the minimum effect


class Stages(Strict):
    shakedown: Shakedown = Shakedown()
    tolerance: Tolerance = Tolerance()


class Replay(Strict):
    """How often a trial is attempted that the machine spoiled; and how checks are repeated, which contracts say."""

    attempts: Annotated[int, Field(ge=1, le=10)] = 2
    rule: Literal["contract"] = "contract"


AcceptanceErrors = Literal["none", "failure", "excluded"]
ACCEPTANCE_ERRORS: tuple[AcceptanceErrors, ...] = get_args(AcceptanceErrors)


class RankingRule(Strict):
    """What a ranking does with acceptance errors; `none`: there is no ranking, and their rate is shown apart."""

    acceptance_errors: AcceptanceErrors = "none"


class PlannedAgent(Strict):
    agent: str  # as typed
    name: str
    role: Literal["agent", "baseline"]
    identity: Digest  # of its name and parameters
    extra_repeats: Annotated[int, Field(ge=0)] = 0  # beyond those that all agents have


class PlannedContract(Strict):
    id: str
    digest: Digest
    stratum: str
    path: str
    has_reference: bool = True
    acceptance_s: Annotated[float, Field(gt=0)] | None = None  # what the checks of one run may take together

    @model_serializer(mode="wrap")
    def _without_empty(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """As of `Envelopes`."""
        return _without_none(serialise(self), "acceptance_s")


class Order(Strict):
    file: str
    sha256: Digest


class PlannedCostModel(Strict):
    """A price list; `path` is relative to the plan, and no part of the study's digest."""

    path: str
    sha256: Digest


class Options(Strict):
    """What agents are given beside the contract, and how their models are reached and priced."""

    env: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    upstreams: tuple[str, ...] = ()
    cost_model: PlannedCostModel | None = None
    model_text: ModelText = "verbatim"
    redact: tuple[str, ...] = ()

    def as_options(self) -> AgentOptions:
        prices = "" if self.cost_model is None else self.cost_model.path
        gateway = GatewayOptions(
            self.upstreams, cost_model=prices, model_text=self.model_text, redact=self.redact
        )
        return AgentOptions(self.env, self.hosts, self.paths, self.providers, gateway)


class StudyPlan(Strict):
    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False, populate_by_name=True
    )

    schema_: Literal["steelyard.study/1"] = Field("steelyard.study/1", alias="schema")
    name: Name
    seed: Annotated[int, Field(ge=0, lt=2**63)] = PROTOCOL_SEED
    endpoint: Literal["satisfied_within_budget"] = "satisfied_within_budget"
    minimum_effect: Fraction = 0.1
    repeats: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    budget: Envelopes = Envelopes()
    stages: Stages = Stages()
    stopping: Stopping = Stopping()
    replay: Replay = Replay()
    ranking: RankingRule = RankingRule()
    options: Options = Options()
    sandbox: str | None = None
    agents: Annotated[tuple[PlannedAgent, ...], Field(min_length=1)]
    contracts: Annotated[tuple[PlannedContract, ...], Field(min_length=1)]
    order: Order | None = None
    forecast: dict[str, Any] | None = None
    digest: Digest | None = None

    @model_validator(mode="after")
    def _is_unique(self) -> StudyPlan:
        for what, names in (
            ("agent", [one.name for one in self.agents]),
            ("contract", [one.id for one in self.contracts]),
        ):
            name, times = Counter(names).most_common(1)[0]
            if times > 1:
                raise ValueError(f"{what} {name} is planned twice")
        return self

    @model_validator(mode="after")
    def _looks_follow_repeats(self) -> StudyPlan:
        looks = self.stopping.looks
        if looks is None or looks.count is None:
            return self
        if looks.rule == "anytime":
            raise ValueError("an anytime-valid interval has no number of looks: it is valid at every look")
        if looks.count > self.repeats or self.repeats % looks.count:
            raise ValueError(
                f"{looks.count} looks: a look follows a repeat, so the {self.repeats} repeats are a multiple of them"
            )
        return self

    @property
    def looks(self) -> Looks | None:
        """What is registered; a plan that stops when a difference is decided looks after each repeat (O'Brien-Fleming)."""
        found = self.stopping.looks
        if found is None and self.stopping.efficacy != "none":
            found = Looks(rule="obrien_fleming")
        if found is None or found.rule == "anytime":
            return found
        return found.model_copy(update={"count": found.count or self.repeats})

    def computed_digest(self) -> str:
        """Over everything that is planned; not over the forecast, nor over where contracts and the price list lie."""
        data = self.model_dump(mode="json", by_alias=True, exclude={"digest", "forecast"})
        if self.ranking == RankingRule():  # as before there was such a key
            del data["ranking"]
        for contract in data["contracts"]:
            del contract["path"]
        if self.options.cost_model is not None:
            del data["options"]["cost_model"]["path"]
        return hashlib.sha256(orjson.dumps(data, option=orjson.OPT_SORT_KEYS)).hexdigest()

    def located(self, folder: Path) -> StudyPlan:
        """The plan as read from a file in `folder`: its price list is found from any working directory."""
        named = self.options.cost_model
        if named is None:
            return self
        found = named.model_copy(update={"path": str((folder / named.path).absolute())})
        return self.model_copy(update={"options": self.options.model_copy(update={"cost_model": found})})

    @property
    def is_edited(self) -> bool:
        return self.digest != self.computed_digest()

    @property
    def identity(self) -> str:
        """The digest that the plan was written with; of a plan that was written by hand, its own."""
        return self.digest or self.computed_digest()

    def deviations(self) -> list[dict[str, Any]]:
        """Where the plan departs from the protocol."""
        if self.seed == PROTOCOL_SEED:
            return []
        return [{"what": "seed", "planned": PROTOCOL_SEED, "observed": self.seed}]

    def to_yaml(self) -> str:
        data = self.model_dump(mode="json", by_alias=True)
        head = "# A pre-registered study. `steelyard study run` refuses it when it was edited after it was written.\n"
        return head + yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=120)


_PLAIN = {"extra_forbidden": "there is no such key", "missing": "is missing"}


def first_problem(error: ValidationError) -> str:
    """`budget.total_usd: Input should be greater than 0`; what concerns the whole plan has no place."""
    problems = error.errors()
    # A misspelt key is the reason why another one is missing.
    first = next((one for one in problems if one["type"] == "extra_forbidden"), problems[0])
    where = ".".join(str(part) for part in first["loc"])
    what = _PLAIN.get(first["type"]) or str(first["msg"]).removeprefix("Value error, ")
    return f"{where}: {what}" if where else what


def read_plan(file: Path) -> StudyPlan:
    """Raises OperatorFault for a file that is no plan."""
    try:
        if file.stat().st_size > _SIZE:
            raise OperatorFault(f"{file} is larger than {_SIZE >> 20} MB")
        text = file.read_bytes().decode()
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        # An alias of an alias can make a small file as large as the memory; no plan that we write has one.
        if "*" in text and any(isinstance(one, yaml.AliasEvent) for one in yaml.parse(text, loader)):
            raise OperatorFault(f"{file} is not a study: a study has no YAML aliases (`*name`)")
        data = yaml.load(text, Loader=loader)  # noqa: S506  # a safe loader
    except OSError as error:
        raise OperatorFault(f"{file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise OperatorFault(f"{file} is not a study: it is not UTF-8 text") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise OperatorFault(f"{file} is not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise OperatorFault(
            f"{file} is not a study: it needs `schema: {SCHEMA}`; `steelyard plan` writes one"
        )
    try:
        return StudyPlan.model_validate_json(orjson.dumps(data))
    except ValidationError as error:
        raise OperatorFault(f"{file}: {first_problem(error)}") from error
    except TypeError as error:
        raise OperatorFault(f"{file}: {error}") from error
