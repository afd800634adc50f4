"""`oracle.checks`, `steps[].checks` and `graders` of a contract -> `GraderEntry`s with every default resolved.

- {id: hidden, cmd: "make test", weight: 2, timeout_s: 60}
   common keys: id, weight          options of type command: cmd, timeout_s
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from dataclasses import field, replace
from functools import lru_cache, partial
from typing import Annotated, Any, Literal

from steelyard.contract.catalogue import POLICY_NAME, Catalogue, GraderEntry, GraderType
from steelyard.contract.model import Fraction, Layer, Name, NonEmpty, Strict, Under
from steelyard.contract.parse import explain as explanation
from steelyard.contract.parse.yaml_source import Source, YamlPath, dotted_path
from steelyard.deferred import model as models
from steelyard.deferred.constraints import NotPlainError
from steelyard.deferred.data_class import dataclass
from steelyard.deferred.model import BaseModel, Field
from steelyard.deferred.plain_model import field_names
from steelyard.deferred.plain_values import read_dataclass
from steelyard.errors import Problem

MOST_WEIGHT = 1_000_000
Weight = Annotated[float, Field(ge=0, le=MOST_WEIGHT)]


class CheckKeys(Strict):
    """The keys that every check of the oracle may have, besides the options of its type."""

    id: Name | None = None
    type: NonEmpty = "command"
    under: Literal["build", "static", "acceptance"] = "acceptance"
    required: bool = True
    weight: Weight | None = None
    gate: bool | None = None
    pass_threshold: Fraction | None = None
    mandatory: bool = True
    layer: Layer | None = None


class GraderKeys(Strict):
    """The keys that every grader may have, besides the options of its type."""

    name: Name | None = None
    type: NonEmpty
    under: Under | None = None
    required: bool | None = None
    weight: Weight | None = None
    gate: bool | None = None
    pass_threshold: Fraction | None = None


@dataclass
class Entries:
    """What the entries of one contract come to: good ones by their place, and every problem."""

    source: Source
    catalogue: Catalogue
    found: dict[YamlPath, GraderEntry] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    @property
    def checks(self) -> tuple[GraderEntry, ...]:
        return tuple(entry for entry in self.found.values() if entry.is_check)

    @property
    def graders(self) -> tuple[GraderEntry, ...]:
        return tuple(entry for entry in self.found.values() if not entry.is_check)

    @property
    def where_checks_are(self) -> YamlPath:
        return ("steps",) if any(entry.step is not None for entry in self.checks) else ("oracle", "checks")

    def complain(self, place: YamlPath, message: str, fix: str = "") -> None:
        self.problems.append(Problem(self.source.where(place), dotted_path(place), message, fix))


def resolve_entries(source: Source, catalogue: Catalogue) -> Entries:
    """Every check and grader of the contract, the policy's own first among the graders."""
    entries = Entries(source, catalogue)
    for place, raw in _listed(source, ("oracle", "checks")):
        _resolve(entries, place, raw, CheckKeys)
    for at, step in _listed(source, ("steps",)):
        for place, raw in _listed(source, (*at, "checks")):
            _resolve(entries, place, raw, CheckKeys, step=str(step.get("name")))
    _add_policy(entries)
    for place, raw in _listed(source, ("graders",)):
        _resolve(entries, place, raw, GraderKeys)
    _name_all(entries)
    if _weighs_nothing(entries):
        entries.complain(
            entries.where_checks_are,
            "every weight is zero, so nothing counts for the score",
            "give one of them `weight: 1`",
        )
    return entries


def _weighs_nothing(entries: Entries) -> bool:
    if entries.source.data.get("workspace") == "none":
        return False  # what is wrong there is that it has graders at all
    weight = sum(one.weight for one in entries.found.values())
    # Missing checks are reported elsewhere
    return bool(entries.checks) and not entries.problems and not weight


def _listed(source: Source, place: YamlPath) -> Iterator[tuple[YamlPath, dict[str, Any]]]:
    """The mappings in a list, if it is one; what is not is the model's to refuse."""
    data: Any = source.data
    for part in place:
        data = data[part] if isinstance(part, int) else data.get(part) if isinstance(data, dict) else None
    for number, raw in enumerate(data if isinstance(data, list) else []):
        if isinstance(raw, dict):
            yield (*place, number), raw


