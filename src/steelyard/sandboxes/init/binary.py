"""Where init is -> its path, compiled now if the installation has none and there is a compiler.

    init.c          the source, which includes the other .c files
    init            the program, made by the build hook (hatch_build.py)
    init.source     the SHA-256 of all of the source that the program was made of

The digest decides, not the times of the files: an installer sets those in the order in which it unpacks.
"""

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
COMPILE = ("-Os", "-static", "-pthread", "-s", "-Wall", "-Wextra")
_FIX = "run `apt-get install gcc libc6-dev` (or install a built wheel of steelyard)"


@functools.cache
def init_binary() -> Path:
    """The static executable that is process 1 of every sandbox."""
    shipped = SOURCE.with_name("init")
    return shipped if is_current(shipped) else _compiled_into_cache()


def is_current(binary: Path) -> bool:
    """True for a program that can be run and was made of the source beside it, or that has no source beside it."""
    if not os.access(binary, os.X_OK):
        return False
    try:
        source = source_digest(binary.parent)
    except FileNotFoundError:
        return True
    try:
        return binary.with_name("init.source").read_text().strip() == source
    except FileNotFoundError:
        return False


def source_digest(folder: Path) -> str:
    """Of init.c, then of each other .c file by name. Raises FileNotFoundError where there is no init.c."""
    source = folder / "init.c"
    others = sorted(path for path in folder.glob("*.c") if path != source)
    return hashlib.sha256(b"".join(path.read_bytes() for path in (source, *others))).hexdigest()


def _compiled_into_cache() -> Path:
    if not SOURCE.exists():
        raise InfraFault(
            "steelyard's init is missing from this installation, and so is its source; install it again"
        )
    digest = source_digest(SOURCE.parent)[:16]
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
