"""Which commands are Node's test runner, and which files they mean."""

from __future__ import annotations

import json
import posixpath
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.bench.runners.node_command import NodeCommand, node_command, select_files, through_npm
from steelyard.bench.suite.command_words import command_words
from steelyard.bench.suite.suite import Suite

FILES = [
    "index.js",
    "lib/test-server.mjs",
    "src/cart.js",
    "src/cart.test.js",
    "src/cart.test.ts",
    "test/helper.js",
    "test/unit/cart.js",
    "tests/cart_test.cjs",
]


def suite(command: str, **fields: object) -> Suite:
    env, argv, cwd = command_words(command)
    return Suite(command, argv=argv, env=env, cwd=cwd, **fields)  # type: ignore[arg-type]


def files(command: str, *, typescript: bool = False) -> list[str]:
    found = node_command(suite(command))
    assert found is not None
    return select_files(found, FILES, typescript=typescript)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (
            "node --test",
            [
                "lib/test-server.mjs",
                "src/cart.test.js",
                "test/helper.js",
                "test/unit/cart.js",
                "tests/cart_test.cjs",
            ],
        ),
        ("node --test test/", ["test/helper.js", "test/unit/cart.js"]),
        ("node --test ./test/unit", ["test/unit/cart.js"]),
        ("node --test src/cart.js src/cart.js", ["src/cart.js"]),
        ("node --test src/*.test.js", ["src/cart.test.js"]),
        ("node --test '**/*.test.?(c|m)js'", ["src/cart.test.js"]),
        ("node --test '{src,test}/**/cart*.js'", ["src/cart.js", "src/cart.test.js", "test/unit/cart.js"]),
        ("node --test 't[ae]st/[!h]*/*'", ["test/unit/cart.js"]),
        ("node test/gone.test.js", ["test/gone.test.js"]),
    ],
)
def test_the_files_that_a_command_means(command: str, expected: list[str]) -> None:
    assert files(command) == expected


def test_typescript_counts_where_node_can_load_it() -> None:
    assert "src/cart.test.ts" in files("node --test src", typescript=True)


@pytest.mark.parametrize(
    "command",
    [
        "npm test",
        "node server.js",
        "node -e 1",
        "node --test --watch",
        "node --test; true",
        "node --test || true",
        "node --test > out",
        "sh -c 'node --test'",
        "python3 -m pytest",
        "PATH=bin node --test a/*.js",
        "node --test-shard=1/2 --test",
    ],
)
def test_other_commands_are_not_ours(command: str) -> None:
    assert node_command(suite(command)) is None


def test_a_node_of_the_candidates_is_not_ours() -> None:
    assert node_command(suite("bin/node --test", theirs=frozenset({"bin/node"}))) is None


def test_options_of_the_tests_stay_and_those_of_the_runner_go() -> None:
    found = node_command(
        suite("A=1 node -r ./setup.cjs --test --test-reporter spec --import tsx --test-timeout=5 a.test.ts")
    )
    assert found == NodeCommand(
        "node", ("--require=./setup.cjs", "--import=tsx", "--test-timeout=5"), ("a.test.ts",), {"A": "1"}
    )


def package(tmp_path: Path, **scripts: str) -> Path:
    (tmp_path / "package.json").write_text(json.dumps({"scripts": scripts}))
    return tmp_path


@pytest.mark.parametrize("command", ["npm test", "npm run test", "npm test --silent", "yarn test", "npm t"])
def test_npm_test_is_what_the_snapshot_says_it_is(tmp_path: Path, command: str) -> None:
    direct = through_npm(suite(command), package(tmp_path, test="A=1 node --test test/"))
    assert direct.argv == ("node", "--test", "test/")
    assert direct.env == {"A": "1"}


@pytest.mark.parametrize(
    "scripts",
    [{}, {"test": "jest"}, {"test": "node --test && true"}, {"test": "node --test", "pretest": "make"}],
)
def test_other_scripts_stay_with_npm(tmp_path: Path, scripts: dict[str, str]) -> None:
    asked = suite("npm test")
    assert through_npm(asked, package(tmp_path, **scripts)) == asked


@given(st.binary())
def test_any_package_json_is_read_without_a_crash(text: bytes) -> None:
    from steelyard.bench.runners.node_command import script_of

    script_of(text, ("npm", "test"))


@given(st.text("*?[]{}(|)/.a-!^\\", max_size=20))
def test_any_pattern_chooses_known_files_or_the_file_of_that_name(pattern: str) -> None:
    assert set(select_files(NodeCommand("node", (), (pattern,)), FILES, typescript=True)) <= {
        *FILES,
        posixpath.normpath(pattern),
    }
