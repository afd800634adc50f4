"""A model that reads plain data by itself accepts nothing that pydantic refuses, and makes an equal instance."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field as PydanticField
from pydantic import TypeAdapter, ValidationError
from pydantic import field_validator as pydantic_validator

from steelyard.contract.model import Budget, ContractSpec, Judge, Memory, Metadata, Policy, Secret
from steelyard.contract.parse.entries import CheckKeys, GraderKeys
from steelyard.deferred.constraints import NotPlainError
from steelyard.deferred.model import BaseModel
from steelyard.deferred.plain_model import field_names
from steelyard.deferred.plain_values import read_dataclass
from steelyard.graders.catalogue import installed_catalogue
from steelyard.verdict.evaluation import EvaluationResult, ValidityCheck

CONTRACT: dict[str, Any] = {
    "id": "sum",
    "version": 2,
    "brief": "Mend it.",
    "hints": ["look"],
    "turns": ["And now?"],
    "exports": ["out/**"],
    "repository": {"git": "/a", "commit": "f" * 40, "history": "full", "submodules": {"lib": "/b"}},
    "environment": {
        "toolchains": {"python": "3.11"},
        "env": {"A": "b"},
        "host_variables": ["TERM"],
        "secrets": [{"name": "KEY", "for": "agent"}],
        "cpu": 2,
        "memory_mb": {"guaranteed": 64, "limit": 128},
        "network": ["a.example:443"],
        "workdir": "/app",
        "ready": {"cmd": "true", "timeout_s": 3, "retries": 2},
    },
    "setup": ["make"],
    "setup_network": "host",
    "oracle": {
        "checks": [{"id": "a", "cmd": "true", "x": [1, 2.5, None, {"y": True}]}],
        "mode": "split",
        "tolerance": 0.5,
        "reruns": {"max": 3, "rule": "majority"},
        "reference": {"script": "solve.sh", "env": {"B": "c"}},
    },
    "generated": ["build/*"],
    "policy": {
        "allowed_paths": ["src/**"],
        "stages": ["inspect", "write"],
        "rules": {"network": "alert"},
        "breakers": {"repeat": {"times": 3, "action": "pause"}, "burst": {"calls": 7}},
        "operator": {"deadline_s": 5},
    },
    "budget": {
        "wall_s": 60,
        "cost_usd": 0.5,
        "tokens": 5,
        "model_calls": 7,
        "headroom": {"cost_fraction": 0},
    },
    "graders": [{"type": "patch_applies"}],
    "quality": {
        "lambda": 2,
        "envelope": {"files": 1, "lines": 2},
        "weights": {"minimal": 0.5, "trace": 0.5},
    },
    "contract_score": {"w_ok": 0.7},
    "judge": {"models": ["claude-a"], "max_diff_bytes": 10},
    "metadata": {"language": "python", "difficulty": 3, "owner": {"team": ["a"]}},
}
CHANGES: list[Any] = [
    *(None, True, False, 0, 1, -1, 5, 2**60, 0.0, 0.5, 5.0, 1e400, float("nan"), "", "a", "5", "a\n", "a b"),
    *("none", "host", "full", "ü", "٣:٣", "a:1", "\ud800", "\x1c:80", "a:80", [], [1], ["a"], [""], [[]], {}),
    *({"a": 1}, {"": ""}, {"A": "b"}, {"type": "command"}, ["a.example:443", "a.example:443"], ["inspect"]),
]


def places(data: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [at, *(place for key, value in inner for place in places(value, (*at, key)))]


def changed(data: dict[str, Any], place: tuple[Any, ...], value: Any, how: str) -> dict[str, Any]:
    """The data with another value at a place, without it, or with one more key or element there."""
    found: Any = (made := copy.deepcopy(data))
    for part in place[:-1]:
        found = found[part]
    if not place:
        made["unknown" if how == "more" else "id"] = value
    elif how == "less":
        del found[place[-1]]
    elif how == "more" and isinstance(found[place[-1]], dict):
        found[place[-1]]["unknown"] = value
    elif how == "more" and isinstance(found[place[-1]], list):
        found[place[-1]].append(value)
    else:
        found[place[-1]] = value
    return made


def assert_agrees(model: Any, data: Any) -> None:
    """What is plain is what pydantic makes of the same text."""
    try:
        plain = model.read_plain(data, form="json")
    except NotPlainError:
        return
    accepted = model.pydantic_model().model_validate_json(json.dumps(data))
    other = model._converted(accepted)
    assert plain == other
    assert repr(plain) == repr(other)  # 5 and 5.0 are equal, and not the same
    assert plain.model_fields_set == other.model_fields_set
    assert json.dumps(plain.model_dump(mode="json", by_alias=True)) == json.dumps(
        accepted.model_dump(mode="json", by_alias=True)
    )


def models(above: Any = BaseModel) -> list[Any]:
    return [one for model in above.__subclasses__() for one in (model, *models(model))]


@pytest.mark.parametrize("model", models(), ids=lambda model: f"{model.__module__}.{model.__name__}")
def test_a_model_has_the_fields_keys_and_defaults_of_the_pydantic_model(model: Any) -> None:
    known = model.model_fields
    assert list(field_names(model)) == list(known)
    for name, field in known.items():
        declared = model._declared[name]
        assert declared.key == (field.alias or name)
        if field.is_required():
            with pytest.raises(NotPlainError):
                declared.make_default()
        else:
            assert repr(declared.make_default()) == repr(field.get_default(call_default_factory=True))


def test_a_contract_with_every_key_is_plain() -> None:
    ContractSpec.read_plain(CONTRACT, form="json")  # type: ignore[attr-defined]
    assert_agrees(ContractSpec, CONTRACT)


@given(
    st.sampled_from(places(CONTRACT)),
    st.sampled_from(CHANGES),
    st.sampled_from(["other", "less", "more"]),
)
def test_a_changed_contract_is_plain_only_if_pydantic_accepts_it(
    place: tuple[Any, ...], value: Any, how: str
) -> None:
    assert_agrees(ContractSpec, changed(CONTRACT, place, value, how))


@given(
    st.sampled_from(sorted(installed_catalogue().types)),
    st.data(),
)
def test_the_options_of_a_grader_are_plain_only_if_pydantic_accepts_them(
    name: str, data: st.DataObject
) -> None:
    kind = installed_catalogue().types[name]
    keys = st.sampled_from([*kind.__dataclass_fields__, "unknown"])
    options = data.draw(st.dictionaries(keys, st.sampled_from([*CHANGES, *CONTRACT.values()]), max_size=4))
    try:
        plain = read_dataclass(kind, options, form="json")
    except NotPlainError:
        return
    assert repr(plain) == repr(TypeAdapter(kind).validate_json(json.dumps(options)))


@dataclasses.dataclass(frozen=True)
class WithDefault:
    size: int = PydanticField(default=3, ge=2)


@dataclasses.dataclass(frozen=True)
class WithValidator:
    size: int = 3

    @pydantic_validator("size")
    @classmethod
    def _even(cls, size: int) -> int:
        return size


@dataclasses.dataclass(frozen=True)
class WithSettings:
    __pydantic_config__ = {"str_to_lower": True}  # noqa: RUF012  # as pydantic wants it
    name: str = ""


@dataclasses.dataclass(frozen=True)
class WithConstraint:
    size: Annotated[int, PydanticField(ge=2)] = 3


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (WithDefault, {"size": 1}),
        (WithDefault, {}),
        (WithValidator, {"size": 1}),
        (WithSettings, {"name": "A"}),
        (WithConstraint, {"size": 1}),
    ],
)
def test_options_that_speak_to_pydantic_are_not_plain(kind: type, options: dict[str, Any]) -> None:
    with pytest.raises(NotPlainError):
        read_dataclass(kind, options, form="json")


@pytest.mark.parametrize("model", [CheckKeys, GraderKeys])
@given(
    data=st.dictionaries(
        st.sampled_from(["id", "name", "type", "under", "weight", "gate", "layer"]), st.sampled_from(CHANGES)
    )
)
def test_the_common_keys_of_entries_are_plain_only_if_pydantic_accepts_them(
    model: Any, data: dict[str, Any]
) -> None:
    assert_agrees(model, data)


def test_python_values_are_not_taken_for_json() -> None:
    with pytest.raises(ValidationError):
        Judge(models=["claude-a"])  # type: ignore[arg-type]
    assert Judge.model_validate({"models": ["claude-a"]}, strict=False).models == ("claude-a",)


def test_a_wrong_value_is_explained_by_pydantic() -> None:
    with pytest.raises(ValidationError, match="greater than or equal to 16"):
        Memory(guaranteed=1)


def test_an_instance_in_data_that_is_not_plain_is_accepted() -> None:
    validity = ValidityCheck(output_parseable=True, schema_valid=True, verifier_completed=True)
    with pytest.raises(ValidationError) as refused:
        EvaluationResult(reward=2.0, validity=validity)
    assert [error["loc"] for error in refused.value.errors()] == [("reward",)]


def test_the_keys_that_were_written_are_known() -> None:
    assert Budget.model_validate({"wall_s": 5}).model_fields_set == {"wall_s"}


def test_a_copy_has_the_new_values_and_the_class() -> None:
    changed_budget = Budget().model_copy(update={"tokens": 5})
    assert isinstance(changed_budget, Budget)
    assert (changed_budget.tokens, changed_budget.wall_s) == (5, Budget().wall_s)
    pickled = pickle.loads(pickle.dumps(changed_budget))  # noqa: S301  # made here
    for other in (copy.copy(changed_budget), copy.deepcopy(changed_budget), pickled):
        assert other == changed_budget


def test_a_model_refuses_assignment() -> None:
    with pytest.raises(ValidationError):
        Budget().tokens = 5  # type: ignore[misc]
    with pytest.raises(ValidationError):
        del Budget().tokens


def test_an_alias_is_the_key_of_the_data() -> None:
    secret = Secret.model_validate({"name": "A", "for": "agent"})
    assert secret.for_ == "agent"
    assert secret.model_dump(by_alias=True) == {"name": "A", "for": "agent"}


def test_unknown_keys_are_kept_where_a_model_allows_them() -> None:
    made = Metadata.model_validate_json('{"owner": {"team": "a"}, "kind": "bug"}')
    assert made.model_dump(mode="json")["owner"] == {"team": "a"}


def test_equal_models_of_one_class_have_one_hash() -> None:
    assert hash(Memory()) == hash(Memory(guaranteed=1024))
    assert Memory() != Policy()  # type: ignore[comparison-overlap]
