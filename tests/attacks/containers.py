"""A container engine for tests, if one answers, and a small image made of this machine's own programs.

It has a shell, git, the system's Python, and node with npm where this machine has them: what the contracts of tests need.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import pytest

from steelyard.errors import InfraFault
from steelyard.sandboxes.base import SandboxSpec
from steelyard.sandboxes.docker.api import Engine, EngineRefusal, engine
from steelyard.sandboxes.docker.image import Image, find_image

PROGRAMS = [
    "awk",
    "base64",
    "basename",
    "bash",
    "cat",
    "chmod",
    "chown",
    "cmp",
    "comm",
    "cp",
    "cut",
    "date",
    "dd",
    "df",
    "diff",
    "dirname",
    "du",
    "echo",
    "env",
    "expr",
    "false",
    "find",
    "getent",
    "git",
    "git-upload-pack",
    "grep",
    "gzip",
    "head",
    "hostname",
    "id",
    "install",
    "kill",
    "ldd",
    "ln",
    "ls",
    "mawk",
    "mkdir",
    "mkfifo",
    "mknod",
    "mktemp",
    "mount",
    "mv",
    "nohup",
    "nproc",
    "od",
    "pgrep",
    "printf",
    "ps",
    "pwd",
    "python3",
    "readlink",
    "rm",
    "rmdir",
    "sed",
    "seq",
    "setpriv",
    "setsid",
    "sh",
    "sha256sum",
    "sleep",
    "sort",
    "stat",
    "sync",
    "tac",
    "tail",
    "tar",
    "tee",
    "test",
    "timeout",
    "touch",
    "tr",
    "true",
    "truncate",
    "umount",
    "uname",
    "uniq",
    "unshare",
    "wc",
    "whoami",
    "xargs",
    "yes",
]
NPM = "usr/lib/node_modules/npm"
_LIBRARY = re.compile(r"(/\S+)")
# Nothing of the standard library that a test could miss, and nothing large.
_LEFT_OUT = re.compile(r"/(test|tests|idlelib|tkinter|dist-packages|lib2to3|ensurepip|config-\S+)(/|$)")


@functools.cache
def why_not() -> str:
    """Why tests with containers cannot run here; nothing if they can."""
    try:
        engine().call("GET", "/_ping", timeout_s=120)
    except ValueError:
        return ""  # "OK" is no JSON
    except InfraFault as fault:
        return str(fault)
    return ""


def container_engine() -> Engine:
    if reason := why_not():
        pytest.skip(reason)
    return engine()


@functools.cache
def image() -> Image:
    """The image, made once for an engine, whichever process of the tests comes first."""
    found, name = container_engine(), _name()
    with Path(tempfile.gettempdir(), f"steelyard-tests-image-{os.getuid()}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _is_there(found, name):
            with tempfile.TemporaryFile() as tar:
                _write(tar)
                _import(found, tar, name)
    return find_image(found, name)


def _name() -> str:
    """What is to be in it is in its name: an engine outlives the tests."""
    wanted = " ".join([*PROGRAMS, *map(str, (_node(), _npm()))])
    return f"localhost/steelyard-tests:{hashlib.sha256(wanted.encode()).hexdigest()[:12]}-5"


def _is_there(found: Engine, name: str) -> bool:
    try:
        found.call("GET", f"/images/{name}/json")
    except EngineRefusal:
        return False
    return True


def _import(found: Engine, tar: BinaryIO, name: str) -> None:
    with found.opened("POST", "/images/create", tar, {"fromSrc": "-"}, timeout_s=300) as answer:
        ident = json.loads(answer.read().splitlines()[-1])["status"]
    repo, _, tag = name.partition(":")
    found.call(
        "POST", f"/images/{ident}/tag", None, {"repo": repo, "tag": tag}
    )  # Podman's import knows no tags


def in_docker() -> dict[str, str]:
    """The keys of a contract's environment that put it into the tests' image; skips the test where there is no engine."""
    return {"sandbox": "docker", "image": image().id}


def _node() -> str | None:
    return shutil.which("node")


def _npm() -> Path | None:
    """The folder of npm, if it brings all that it needs along."""
    found = shutil.which("npm")
    folder = Path(os.path.realpath(found)).parents[1] if found else Path()
    return folder if (folder / "node_modules").is_dir() else None


def in_image(box: SandboxSpec) -> SandboxSpec:
    """The box on the tests' image; skips the test where there is no engine."""
    found = image()
    return replace(box, image=found.id, image_env=found.env)


def _write(into: object) -> None:
    with tarfile.open(fileobj=into, mode="w", format=tarfile.GNU_FORMAT) as tar:  # type: ignore[call-overload]
        for name in ("bin", "sbin", "lib", "lib64"):
            _add(tar, name, link=f"usr/{name}")
        for name in ("tmp", "var/tmp", "srv"):
            _add(tar, name, mode=0o1777)
        for name, mode in (("etc", 0o755), ("run", 0o755), ("root", 0o700)):
            _add(tar, name, mode=mode)
        # By where the links of a merged /usr lead: one name must not be there twice.
        for name, path in sorted({_merged(path): path for path in _files()}.items()):
            tar.add(os.path.realpath(path), name, recursive=False)
        _add_node(tar)


def _add(tar: tarfile.TarFile, name: str, *, link: str = "", mode: int = 0o755) -> None:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname, entry.mode = tarfile.SYMTYPE if link else tarfile.DIRTYPE, link, mode
    tar.addfile(entry)


def _add_node(tar: tarfile.TarFile) -> None:
    """Wherever it is on this machine, it is beside the other programs in the image."""
    if node := _node():
        tar.add(os.path.realpath(node), "usr/bin/node")
    if npm := _npm():
        tar.add(npm, NPM)
        _add(tar, "usr/bin/npm", link=f"/{NPM}/bin/npm-cli.js")


def _merged(path: str) -> str:
    name = path.lstrip("/")
    return name if name.startswith(("usr/", "etc/")) else f"usr/{name}"


def _files() -> set[str]:
    programs = {found for name in PROGRAMS if (found := shutil.which(name, path="/usr/bin:/bin:/usr/sbin"))}
    libraries = [path for path in Path("/usr/lib").glob("python3.*") if path.is_dir()]
    files = {str(path) for top in libraries for path in _below(top)}
    modules = {path for path in files if path.endswith(".so")}
    linked = [*programs, *modules, *filter(None, [_node()])]
    needed = {"/etc/nsswitch.conf", *_beside_programs(), *programs, *files, *needed_libraries(linked)}
    return {path for path in needed if Path(path).is_file()}


def _beside_programs() -> Iterator[str]:
    """What programs read: the locale of every sandbox, and the parts of git that are scripts."""
    for pattern in ("locale/C.*/**/*", "git-core/git-submodule", "git-core/git-sh-*"):
        yield from map(str, Path("/usr/lib").glob(pattern))


def _below(top: Path) -> Iterator[Path]:
    for path in top.rglob("*"):
        if path.is_file() and not _LEFT_OUT.search(str(path)):
            yield path


def needed_libraries(programs: list[str]) -> Iterator[str]:
    result = subprocess.run(["ldd", *programs], capture_output=True, text=True, check=False).stdout
    for line in result.splitlines():
        if line.startswith("\t") and (found := _LIBRARY.search(line)):
            yield found[1]
