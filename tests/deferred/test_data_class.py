"""A data class whose methods are made at first use behaves as one of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from dataclasses import FrozenInstanceError, field
from typing import Any

import pytest

from steelyard.deferred.data_class import dataclass


@dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: int = 2
    names: list[str] = field(default_factory=list, compare=False)
    hidden: str = field(default="", repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class Original:
    x: int
    y: int = 2
    names: list[str] = field(default_factory=list, compare=False)
    hidden: str = field(default="", repr=False)


@dataclass
class Counter:
    count: int = 0
    double: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.double = 2 * self.count


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    name: str
    size: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class MoreOptions(Options):
    colour: str


CALLS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((1,), {}),
    ((1, 5), {}),
    ((1,), {"hidden": "a", "names": ["b"]}),
    ((), {"x": 1, "y": 2}),
]


@pytest.mark.parametrize(("args", "named"), CALLS)
def test_instances_have_the_fields_and_the_text_of_the_original(
    args: tuple[Any, ...], named: dict[str, Any]
) -> None:
    ours, original = Point(*args, **named), Original(*args, **named)
    assert dataclasses.asdict(ours) == dataclasses.asdict(original)
    assert repr(ours) == repr(original).replace("Original", "Point")
    assert hash(ours) == hash(original)


@pytest.mark.parametrize(
    ("args", "named"), [((), {}), ((1, 2, [], "", 5), {}), ((1,), {"x": 1}), ((1,), {"z": 1})]
)
def test_wrong_arguments_are_a_type_error_before_and_after_the_first_instance(
    args: tuple[Any, ...], named: dict[str, Any]
) -> None:
    @dataclass(frozen=True)
    class Fresh:
        x: int
        y: int = 2

    for _ in range(2):
        with pytest.raises(TypeError):
            Fresh(*args[:3], *args[3:], **named)
        Fresh(1)


@pytest.mark.parametrize(("args", "named"), CALLS)
def test_the_first_instance_and_the_hundredth_are_equal(args: tuple[Any, ...], named: dict[str, Any]) -> None:
    @dataclass(frozen=True)
    class Fresh:
        x: int
        y: int = 2
        names: list[str] = field(default_factory=list, kw_only=True)
        hidden: str = ""

    first = Fresh(*args, **named)
    last = [Fresh(*args, **named) for _ in range(100)][-1]
    assert first == last
    assert repr(first) == repr(last)


def test_post_init_runs_for_the_first_instance_and_the_hundredth() -> None:
    @dataclass
    class Fresh:
        count: int
        double: int = field(init=False)

        def __post_init__(self) -> None:
            self.double = 2 * self.count

    assert [Fresh(one).double for one in range(100)] == [2 * one for one in range(100)]


def test_equality_compares_the_class_and_the_compared_fields() -> None:
    assert Point(1, names=["a"]) == Point(1, names=["b"])
    assert Point(1) != Point(2)
    assert Point(1) != Original(1)  # type: ignore[comparison-overlap]
    assert Counter(1) == Counter(1) != Counter(2)


def test_a_class_that_is_not_frozen_has_no_hash() -> None:
    with pytest.raises(TypeError):
        hash(Counter(1))


def test_a_frozen_instance_refuses_assignment_and_deletion() -> None:
    point = Point(1)
    with pytest.raises(FrozenInstanceError):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del point.x


def test_replace_copy_and_pickle_give_an_equal_instance() -> None:
    point = Point(1, 3, ["a"], "b")
    for other in (
        dataclasses.replace(point),
        copy.copy(point),
        copy.deepcopy(point),
        pickle.loads(pickle.dumps(point)),  # noqa: S301  # made here
    ):
        assert dataclasses.asdict(other) == dataclasses.asdict(point)


def test_post_init_runs_and_fields_without_a_parameter_have_their_default() -> None:
    assert Counter(4).double == 8


def test_keyword_only_options_are_inherited() -> None:
    assert repr(MoreOptions(colour="red", name="a")) == "MoreOptions(name='a', size=1, colour='red')"
    with pytest.raises(TypeError):
        Options("a")  # type: ignore[call-arg]


def test_each_instance_has_its_own_default() -> None:
    assert Point(1).names is not Point(1).names


def test_a_method_that_the_class_defines_stays() -> None:
    @dataclass(frozen=True)
    class Named:
        name: str

        def __repr__(self) -> str:
            return "named"

    assert repr(Named("a")) == "named"
