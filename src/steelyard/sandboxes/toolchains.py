"""Wanted versions -> the real interpreters of this host, to be bound read-only at their own paths.

    {"python": "3.11"} -> Toolchain(python, 3.11.7, prefix=/opt/python3.11, binaries={python: .../bin/python3.11, ...})

"3.11" is a prefix of components: 3.11.7 matches, 3.1 and 3.110 do not. What sits under /usr is preferred and needs
no bind (prefix None). Version managers' shims are scripts that need their manager; only what they resolve to counts.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from steelyard.deferred.data_class import dataclass
from steelyard.deferred.named_tuple import NamedTuple
from steelyard.deferred.pattern import deferred_pattern
from steelyard.errors import InfraFault, MissingCapability
from steelyard.filesystem.cache import Cache
from steelyard.filesystem.contents import stamp, tree_digest


@dataclass(frozen=True, slots=True)
class Toolchain:
    name: str
    wanted: str
    version: str
    prefix: Path | None  # None: under /usr, which every sandbox has
    binaries: Mapping[str, Path]  # names on PATH inside -> files at their own path
    digest: (
        str  # of the name, the version, the prefix and the interpreter itself, and outside /usr of all files
    )


class Kind(NamedTuple):
    """How one kind of interpreter is found, and what it is called inside."""

    file_names: re.Pattern[str]
    ask: tuple[str, ...]  # arguments with which it prints its version, and where it is installed if it knows
    answer: re.Pattern[str]  # groups `version` and, if the program prints it, `prefix`
    links: tuple[str, ...]
    siblings: tuple[str, ...]  # programs that come with it
    fix: str


class FoundToolchain(NamedTuple):
    binary: Path
    version: str
    prefix: Path


_VERSION_AND_PREFIX = deferred_pattern(r"(?P<version>\S+) (?P<prefix>.+)")

KINDS = {
    "python": Kind(
        deferred_pattern(r"python3?(\.\d+)?$"),
        ("-I", "-S", "-c", "import sys; print('.'.join(map(str, sys.version_info[:3])), sys.base_prefix)"),
        _VERSION_AND_PREFIX,
        ("python", "python3"),
        ("pip", "pip3"),
        "install it with the system's package manager or pyenv",
    ),
    "node": Kind(
        deferred_pattern(r"(node|nodejs)(-?\d+)?$"),
        ("-p", "process.versions.node + ' ' + require('path').resolve(process.execPath, '../..')"),
        _VERSION_AND_PREFIX,
        ("node",),
        ("npm", "npx"),
        "install it with the system's package manager or nvm",
    ),
    "go": Kind(
        deferred_pattern(r"go(-?\d+(\.\d+)*)?$"),
        ("env", "GOVERSION", "GOROOT"),
        deferred_pattern(r"go(?P<version>\d+(\.\d+)*)\s+(?P<prefix>/.+)"),
        ("go",),
        ("gofmt",),
        "install it with the system's package manager, or unpack a release at /usr/local/go",
    ),
    "rust": Kind(
        deferred_pattern(r"rustc$"),
        ("--version",),
        # No nightly: its version is not a release.
        deferred_pattern(r"rustc (?P<version>\d+\.\d+\.\d+)( |$)"),
        ("rustc",),
        ("cargo", "rustdoc", "rustfmt", "cargo-clippy", "clippy-driver"),
        "install it with the system's package manager or rustup",
    ),
}

_FOLDERS = (
    ("/", "usr/bin"),
    ("/", "usr/local/bin"),
    ("/", "usr/local/*/bin"),
    ("/", "opt/*/bin"),
    ("/", "opt/*/*/bin"),
    ("/", "usr/lib/go-*/bin"),
    ("~", ".rustup/toolchains/*/bin"),
    ("~", ".pyenv/versions/*/bin"),
    ("~", ".local/share/uv/python/*/bin"),
    ("~", ".nvm/versions/node/*/bin"),
    ("~", ".local/share/mise/installs/*/*/bin"),
    ("~", ".asdf/installs/*/*/bin"),
)


_ENV = {
    "GOCACHE": "off",
    "GOTOOLCHAIN": "local",
}  # `go env` needs a cache folder, or the word that there is none


def resolve(wanted: Mapping[str, str]) -> tuple[Toolchain, ...]:
    """One toolchain for each name; InfraFault lists what was found when one is absent."""
    return tuple(_resolve(name, version) for name, version in sorted(wanted.items()))


def missing_toolchains(wanted: Mapping[str, str]) -> dict[str, str]:
    """Name -> why this machine cannot provide it. Nothing of an installation is read but its version."""
    return {
        name: f"{name} {version} is not on this machine; found: {_versions(name)}"
        for name, version in sorted(wanted.items())
        if name in KINDS and not any(matches(version, found.version) for found in _interpreters(name))
    }


def _versions(name: str) -> str:
    return ", ".join(f"{found.version} ({found.prefix})" for found in installed_toolchains(name)) or "none"


@functools.cache
def _resolve(name: str, wanted: str) -> Toolchain:
    if name not in KINDS:
        raise MissingCapability(
            f"no toolchain of the name {name!r} is known; known: {', '.join(sorted(KINDS))}"
        )
    first = next(_interpreters(name), None)  # of /usr: asking every interpreter on the machine takes a second
    if first is not None and matches(wanted, first.version) and _is_under_usr(first.prefix):
        return _toolchain(name, wanted, first)
    matching = [found for found in installed_toolchains(name) if matches(wanted, found.version)]
    if not matching:
        raise MissingCapability(
            f"{name} {wanted} is not on this machine; found: {_versions(name)}; {KINDS[name].fix}"
        )
    return _toolchain(name, wanted, max(matching, key=_preference))


def matches(wanted: str, version: str) -> bool:
    parts = wanted.split(".")
    return version.split(".")[: len(parts)] == parts


def _preference(found: FoundToolchain) -> tuple[bool, tuple[int, ...], str]:
    return (
        _is_under_usr(found.prefix),
        tuple(int(part) for part in found.version.split(".")),
        str(found.prefix),
    )


def _is_under_usr(prefix: Path) -> bool:
    return prefix.is_relative_to("/usr")


def _toolchain(name: str, wanted: str, found: FoundToolchain) -> Toolchain:
    own = dict.fromkeys(KINDS[name].links, found.binary)
    siblings = {sibling: found.binary.parent / sibling for sibling in _siblings(name, found)}
    prefix = None if _is_under_usr(found.prefix) else found.prefix
    content = _content_digest(found.binary)
    files = installed_digest(found.prefix) if prefix else ""
    identity = f"{name}\n{found.version}\n{found.prefix}\n{content}\n{files}".encode()
    return Toolchain(
        name, wanted, found.version, prefix, siblings | own, hashlib.sha256(identity).hexdigest()
    )


def _content_digest(binary: Path) -> str:
    """The SHA-256 of the interpreter, read again whenever the kernel says that the file changed."""

    def read(folder: Path) -> None:
        (folder / "digest").write_text(hashlib.sha256(binary.read_bytes()).hexdigest())

    key = hashlib.sha256("\n".join(["content", str(binary), *_state(binary)]).encode()).hexdigest()
    return (Cache.default().build("interpreters", key, read, durable=False) / "digest").read_text()


def installed_digest(prefix: Path) -> str:
    """Of every file of the installation; byte code that its use leaves behind is not part of it.

    Read again whenever the kernel says that a file changed, and otherwise known from the last time.
    """

    def read(folder: Path) -> None:
        (folder / "digest").write_text(tree_digest(prefix, frozenset({"__pycache__"})))

    try:
        key = hashlib.sha256(f"{prefix}\n{stamp(prefix)}".encode()).hexdigest()
        return (Cache.default().build("toolchains", key, read) / "digest").read_text()
    except OSError as error:
        raise InfraFault(f"{prefix} cannot be read: {error}") from error


def _siblings(name: str, found: FoundToolchain) -> list[str]:
    """Tools that come with it: only beside an interpreter of its own prefix."""
    if _is_under_usr(found.prefix):
        return []
    return [sibling for sibling in KINDS[name].siblings if (found.binary.parent / sibling).exists()]


@functools.cache
def installed_toolchains(name: str) -> tuple[FoundToolchain, ...]:
    """Every real interpreter of that kind, one for each installation."""
    return tuple(sorted(_interpreters(name), key=_preference, reverse=True))


def _interpreters(name: str) -> Iterator[FoundToolchain]:
    for binary in _candidates(KINDS[name]):
        found = _ask(binary, KINDS[name])
        if found is not None and found.binary.is_relative_to(found.prefix):
            yield found


def _candidates(kind: Kind) -> Iterator[Path]:
    """Real files only, each once; a link leads to the installation that it belongs to."""
    seen: set[Path] = set()
    for folder in _folders():
        try:
            names = sorted(
                entry.name for entry in Path(folder).iterdir() if kind.file_names.match(entry.name)
            )
        except OSError:
            continue
        for entry in names:
            real = Path(folder, entry).resolve()
            if real not in seen and os.access(real, os.X_OK) and _is_program(real):
                seen.add(real)
                yield real


def _folders() -> list[str]:
    roots = {"~": Path.home(), "/": Path("/")}
    known = [str(found) for root, pattern in _FOLDERS for found in sorted(roots[root].glob(pattern))]
    own = [str(Path(sys.base_prefix, "bin"))]
    return list(dict.fromkeys([*known, *own, *os.environ.get("PATH", "").split(":")]))


def _is_program(path: Path) -> bool:
    """A shim is a script; an interpreter is not."""
    try:
        with path.open("rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False


def _ask(binary: Path, kind: Kind) -> FoundToolchain | None:
    """What an interpreter says of itself; an answer is kept until something that it depends on changes."""

    def ask(folder: Path) -> None:
        (folder / "answer.txt").write_text(_answer(binary, kind), errors="surrogateescape")

    try:
        try:
            kept = Cache.default().build("interpreters", _answer_key(binary, kind), ask, durable=False)
            answer = (kept / "answer.txt").read_text(errors="surrogateescape")
        except InfraFault:  # the cache cannot be used
            answer = _answer(binary, kind)
    except ValueError:
        return None
    return _read_answer(binary, kind, answer)


def _read_answer(binary: Path, kind: Kind, answer: str) -> FoundToolchain | None:
    match = kind.answer.fullmatch(answer.strip()) or kind.answer.match(answer)
    if match is None:
        return None
    prefix = match.groupdict().get("prefix")
    return FoundToolchain(
        binary, match["version"], Path(prefix).resolve() if prefix else binary.parent.parent
    )


def _answer(binary: Path, kind: Kind) -> str:
    """Raises ValueError where there is none: no answer is kept that may be another one next time."""
    try:
        asked = [str(binary), *kind.ask]
        answer = subprocess.run(
            asked, capture_output=True, text=True, timeout=20, check=True, env=_ENV
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise ValueError(f"{binary} does not answer") from error
    if _read_answer(binary, kind, answer) is None:
        raise ValueError(f"{binary} does not say its version and its prefix")
    return answer


def _answer_key(binary: Path, kind: Kind) -> str:
    """Names the state of the program, of the settings beside it, and of the folders that its libraries are in."""
    top = binary.parent.parent
    libraries = [top / "lib", top / "lib64", top / "lib" / f"{os.uname().machine}-linux-gnu"]
    parts = [str(binary), *kind.ask]
    for path in (binary, top / "pyvenv.cfg", binary.with_name("pyvenv.cfg"), *libraries):
        parts += _state(path)
    return hashlib.sha256("\n".join(parts).encode(errors="surrogateescape")).hexdigest()


def _state(path: Path) -> list[str]:
    """What the kernel says of a file or folder; no program can set the change time back."""
    try:
        status = path.stat()
    except OSError:
        return ["absent"]
    return [
        f"{status.st_dev} {status.st_ino} {status.st_mode} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"
    ]
