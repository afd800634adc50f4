"""A named tuple whose annotations stay texts behaves as one of the standard library."""

from __future__ import annotations

import inspect
import pickle
import typing

import pytest

from steelyard.deferred.named_tuple import NamedTuple


class Pair(NamedTuple):
    """Two things."""

    left: int
    right: str = "b"

    @property
    def both(self) -> str:
        return f"{self.left}{self.right}"

    @classmethod
    def make(cls) -> Pair:
        return cls(7)


class Original(typing.NamedTuple):
    """Two things."""

    left: int
    right: str = "b"


def test_a_tuple_has_the_fields_the_defaults_and_the_text_of_the_original() -> None:
    assert repr(Pair(1)) == repr(Original(1)).replace("Original", "Pair")
    assert Pair._fields == Original._fields
    assert Pair._field_defaults == Original._field_defaults
    assert Pair(1)._asdict() == Original(1)._asdict()
    assert Pair(1)._replace(right="c") == (1, "c")
    assert (Pair.__doc__, Pair.__module__, Pair.__qualname__) == (Original.__doc__, __name__, "Pair")


def test_methods_properties_and_class_methods_stay() -> None:
    assert Pair.make().both == "7b"


def test_a_tuple_survives_pickling_as_its_class() -> None:
    again = pickle.loads(pickle.dumps(Pair(1)))  # noqa: S301  # made here
    assert again == Pair(1)
    assert isinstance(again, Pair)


def test_a_missing_field_is_a_type_error() -> None:
    with pytest.raises(TypeError):
        Pair()  # type: ignore[call-arg]


def test_a_field_without_a_default_after_one_with_a_default_is_refused() -> None:
    with pytest.raises(TypeError, match="follows one that has a default"):

        class Wrong(NamedTuple):
            first: int = 1
            second: int  # type: ignore[misc]


def test_the_method_that_is_compiled_for_many_instances_makes_the_same_tuples() -> None:
    made = [Pair(left=number) for number in range(40)]
    assert made == [(number, "b") for number in range(40)]
    assert Pair(1, right="c") == (1, "c")


class Many(NamedTuple):
    left: int
    right: str = "b"


class OriginalMany(typing.NamedTuple):
    left: int
    right: str = "b"


@pytest.mark.parametrize(
    "arguments", [((), {}), ((1, "b", 3), {}), ((1,), {"left": 2}), ((1,), {"other": 2})]
)
def test_wrong_arguments_are_refused_in_the_words_of_the_original(arguments: typing.Any) -> None:
    words = []
    for kind in (Many, OriginalMany):
        with pytest.raises(TypeError) as refused:
            kind(*arguments[0], **arguments[1])
        words.append(str(refused.value).replace("Original", ""))
    assert words[0] == words[1]


def test_the_signature_is_that_of_the_original() -> None:
    names = list(inspect.signature(Pair).parameters)
    assert names == list(inspect.signature(Original).parameters)


def test_a_tuple_of_another_length_is_refused() -> None:
    with pytest.raises(TypeError, match="Expected 2 arguments, got 3"):
        Pair._make((1, "b", 3))
    with pytest.raises(ValueError, match="unexpected field names"):
        Pair(1)._replace(other=2)  # type: ignore[call-arg]
