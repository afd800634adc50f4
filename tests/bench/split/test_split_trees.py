"""What lies in which sandbox of a split oracle."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pytest

from steelyard.bench.split.trees import candidate_names, candidate_tree, oracle_tree
from steelyard.bench.transfer.oracle.files import OracleFiles
from steelyard.sandboxes.base import FileOverlay

TREE = (
    *("shop/__init__.py", "shop/money.py", "shop/words.txt", "shop/tests/test_money.py", "src/lib2/core.py"),
    *(
        "tests/test_shop.py",
        "tests/helpers.py",
        "tests/data/in.bin",
        "conftest.py",
        "pyproject.toml",
        "Makefile",
    ),
    *("setup.py", "json.py", "bin/tool", "native/fast.c", "docs/conf.py", "docs/index.md"),
)


def left(tree: Collection[str], overlays: Collection[FileOverlay]) -> set[str]:
    """What of a tree is still there when these pieces were written."""
    gone = {one.path for one in overlays if one.kind == "gone"}
    return {path for path in tree if not any(path == one or path.startswith(f"{one}/") for one in gone)}


def written(folder: Path, path: str, text: str) -> FileOverlay:
    source = folder / path.replace("/", "-")
    source.write_text(text)
    return FileOverlay(path, "file", source=source)


def test_the_candidates_modules_are_those_of_the_tree_that_are_not_the_oracles() -> None:
    names = candidate_names(TREE, OracleFiles(TREE), (), ())
    assert names.first == {"shop": ("",), "lib2": ("src",), "setup": ("",), "docs": ("",)}
    assert names.roots == ["", "src"]


def test_the_tests_sandbox_has_tests_and_data_and_no_code(tmp_path: Path) -> None:
    theirs = OracleFiles(TREE)
    names = candidate_names(TREE, theirs, (), ())
    overlays = oracle_tree(TREE, theirs, (), names, tmp_path)
    assert left(TREE, overlays) == {
        *("shop/words.txt", "shop/tests/test_money.py", "tests/test_shop.py", "tests/helpers.py"),
        *("tests/data/in.bin", "conftest.py", "pyproject.toml", "docs/index.md"),
    }
    stubs = {one.path for one in overlays if one.kind == "file"}
    assert stubs == {"shop/__init__.py", "src/lib2/__init__.py", "setup.py", "docs/__init__.py"}


def test_the_candidates_sandbox_has_everything_but_tests(tmp_path: Path) -> None:
    work = (written(tmp_path, "shop/money.py", ""),)
    overlays = candidate_tree(TREE, OracleFiles(TREE), work)
    assert {path for path in TREE if path not in left(TREE, overlays)} == {
        *("shop/tests/test_money.py", "tests/test_shop.py", "tests/helpers.py", "tests/data/in.bin"),
    }
    assert overlays[-1] is work[0]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import brandnew\n", {"brandnew"}),
        ("from brandnew.part import x\n", {"brandnew"}),
        ("def test_x():\n    import brandnew\n", {"brandnew"}),
        ("try:\n    import brandnew\nexcept ImportError:\n    brandnew = None\n", set()),
        ("from . import brandnew\n", set()),
        ("import other\n", set()),
        ("import brandnew(\n", set()),
        (f"import brandnew\nx = {'-' * 100_000}1\n", set()),  # too deep for the parser
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else None,
)
def test_a_module_that_only_the_change_has_counts_when_a_hidden_test_must_have_it(
    text: str, found: set[str], tmp_path: Path
) -> None:
    work = (written(tmp_path, "brandnew/part.py", ""),)
    hidden = (written(tmp_path, "tests/test_new.py", text),)
    names = candidate_names(TREE, OracleFiles(TREE), work, hidden)
    assert names.last.keys() == found


@pytest.mark.parametrize(
    "path", ["pytest.py", "json/__init__.py", "pluggy/__init__.py", "candidate.py", "a-b.py"]
)
def test_a_change_never_brings_a_module_that_the_tests_need_for_themselves(path: str, tmp_path: Path) -> None:
    work = (written(tmp_path, path, ""),)
    name = path.partition(".")[0].partition("/")[0]
    hidden = (written(tmp_path, "tests/test_new.py", f"import {name}\n"),)
    names = candidate_names(("shop.py",), OracleFiles(("shop.py",)), work, hidden)
    assert not names.last


def test_the_contract_may_name_the_modules(tmp_path: Path) -> None:
    work = (written(tmp_path, "src/fresh.py", ""),)
    names = candidate_names(TREE, OracleFiles(TREE), work, (), ("shop", "fresh", "later"))
    assert names.first == {"shop": ("",), "fresh": ("src",), "later": ("",)}
