"""`npm test` is what the snapshot's package.json says it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from steelyard.bench.runners.catalogue import runner_for
from steelyard.bench.suite.package_scripts import without_package_manager
from steelyard.bench.suite.suite import Suite

PATH = 'export PATH="$PWD/node_modules/.bin:$PATH" && '


def resolved(tree: Path, command: str, **scripts: str) -> Suite:
    (tree / "package.json").write_text(json.dumps({"scripts": scripts}))
    return without_package_manager(Suite(command), tree)


@pytest.mark.parametrize(
    ("command", "script", "expected"),
    [
        ("npm test", "jest --ci", "npx jest --ci"),
        ("npm t", "jest", "npx jest"),
        ("npm run test --silent", "vitest run", "npx vitest run"),
        ("npm test -- -i 'a b'", "jest", "npx jest -i 'a b'"),
        ("yarn test -i", "jest", "yarn jest -i"),
        ("pnpm test", "mocha", "pnpm exec mocha"),
        ("CI=1 npm test", "jest", "CI=1 npx jest"),
        ("npm test", "cross-env NODE_ENV=test jest", "NODE_ENV=test npx jest"),
        ("npm test", "tsc -p . && jest", f"{PATH}tsc -p . && jest"),
        ("npm test", "make check", f"{PATH}make check"),
    ],
)
def test_a_script_takes_the_place_of_the_package_manager(
    tmp_path: Path, command: str, script: str, expected: str
) -> None:
    assert resolved(tmp_path, command, test=script).command == expected


def test_what_comes_before_and_after_a_script_comes_along(tmp_path: Path) -> None:
    suite = resolved(tmp_path, "npm test", pretest="tsc", test="jest", posttest="echo done")
    assert suite.command == f"{PATH}tsc && jest && echo done"


def test_a_script_that_runs_another_script_is_followed(tmp_path: Path) -> None:
    suite = resolved(tmp_path, "npm test", test="npm run unit", unit="mocha")
    assert suite.command == f"{PATH}npx mocha"
    assert runner_for(suite).NAME == "mocha"


def test_scripts_that_run_each_other_come_to_an_end(tmp_path: Path) -> None:
    assert resolved(tmp_path, "npm test", test="npm test").command.endswith("npm test")


def test_a_package_in_a_folder_is_found(tmp_path: Path) -> None:
    (tmp_path / "web").mkdir()
    (tmp_path / "web/package.json").write_text('{"scripts": {"test": "jest"}}')
    assert without_package_manager(Suite("cd web && npm test"), tmp_path).command == "cd web && npx jest"


@pytest.mark.parametrize(
    "command", ["npm ci", "npm run other", "yarn", "yarn install", "npx jest", "npm test | cat"]
)
def test_other_commands_stay_as_they_are(tmp_path: Path, command: str) -> None:
    assert resolved(tmp_path, command, test="jest").command == command


@pytest.mark.parametrize("text", ["", "[]", '{"scripts": []}', '{"scripts": {"test": 1}}', "[" * 10_000])
def test_a_package_json_that_says_nothing_changes_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "package.json").write_text(text)
    assert without_package_manager(Suite("npm test"), tmp_path).command == "npm test"
