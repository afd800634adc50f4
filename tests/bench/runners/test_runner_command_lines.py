"""Which commands are recognised, and what is made of them."""

from __future__ import annotations

import pytest

from steelyard.bench.runners.catalogue import BY_NAME, runner_for
from steelyard.bench.runners.command_line import last_step, last_words
from steelyard.bench.runners.reporting import ReportRunner
from steelyard.bench.suite.suite import Suite

R = "/tmp/R"


def described(command: str) -> str:
    """The command with its report in /tmp/R."""
    runner = runner_for(Suite(command))
    step = last_step(command)
    assert isinstance(runner, ReportRunner)
    assert step is not None
    asked = runner.adapt(step, R)
    assert asked is not None
    return asked.text + (" > ..." if asked.prints else "")


@pytest.mark.parametrize(
    ("command", "runner"),
    [
        ("jest", "jest"),
        ("npx jest", "jest"),
        ("npx --no-install jest --ci", "jest"),
        ("node_modules/.bin/jest", "jest"),
        ("./node_modules/.bin/jest src", "jest"),
        ("node --experimental-vm-modules node_modules/jest/bin/jest.js", "jest"),
        ("NODE_ENV=test yarn jest", "jest"),
        ("pnpm exec jest", "jest"),
        ("npx vitest run", "vitest"),
        ("npx vitest", "vitest"),
        ("npx mocha 'test/**/*.js'", "mocha"),
        ("npx mocha test/*.js", "mocha"),
        ("deno test --allow-read", "deno"),
        ("rspec", "rspec"),
        ("bundle exec rspec spec/models", "rspec"),
        ("bin/rspec", "rspec"),
        ("vendor/bin/phpunit", "phpunit"),
        ("php vendor/bin/phpunit --testdox", "phpunit"),
        ("vendor/bin/pest", "phpunit"),
        ("bats test/", "bats"),
        ("test/bats/bin/bats test", "bats"),
        ("ctest --test-dir build", "ctest"),
        ("cmake -B build && cmake --build build && ctest --test-dir build", "ctest"),
        ("cd build && ctest", "ctest"),
        ("go test ./...", "go"),
        ("CGO_ENABLED=0 go test -race ./...", "go"),
        ("gotestsum -- ./...", "gotestsum"),
        ("cargo test", "cargo"),
        ("cargo nextest run", "nextest"),
        ("prove -lr t", "prove"),
        ("mvn -q test", "maven"),
        ("./mvnw -B verify", "maven"),
        ("./gradlew test", "gradle"),
        ("gradle :app:test --offline", "gradle"),
    ],
)
def test_a_command_is_recognised(command: str, runner: str) -> None:
    assert runner == runner_for(Suite(command)).NAME


@pytest.mark.parametrize(
    "command",
    [
        "make check",
        "jest --version",
        "jest --listTests",
        "npx jest | tee log",
        "npx jest; true",
        "npx jest || true",
        "npx jest > log",
        "(npx jest)",
        "npx jest &",
        "$(echo npx jest)",
        "`echo jest`",
        "npx jest\ntrue",
        "npx jest # && true",
        "! npx jest",
        "echo 'npx && jest'",
        'echo "a && jest"',
        "echo jest",
        "'jest",
        "go build ./...",
        "go test -c ./...",
        "cargo build",
        "mvn compile",
        "./gradlew assemble",
        "npx vitest watch",
        "X=1",
        "&&",
        "jest &&",
    ],
)
def test_what_is_not_plainly_a_known_tool_has_an_exit_code_only(command: str) -> None:
    assert runner_for(Suite(command)).NAME == "exit_code"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("npx jest -i src", f"npx jest --json --outputFile={R}/report -i src"),
        ("A='x y' jest", f"A='x y' jest --json --outputFile={R}/report"),
        ("npx mocha -R spec a.js", f"npx mocha --reporter json --reporter-option output={R}/report a.js"),
        ("rspec", f"rspec --format progress --format json --out {R}/report"),
        ("cd a && ctest", f"cd a && ctest --output-junit {R}/report"),
        ("go test -run 'A|B' ./...", "go test -json -run 'A|B' ./... > ..."),
        ("deno test -A src", f"deno test --junit-path={R}/report -A src"),
        ("go test -json", "go test -json > ..."),
        ("go test -failfast ./...", "go test -json ./... > ..."),
        (
            "npx vitest",
            f"npx vitest run --reporter=default --reporter=json --outputFile.json={R}/report",
        ),
        (
            "npx vitest run a",
            f"npx vitest run --reporter=default --reporter=json --outputFile.json={R}/report a",
        ),
    ],
)
def test_a_tool_gets_the_path_of_its_report(command: str, expected: str) -> None:
    assert described(command) == expected


def test_cargo_compiles_before_it_may_use_unstable_options() -> None:
    text = described("A=1 cargo test --lib -- --test-threads=1")
    first, second = text.split(" && RUSTC_BOOTSTRAP=1 ")
    assert first == "A=1 cargo test --lib --no-run"
    assert second.startswith("A=1 cargo test --no-fail-fast --config ")
    assert second.endswith(" --lib -- -Z unstable-options --format json --test-threads=1 > ...")


def test_a_contract_can_name_any_runner() -> None:
    assert {"junit", "tap", "jest", "go", "cargo", "maven", "exit_code"} <= set(BY_NAME)


def test_files_that_the_contract_names_come_before_a_guess() -> None:
    assert runner_for(Suite("make check", report="out/*.xml")).NAME == "junit"
    assert runner_for(Suite("npx jest", report="junit.xml")).NAME == "junit"


def test_the_words_of_the_last_step_are_known_behind_any_other() -> None:
    assert last_words("make && A=1 'tools/my ctest' -j $N") == ("tools/my ctest", "-j", "")
    assert last_words("make; true | cat") == ()
