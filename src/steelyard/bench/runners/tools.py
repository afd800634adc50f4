"""The tools whose commands are known: how each is made to write its report, and where.

npx jest test/   ->   npx jest --json --outputFile=/tmp/<random>/report test/
"""

from __future__ import annotations

import posixpath

from steelyard.bench.reports.golang import parse_go
from steelyard.bench.reports.jest import parse_jest
from steelyard.bench.reports.junit import parse_junit
from steelyard.bench.reports.libtest import parse_libtest
from steelyard.bench.reports.mocha import parse_mocha
from steelyard.bench.reports.rspec import parse_rspec
from steelyard.bench.reports.tap import parse_tap
from steelyard.bench.runners.command_line import Step
from steelyard.bench.runners.reporting import SETTINGS, Adapt, ReportCommand, ReportRunner

# Words that start the program named after them, and hand it all that follows.
_LAUNCHERS = (
    ("npx",),
    ("bunx",),
    ("yarn", "run"),
    ("yarn",),
    ("pnpm", "exec"),
    ("pnpm",),
    ("bundle", "exec"),
    ("node",),
    ("php",),
    ("ruby",),
)
_MAKE_A_DIFFERENCE = {
    "--version",
    "-V",
    "--help",
    "-h",
    "--list",
    "--listTests",
    "--list-tests",
    "-N",
    "--show-only",
}


def _program(step: Step, *names: str) -> int | None:
    """Where in the words the program is, if it is one of these."""
    words = step.plain_words()
    place = 0
    for launcher in _LAUNCHERS:
        if tuple(words[: len(launcher)]) == launcher:
            place = len(launcher)
            while place < len(words) and words[place].startswith("-"):
                place += 1
            break
    if place >= len(words) or _MAKE_A_DIFFERENCE & set(words):
        return None
    name = posixpath.basename(words[place])
    return place if name in names else None


def _adding(names: tuple[str, ...], *options: str, env: dict[str, str] | None = None) -> Adapt:
    """The options after the program; `{}` in them is our folder."""

    def adapt(step: Step, folder: str) -> ReportCommand | None:
        place = _program(step, *names)
        if place is None:
            return None
        program = step.plain(place)
        variables = {name: value.replace("{}", folder) for name, value in (env or {}).items()}
        changed = step.with_words(place, *(one.replace("{}", folder) for one in options))
        return ReportCommand(changed.text, variables, program=program)

    return adapt


# Every test runs, whatever became of the one before.
_BAIL = ("--bail", "-b")


def _jest(step: Step, folder: str) -> ReportCommand | None:
    return _adding(("jest", "jest.js"), "--json", "--outputFile={}/report")(
        step.without_flags(*_BAIL), folder
    )


def _vitest(step: Step, folder: str) -> ReportCommand | None:
    step = step.without_flags("--bail")
    place = _program(step, "vitest", "vitest.mjs")
    if place is None or step.plain(place + 1) in {"watch", "dev", "bench", "init", "list", "typecheck"}:
        return None
    program = step.plain(place)
    added = ["--reporter=default", "--reporter=json", f"--outputFile.json={folder}/report"]
    if step.plain(place + 1) in {"run", "related"}:
        place += 1
    else:
        added.insert(0, "run")
    return ReportCommand(step.with_words(place, *added).text, program=program)


def _mocha(step: Step, folder: str) -> ReportCommand | None:
    if _program(step, *_MOCHA) is None:
        return None
    bare = step.without("--reporter", "-R", "--reporter-option", "--reporter-options", "-O").without_flags(
        *_BAIL
    )
    place = _program(bare, *_MOCHA)
    if place is None:
        return None
    changed = bare.with_words(place, "--reporter", "json", "--reporter-option", f"output={folder}/report")
    return ReportCommand(changed.text, program=bare.plain(place))


_MOCHA = ("mocha", "_mocha", "mocha.js", "mocha.cjs")


def _bats(step: Step, folder: str) -> ReportCommand | None:
    """Its report is written by a process that outlives it for a moment."""
    changed = _adding(("bats",), "--report-formatter", "junit", "--output", "{}")(step, folder)
    if changed is None:
        return None
    ended = f"grep -qs '</testsuites>' {folder}/report.xml"
    wait = f"for _ in $(seq 50); do {ended} && break; sleep 0.1; done"
    return changed._replace(text=f"{changed.text}; ended=$?; {wait}; exit $ended")


def _go(step: Step, folder: str) -> ReportCommand | None:
    del folder
    words = step.plain_words()
    if words[:2] != ["go", "test"] or {"-c", "-list"} & set(words):
        return None
    step = step.without_flags("-failfast", "--failfast")
    return ReportCommand((step if "-json" in words else step.with_words(1, "-json")).text, prints=True)


def _deno(step: Step, folder: str) -> ReportCommand | None:
    words = step.plain_words()
    if words[:2] != ["deno", "test"] or {"--no-run", "--watch"} & set(words):
        return None
    return ReportCommand(step.with_words(1, f"--junit-path={folder}/report").text)


