"""Where init is -> its path, compiled now if the installation has none and there is a compiler."""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from steelyard.errors import InfraFault
from steelyard.filesystem.cache import Cache

SOURCE = Path(__file__).with_name("init.c")
COMPILE = ("-Os", "-static", "-s", "-Wall", "-Wextra")
_FIX = "run `apt-get install gcc libc6-dev` (or install a built wheel of steelyard)"


@functools.cache
def init_binary() -> Path:
    """The static executable that is process 1 of every sandbox."""
    shipped = SOURCE.with_name("init")
    return shipped if _is_fresh(shipped) else _compiled_into_cache()


def _is_fresh(binary: Path) -> bool:
    """There, and not older than a source that somebody is working on."""
    try:
        return binary.stat().st_mtime >= SOURCE.stat().st_mtime and os.access(binary, os.X_OK)
    except FileNotFoundError:
        return binary.exists()


def _compiled_into_cache() -> Path:
    digest = hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:16]
    return Cache.default().build("init-binary", digest, _compile) / "init"


def _compile(folder: Path) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise InfraFault(f"steelyard's init program is not built, and there is no C compiler; {_FIX}")
    command = [compiler, *COMPILE, "-o", str(folder / "init"), str(SOURCE)]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except subprocess.CalledProcessError as error:
        raise InfraFault(f"steelyard's init does not compile: {error.stderr.strip()}; {_FIX}") from error