def _resolve(
    entries: Entries,
    place: YamlPath,
    raw: dict[str, Any],
    model: type[CheckKeys | GraderKeys],
    step: str | None = None,
) -> None:
    keys = _common(entries, place, raw, model)
    kind = _type_of(entries, place, raw, model)
    if kind is None:
        return
    grader = _options(entries, place, raw, kind, model)
    if keys is None or grader is None:
        return
    if isinstance(keys, CheckKeys) and not kind.EXECUTES:
        entries.complain(
            (*place, "type"), f"{kind.TYPE} runs nothing, so it cannot be a check", "put it in graders"
        )
        return
    gate = kind.GATE if keys.gate is None else keys.gate
    if _gate_holds(entries, place, keys, gate=gate):
        entries.found[place] = _entry(keys, kind, grader, gate=gate, step=step)


def _entry(
    keys: CheckKeys | GraderKeys, kind: type[GraderType], grader: GraderType, *, gate: bool, step: str | None
) -> GraderEntry:
    """Written keys, and the defaults of the type for the others. A gate passes at 1.0 and carries no credit."""
    threshold = kind.PASS_THRESHOLD if keys.pass_threshold is None else keys.pass_threshold
    required = _is_required(keys, kind)
    return GraderEntry(
        name=_in_step(step, (keys.id if isinstance(keys, CheckKeys) else keys.name) or ""),
        type=kind.TYPE,
        grader=grader,
        under=keys.under or kind.UNDER,
        required=required or gate,
        weight=0.0 if gate else _weight(keys, kind, required=required),
        gate=gate,
        pass_threshold=1.0 if gate else float(threshold),
        is_check=isinstance(keys, CheckKeys),
        mandatory=keys.mandatory if isinstance(keys, CheckKeys) else True,
        layer=keys.layer if isinstance(keys, CheckKeys) else None,
        executes=kind.EXECUTES,
        step=step,
    )


def _in_step(step: str | None, name: str) -> str:
    """Ids are unique within a step; names are within a contract."""
    return f"{step}.{name}" if step is not None and name else name


def _is_required(keys: CheckKeys | GraderKeys, kind: type[GraderType]) -> bool:
    if isinstance(keys, CheckKeys) and not keys.mandatory:
        return False
    return kind.REQUIRED if keys.required is None else keys.required


def _weight(keys: CheckKeys | GraderKeys, kind: type[GraderType], *, required: bool) -> float:
    """A grader that was made advisory enters the score only if its weight is written."""
    made_advisory = kind.REQUIRED and not required
    return float((0.0 if made_advisory else kind.WEIGHT) if keys.weight is None else keys.weight)


def _common(
    entries: Entries, place: YamlPath, raw: dict[str, Any], model: type[CheckKeys | GraderKeys]
) -> CheckKeys | GraderKeys | None:
    common = {key: value for key, value in raw.items() if key in field_names(model)}
    try:
        return model.model_validate_json(json.dumps(common))
    except models.ValidationError as refused:
        entries.problems += explanation.explain(
            refused, entries.source, partial(explanation.known_keys, model), place
        )
        return None


def _type_of(
    entries: Entries, place: YamlPath, raw: dict[str, Any], model: type[CheckKeys | GraderKeys]
) -> type[GraderType] | None:
    name = raw.get("type", getattr(model, "type", None))
    if not isinstance(name, str):
        return None  # the common keys say so already
    types = entries.catalogue.types
    if name in entries.catalogue.planned and name not in types:
        entries.complain((*place, "type"), f"the grader type {name} is not supported yet")
    elif name not in types:
        known = {*types, *entries.catalogue.planned}
        entries.complain(
            (*place, "type"), f"unknown grader type {name!r}", explanation.suggestion(name, known)
        )
    return types.get(name)


