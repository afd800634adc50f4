"""What a split keeps of a trusted run, and what kinds of answers it accepts afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from steelyard.bench.runners.base import RunnerResult
from steelyard.bench.split.kinds import CHANGES, HOLDS, Kinds
from steelyard.bench.split.trusted import trusted_split
from steelyard.bench.suite.reported import SuiteReport
from steelyard.filesystem.cache import Cache
from steelyard.sandboxes.base import CommandResult, FileOverlay

FUNCTION = {"kind": "function", "async": False}
DATA = {"kind": "data", "value": 1}


def look(name: str, *path: str, module: str = "shop", **more: Any) -> dict[str, Any]:
    return {"op": "look", "of": {"module": module, "path": list(path)}, "name": name, **more}


def checked(**places: str) -> Kinds:
    return Kinds({f"shop:{name}": frozenset([kind]) for name, kind in places.items()})


@pytest.mark.parametrize("language", ["python", "node"])
def test_a_name_of_the_trusted_kind_is_accepted(language: str) -> None:
    assert not checked(share="function").refusal(language, look("share"), FUNCTION)


@pytest.mark.parametrize("language", ["python", "node"])
def test_a_name_of_another_kind_is_refused_with_both_kinds(language: str) -> None:
    why = checked(VERSION="data").refusal(language, look("VERSION"), FUNCTION)
    assert why == "shop:VERSION is a function here and plain data on the trusted tree"


def test_data_is_accepted_where_the_trusted_tree_has_an_object() -> None:
    assert not checked(cart="object").refusal("python", look("cart"), DATA)


def test_a_property_of_a_function_that_the_trusted_tree_was_not_asked_for_is_refused() -> None:
    kinds = checked(share="function")
    kinds.refusal("python", look("share"), FUNCTION)
    assert "property of a function" in kinds.refusal("python", look("startswith", "share"), FUNCTION)


def test_a_name_that_the_trusted_tree_does_not_have_may_be_a_function() -> None:
    assert not checked().refusal("python", look("added"), FUNCTION)


def test_a_new_object_with_functions_is_refused_unless_it_is_listed() -> None:
    names = {"kind": "module", "names": ["includes"]}
    assert checked().refusal("node", look("TITLE"), names)
    assert not checked().refusal("node", look("TITLE", **{"as": "object"}), names)


def test_a_module_that_a_test_imports_may_be_looked_up() -> None:
    kinds = checked()
    found = {"kind": "module", "name": "shop.cart"}
    assert kinds.refusal("python", look("cart"), found)
    kinds.refusal("python", {"op": "import", "module": "shop.cart"}, None)
    assert not kinds.refusal("python", look("cart"), found)


def test_in_javascript_a_class_is_a_function() -> None:
    assert not checked(Cart="function").refusal("node", look("Cart"), {"kind": "class"})


def made(*values: Any, args: tuple[Any, ...]) -> str:
    kinds = Kinds({"shop:Line": frozenset(["class"]), "shop:Line()": frozenset([HOLDS])})
    ask = {"op": "call", "of": {"module": "shop", "path": ["Line"]}, "args": list(args), "kwargs": []}
    fields = [f"f{n}" for n in range(len(values))]
    shown = {"kind": "dataclass", "class": ["shop", "Line"], "fields": fields, "values": list(values)}
    return kinds.refusal("python", ask, {"$": "record", "v": shown})


DECIMAL = {"$": "decimal", "v": "10.0"}
TUPLE = {"$": "tuple", "v": ["a", "b"]}


def test_a_record_that_holds_its_arguments_is_accepted_in_other_types_too() -> None:
    assert not made("tea", DECIMAL, TUPLE, None, args=("tea", 10, ["a", "b"]))


def test_a_record_that_forgets_an_argument_is_refused() -> None:
    assert CHANGES in made("tea", args=("tea", 10))


@dataclass
class FakeGround:
    """As much of an environment as a trusted run needs."""

    cache: Cache
    contract: Any = None
    identity: tuple[str, ...] = ("one",)


@dataclass
class NoReference:
    reference: None = None


def asked(folder: Path, finished: CommandResult) -> int:
    """How often a suite that ends like this is run for two gradings."""
    times = []

    def run(_change: tuple[FileOverlay, ...], _kinds: Kinds) -> RunnerResult:
        times.append(1)
        return RunnerResult(finished, SuiteReport("unittest", "reporter"))

    environment: Any = FakeGround(Cache(folder), NoReference())
    for _ in range(2):
        trusted_split(environment, run, ["unittest"])
    return len(times)


def test_a_trusted_run_is_kept(tmp_path: Path) -> None:
    assert asked(tmp_path, CommandResult(0)) == 1


@pytest.mark.parametrize(
    "finished",
    [CommandResult(None, timed_out=True), CommandResult(None, lost=True), CommandResult(None, signal=9)],
    ids=["timed out", "lost", "killed"],
)
def test_a_trusted_run_that_did_not_end_normally_is_not_kept(tmp_path: Path, finished: CommandResult) -> None:
    assert asked(tmp_path, finished) == 2
