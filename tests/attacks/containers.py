"""A container engine for tests, if one answers, and a small image made of this machine's own programs."""

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
from steelyard.sandboxes.base import Box
from steelyard.sandboxes.docker.api import Engine, Refused, engine
from steelyard.sandboxes.docker.image import Image, find_image

PROGRAMS = [
    "sh",
    "bash",
    "cat",
    "chmod",
    "chown",
    "cp",
    "cut",
    "date",
    "dd",
    "df",
    "du",
    "echo",
    "env",
    "false",
    "find",
    "getent",
    "git",
    "grep",
    "head",
    "hostname",
    "id",
    "kill",
    "ln",
    "ls",
    "mkdir",
    "mkfifo",
    "mknod",
    "mount",
    "mv",
    "nproc",
    "od",
    "pgrep",
    "ps",
    "pwd",
    "readlink",
    "rm",
    "rmdir",
    "sed",
    "seq",
    "setpriv",
    "setsid",
    "sha256sum",
    "sleep",
    "sort",
    "stat",
    "tail",
    "tee",
    "test",
    "timeout",
    "touch",
    "tr",
    "true",
    "truncate",
    "umount",
    "uname",
    "unshare",
    "wc",
    "whoami",
    "xargs",
    "yes",
    "python3",
]
NAME = f"localhost/steelyard-tests:{hashlib.sha256(' '.join(PROGRAMS).encode()).hexdigest()[:12]}-2"
_LIBRARY = re.compile(r"(/\S+)")
# Nothing of the standard library that a test could miss, and nothing large.
_LEFT_OUT = re.compile(
    r"/(test|tests|idlelib|tkinter|__pycache__|dist-packages|lib2to3|ensurepip|config-\S+)(/|$)"
)


@functools.cache
def why_not() -> str:
    """Why tests with containers cannot run here; nothing if they can."""
    try:
        engine().call("GET", "/_ping", timeout_s=5)
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
    found = container_engine()
    with Path(tempfile.gettempdir(), f"steelyard-tests-image-{os.getuid()}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _is_there(found):
            with tempfile.TemporaryFile() as tar:
                _write(tar)
                _import(found, tar)
    return find_image(found, NAME)


def _is_there(found: Engine) -> bool:
    try:
        found.call("GET", f"/images/{NAME}/json")
    except Refused:
        return False
    return True


def _import(found: Engine, tar: BinaryIO) -> None:
    with found.opened("POST", "/images/create", tar, {"fromSrc": "-"}, timeout_s=300) as answer:
        ident = json.loads(answer.read().splitlines()[-1])["status"]
    name, _, tag = NAME.partition(":")
    found.call(
        "POST", f"/images/{ident}/tag", None, {"repo": name, "tag": tag}
    )  # Podman's import knows no tags


def in_image(box: Box) -> Box:
    """The box on the tests' image; skips the test where there is no engine."""
    found = image()
    return replace(box, image=found.id, image_env=found.env)


def _write(into: object) -> None:
    with tarfile.open(fileobj=into, mode="w", format=tarfile.GNU_FORMAT) as tar:  # type: ignore[call-overload]
        for name, target in (
            ("bin", "usr/bin"),
            ("sbin", "usr/sbin"),
            ("lib", "usr/lib"),
            ("lib64", "usr/lib64"),
        ):
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, target
            tar.addfile(link)
        for name, mode in (
            ("etc", 0o755),
            ("tmp", 0o1777),
            ("var/tmp", 0o1777),
            ("srv", 0o1777),
            ("run", 0o755),
            ("root", 0o700),
        ):
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, mode
            tar.addfile(folder)
        # By where the links of a merged /usr lead: one name must not be there twice.
        for name, path in sorted({_merged(path): path for path in _files()}.items()):
            tar.add(os.path.realpath(path), name, recursive=False)


def _merged(path: str) -> str:
    name = path.lstrip("/")
    return name if name.startswith(("usr/", "etc/")) else f"usr/{name}"


def _files() -> set[str]:
    programs = {found for name in PROGRAMS if (found := shutil.which(name, path="/usr/bin:/bin:/usr/sbin"))}
    libraries = [path for path in Path("/usr/lib").glob("python3.*") if path.is_dir()]
    files = {str(path) for top in libraries for path in _below(top)}
    modules = {path for path in files if path.endswith(".so")}
    needed = {"/etc/nsswitch.conf", *programs, *files, *needed_libraries([*programs, *modules])}
    return {path for path in needed if Path(path).is_file()}


def _below(top: Path) -> Iterator[Path]:
    for path in top.rglob("*"):
        if path.is_file() and not _LEFT_OUT.search(str(path)):
            yield path


def needed_libraries(programs: list[str]) -> Iterator[str]:
    said = subprocess.run(["ldd", *programs], capture_output=True, text=True, check=False).stdout
    for line in said.splitlines():
        if line.startswith("\t") and (found := _LIBRARY.search(line)):
            yield found[1]