def _options(
    entries: Entries,
    place: YamlPath,
    raw: dict[str, Any],
    kind: type[GraderType],
    model: type[CheckKeys | GraderKeys],
) -> Any:
    """An instance of the type, or None with the problems noted."""
    own = {field.name for field in dataclasses.fields(kind)}
    rest = {key: value for key, value in raw.items() if key not in field_names(model)}
    before = len(entries.problems)
    for key in [key for key in rest if key not in own and key in _MISPLACED[model]]:
        entries.complain((*place, key), _MISPLACED[model][key])
        del rest[key]
    if "command" in rest and "cmd" in own and "command" not in own:
        if "cmd" in rest:
            entries.complain((*place, "command"), "`cmd` and `command` are the same key", "keep one")
        rest.setdefault("cmd", rest.pop("command"))

    def known(inner: YamlPath) -> list[str]:
        return [*explanation.known_keys(kind, inner), *([] if inner else field_names(model))]

    try:
        grader = _read_options(kind, rest)
    except models.ValidationError as refused:
        entries.problems += explanation.explain(refused, entries.source, known, place, below=1)
    return grader if len(entries.problems) == before else None


_MISPLACED: dict[type[CheckKeys | GraderKeys], dict[str, str]] = {
    CheckKeys: {"name": "a check has an `id`, not a `name`"},
    GraderKeys: {
        "id": "a grader has a `name`, not an `id`",
        "mandatory": "only checks of the oracle have `mandatory`",
        "layer": "only checks of the oracle have a `layer`",
    },
}


def _read_options(kind: type[GraderType], options: dict[str, Any]) -> Any:
    try:
        return read_dataclass(kind, options, form="json")
    except NotPlainError:
        return _wrap(kind).model_validate_json(json.dumps({"options": options})).options  # type: ignore[arg-type,attr-defined]  # a class has a hash; made below


@lru_cache(maxsize=256)
def _wrap(kind: type[GraderType]) -> type[BaseModel]:
    """A dataclass cannot be given a strict configuration from outside; a model around it can."""
    from pydantic import ConfigDict, create_model  # noqa: PLC0415  # only where the options are not plain

    config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)
    return create_model("Options", __config__=config, options=(kind, ...))


def _gate_holds(entries: Entries, place: YamlPath, keys: CheckKeys | GraderKeys, *, gate: bool) -> bool:
    """Whether `required`, `weight` and `gate` agree with each other."""
    before = len(entries.problems)
    if keys.required is False and isinstance(keys, CheckKeys):
        entries.complain((*place, "required"), "a check is always required", "put it in graders")
    elif keys.required is False and gate:
        entries.complain((*place, "required"), "a gate is always required")
    if gate and keys.weight:
        entries.complain((*place, "weight"), "a gate has no weight", "gate: false, or no weight")
    if gate and keys.pass_threshold not in (None, 1.0):
        entries.complain((*place, "pass_threshold"), "a gate passes at 1.0 only")
    return len(entries.problems) == before


def _add_policy(entries: Entries) -> None:
    """`policy.allowed_paths` is also a required grader; the contract's own graders can only narrow it."""
    policy = entries.source.data.get("policy")
    patterns = policy.get("allowed_paths") if isinstance(policy, dict) else None
    if not isinstance(policy, dict) or not isinstance(patterns, list) or not patterns:
        return
    place = ("policy", "allowed_paths")
    kind = entries.catalogue.types.get("allowed_paths")
    if kind is None:
        entries.complain(place, "needs the grader type allowed_paths, which is not installed")
    elif all(isinstance(pattern, str) and pattern for pattern in patterns):
        grader = kind(patterns=tuple(patterns))  # type: ignore[call-arg]  # the one option of that type
        # With `effect: penalty` a violation lowers the reward and fails no gate.
        required = policy.get("effect") != "penalty"
        entries.found[place] = GraderEntry(
            POLICY_NAME, kind.TYPE, grader, kind.UNDER, required=required, weight=0.0
        )


def _name_all(entries: Entries) -> None:
    """Names are unique over checks and graders; one that is not given is its type, numbered when taken."""
    taken: dict[str, bool] = {}
    for place, entry in entries.found.items():
        if entry.name and entry.name in taken:
            key = "id" if entry.is_check else "name"
            kind = "checks have the id" if entry.is_check and taken[entry.name] else "entries have the name"
            entries.complain((*place, key), f"two {kind} `{entry.name}`")
        taken[entry.name] = entry.is_check
    for place, entry in entries.found.items():
        if not entry.name:
            number, name = 1, _in_step(entry.step, entry.type)
            while name in taken:
                number, name = number + 1, _in_step(entry.step, f"{entry.type}-{number + 1}")
            taken[name] = entry.is_check
            entries.found[place] = replace(entry, name=name)
