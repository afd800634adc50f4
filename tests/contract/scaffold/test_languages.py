"""How a first contract builds and tests, by what the project's own settings name."""

from __future__ import annotations

import json

import pytest

from steelyard.contract.scaffold.languages import LANGUAGES, Recipe, Repository, detect


def repository(**files: str) -> Repository:
    texts = {name.replace("__", "/").replace("_DOT_", "."): text for name, text in files.items()}
    return Repository(frozenset(texts), texts.__getitem__)


def recipe(language: str, **files: str) -> Recipe:
    return LANGUAGES[language].recipe(repository(**files))


def test_a_python_project_without_pytest_uses_unittest() -> None:
    found = recipe("python", pyproject_DOT_toml="[project]\nname = 'x'\n")
    assert (found.cmd, found.setup) == ("python3 -m unittest tests/test_acceptance.py", ())


def test_a_python_project_that_names_pytest_installs_it_with_the_project() -> None:
    found = recipe("python", pyproject_DOT_toml="[project.optional-dependencies]\ntest = ['pytest']\n")
    assert found.cmd.startswith(".venv/bin/python -m pytest")
    assert found.setup[-1] == ".venv/bin/pip install pytest -e ."


def test_modules_in_src_are_found_although_the_project_is_not_installed() -> None:
    files = {"pyproject_DOT_toml": "[project]\nname = 'x'\n", "src__x_DOT_py": ""}
    assert recipe("python", **files).cmd == "PYTHONPATH=src python3 -m unittest tests/test_acceptance.py"


def test_a_project_that_setup_installs_needs_no_path() -> None:
    found = recipe("python", setup_DOT_cfg="pytest", setup_DOT_py="", src__x_DOT_py="")
    assert found.cmd.startswith(".venv/bin/python -m pytest")


def test_a_conftest_file_means_pytest() -> None:
    assert "pytest" in recipe("python", conftest_DOT_py="", requirements_DOT_txt="attrs\n").cmd


@pytest.mark.parametrize("runner", ["jest", "vitest", "mocha"])
def test_a_javascript_project_keeps_its_own_runner(runner: str) -> None:
    package = json.dumps({"devDependencies": {runner: "*"}})
    found = recipe("javascript", package_DOT_json=package)
    assert runner in found.cmd
    assert found.setup == ("npm install",)


def test_a_lock_file_is_installed_exactly() -> None:
    package = json.dumps({"devDependencies": {"jest": "*"}})
    locked = Repository(
        frozenset({"package.json", "package-lock.json"}),
        {"package.json": package, "package-lock.json": "{}"}.__getitem__,
    )
    assert LANGUAGES["javascript"].recipe(locked).setup == ("npm ci",)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"dependencies": 3}'])
def test_a_broken_package_file_still_gives_a_recipe(text: str) -> None:
    assert recipe("javascript", package_DOT_json=text).cmd.startswith("node --test")


def test_typescript_is_compiled_before_its_tests_run() -> None:
    found = recipe("typescript", package_DOT_json="{}", tsconfig_DOT_json="{}")
    assert (found.build, found.junit_xml) == ("npx tsc --noEmit", "acceptance.xml")
    assert found.cmd.startswith("npx tsc && node --test")


def test_go_modules_are_downloaded_by_setup_unless_they_are_vendored() -> None:
    assert recipe("go", go_DOT_mod="", go_DOT_sum="").setup == ("go mod download",)
    assert recipe("go", go_DOT_mod="", go_DOT_sum="", vendor__modules_DOT_txt="").setup == ()


def test_a_crate_without_dependencies_needs_no_setup() -> None:
    assert recipe("rust", Cargo_DOT_toml="[package]\n").setup == ()
    assert recipe("rust", Cargo_DOT_toml="[package]\n[dependencies]\nserde = '1'\n").setup == ("cargo fetch",)


WORKSPACE = '[workspace]\nmembers = ["crates/*"]\n'


def test_in_a_cargo_workspace_without_a_package_of_its_own_the_test_is_in_a_member() -> None:
    """`cargo test --test acceptance` finds no test in `tests/` beside such a workspace."""
    members = {
        "crates__b__Cargo_DOT_toml": "",
        "crates__a__Cargo_DOT_toml": "[dependencies]\n",
        "a__Cargo_DOT_toml": "",
    }
    found = recipe("rust", Cargo_DOT_toml=WORKSPACE, **members)
    assert (found.dest, found.setup) == ("crates/a/tests/acceptance.rs", ("cargo fetch",))


@pytest.mark.parametrize(
    "text", [f"{WORKSPACE}[package]\n", WORKSPACE, "[workspace]\n", "workspace = 3\n", "[", ""]
)
def test_otherwise_the_test_of_a_crate_is_in_its_own_folder(text: str) -> None:
    assert recipe("rust", Cargo_DOT_toml=text).dest == "tests/acceptance.rs"


def test_a_makefile_without_c_sources_is_not_a_c_project() -> None:
    assert detect(repository(Makefile="", x_DOT_py=""))[0] == "python"


def test_an_empty_repository_is_taken_for_python() -> None:
    assert detect(Repository()) == ("python", "there are no files yet")
