"""The house keeps its shape: values flow one way, and the code that judges cannot reach the code that acts."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "steelyard"
TESTS = Path(__file__).parent

# In the order in which values flow. A room imports itself and the rooms above it.
ROOMS = (
    *(
        "deferred",
        "errors",
        "sandbox_paths",
        "rubric",
        "stats",
        "grammars",
        "filesystem",
        "contract",
        "importers",
        "plan",
        "evidence",
        "sandboxes",
        "environment",
        "bench",
        "providers",
        "gateway",
        "agents",
        "monitors",
    ),
    *(
        "execution",
        "judge",
        "graders",
        "verdict",
        "store",
        "study",
        "review",
        "report",
        "service",
        "web",
        "cli",
    ),
)
ROOT = {"steelyard", "api", "__main__"}  # the front door may open any room; importing it opens none

BANS = {
    "judge": {"sandboxes", "bench", "execution", "agents", "gateway", "monitors"},
    "graders": {"execution", "agents", "gateway", "monitors"},
    "report": {"sandboxes", "bench", "execution", "agents", "gateway", "monitors"},
}
# What `verdict` may know of other rooms: types, nothing that acts.
VERDICT_KNOWS = (
    *("steelyard.deferred", "steelyard.errors", "steelyard.stats", "steelyard.contract"),
    *("steelyard.evidence.finding", "steelyard.evidence.trace.termination", "steelyard.judge.judgement"),
    *("steelyard.graders.grade", "steelyard.verdict"),
)
ACTS = {
    "os",
    "io",
    "pathlib",
    "shutil",
    "tempfile",
    "subprocess",
    "socket",
    "urllib",
    "http",
    "threading",
    "time",
}

# These run between fork and exec, or as a process of their own: the standard library and each other.
LAUNCHER = ("bubblewrap.launcher", "write_files", "bubblewrap.mounts", "limits.cgroups", "seccomp")


CROWDED = 16


def modules() -> dict[str, Path]:
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = ["steelyard", *path.relative_to(PACKAGE).with_suffix("").parts]
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


@functools.cache
def imports(name: str) -> tuple[str, ...]:
    """Every module that this one imports, wherever in the file it does so, in full."""
    return tuple(_imports(name))


def _imports(name: str) -> Iterator[str]:
    path = MODULES[name]
    package = name if path.stem == "__init__" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            here = package.rsplit(".", node.level - 1)[0] + "." if node.level else ""
            source = (here + (node.module or "")).rstrip(".")
            for alias in node.names:
                full = f"{source}.{alias.name}"
                yield full if full in MODULES else source


def room(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else parts[0]


def imported_rooms() -> dict[str, set[str]]:
    """Room -> the rooms that it imports."""
    found: dict[str, set[str]] = {}
    for name in MODULES:
        found.setdefault(room(name), set()).update(
            room(target) for target in imports(name) if target.split(".")[0] == "steelyard"
        )
    return found


def inside(name: str) -> list[str]:
    found = [module for module in MODULES if room(module) == name]
    assert found, f"there is no room {name}"
    return found


def test_every_room_is_on_the_list() -> None:
    assert set(imported_rooms()) <= {*ROOMS, *ROOT}


def test_rooms_import_only_the_rooms_above_them() -> None:
    wrong = [
        f"{name} imports {target}"
        for name, targets in imported_rooms().items()
        if name in ROOMS
        for target in targets - {name, "steelyard"}
        if target not in ROOMS or ROOMS.index(target) > ROOMS.index(name)
    ]
    assert not wrong


def test_rooms_do_not_import_the_public_module() -> None:
    """Only the version may be asked of it: importing `steelyard` costs nothing, its API costs everything."""
    assert not [
        name for name in MODULES if room(name) not in {*ROOT, "cli"} and "steelyard.api" in imports(name)
    ]


@pytest.mark.parametrize(("name", "banned"), BANS.items())
def test_the_code_that_judges_cannot_reach_the_code_that_acts(name: str, banned: set[str]) -> None:
    assert not imported_rooms().get(name, set()) & banned


def test_a_verdict_is_made_of_types_alone() -> None:
    for module in inside("verdict"):
        ours = {target for target in imports(module) if target.startswith("steelyard")}
        assert not {target for target in ours if not target.startswith(VERDICT_KNOWS)}, module


def test_statistics_know_nothing_but_numbers() -> None:
    allowed = sys.stdlib_module_names | {"numpy", "scipy"}
    for module in inside("stats"):
        strangers = {target for target in imports(module) if target.split(".")[0] not in allowed}
        assert all(target.startswith(("steelyard.stats", "steelyard.errors")) for target in strangers), module


@pytest.mark.parametrize("name", ["verdict", "stats"])
def test_verdict_and_statistics_are_pure(name: str) -> None:
    for module in inside(name):
        assert not {target.split(".")[0] for target in imports(module)} & ACTS, module


def closure(name: str) -> set[str]:
    """Every module that this one needs, directly or through others of ours."""
    needed, waiting = set(), [name]
    while waiting:
        for target in imports(waiting.pop()):
            if target not in needed:
                needed.add(target)
                waiting += [target] if target in MODULES else []
    return needed


@pytest.mark.parametrize("stem", LAUNCHER)
def test_the_launcher_needs_only_the_standard_library(stem: str) -> None:
    """It runs beside every sandbox and forks: small, quick to start, and nothing of others' in it."""
    needed = closure(f"steelyard.sandboxes.{stem}")
    assert {target.split(".")[0] for target in needed} <= {*sys.stdlib_module_names, "steelyard"}
    assert {room(target) for target in needed if target in MODULES} <= {
        "deferred",
        "sandboxes",
        "sandbox_paths",
        "errors",
        "evidence",
        "filesystem",
        "steelyard",
    }


