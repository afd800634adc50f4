"""A change of a whole system -> what of it is laid on a fresh container of the same image, and what stays behind.

app/out.txt, etc/nginx/nginx.conf, usr/local/bin/greet    carried
tests/..., logs/...                                       left: the verifier has its own
root/.bashrc, etc/profile.d/x.sh, etc/ld.so.preload       left: would run before every command of the verifier
usr/bin/python3, usr/lib/libc.so.6                        left if the image has them
usr/local/bin/pytest, root/.local/bin/uv                  left: would be found in the place of a tool
.../sitecustomize.py, a .pth that imports, app/json.py    left: would be imported by every Python

Whoever is root of a container can change what grades it. What the work needs to be graded is carried all the same: new
programs, packages, services' settings, users. Nothing here is silent: each thing that stays behind is a finding.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import translate
from functools import cache
from typing import NamedTuple

from steelyard.bench.shadowing import shadows_library
from steelyard.contract.tree import is_within, prefixes, shown
from steelyard.evidence.blobs import Blobs
from steelyard.evidence.change import ChangeEntry
from steelyard.evidence.finding import Finding
from steelyard.sandboxes.base import Laid

MAX_READ_BYTES = 1 << 20

# Ours, or the engine's: no agent's work, and no word about it.
OURS = (
    "solution",
    "solution/*",
    "solutions",
    "solutions/*",
    "run/steelyard",
    "run/steelyard/*",
    "root/.steelyard-*",
    ".dockerenv",
)
PLACES = ("tests", "tests/*", "logs", "logs/*", "opt/steelyard", "opt/steelyard/*")
KERNEL = ("dev/*", "proc/*", "sys/*")
_HOMES = ("root/", "home/*/", "")
_OF_SHELLS = (
    *(".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".inputrc"),
    *(".zshrc", ".zshenv", ".zprofile", ".zlogin", ".kshrc", ".config/fish/*"),
)
_OF_TOOLS = (
    *(".curlrc", ".wgetrc", ".npmrc", ".pydistutils.cfg", ".pypirc", ".cargo/env"),
    *(".config/pip/*", ".pip/*", ".config/uv/*", ".cache/pip/*", ".cache/uv/*", ".local/share/uv/*"),
)
START_UP = (
    *(f"{home}{name}" for home in _HOMES for name in _OF_SHELLS),
    *("etc/profile", "etc/profile.d/*", "etc/bash.bashrc", "etc/bashrc", "etc/zsh/*", "etc/zshenv", "etc/inputrc"),
    *("etc/environment", "etc/environment.d/*", "etc/security/pam_env.conf", "etc/fish/*"),
    *("etc/ld.so.preload", "etc/ld.so.conf", "etc/ld.so.conf.d/*", "etc/ld.so.cache"),
)  # fmt: skip
TOOL_SETTINGS = (
    *(f"{home}{name}" for home in _HOMES for name in _OF_TOOLS),
    *("etc/pip.conf", "etc/uv/*", "etc/apt/apt.conf", "etc/apt/apt.conf.d/*", "etc/dpkg/dpkg.cfg", "etc/dpkg/dpkg.cfg.d/*"),
    # What a pytest that is given /tests/... reads on its way up to the root.
    *("conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "pyproject.toml", "tox.ini", "setup.cfg"),
)  # fmt: skip
# Programs that graders call whether or not the image has them.
TOOLS = (
    *("sh", "bash", "dash", "env", "python", "python[0-9]*", "pytest", "py.test", "pip", "pip[0-9]*", "uv", "uvx"),
    *("curl", "wget", "apt", "apt-get", "dpkg", "git", "node", "npm", "npx", "timeout", "tee", "jq"),
    *("pyvenv.cfg", "*._pth"),
)  # fmt: skip
SYSTEM_BINARIES = ("usr/bin", "usr/sbin", "usr/local/bin", "usr/local/sbin", "bin", "sbin")
OF_HOMES = ("root/.local/bin", "root/.cargo/bin", "root/bin")
SYSTEM_LIBRARIES = (
    "usr/lib",
    "usr/lib32",
    "usr/lib64",
    "usr/libexec",
    "lib",
    "lib32",
    "lib64",
    "etc/alternatives",
)
_STANDARD_LIBRARY = re.compile(
    r"(usr/|usr/local/|opt/[^/]+/)?lib(64)?/python3[^/]*/(?!(site|dist)-packages/)"
)
_PACKAGES = re.compile(r".*/(site|dist)-packages/(?P<name>[^/]+)(?P<below>/.*)?")
_RUNNERS = frozenset(
    {"pytest", "_pytest", "pluggy", "iniconfig", "pytest.py", "_pytest.py", "pluggy.py", "py.py"}
)
_CUSTOMIZE = re.compile(r"(sitecustomize|usercustomize)(\..*|$)")


class SystemChange(NamedTuple):
    laid: tuple[Laid, ...]
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class SystemPolicy:
    """What of one image's system may be changed by an agent, and still be there when it is graded."""

    path: Sequence[str]  # the folders of PATH, without the leading slash
    workdir: str  # without the leading slash; "" is the root
    brief: str
    has_program: Callable[[str], bool]  # whether the image finds a program of that name
    blobs: Blobs

    def split(self, entries: Iterable[ChangeEntry]) -> SystemChange:
        halves = [entry for entry in _halves(entries) if not matches(entry.path, OURS)]
        # Laid below one of these, a file would make its own folder in the place of the image's.
        taken = {entry.path for entry in halves if self._is_above(entry)}
        laid: list[Laid] = []
        findings: dict[Finding, None] = {}
        for entry in halves:
            finding = self.why_left(entry)
            if finding is not None:
                findings[finding] = None
            elif taken.isdisjoint(prefixes(entry.path)):
                laid += _laid(entry, self.blobs)
        return SystemChange(tuple(sorted(laid, key=lambda one: one.kind != "gone")), tuple(findings))

    def why_left(self, entry: ChangeEntry) -> Finding | None:
        for slug, why in self._reasons(entry):
            return Finding(slug, "warning", shown(f"/{entry.path}"), why)
        return None

    def _reasons(self, entry: ChangeEntry) -> Iterator[tuple[str, str]]:
        path = entry.path
        if matches(path, PLACES):
            yield "at_hidden_place", "where the verifier has its own; left out"
        if matches(path, KERNEL):
            yield "system_changed", "is the kernel's; left out"
        if matches(path, START_UP):
            yield "start_up_changed", "runs before other programs; the image's own is on the bench"
        if matches(path, TOOL_SETTINGS):
            yield "steers_runner", "steers the tools that grade; left out"
        if self._is_above(entry):
            yield "takes_along", "programs of the system are below it; left out"
        yield from self._of_programs(entry)
        yield from self._of_python(entry)

    def _is_above(self, entry: ChangeEntry) -> bool:
        """A folder that went or became a link would take what is in it along."""
        moved = [side.kind for side in (entry.old, entry.new) if side is not None]
        if moved == ["file"] or (entry.old is None and entry.new is not None and entry.new.kind == "dir"):
            return False
        return any(
            is_within(place, entry.path) for place in (*self._programs, *SYSTEM_LIBRARIES, "tests", "logs")
        )

    @property
    def _programs(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*SYSTEM_BINARIES, *OF_HOMES, *self.path)))

    def _of_programs(self, entry: ChangeEntry) -> Iterator[tuple[str, str]]:
        folder, _, name = entry.path.rpartition("/")
        was_there = entry.old is not None
        # A folder of PATH in the working folder holds work too: only what everybody calls is kept from changing there.
        is_work = bool(self.workdir) and is_within(folder, self.workdir)
        of_system = () if is_work else (*self._programs, *SYSTEM_LIBRARIES)
        if was_there and any(is_within(entry.path, place) for place in of_system):
            yield "system_changed", "a program or library of the image; its own is on the bench"
        hides = matches(name, TOOLS) or (not was_there and self.has_program(name))
        if folder in self._programs and hides:
            yield "system_shadowed", "would be found in the place of another program; left out"
        if name == "pyvenv.cfg" and any(place.rpartition("/")[0] == folder for place in self._programs):
            yield "system_shadowed", "would move Python's library; left out"

    def _of_python(self, entry: ChangeEntry) -> Iterator[tuple[str, str]]:
        path = entry.path
        name = path.rpartition("/")[2]
        if _STANDARD_LIBRARY.match(path):
            yield "system_changed", "is of Python's own library; left out"
        package = _PACKAGES.fullmatch(path)
        if any(map(_CUSTOMIZE.fullmatch, path.split("/")[-2:])):
            yield "start_up_changed", "every Python runs it; left out"
        if package is not None and package["name"] in _RUNNERS:
            yield "steers_runner", "is the program that grades; left out"
        if package is not None and name.endswith(".pth") and self._says(entry, rb"^\s*import\b"):
            yield "start_up_changed", "every Python runs it; left out"
        if name == "entry_points.txt" and self._says(entry, rb"^\s*\[\s*pytest11\s*\]"):
            yield "steers_runner", "every pytest would load it; left out"
        if self._shadows(entry):
            yield "steers_runner", "would be imported in the place of a library; left out"

    def _shadows(self, entry: ChangeEntry) -> bool:
        """Python looks into the current folder first, for some ways of starting it. A file that was asked for is meant."""
        folder = f"{self.workdir}/" if self.workdir else ""
        if entry.old is not None or not entry.path.startswith(folder):
            return False
        below = entry.path.removeprefix(folder)
        is_link = entry.new is not None and entry.new.kind == "symlink"
        return shadows_library(below, link=is_link) and below not in self.brief

    def _says(self, entry: ChangeEntry, pattern: bytes) -> bool:
        new = entry.new
        if new is None or new.kind != "file":
            return new is not None
        if new.size > MAX_READ_BYTES or new.sha256 not in self.blobs:
            return True
        return re.search(pattern, self.blobs.read(new.sha256), re.MULTILINE) is not None


def matches(path: str, patterns: Collection[str]) -> bool:
    """By fnmatch, where `*` crosses `/`."""
    return _compiled(tuple(patterns)).match(path) is not None


@cache
def _compiled(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(translate, patterns)), re.DOTALL)


def _halves(entries: Iterable[ChangeEntry]) -> Iterator[ChangeEntry]:
    """A rename as what went and what came: either may have to stay."""
    for entry in entries:
        if entry.renamed_from is None:
            yield entry
        else:
            yield ChangeEntry(entry.renamed_from, entry.old, None)
            yield ChangeEntry(entry.path, None, entry.new)


def _laid(entry: ChangeEntry, blobs: Blobs) -> list[Laid]:
    """Whatever stands at a path is replaced by what is laid there."""
    new = entry.new
    if new is None:
        return [Laid(entry.path, "gone")]
    if new.kind == "symlink":
        return [Laid(entry.path, "symlink", target=new.target)]
    if new.kind == "dir":
        return [Laid(entry.path, "dir")]
    # Without content it was over a cap, and the change is not complete.
    return [Laid(entry.path, "file", mode=new.mode, source=blobs.path(new.sha256))] if new.sha256 else []
