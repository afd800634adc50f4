"""An interpreter of this machine -> a copy that runs in any Linux image of the same processor, also one without glibc.

    runtime/bin/python3        a shell script: starts the loader below with the libraries below
    runtime/bin/python3.bin    the interpreter itself
    runtime/lib/python3.11/    its standard library
    runtime/lib64/             the loader and every shared library that the interpreter and its modules need

The libraries are named to the loader on its command line, never by a variable: what the agent starts in the image uses
the image's own libraries.
"""

from __future__ import annotations

import compileall
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

from steelyard.errors import InfraFault

RUNTIME = "runtime"
_LEFT_OUT = ("test", "tests", "idlelib", "tkinter", "turtledemo", "ensurepip", "site-packages",
             "dist-packages", "lib2to3", "config-*")  # fmt: skip
_LIBRARY = re.compile(r"(?:=> )?(/\S+) \(0x[0-9a-f]+\)")
_WRAPPER = """#!/bin/sh
here=$(cd "$(dirname "$0")/.." && pwd) || exit 127
exec "$here/lib64/{loader}" --library-path "$here/lib64" --argv0 "$here/bin/{name}" "$here/bin/{name}.bin" {options}"$@"
"""
# Node starts itself again by process.execPath, which is the loader's path here.
_EXEC_PATH = "process.execPath = process.argv0 = __dirname + '/bin/node';\n"


def copy_python(folder: Path) -> Path:
    """The interpreter that runs this program, without its packages; where packages belong."""
    top = folder / RUNTIME
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    library = top / "lib" / version
    for source in dict.fromkeys((sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"))):
        shutil.copytree(source, library, ignore=shutil.ignore_patterns(*_LEFT_OUT), dirs_exist_ok=True)
    # Without byte code each start compiles all that a client imports: 15 seconds instead of 3.
    compileall.compile_dir(library, quiet=2, workers=0)
    packages = library / "site-packages"
    packages.mkdir()
    (library / "dist-packages").symlink_to("site-packages")  # where Debian's interpreter looks
    binary = Path(sys._base_executable).resolve()  # type: ignore[attr-defined]  # noqa: SLF001  # no public name for it
    modules = [*(library / "lib-dynload").glob("*.so"), *_host_libraries()]
    _install_binary(top, "python3", binary, modules)
    return packages


def wrap_node(folder: Path, binary: Path) -> None:
    """The Node.js binary of an npm package, startable in any image."""
    top = folder / RUNTIME
    _install_binary(top, "node", binary, _host_libraries(), options='--require "$here/exec-path.js" ')
    (top / "exec-path.js").write_text(_EXEC_PATH)


def _install_binary(top: Path, name: str, binary: Path, modules: Iterable[Path], options: str = "") -> None:
    for part in ("bin", "lib64"):
        (top / part).mkdir(parents=True, exist_ok=True)
    shutil.copy(binary, top / "bin" / f"{name}.bin")
    loader = ""
    for library in _needed((binary, *modules)):
        shutil.copy(library, top / "lib64" / library.name)
        loader = library.name if library.name.startswith(("ld-linux", "ld-musl")) else loader
    if not loader:
        raise InfraFault(f"{binary} has no dynamic loader, so it cannot be moved into a sandbox")
    wrapper = top / "bin" / name
    wrapper.write_text(_WRAPPER.format(loader=loader, name=name, options=options))
    wrapper.chmod(0o755)


def _host_libraries() -> list[Path]:
    """Libraries that compiled packages expect of every system."""
    found = []
    for name in ("libstdc++.so.6", "libgcc_s.so.1"):
        done = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False)
        paths = [
            line.rsplit("=> ", 1)[-1] for line in done.stdout.splitlines() if line.strip().startswith(name)
        ]
        found += [Path(path) for path in paths[:1]]
    return found


def _needed(binaries: Iterable[Path]) -> list[Path]:
    """The shared libraries of all these, the loader among them; one that is a library itself is included."""
    found: dict[str, Path] = {}
    for binary in binaries:
        if ".so" in binary.name and "lib-dynload" not in binary.parts:
            found.setdefault(binary.name, binary)
        done = subprocess.run(
            ["ldd", str(binary)], capture_output=True, text=True, check=False, env={"LC_ALL": "C"}
        )
        for match in _LIBRARY.finditer(done.stdout):
            path = Path(match[1])
            found.setdefault(path.name, path)
    return list(found.values())
