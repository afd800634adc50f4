"""A path of a system -> whether work lies there, or something that programs read by themselves.

srv/x, data/x, tmp/x, app/x, opt/x, home/ann/notes, the working folder   work: it is read only on request
usr, etc, lib, run, var/lib, root/.config, opt/conda (on PATH)           the system's: whatever runs reads it unasked

Whatever a verifier is written in, its interpreter looks into more places than any list has: libraries, name services,
archives, start-up files, caches. So the list here is of places for work, and nothing else is.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import field
from fnmatch import translate
from functools import cache, cached_property

from steelyard.deferred.data_class import dataclass
from steelyard.filesystem.tree import is_within

# Wherever the image has nothing of its own in them, programs still look there.
SYSTEM = (
    *("usr", "lib", "lib32", "lib64", "libx32", "libexec", "bin", "sbin", "etc", "boot", "run", "nix", "gnu", "snap"),
    *("dev", "proc", "sys", "tests", "logs", "solution", "solutions", "lost+found"),
    "node_modules",  # of every script below the root, /tests too
    # Package managers, their caches and scripts, timetables, sockets.
    *("var/lib", "var/cache", "var/spool", "var/run", "var/lock", "var/db"),
)  # fmt: skip
# What stays a folder, though there is work in it.
STANDING = ("root", "home", "tmp", "var", "srv", "mnt", "media", "opt")
SYSTEM_BINARIES = ("usr/bin", "usr/sbin", "usr/local/bin", "usr/local/sbin", "bin", "sbin")
_OF_PREFIX: tuple[str, ...] = ("bin", "sbin", "lib", "lib32", "lib64", "libexec", "pyvenv.cfg")
_BINARIES = frozenset({"bin", "sbin", "shims", "Scripts", ".bin"})
_IN_USR = re.compile(
    r"usr(/local)?(/(bin|sbin|lib[^/]*|libexec|share|include|games|etc|man)(/.*)?)?", re.DOTALL
)
# Without a dot, and read all the same: by login shells, R, TeX and Perl.
_READ_IN_HOME = frozenset({"bin", "R", "texmf", "perl5"})
_OF_REPOSITORIES = frozenset({".git", ".gitignore", ".gitattributes", ".github"})
# Of the verifier, and of the kernel: nothing of a change goes there.
PLACES = ("tests", "tests/*", "logs", "logs/*", "opt/steelyard", "opt/steelyard/*")
KERNEL = ("dev", "dev/*", "proc", "proc/*", "sys", "sys/*")
OF_SYSTEM = "is in a system folder that programs read by default"
OF_PREFIX = "belongs to programs that are on PATH"
OF_HOME = "is a setting in a home folder that programs read by default"


@dataclass(frozen=True)
class ImageContents:
    """What an image has; every path without its leading slash."""

    path: tuple[str, ...] = ()  # the folders of PATH, and what those are that are links
    programs: frozenset[str] = frozenset()  # by name, in those folders and the system's own
    needed: tuple[
        str, ...
    ] = ()  # folders of interpreters that PATH leads to; what the linker and shells are configured to read
    others: tuple[str, ...] = ()  # folders of other interpreters, and of programs that PATH has links to
    homes: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()  # where Python looks for modules
    files: frozenset[str] = frozenset()  # of the working folder


@dataclass(frozen=True)
class SystemPaths:
    workdir: str  # "" is the root
    installed: ImageContents = field(default_factory=ImageContents)

    def why_not(self, path: str) -> str | None:
        """Why nothing at that path is work by itself; None where it is."""
        if self.is_own and is_within(path, self.workdir):
            return self._among(path, [place for place in self.kept if is_within(place, self.workdir)])
        if path.startswith(".") or any(is_within(path, place) for place in SYSTEM):
            return OF_SYSTEM
        return self._among(path, self.kept)

    @property
    def is_own(self) -> bool:
        """Whether the working folder is one for work: not the root, not a part of the system."""
        workdir = self.workdir
        if workdir.startswith("usr"):
            return not _IN_USR.fullmatch(workdir)
        return bool(workdir) and not any(
            workdir == place or (is_within(workdir, place) and not place.startswith("var/"))
            for place in SYSTEM
        )

    @cached_property
    def kept(self) -> tuple[str, ...]:
        """Folders that hold what PATH leads to: the image's, whole."""
        installed = self.installed
        found = [place for prefix in self._prefixes for place in self._of_prefix(prefix)]
        outside = [one for one in installed.others if not (self.is_own and is_within(one, self.workdir))]
        found += [place for prefix in outside for place in self._of_prefix(prefix)]
        inner = [place for place in SYSTEM if self.is_own and is_within(place, self.workdir)]
        return tuple(dict.fromkeys((*found, *inner)))

    @cached_property
    def programs(self) -> tuple[str, ...]:
        """Where programs are found by name."""
        homes = [f"{home}/bin" for home in ("root", *self.installed.homes)]
        return tuple(dict.fromkeys((*SYSTEM_BINARIES, *self.installed.path, *homes)))

    def stands_above(self, path: str) -> bool:
        """Whether something of the system's is at that path or below it, or a home."""
        return self._home_of(path) == path or any(is_within(place, path) for place in self._fixed_places)

    @cached_property
    def _fixed_places(self) -> tuple[str, ...]:
        return (*SYSTEM, *STANDING, *self.kept, *self.programs, *self.installed.homes)

    @property
    def _prefixes(self) -> Iterable[str]:
        yield from map(prefix_of, self.installed.path)
        yield from self.installed.needed

    def _of_prefix(self, prefix: str) -> tuple[str, ...]:
        """A working folder or a home that is one has work beside it."""
        if prefix == self.workdir and self.is_own:
            names = _OF_PREFIX[2:] if prefix in self.installed.needed else _OF_PREFIX[:0]
        elif prefix in ("", *STANDING) or self._home_of(prefix) == prefix:
            names = _OF_PREFIX
        else:
            return (prefix,)
        return tuple(f"{prefix}/{name}".lstrip("/") for name in names)

    def _among(self, path: str, kept: Iterable[str]) -> str | None:
        if any(is_within(path, place) for place in kept):
            return OF_PREFIX
        home = self._home_of(path)
        if home is None or home == path:
            return None
        if self.is_own and is_within(path, self.workdir) and not is_within(home, self.workdir):
            return None  # the working folder is further down
        name = path.removeprefix(f"{home}/").split("/")[0]
        is_work = self.is_own and home == self.workdir
        if name.startswith(".") and not (is_work and name in _OF_REPOSITORIES):
            return OF_HOME
        return OF_HOME if name in _READ_IN_HOME and not is_work else None

    def _home_of(self, path: str) -> str | None:
        """The home that a path is or lies in: /root, each folder in /home, and those of the image's users."""
        first, *rest = path.split("/")
        if first == "home" and rest:
            return f"home/{rest[0]}"
        own = [home for home in ("root", *self.installed.homes) if home and is_within(path, home)]
        return max(own, key=len, default=None)


def prefix_of(folder: str) -> str:
    """A folder of programs -> the one that has their libraries too: /opt/conda of /opt/conda/bin."""
    above, _, name = folder.rpartition("/")
    return above if name in _BINARIES else folder


def matches(path: str, patterns: Collection[str]) -> bool:
    """By fnmatch, where `*` crosses `/`."""
    return _compiled(tuple(patterns)).match(path) is not None


@cache
def _compiled(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(translate, patterns)), re.DOTALL)
