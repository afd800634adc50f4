"""What end-to-end tests share: the command as a user types it, and small contracts to type it on.

A module that says `SANDBOXES = ["bubblewrap", "docker"]` has its tests that ask for `kind`, or for a bench, run in each;
the second is skipped where no engine answers. In containers one case of each such test is run, of modules about runners
one case of their first four tests, and no agent of a module of `tests/attacks/e2e_stage.py` without a mark: what differs between
cases is decided by code that is the same for every sandbox.
`pytest.mark.every_case_in_containers` is for modules and tests about the sandbox itself; CONTAINERS=all is for all of them.
"""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import hypothesis
import pytest
from contract_folders import ordinary_user, repository, store, writer  # noqa: F401

from authoring import Author, CliResult, Steelyard
from command_line import run_command
from offline_pytest import SHARED, home_with_pytest
from python_bench import PythonBench
from workers import compile_tests, once, shared

# Each test process admits its own sandboxes: it does not wait for those of other processes on this machine.
os.environ["STEELYARD_RUNTIME"] = tempfile.mkdtemp(prefix="steelyard-tests-")
atexit.register(shutil.rmtree, os.environ["STEELYARD_RUNTIME"], ignore_errors=True)
for key in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
    os.environ.pop(key, None)  # no test spends money
# Tests start hundreds of interpreters: without compiled modules, half of their time is compiling.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# A shell without job control starts background programs with Ctrl-C ignored, and they pass that on to what they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine is no failure: no time limit for an example, none for drawing it. The settings of a test name neither, for a
# list of its own would replace this one. The folder of a test may be the same for all its examples. The same examples are tried in every
# run, so that a failure is of the change that is being tested; `--hypothesis-profile search` draws new ones.
hypothesis.settings.register_profile(
    "search",
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.function_scoped_fixture],
    max_examples=500,
)
hypothesis.settings.register_profile(
    "repeatable", hypothesis.settings.get_profile("search"), derandomize=True, database=None, max_examples=50
)
hypothesis.settings.load_profile("repeatable")

gc.disable()  # while modules are imported and tests collected: nothing of that is garbage, and looking for some takes a fifth of the time

RUNNERS = Path(__file__).parent / "bench"  # no test of these asks what a sandbox is: each runs a suite in one


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config) -> None:
    if not config.option.file_or_dir:  # every test is asked for
        compile_tests()


def pytest_collection_finish() -> None:
    """The collected tests stay until the end: no garbage collection needs to look at them again."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line for each reason why tests were skipped, with how many they are."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(_skip_reason(report) for report in skipped)
    if reasons:
        terminalreporter.section("skipped tests by reason")
    for reason, count in reasons.most_common():
        terminalreporter.line(f"{count:5} {reason}")


def _skip_reason(report: pytest.TestReport) -> str:
    _path, _line, text = (
        report.longrepr if isinstance(report.longrepr, tuple) else ("", 0, report.longreprtext)
    )
    return text.removeprefix("Skipped: ").splitlines()[0]


@pytest.fixture(scope="session", autouse=True)
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    """No test fills, or is answered from, the cache of the user who runs it."""
    os.environ[SHARED] = str(shared(tmp_path_factory))
    os.environ["STEELYARD_CACHE"] = str(shared(tmp_path_factory) / "cache")


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all workers: snapshots and setup layers are made once."""
    folder: Path = shared(tmp_path_factory) / "cache"
    return folder


@pytest.fixture
def steelyard(tmp_path: Path, cache: Path) -> Steelyard:
    """Run `steelyard ...` in an empty folder with a cache of the tests' own."""
    where = tmp_path / "cwd"
    where.mkdir(exist_ok=True)

    def run(*arguments: object, env: Mapping[str, str] | None = None, cwd: Path = where) -> CliResult:
        done = run_command(*arguments, cwd=cwd, env={"STEELYARD_CACHE": str(cache), **(env or {})})
        return CliResult(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


@pytest.fixture
def author(tmp_path: Path) -> Author:
    folder = tmp_path / "contract"
    folder.mkdir()
    return Author(folder)


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str], str]:
    """Text -> `script:PATH`, an agent."""

    def write(text: str, name: str = "agent.sh") -> str:
        path = tmp_path / name
        path.write_text(text)
        return f"script:{path}"

    return write


@pytest.fixture(scope="session")
def home_of_pytest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A HOME that has pytest, as setup would leave it."""
    home: Path = shared(tmp_path_factory) / "home-of-pytest"
    with once(home) as first:
        if first:
            home_with_pytest(home)
    return home


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    sandboxes = getattr(metafunc.module, "SANDBOXES", None)
    if sandboxes is not None and "kind" in metafunc.fixturenames:
        metafunc.parametrize("kind", sandboxes, indirect=True, scope="module")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get("CONTAINERS") == "all":
        return
    tried: set[tuple[Path, str]] = set()
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        (kept if _is_run(item, tried) else left_out).append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept


def _is_run(item: pytest.Item, tried: set[tuple[Path, str]]) -> bool:
    """`tried` has the tests of which a case is run in a container already."""
    params = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    if item.get_closest_marker("every_case_in_containers"):
        return True
    if params.get("house") == "docker":
        return "case" in params  # of the corpus, which chooses its cases itself
    if params.get("kind") != "docker" or not hasattr(getattr(item, "module", None), "SANDBOXES"):
        return True
    test = item.path, str(getattr(item, "originalname", item.name))
    is_enough = item.path.is_relative_to(RUNNERS) and len([one for one in tried if one[0] == item.path]) >= 4
    is_first = test not in tried and not is_enough
    tried.add(test)
    return is_first


@pytest.fixture(scope="module")
def kind(request: pytest.FixtureRequest) -> str:
    """Which sandbox a test is about: bubblewrap, unless its module says otherwise."""
    return str(getattr(request, "param", "bubblewrap"))


@pytest.fixture
def python_bench(
    tmp_path: Path, home_of_pytest: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> PythonBench:
    """Run the tests of a small tree in a sandbox, as the bench does."""
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "tree"
    folder.mkdir()
    return PythonBench(folder, home_of_pytest, kind)