# libtest speaks JSON only where unstable options are allowed. The tests are compiled first without that, so that no
# build script sees it; then each program is started by a line that says which it is.
_EACH_TARGET = (
    'target.\'cfg(all())\'.runner=["sh", "-c", '
    '\'\'\'n=${0##*/}; printf "{\\"type\\":\\"target\\",\\"name\\":\\"%s\\"}\\n" '
    '"$CARGO_PKG_NAME/${n%-*}"; exec "$0" "$@"\'\'\']'
)


def _cargo(step: Step, folder: str) -> ReportCommand | None:
    del folder
    words = step.plain_words()
    if words[:2] not in (["cargo", "test"], ["cargo", "t"]) or {"--no-run", "--bench", "--benches"} & set(
        words
    ):
        return None
    build = step.words.index("--") if "--" in step.words else len(step.words)
    compile_only = Step(step.before, (*step.words[:build], "--no-run"), step.assigned)
    run = Step("RUSTC_BOOTSTRAP=1 ", step.words, step.assigned)
    if build == len(step.words):
        run = run.with_words(build - 1 - step.assigned, "--")
    run = run.with_words(build - step.assigned, "-Z", "unstable-options", "--format", "json")
    run = run.with_words(1, "--no-fail-fast", "--config", _EACH_TARGET)
    return ReportCommand(f"{compile_only.text} && {run.text}", prints=True)


def _nextest(step: Step, folder: str) -> ReportCommand | None:
    words = step.plain_words()
    if words[:3] != ["cargo", "nextest", "run"] and words[:3] != ["cargo", "nextest", "r"]:
        return None
    settings = f"{folder}/{SETTINGS}"
    wrote = f"printf '[profile.default.junit]\\npath = \"{folder}/report\"\\n' > {settings} && "
    return ReportCommand(wrote + step.with_words(2, "--tool-config-file", f"steelyard:{settings}").text)


def _build_tool(names: tuple[str, ...], tasks: frozenset[str], *patterns: str) -> Adapt:
    """Build tools write where their project says: into the tree."""

    def adapt(step: Step, folder: str) -> ReportCommand | None:
        del folder
        words = step.plain_words()
        if not words or posixpath.basename(words[0]) not in names:
            return None
        asked = {word.rpartition(":")[2] for word in words[1:] if not word.startswith("-")}
        return ReportCommand(step.text, patterns=patterns, program=words[0]) if asked & tasks else None

    return adapt


_MAVEN = _build_tool(
    ("mvn", "mvnw", "mvnd"),
    frozenset({"test", "package", "verify", "install", "integration-test"}),
    "**/target/surefire-reports/TEST-*.xml",
    "**/target/failsafe-reports/TEST-*.xml",
)
_GRADLE = _build_tool(
    ("gradle", "gradlew"),
    frozenset({"test", "check", "build"}),
    "**/build/test-results/*/TEST-*.xml",
)
_RSPEC = _adding(("rspec",), "--format", "progress", "--format", "json", "--out", "{}/report")

_NODE_MODULES = (("node_modules", "package.json"),)
_CMAKE = (("CMakeFiles", ""), ("CMakeCache.txt", ""), ("CTestTestfile.cmake", ""))
_COMPOSER = (("vendor", "composer.json"),)

TOOLS: tuple[ReportRunner, ...] = (
    ReportRunner("jest", _jest, parse_jest, makes=_NODE_MODULES),
    ReportRunner("vitest", _vitest, parse_jest, makes=_NODE_MODULES),
    ReportRunner("mocha", _mocha, parse_mocha, makes=_NODE_MODULES),
    ReportRunner("deno", _deno, parse_junit, makes=_NODE_MODULES),
    ReportRunner("rspec", _RSPEC, parse_rspec),
    ReportRunner(
        "phpunit", _adding(("phpunit", "pest"), "--log-junit", "{}/report"), parse_junit, makes=_COMPOSER
    ),
    ReportRunner("bats", _bats, parse_junit),
    ReportRunner("ctest", _adding(("ctest",), "--output-junit", "{}/report"), parse_junit, makes=_CMAKE),
    ReportRunner("gotestsum", _adding(("gotestsum",), "--jsonfile={}/report"), parse_go),
    ReportRunner("go", _go, parse_go),
    ReportRunner("nextest", _nextest, parse_junit, makes=(("target", "Cargo.toml"),)),
    ReportRunner("cargo", _cargo, parse_libtest, makes=(("target", "Cargo.toml"),)),
    ReportRunner(
        "prove", _adding(("prove",), env={"PERL_TEST_HARNESS_DUMP_TAP": "{}"}), parse_tap, named=True
    ),
    ReportRunner("maven", _MAVEN, parse_junit, makes=(("target", "pom.xml"),)),
    ReportRunner(
        "gradle", _GRADLE, parse_junit, makes=(("build", "build.gradle"), ("build", "build.gradle.kts"))
    ),
)
