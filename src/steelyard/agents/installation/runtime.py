"""An interpreter of this machine -> a copy that runs in any Linux image of the same processor, also one without glibc.

    runtime/bin/python3        a shell script: starts the loader below with the libraries below
    runtime/bin/python3.bin    the interpreter itself
    runtime/lib/python3.11/    its standard library
    runtime/lib64/             the loader and every shared library that the interpreter and its modules need

The libraries are named to the loader on its command line, never by a variable: what the agent starts in the image uses
the image's own libraries.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from steelyard.errors import InfraFault, MissingCapability

RUNTIME = "runtime"
_LEFT_OUT = ("test", "tests", "idlelib", "tkinter", "turtledemo", "ensurepip", "site-packages",
             "dist-packages", "lib2to3", "config-*")  # fmt: skip
# What compiled packages expect of every system; most of them are parts of the C library.
_COMMON = ("libstdc++.so.6", "libgcc_s.so.1", "librt.so.1", "libpthread.so.0", "libdl.so.2", "libm.so.6", "libutil.so.1",
           "libresolv.so.2", "libnss_dns.so.2", "libnss_files.so.2", "libz.so.1")  # fmt: skip
_LIBRARY = re.compile(r"(?:=> )?(/\S+) \(0x[0-9a-f]+\)")
_WRAPPER = """#!/bin/sh
here=$(cd "$(dirname "$0")/.." && pwd) || exit 127
exec "$here/lib64/{loader}" --library-path "$here/lib64" --argv0 "$here/bin/{name}" "$here/bin/{name}.bin" {options}"$@"
"""
# A program that the image can start itself can also start itself again; one that our loader starts cannot.
_NATIVE_WRAPPER = """#!/bin/sh
here=$(cd "$(dirname "$0")/.." && pwd) || exit 127
program="$here/../{program}"
"$program" --version >/dev/null 2>&1 </dev/null && exec "$program" "$@"
exec "$here/lib64/{loader}" --library-path "$here/lib64" "$program" "$@"
"""
# Node starts itself again by process.execPath, which is the loader's path here.
_EXEC_PATH = "process.execPath = process.argv0 = __dirname + '/bin/node';\n"


def find_python(version: str = "") -> str:
    """The interpreter of that version on this machine; without one, the interpreter that runs this program."""
    if version in {"", f"{sys.version_info.major}.{sys.version_info.minor}"}:
        return sys.executable
    name = f"python{version}"
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    # A shim of pyenv is there for every version, and starts the chosen ones only.
    for found in (shutil.which(name), *map(str, sorted(pyenv.glob(f"{version}.*/bin/{name}")))):
        if found is not None and _answer(found, "print(1)") == "1":
            return found
    raise MissingCapability(
        f"{name} is not on this machine, and this client needs it; install Python {version}"
    )


_FACTS = (
    "import json, sys, sysconfig; print(json.dumps({'version': 'python%d.%d' % sys.version_info[:2], "
    "'libraries': [sysconfig.get_path('stdlib'), sysconfig.get_path('platstdlib')], 'binary': sys._base_executable}))"
)


def _answer(python: str, program: str) -> str:
    done = subprocess.run([python, "-I", "-c", program], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def copy_python(folder: Path, python: str = sys.executable) -> Path:
    """An interpreter of this machine, without its packages; where packages belong."""
    top = folder / RUNTIME
    facts = json.loads(_answer(python, _FACTS))
    library = top / "lib" / str(facts["version"])
    for source in dict.fromkeys(facts["libraries"]):
        shutil.copytree(source, library, ignore=shutil.ignore_patterns(*_LEFT_OUT), dirs_exist_ok=True)
    # Without byte code each start compiles all that a client imports: 15 seconds instead of 3.
    subprocess.run([python, "-I", "-m", "compileall", "-qq", "-j0", str(library)], check=False)
    packages = library / "site-packages"
    packages.mkdir()
    (library / "dist-packages").symlink_to("site-packages")  # where Debian's interpreter looks
    binary = Path(facts["binary"]).resolve()
    modules = [
        *(one for one in (library / "lib-dynload").glob("*.so") if "_tkinter" not in one.name),
        *_host_libraries(),
    ]
    _install_binary(top, "python3", binary, modules)
    return packages


def wrap_node(folder: Path, binary: Path) -> None:
    """The Node.js binary of an npm package, startable in any image."""
    top = folder / RUNTIME
    _install_binary(top, "node", binary, _host_libraries(), options='--require "$here/exec-path.js" ')
    (top / "exec-path.js").write_text(_EXEC_PATH)


def wrap_native(folder: Path, program: str) -> None:
    """A native program that is linked with the C library of its makers' system, startable in an image that has another."""
    top = folder / RUNTIME
    loader = _copy_libraries(top, (folder / program, *_host_libraries()))
    _write_wrapper(top, Path(program).name, _NATIVE_WRAPPER.format(loader=loader, program=program))


def _install_binary(top: Path, name: str, binary: Path, modules: Iterable[Path], options: str = "") -> None:
    loader = _copy_libraries(top, (binary, *modules))
    _write_wrapper(top, name, _WRAPPER.format(loader=loader, name=name, options=options))
    shutil.copy(binary, top / "bin" / f"{name}.bin")


def _copy_libraries(top: Path, binaries: Iterable[Path]) -> str:
    """The name of the loader among them."""
    (top / "lib64").mkdir(parents=True, exist_ok=True)
    loader = ""
    for library in _needed(binaries):
        shutil.copy(library, top / "lib64" / library.name)
        loader = library.name if library.name.startswith(("ld-linux", "ld-musl")) else loader
    if not loader:
        raise InfraFault(
            "the C library of this machine has no dynamic loader that could be copied into a sandbox"
        )
    return loader


def _write_wrapper(top: Path, name: str, text: str) -> None:
    (top / "bin").mkdir(parents=True, exist_ok=True)
    (top / "bin" / name).write_text(text)
    (top / "bin" / name).chmod(0o755)


def _host_libraries() -> list[Path]:
    """Libraries that compiled packages expect of every system."""
    done = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False)
    known = {
        line.split()[0]: Path(line.rsplit("=> ", 1)[-1])
        for line in reversed(done.stdout.splitlines())
        if "=>" in line
    }
    return [known[name] for name in _COMMON if name in known]


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
