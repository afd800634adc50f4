"""Where init is -> its path, compiled now if the installation has none and there is a compiler."""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from steelyard.contract.cache import Cache
from steelyard.errors import InfraFault

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
    folder = Cache.default().root / "init"
    binary = folder / digest
    if binary.exists():
        return binary
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise InfraFault(f"steelyard's init is not built and there is no C compiler; {_FIX}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            made = Path(scratch, "init")
            command = [compiler, *COMPILE, "-o", str(made), str(SOURCE)]
            subprocess.run(command, check=True, capture_output=True, text=True)
            made.rename(binary)
    except subprocess.CalledProcessError as error:
        raise InfraFault(f"steelyard's init does not compile: {error.stderr.strip()}; {_FIX}") from error
    except OSError as error:
        raise InfraFault(
            f"cannot build steelyard's init in {folder}: {error}; set STEELYARD_CACHE"
        ) from error
    return binary
