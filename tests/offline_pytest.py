"""pytest for the sandboxes of tests, without a network: copied out of the environment that runs these tests.

home_with_pytest(folder)     a layer of HOME, for a SandboxSpec of your own
pytest_archive(folder)       a zip, for the snapshot of a contract whose `setup` is SETUP
"""

from __future__ import annotations

import functools
import io
import os
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path

from steelyard.filesystem.owner import run_uid
from workers import once

ARCHIVE = "tools/pytest.zip"
SHARED = "TESTS_SHARED_FOLDER"  # a variable: the folder that all test processes share
LEXERS = ("/__init__.py", "/_mapping.py", "/python.py", "/diff.py", "/special.py")
PYTHON = "/usr/bin/python3"
# Into HOME, which setup may write and the bench has again.
SETUP = f"python3 -c \"import site, zipfile; zipfile.ZipFile('{ARCHIVE}').extractall(site.getusersitepackages())\""


@functools.cache
def distributions() -> tuple[metadata.Distribution, ...]:
    """What pytest needs and itself, as they are installed here."""
    found: dict[str, metadata.Distribution] = {}
    wanted = ["pytest"]
    while wanted:
        name = wanted.pop()
        if name in found:
            continue
        found[name] = metadata.distribution(name)
        needs = [line for line in found[name].requires or () if ";" not in line]
        wanted += [line.split(">")[0].split("=")[0].split("<")[0].split("!")[0].strip() for line in needs]
    return tuple(found.values())


def files() -> Iterator[tuple[Path, str]]:
    """(file, name below site-packages) of what pytest needs to run; a highlighter's lexers are not among it."""
    for distribution in distributions():
        for file in distribution.files or ():
            name = str(file)
            wanted = name.endswith((".py", "METADATA", "entry_points.txt")) and not name.startswith("..")
            if wanted and (not name.startswith("pygments/lexers/") or name.endswith(LEXERS)):
                yield Path(str(distribution.locate_file(file))), name


def pytest_archive(folder: Path) -> Path:
    path = folder / "pytest.zip"
    path.write_bytes(made_once("pytest.zip", _make_archive))
    return path


def made_once(name: str, make: Callable[[], bytes]) -> bytes:
    """What `make` returns, for all processes of a `pytest -n`, where they share a folder."""
    if SHARED not in os.environ:
        return _made_here(make)
    place = Path(os.environ[SHARED], name)
    with once(place) as first:
        if first:
            place.write_bytes(make())
    return place.read_bytes()


@functools.cache
def _made_here(make: Callable[[], bytes]) -> bytes:
    return make()


def _make_archive() -> bytes:
    archived = io.BytesIO()
    with (
        tempfile.TemporaryDirectory() as made,
        zipfile.ZipFile(archived, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        packages = Path(made)
        _install(packages, PYTHON)
        for file in sorted(packages.rglob("*")):
            archive.write(file, file.relative_to(packages))
    return archived.getvalue()


def home_with_pytest(folder: Path, python: str = PYTHON) -> Path:
    asked = [python, "-I", "-c", "import sys; print('python%d.%d' % sys.version_info[:2])"]
    version = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()
    _install(folder / ".local" / "lib" / version / "site-packages", python)
    if os.geteuid() == 0:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, run_uid(), run_uid(), follow_symlinks=False)
    return folder


def _install(packages: Path, python: str) -> None:
    """Compiled, for checks cannot keep what they compile; known by what is in a file, not by when it was unpacked."""
    for file, name in files():
        (packages / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, packages / name)
    compiled = ["compileall", "-q", "--invalidation-mode", "checked-hash", str(packages)]
    subprocess.run([python, "-I", "-m", *compiled], check=True)
