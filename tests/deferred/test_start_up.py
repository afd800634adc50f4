"""What a command loads before it begins, by count: a library or a room that comes along unseen fails here, on any machine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from authoring import Author

LOADED = """
import json, sys
programs = []
sys.addaudithook(lambda event, args: programs.append(str(args[0])) if event in ("subprocess.Popen", "os.posix_spawn", "os.system", "os.exec") else None)
from steelyard.cli.main import main
try:
    code = main(sys.argv[1:])
except SystemExit as end:
    code = end.code or 0
ran = [name for name, module in list(sys.modules.items()) if "__deferred__" not in vars(module)]
print(json.dumps({"ran": ran, "programs": programs}), file=sys.stderr)
sys.exit(code)
"""
# None of them is needed to run a command as an agent and to check its work with a command.
HEAVY = {
    *(
        "aiohttp",
        "asyncio",
        "cryptography",
        "fsspec",
        "genai_prices",
        "http.client",
        "jsonschema",
        "multiprocessing",
    ),
    *("numpy", "pyarrow", "ray", "rich.live", "rich.markdown", "rich.syntax", "scipy", "sqlalchemy", "ssl"),
    *("tree_sitter", "unittest", "urllib.request", "xml"),
}


class Loaded:
    def __init__(self, *words: str | Path) -> None:
        done = subprocess.run(
            [sys.executable, "-c", LOADED, *map(str, words)], capture_output=True, text=True, check=False
        )
        assert done.returncode in (0, 1), done.stderr  # 1: nothing solves the task
        found = json.loads(done.stderr.splitlines()[-1])
        self.names: list[str] = found["ran"]
        self.programs = [Path(name).name for name in found["programs"]]

    @property
    def own(self) -> list[str]:
        return [name for name in self.names if name.partition(".")[0] == "steelyard"]

    @property
    def libraries(self) -> set[str]:
        """Packages that are neither ours nor Python's."""
        tops = {name.partition(".")[0] for name in self.names}
        return {name for name in tops - sys.stdlib_module_names - {"steelyard"} if not name.startswith("_")}

    @property
    def heavy(self) -> set[str]:
        return HEAVY & set(self.names)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, runs: Path) -> Loaded:
    """`steelyard run` of a contract with one command as its check, for the second time: the first one fills the cache."""
    contract = Author(tmp_path_factory.mktemp("contract")).write()
    for _ in range(2):
        loaded = Loaded("run", contract, "--agent", "command:true", "--no-judge", "--out", runs)
    return loaded


def test_help_loads_a_handful_of_modules() -> None:
    loaded = Loaded("--help")
    assert len(loaded.own) <= 12
    assert not loaded.libraries
    assert not loaded.heavy


def test_a_run_and_a_look_at_it_load_what_they_need(finished: Loaded, runs: Path) -> None:
    shown = Loaded("show", "last", "--runs", runs)
    assert not finished.heavy
    assert not shown.heavy
    assert len(finished.own) <= 326
    assert len(shown.own) <= 82
    assert not {"pydantic", "pydantic_core"} & (finished.libraries | shown.libraries)
    assert not {"rich.console", "rich.text"} & set(finished.names)  # its output is piped


def test_a_run_starts_the_launcher_and_asks_init_once(finished: Loaded) -> None:
    """The environment is prepared by then. What the agent and the checks start, the launcher starts."""
    assert sorted(finished.programs) == ["init", Path(sys.executable).name]


def test_grading_a_change_of_no_test_loads_nothing_that_reads_tests(author: Author, tmp_path: Path) -> None:
    patch = tmp_path / "readme.patch"
    patch.write_text("--- /dev/null\n+++ b/NOTES.md\n@@ -0,0 +1 @@\n+more\n")
    graded = Loaded("grade", author.write(), "--patch", patch, "--no-judge", "--out", tmp_path / "runs")
    assert not [name for name in graded.own if name.startswith("steelyard.graders.syntax.reading.")]


def test_a_run_loads_no_client_no_test_runner_and_no_importer(finished: Loaded) -> None:
    unneeded = (
        *("steelyard.agents.clients.codex", "steelyard.agents.traces.", "steelyard.agents.installation."),
        *("steelyard.bench.runners.catalogue", "steelyard.bench.twin.", "steelyard.bench.split."),
        *(
            "steelyard.graders.judged.",
            "steelyard.graders.syntax.",
            "steelyard.importers.harbor.",
            "steelyard.gateway.server",
        ),
        *(
            "steelyard.judge.model_judge",
            "steelyard.sandboxes.docker.",
            "steelyard.web.",
            "steelyard.service.",
            "steelyard.store.",
        ),
    )
    assert not [name for name in finished.own if name.startswith(unneeded)]


def test_the_python_api_loads_no_heavy_library() -> None:
    code = (
        "import sys, steelyard\nsteelyard.grade, steelyard.Grader, steelyard.run_trial\nprint(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"aiohttp", "numpy", "pydantic", "ray", "scipy", "sqlalchemy"} & set(done.stdout.split())
