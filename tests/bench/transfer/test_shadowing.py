"""Which added paths an import would find instead of a library, a runner or a test."""

from __future__ import annotations

import pytest

from steelyard.bench.transfer.names.installed import InstalledNames
from steelyard.bench.transfer.names.shadowing import (
    Shadows,
    Surroundings,
    is_idle,
    is_named,
    module_at,
    shadows_library,
)

BASELINE = {
    "shop/__init__.py": "",
    "shop/cart.py": "",
    "src/tool.py": "",
    "tests/test_cart.py": "",
    "tests/cases.py": "",
    "app/tests/__init__.py": "",
    "app/tests/test_app.py": "",
}
HIDDEN = ("checks/test_hidden.py", "checks/rig.py")
INSTALLED = InstalledNames(frozenset({"yaml", "google.protobuf"}), roots=frozenset({"vendor"}))


def shadows(*changed: str, brief: str = "", roots: frozenset[str] = frozenset()) -> Shadows:
    return Shadows(BASELINE, changed, HIDDEN, Surroundings(lambda: INSTALLED, brief, roots))


@pytest.mark.parametrize(
    "path",
    [
        "json.py",
        "json.pyc",
        "json/__init__.py",
        "json.cpython-311-x86_64-linux-gnu.so",
        "src/random.py",
        "tests/typing/__init__.py",
        "pytest.py",
        "app/json.py",  # pytest takes `app` for the top, because app/tests is a package and app is not
        "yaml.py",
        "vendor/yaml.py",
        "google/protobuf/__init__.py",
        "tests/test_cart/__init__.py",
        "tests/test_cart.so",
        "checks/test_hidden/__init__.py",
    ],
)
def test_an_added_module_with_a_known_name_shadows_it(path: str) -> None:
    assert shadows(path).by_name(path, link=False)


@pytest.mark.parametrize(
    "path",
    [
        "shop/json.py",  # inside a package: it is shop.json
        "json/data.txt",
        "json.txt",
        "notes/yaml.py",
        "shop/yaml.py",
        "test.py",
        "shop/cart.py",
        "src/tool.py",
        "other.py",
    ],
)
def test_other_added_modules_shadow_nothing(path: str) -> None:
    assert not shadows(path).by_name(path, link=False)


def test_a_link_without_an_ending_can_be_a_package() -> None:
    assert shadows("json").by_name("json", link=True)
    assert not shadows("json").by_name("json", link=False)


def test_a_folder_that_commands_start_in_is_searched_for_modules() -> None:
    assert not shadows("deep/json.py").by_name("deep/json.py", link=False)
    assert shadows("deep/json.py", roots=frozenset({"deep"})).by_name("deep/json.py", link=False)


def test_a_module_that_the_brief_asks_for_by_its_path_is_the_work() -> None:
    assert not shadows("yaml.py", brief="Write ./yaml.py anew.").by_name("yaml.py", link=False)
    assert shadows("yaml.py", brief="Read my-yaml.py first.").by_name("yaml.py", link=False)


@pytest.mark.parametrize(
    ("path", "helper"),
    [
        ("cases.py", "tests/cases.py"),
        ("src/cases/__init__.py", "tests/cases.py"),
        ("tests/cases.so", None),  # the helper itself, by another name, is of the tests' folder
        ("rig.py", "checks/rig.py"),
        ("cases.txt", None),
        ("cart.py", None),
    ],
)
def test_a_module_with_the_name_of_a_helper_of_tests_is_found(path: str, helper: str | None) -> None:
    assert shadows(path).helper(path, link=False) == helper


def test_the_init_of_a_folder_of_tests_is_of_the_tests() -> None:
    assert shadows().is_of_tests("tests/__init__.py")
    assert not shadows().is_of_tests("shop/__init__.py")


def test_a_file_of_a_folder_above_or_beside_tests_has_tests_around_it() -> None:
    assert shadows().holds_tests("app/package.json")
    assert shadows().holds_tests("app/tests/package.json")
    assert not shadows().holds_tests("shop/package.json")


@pytest.mark.parametrize(
    ("path", "module"),
    [("a/b.py", "a/b"), ("a/b.pyc", "a/b"), ("a/__init__.py", "a"), ("__init__.py", None), ("a/b.txt", None)],
)
def test_a_path_is_the_module_that_an_import_makes_of_it(path: str, module: str | None) -> None:
    assert module_at(path, link=False) == module


def test_a_path_of_an_import_folder_shadows_an_installed_or_a_standard_library() -> None:
    assert shadows_library("json.py", (), link=False)
    assert shadows_library("google/protobuf.py", {"google.protobuf"}, link=False)
    assert not shadows_library("own.py", {"google.protobuf"}, link=False)


@pytest.mark.parametrize("brief", ["in a/b.py.", "`./a/b.py`", "a/b.py"])
def test_a_brief_names_a_file_by_its_whole_path(brief: str) -> None:
    assert is_named("a/b.py", brief)


@pytest.mark.parametrize("brief", ["", "b.py", "xa/b.py", "a/b.pyx", "../a/b.py", "a/b.py-old"])
def test_a_part_of_a_longer_path_names_no_file(brief: str) -> None:
    assert not is_named("a/b.py", brief)


@pytest.mark.parametrize("content", [b"", b"# a word\n", b'"""A package of tests."""\n', b"\n\n# x\n"])
def test_comments_and_one_string_do_nothing(content: bytes) -> None:
    assert is_idle(content)


@pytest.mark.parametrize(
    "content", [None, b"import os\n", b'"a"; import os\n', b"# coding: x\n", b'"""a\\"""\n', b'f"{1}"\n']
)
def test_anything_else_in_a_source_may_do_something(content: bytes | None) -> None:
    assert not is_idle(content)


@pytest.mark.parametrize(
    ("path", "is_found"), [("tests.py", True), ("app/spec.so", True), ("spec.py", False), ("shop.py", False)]
)
def test_a_module_with_the_name_of_a_folder_of_hidden_files_goes_before_it(
    path: str, *, is_found: bool
) -> None:
    hidden = ("tests/check.py", "app/spec/parts/ask.py", "shop/ask.py")
    made = Shadows({"shop/cart.py": ""}, (path,), hidden)
    assert made.by_name(path, link=False) == is_found


@pytest.mark.parametrize(("path", "is_of_tests"), [("tests/__init__.py", True), ("shop/__init__.py", False)])
def test_the_init_of_a_folder_of_hidden_files_is_of_the_tests_if_the_folder_is(
    path: str, *, is_of_tests: bool
) -> None:
    made = Shadows({"shop/cart.py": ""}, (path,), ("tests/check.py", "shop/ask.py"))
    assert made.is_of_tests(path) == is_of_tests
