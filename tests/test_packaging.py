"""What is installed is what was written: the wheel is whole, the lock files name no host."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from steelyard.sandboxes.init.binary import is_current

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
    for name in ("init", "init.source"):
        (copy / "src/steelyard/sandboxes/init" / name).unlink(missing_ok=True)
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


def test_the_wheel_is_for_every_libc_of_its_machine(wheel: zipfile.ZipFile) -> None:
    machine = sysconfig.get_platform().partition("-")[2]
    expected = f"-py3-none-manylinux_2_17_{machine}.musllinux_1_1_{machine}.whl"
    assert str(wheel.filename).endswith(expected)


def test_the_init_of_the_wheel_needs_no_interpreter(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    """A dynamic executable has a program header PT_INTERP, which names a loader of one libc."""
    program = Path(wheel.extract("steelyard/sandboxes/init/init", tmp_path)).read_bytes()
    start, size, count = (
        int.from_bytes(program[32:40], sys.byteorder),
        *(int.from_bytes(program[at : at + 2], sys.byteorder) for at in (54, 56)),
    )
    kinds = [program[start + number * size :][:4] for number in range(count)]
    assert (3).to_bytes(4, sys.byteorder) not in kinds


@pytest.fixture(scope="session")
def installed_wheel(wheel: zipfile.ZipFile, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel; the packages that it depends on are those of this environment."""
    folder = tmp_path_factory.mktemp("installed") / "environment"
    venv.create(folder, symlinks=True, with_pip=False)
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin/python"), "--disable-pip-version-check"]
    install = [*pip, "install", "--quiet", "--no-deps", "--no-index", "--no-compile", str(wheel.filename)]
    subprocess.run(install, check=True, capture_output=True)
    packages = next(folder.glob("lib/python*/site-packages"))
    (packages / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    return folder


@pytest.fixture
def without_compiler(tmp_path: Path) -> dict[str, str]:
    """Variables of a machine that has what contracts in Python need, and no compiler."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("bwrap", "git", "sh"):  # contracts for other languages are left out, as on a small machine
        if found := shutil.which(name):
            (programs / name).symlink_to(found)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "STEELYARD"))}
    return {**kept, "PATH": str(programs), "STEELYARD_CACHE": str(tmp_path / "cache")}


def test_an_installed_wheel_runs_the_demo_without_a_compiler(
    installed_wheel: Path, without_compiler: dict[str, str], tmp_path: Path
) -> None:
    sandbox = "bubblewrap" if shutil.which("bwrap") else "local"
    line: list[str | Path] = [installed_wheel / "bin/steelyard", "demo", "--no-judge", "--sandbox", sandbox]
    done = subprocess.run(
        line, cwd=tmp_path, env=without_compiler, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "c-ringbuffer is left out: PATH finds no cc and no make in /usr" in done.stdout + done.stderr
    assert "cheats tried, none passed." in done.stdout
    assert not (tmp_path / "cache/init-binary").exists()


def test_an_installed_wheel_has_an_init_of_its_source_whatever_the_times_of_its_files(
    installed_wheel: Path,
) -> None:
    (init,) = installed_wheel.glob("lib/python*/site-packages/steelyard/sandboxes/init/init")
    os.utime(init.with_name("init.c"), (2_000_000_000, 2_000_000_000))
    assert is_current(init)


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """A folder with the source of init, a program, and the digest of the source."""
    (tmp_path / "init.c").write_text("int main(void) { return 0; }\n")
    (tmp_path / "init").write_bytes(b"\x7fELF")
    (tmp_path / "init").chmod(0o755)
    digest = hashlib.sha256((tmp_path / "init.c").read_bytes()).hexdigest()
    (tmp_path / "init.source").write_text(f"{digest}\n")
    return tmp_path / "init"


def test_an_init_of_this_source_is_current(built: Path) -> None:
    assert is_current(built)


def test_an_init_of_another_source_is_not_current(built: Path) -> None:
    built.with_name("init.c").write_text("int main(void) { return 1; }\n")
    assert not is_current(built)


def test_an_init_of_another_file_that_its_source_includes_is_not_current(built: Path) -> None:
    built.with_name("watcher.c").write_text("int watched;\n")
    assert not is_current(built)


def test_an_init_without_a_digest_of_its_source_is_not_current(built: Path) -> None:
    built.with_name("init.source").unlink()
    assert not is_current(built)


def test_an_init_without_source_is_current(built: Path) -> None:
    built.with_name("init.c").unlink()
    assert is_current(built)


@pytest.mark.parametrize("broken", ["absent", "not executable"])
def test_an_init_that_cannot_be_run_is_not_current(built: Path, broken: str) -> None:
    built.unlink() if broken == "absent" else built.chmod(0o644)
    assert not is_current(built)


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
