"""What is installed is what was written: the wheel is whole, the lock files name no host."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LOCKS = ("requirements.lock", "requirements-dev.lock")


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    # From a copy: building here would swap the init under the tests that run beside this one.
    copy = tmp_path_factory.mktemp("project")
    for name in ("src", "examples"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__", "init.new"))
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    (copy / "src/steelyard/sandboxes/init/init").unlink(missing_ok=True)
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel"]
    subprocess.run(build, cwd=copy, check=True, capture_output=True)
    return zipfile.ZipFile(next((copy / "dist").glob("*.whl")))


def test_the_wheel_has_every_module(wheel: zipfile.ZipFile) -> None:
    source = ROOT / "src"
    modules = {str(path.relative_to(source)) for path in (source / "steelyard").rglob("*.py")}
    assert modules <= set(wheel.namelist())


def test_the_wheel_has_the_init_executable(wheel: zipfile.ZipFile) -> None:
    mode = wheel.getinfo("steelyard/sandboxes/init/init").external_attr >> 16
    assert mode & 0o111


def test_the_wheel_is_not_for_any_machine(wheel: zipfile.ZipFile) -> None:
    """It carries a compiled program, so `any` would be a lie."""
    assert not str(wheel.filename).endswith("-any.whl")


def test_the_wheel_has_the_examples(wheel: zipfile.ZipFile) -> None:
    tracked = subprocess.run(
        ["git", "ls-files", "examples"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split()
    examples = tracked or [
        str(path.relative_to(ROOT))
        for path in ROOT.glob("examples/**/*")
        if path.is_file() and path.suffix != ".pyc"
    ]
    assert {f"steelyard/{name}" for name in examples} <= set(wheel.namelist())


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_file_names_no_host(lock: str) -> None:
    assert not re.findall(r"\w+://\S+|--\S*index\S*|--find-links", (ROOT / lock).read_text())


@pytest.mark.parametrize("lock", LOCKS)
def test_every_locked_package_has_a_hash(lock: str) -> None:
    entries = re.split(r"\n(?=[a-z])", (ROOT / lock).read_text())
    assert not [entry.splitlines()[0] for entry in entries if "==" in entry and "--hash=sha256:" not in entry]


def test_the_lock_holds_every_declared_dependency() -> None:
    import tomllib

    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    locked = set(re.findall(r"^([a-z0-9-]+)==", (ROOT / "requirements.lock").read_text(), re.MULTILINE))
    assert {re.split(r"[<>=~! ]", name)[0] for name in declared} <= locked


def test_the_version_is_said_once() -> None:
    import tomllib

    import steelyard

    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert declared == steelyard.__version__