def test_a_folder_has_at_most_about_a_dozen_files() -> None:
    crowded = {
        str(folder.relative_to(PACKAGE)): count
        for folder in {path.parent for path in MODULES.values()}
        if (count := len([path for path in folder.glob("*.py") if path.stem != "__init__"])) > CROWDED
    }
    assert not crowded


TYPED_ROOMS = ("agents", "bench", "execution", "graders", "study", "verdict")
# These programs inspect the code of candidates and test runners, whose types are unknown.
INSPECTORS = ("steelyard.bench.inside.", "steelyard.bench.twin.")


def test_no_grader_agent_or_runner_is_probed_for_attributes() -> None:
    """What the bench needs of a grader is in its spec; `getattr` and `hasattr` would hide a missing part from mypy."""
    probes = re.compile(r"\b(?:getattr|hasattr)\(")
    typed = [module for room_ in TYPED_ROOMS for module in inside(room_) if not module.startswith(INSPECTORS)]
    assert not [module for module in typed if probes.search(MODULES[module].read_text())]


def test_no_file_is_called_after_nothing_in_particular() -> None:
    vague = {"utils", "util", "helpers", "helper", "common", "manager", "misc"}
    assert not [path for path in MODULES.values() if path.stem in vague or path.parent.name in vague]


def test_nothing_in_the_package_begins_with_test() -> None:
    """A runner that collects by name must not find ours among a candidate's tests."""
    begun = [str(path) for path in PACKAGE.rglob("*") if path.name.lower().startswith("test")]
    for name, path in MODULES.items():
        begun += [
            f"{name}.{node.name}"
            for node in ast.walk(ast.parse(path.read_bytes()))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            and node.name.lower().startswith("test")
            and "__test__ = False" not in [ast.unparse(line) for line in node.body]
        ]
    assert not begun


def test_the_rooms_have_no_cycle() -> None:
    assert all(ROOMS.index(above) < ROOMS.index(below) for above, below in pairwise(ROOMS))
    left = {name: targets - {name} for name, targets in imported_rooms().items() if name in ROOMS}
    while leaves := [name for name, targets in left.items() if not targets & set(left)]:
        for name in leaves:
            del left[name]
    assert not left


OUTSIDE = """
import sys
before, acts = set(sys.modules), []
sys.addaudithook(lambda event, args: acts.append((event, str(args[0]) if args else "")))
import {module}
after, seen = set(sys.modules) - before, list(acts)
loud = ("subprocess.", "socket.", "os.mkdir", "os.remove", "os.system", "os.exec", "os.fork", "shutil.")
for event, what in seen:
    if event.startswith(loud) or (event == "open" and not what.endswith((".py", ".pyc", ".so"))):
        print("does", event, what)
for name in sorted({{name.split(".")[0] for name in after}}):
    print("loads", name)
"""


def on_import(module: str) -> tuple[set[str], set[str]]:
    """(third-party packages that the import loads, things that it does to the outside)."""
    done = subprocess.run(
        [sys.executable, "-B", "-c", OUTSIDE.format(module=module)],
        capture_output=True,
        text=True,
        check=True,
    )
    lines = done.stdout.splitlines()
    loaded = {line.removeprefix("loads ") for line in lines if line.startswith("loads ")}
    return loaded - sys.stdlib_module_names - {"steelyard"}, {
        line for line in lines if line.startswith("does ")
    }


def test_importing_steelyard_loads_nothing_and_does_nothing() -> None:
    assert on_import("steelyard") == (set(), set())


def test_the_command_line_starts_without_heavy_libraries() -> None:
    loaded, done = on_import("steelyard.cli.main")
    assert not loaded & {"pydantic", "rich", "yaml", "orjson", "cryptography", "numpy"}
    assert not done


def test_a_temporary_folder_says_whose_it_is_so_that_it_can_be_swept() -> None:
    unnamed = re.compile(r"tempfile\.(?:mkdtemp|TemporaryDirectory)\((?![^)]*dir=)")
    found = {path.name for path in PACKAGE.rglob("*.py") if unnamed.search(path.read_text())}
    assert found == {"fake.py", "probe.py"}  # for tests; for a look at this machine


def test_every_test_file_has_a_name_of_its_own() -> None:
    """Pytest imports test files by their names alone."""
    names = [path.name for path in TESTS.rglob("test_*.py") if "harbor_tasks" not in path.parts]
    assert sorted(names) == sorted(set(names))


# Folders of tests that belong to no single room of the package.
OF_NO_ROOM = {"attacks", "cli/checks", "docs", "leftovers", "projects"}


def test_each_folder_of_tests_has_the_name_of_a_folder_of_the_package() -> None:
    """`tests/bench/twin` has the tests of `src/steelyard/bench/twin`."""
    files = [path for path in TESTS.rglob("test_*.py") if "harbor_tasks" not in path.parts]
    folders = {path.parent.relative_to(TESTS) for path in files} - {Path()}
    assert {str(folder) for folder in folders if not (PACKAGE / folder).is_dir()} == OF_NO_ROOM


def test_no_test_has_a_time_limit_for_examples_of_its_own() -> None:
    """`suppress_health_check` in a test would replace that of the profile, and a busy machine would fail it."""
    own = re.compile(r"\b(?:deadline|suppress_health_check)=")
    found = {path.name for path in TESTS.rglob("*.py") if own.search(path.read_text(errors="replace"))}
    assert found - {"conftest.py", Path(__file__).name} == set()
