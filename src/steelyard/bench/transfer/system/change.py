"""A change of a whole system -> what of it is written on a fresh container of the same image, and what stays behind.

srv/out.txt, app/x, home/ann/notes, the working folder    carried: places for work (system_places.py)
usr, etc, var/lib, root/.config, opt/conda on PATH        left: the system's, unless the contract `exports` it
tests/..., logs/...                                       left, whatever is exported: the verifier has its own
app/out -> /tests/expected.txt                            left: the verifier would read its own file
app/json.py, app/bin/python3 (on PATH)                    left: would be found instead of a library or a program
app/conftest.py, app/pytest.ini                           left: steers the tests, as in a workspace (steering.py)
app/pyproject.toml with [tool.pytest...]                  carried, with what the image's file says of that
app/tests/test_outputs.py/x, where a verifier copies to   left: in the way of the verifier's own file
app/.git/config with a program to run                     left: a verifier that calls git would run it
etc/nginx/nginx.conf with exports: [/etc/nginx/**]        carried
usr/local/bin/pytest with exports: [/usr/local/bin/*]     left: what steers is carried by its own name only

Root of a container can change what grades it, so only work is carried over, and work is what lies where no program
looks by itself. Nothing is silent: whatever stays behind is in a finding.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from steelyard.bench.transfer import link_targets
from steelyard.bench.transfer.git_settings import is_git_config, is_git_hook, runs_programs
from steelyard.bench.transfer.names.shadowing import ALONE, Surroundings, shadows_library
from steelyard.bench.transfer.names.verifier_names import IN_THE_WAY, NO_TARGETS, Targets
from steelyard.bench.transfer.steering import Steering, Steers, steers
from steelyard.bench.transfer.steering_parts import PARTS
from steelyard.bench.transfer.system.places import KERNEL, PLACES, SystemPaths, matches
from steelyard.deferred.data_class import dataclass
from steelyard.evidence.change.change import ChangeEntry
from steelyard.evidence.finding import Finding
from steelyard.evidence.folder.blobs import Blobs
from steelyard.filesystem.tree import is_within, prefixes, printable
from steelyard.sandboxes.base import FileOverlay

MAX_READ_BYTES = 1 << 20
MOST_FINDINGS = 20
DEEPEST = 6
FIX = "list it in `exports`, or use `bench: live`"
MERGED = "changes settings of the test runner; those settings are the image's on the bench"
BY_NAME = "name it in `exports` without a wildcard if it is part of the work"

# Ours, or the engine's: no agent's work, and no word about it.
OURS = (
    "solution",
    "solution/*",
    "solutions",
    "solutions/*",
    "run/steelyard",
    "run/steelyard/*",
    ".steelyard-*",
    "*/.steelyard-*",  # of whichever HOME
    ".dockerenv",
)
# What a link into `KERNEL` may lead to: nothing that is work.
_DEVICES = ("dev/null", "dev/zero", "dev/full", "dev/random", "dev/urandom", "dev/tty", "dev/std*")
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
    *("etc/ld.so.preload", "etc/ld.so.conf", "etc/ld.so.conf.d/*", "etc/ld.so.cache", "etc/ld-musl*.path"),
    "etc/nsswitch.conf",
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
_STANDARD_LIBRARY = re.compile(
    r"(usr/|usr/local/|opt/[^/]+/)?lib(64)?/python3([0-9]*\.zip|[^/]*/(?!(site|dist)-packages/))"
)
_PACKAGES = re.compile(r".*/(site|dist)-packages/(?P<name>[^/]+)(?P<below>/.*)?")
# Looked at by what it says, below.
_METADATA = re.compile(r"\.(dist|egg)-info/|\.pth$|(^|/)pyvenv\.cfg$")
_INSTALLED = re.compile(r"(^|/)(node_modules|site-packages|dist-packages|\.venv|venv|\.tox|\.nox)/")
_RUNNERS = frozenset(
    {"pytest", "_pytest", "pluggy", "iniconfig", "pytest.py", "_pytest.py", "pluggy.py", "py.py"}
)
_CUSTOMIZE = re.compile(r"(sitecustomize|usercustomize)(\..*|$)")


class SystemChange(NamedTuple):
    overlays: tuple[FileOverlay, ...]
    findings: tuple[Finding, ...]
    merged: Mapping[str, bytes] = {}  # other contents of files that are written


class OmittedPath(NamedTuple):
    """Why one path stays behind."""

    slug: str
    path: str
    why: str


@dataclass(frozen=True)
class SystemPolicy:
    """What of one image's system may be changed by an agent, and still be there when it is graded."""

    places: SystemPaths
    brief: str
    blobs: Blobs
    exports: tuple[str, ...] = ()  # globs of absolute paths
    around: Surroundings = ALONE
    targets: Targets = NO_TARGETS

    def split(self, entries: Iterable[ChangeEntry]) -> SystemChange:
        halves = [entry for entry in _halves(entries) if not matches(entry.path, OURS)]
        links = {one.path: one.new.target for one in halves if one.new and one.new.kind == "symlink"}
        steered = self._find_steering(halves)
        reasons = [
            (entry, self.why_left(entry, steered.get(entry)) or _led_astray(entry, links)) for entry in halves
        ]
        # FileOverlay below one of these, a file would make its own folder instead of what the image has.
        taken = {entry.path for entry, why in reasons if why is not None and _changes_kind(entry)}
        overlays: list[FileOverlay] = []
        left: dict[OmittedPath, ChangeEntry] = {}
        for entry, why in reasons:
            reason = why or _below(entry.path, taken)
            if reason is not None:
                left[reason] = entry
            else:
                overlays += _overlays_of(entry, self.blobs)
        made = {above for one in overlays if one.kind != "gone" for above in prefixes(one.path)[:-1]}
        reported = [why for why, entry in left.items() if not (_is_new_folder(entry) and entry.path in made)]
        carried = {one.path for one in overlays if one.kind == "file"}
        merged = {
            entry.path: one.instead
            for entry, one in steered.items()
            if one.instead is not None and entry.path in carried and f"/{entry.path}" not in self.exports
        }
        reported += [OmittedPath("steers_runner", path, MERGED) for path in merged]
        return SystemChange(
            tuple(sorted(overlays, key=lambda one: one.kind != "gone")), findings_of(reported), merged
        )

    def _find_steering(self, entries: Collection[ChangeEntry]) -> dict[ChangeEntry, Steers]:
        """By the rules of a workspace, for the working folder; elsewhere by the names of files."""
        workdir = self.places.workdir
        inside = (
            {entry: self._below(entry) for entry in entries if is_within(entry.path, workdir)}
            if workdir
            else {}
        )
        known = {path.removeprefix(f"{workdir}/") for path in self.places.installed.files}
        steering = Steering(
            known | {one.path for one in inside.values() if one.old is not None},
            [one.path for one in inside.values() if one.new is not None],
            (),
            lambda sha256: self.blobs.read(sha256) if sha256 in self.blobs else None,
            replace(self.around, brief=self.brief.replace(f"/{workdir}/", ""), is_system=True),
        )
        found = {entry: steering.of(inside.get(entry, entry)) for entry in entries if self._is_steered(entry)}
        return {entry: one for entry, one in found.items() if one is not None and not self._is_asked(entry)}

    def _is_steered(self, entry: ChangeEntry) -> bool:
        """Outside the working folder nothing is imported by its bare name."""
        if _METADATA.search(entry.path):
            return False
        if _INSTALLED.search(entry.path):  # may be the work; a part of a runner that the image has is not
            return entry.old is not None
        is_setting = steers(entry.path) or entry.path.rpartition("/")[2] in PARTS
        return is_setting or bool(self.places.workdir and is_within(entry.path, self.places.workdir))

    def _below(self, entry: ChangeEntry) -> ChangeEntry:
        return replace(entry, path=entry.path.removeprefix(f"{self.places.workdir}/"))

    def _is_asked(self, entry: ChangeEntry) -> bool:
        """A file that only steers, and that the brief asks for by its name, is the work."""
        name = entry.path.rpartition("/")[2]
        return steers(name) and re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", self.brief) is not None

    def why_left(self, entry: ChangeEntry, steered: Steers | None = None) -> OmittedPath | None:
        return next((OmittedPath(slug, entry.path, why) for slug, why in self._reasons(entry, steered)), None)

    def _reasons(self, entry: ChangeEntry, steered: Steers | None) -> Iterator[tuple[str, str]]:
        path = entry.path
        if matches(path, PLACES):
            yield "at_hidden_place", "a path that the verifier uses; left out"
        if matches(path, KERNEL):
            yield "system_changed", "belongs to the kernel; left out"
        if self.targets.stopped_by(entry, path):
            yield "at_hidden_place", IN_THE_WAY
        if f"/{path}" in self.exports:
            return
        is_exported = any(exports(pattern, path) for pattern in self.exports)
        if not is_exported:
            yield from self._of_place(entry)
        if _changes_kind(entry) and self.places.stands_above(path):
            yield "takes_along", "would remove system files below it; left out"
        fix = BY_NAME if is_exported else FIX
        own = (*_of_start_up(path), *self._of_programs(entry), *self._of_python(entry), *self._of_git(entry))
        for slug, why in own:
            yield slug, f"{why}; left out ({fix})"
        if steered is not None and steered.instead is None:
            why = steered.why.partition(";")[0]
            yield "steers_runner", f"{why}; left out ({fix})"

    def _of_place(self, entry: ChangeEntry) -> Iterator[tuple[str, str]]:
        why = self.places.why_not(entry.path)
        if why is None and "/" not in entry.path and not self._may_be_at_the_top(entry):
            why = "is a file in `/` that the brief does not name"
        if why is not None:
            yield "not_carried", f"{why}; left out ({FIX})"

    def _may_be_at_the_top(self, entry: ChangeEntry) -> bool:
        """Tools look for settings from their scripts up to the root; work there is what the brief asks for."""
        kinds = {side.kind for side in (entry.old, entry.new) if side is not None}
        start = r"(?<![\w./~-])/" if self.places.workdir else r"(?<![\w.~-])/?"
        named = re.search(rf"{start}{re.escape(entry.path)}(?![\w-])", self.brief)
        return kinds == {"dir"} or named is not None

    def _of_programs(self, entry: ChangeEntry) -> Iterator[tuple[str, str]]:
        """Of places that are carried: what would be found instead of a program."""
        folder, _, name = entry.path.rpartition("/")
        programs, old = self.places.programs, entry.old
        if name == "pyvenv.cfg" and any(place.rpartition("/")[0] == folder for place in programs):
            yield "system_shadowed", "would redirect Python's library"
        if folder not in programs:
            return
        is_data = old is not None and old.kind == "file" and old.mode == "644"
        if old is not None and not (is_data and folder == self.places.workdir):
            yield "system_changed", "a program of the image; the bench uses the image's"
        if matches(name, TOOLS) or (old is None and name in self.places.installed.programs):
            yield "system_shadowed", "would be found instead of another program"

    def _of_python(self, entry: ChangeEntry) -> Iterator[tuple[str, str]]:
        path = entry.path
        name = path.rpartition("/")[2]
        if _STANDARD_LIBRARY.match(path):
            yield "system_changed", "belongs to Python's standard library"
        package = _PACKAGES.fullmatch(path)
        if any(map(_CUSTOMIZE.fullmatch, path.split("/")[-2:])):
            yield "start_up_changed", "every Python process runs it"
        if package is not None and package["name"] in _RUNNERS:
            yield "steers_runner", "is a program used for grading"
        # However its lines are divided, and whatever is before them.
        if package is not None and name.endswith(".pth") and self._says(entry, rb"import"):
            yield "start_up_changed", "every Python process runs it"
        if name == "entry_points.txt" and self._says(entry, rb"pytest11"):
            yield "steers_runner", "every pytest process would load it"
        if self._shadows(entry):
            yield "steers_runner", "would be imported instead of a library"

    def _shadows(self, entry: ChangeEntry) -> bool:
        """Python looks into the current folder first, for some ways of starting it. A file that was asked for is meant."""
        if entry.old is not None:
            return False
        is_link = entry.new is not None and entry.new.kind == "symlink"
        folders = [self.places.workdir, *self.places.installed.imports]
        for folder in dict.fromkeys(folders):
            if is_within(entry.path, folder) or not folder:
                below = entry.path.removeprefix(f"{folder}/")
                # Of the working folder the rest is known by the rules of a workspace.
                installed = () if folder == self.places.workdir else self.around.installed().modules
                if shadows_library(below, installed, link=is_link) and below not in self.brief:
                    return True
        return False

    def _of_git(self, entry: ChangeEntry) -> Iterator[tuple[str, str]]:
        new = entry.new
        if new is not None and is_git_hook(entry.path) and "hook" not in self.brief.lower():
            yield "steers_runner", "is run by git"
        if not is_git_config(entry.path) or new is None or new.kind == "dir":
            return
        can_read = new.kind == "file" and new.size <= MAX_READ_BYTES and new.sha256 in self.blobs
        if not can_read or runs_programs(self.blobs.read(new.sha256)):
            yield "steers_runner", "names programs that git runs"

    def _says(self, entry: ChangeEntry, pattern: bytes) -> bool:
        new = entry.new
        if new is None or new.kind != "file":
            return new is not None
        if new.size > MAX_READ_BYTES or new.sha256 not in self.blobs:
            return True
        return re.search(pattern, self.blobs.read(new.sha256)) is not None


def exports(pattern: str, path: str) -> bool:
    """`/etc/nginx/**` is the folder too."""
    return matches(f"/{path}", (pattern,)) or pattern.rstrip("*") == f"/{path}/"


def findings_of(left: Collection[OmittedPath]) -> tuple[Finding, ...]:
    """One each; of many, one for each folder, as far down as the number allows."""
    groups: dict[tuple[str, ...], list[OmittedPath]] = {}
    for depth in range(DEEPEST, 0, -1):
        groups = {}
        for one in left:
            name = one.path if len(left) <= MOST_FINDINGS else "/".join(one.path.split("/")[:depth])
            groups.setdefault((name,) if depth == 1 else (name, *one[::2]), []).append(one)
        if len(groups) <= MOST_FINDINGS:
            break
    found = [_finding(name, ones) for (name, *_), ones in groups.items()]
    if len(found) <= MOST_FINDINGS:
        return tuple(found)
    rest = [one for ones in [*groups.values()][MOST_FINDINGS - 1 :] for one in ones]
    return (*found[: MOST_FINDINGS - 1], _finding("", rest))


def _finding(name: str, ones: list[OmittedPath]) -> Finding:
    first = ones[0]
    if len(ones) == 1:
        return Finding(first.slug, "warning", printable(f"/{first.path}"), first.why)
    return Finding(
        first.slug, "warning", printable(f"/{name}"), f"{len(ones)} paths, the first of which {first.why}"
    )


def _of_start_up(path: str) -> Iterator[tuple[str, str]]:
    if matches(path, START_UP):
        yield "start_up_changed", "runs before other programs"
    if matches(path, TOOL_SETTINGS):
        yield "steers_runner", "steers the tools used for grading"


def _led_astray(entry: ChangeEntry, links: Mapping[str, str]) -> OmittedPath | None:
    """A link to a file of the verifier's would show it that file instead of the work."""
    end = link_targets.led_to(entry.path, links) if entry.path in links and entry.new is not None else None
    if end is None or matches(end, _DEVICES) or not matches(end, (*PLACES, *OURS, *KERNEL)):
        return None
    return OmittedPath("leads_to_hidden", entry.path, f"leads to {printable(f'/{end}')}; left out")


def _changes_kind(entry: ChangeEntry) -> bool:
    """A folder that went or became something else takes what is in it along; a link leads anywhere."""
    old, new = (None if side is None else side.kind for side in (entry.old, entry.new))
    return "symlink" in (old, new) or (old is not None and old != new and "dir" in (old, new))


def _is_new_folder(entry: ChangeEntry) -> bool:
    return entry.old is None and entry.new is not None and entry.new.kind == "dir"


def _below(path: str, taken: Collection[str]) -> OmittedPath | None:
    above = next((one for one in prefixes(path)[:-1] if one in taken), None)
    return (
        None
        if above is None
        else OmittedPath("takes_along", path, f"{printable(f'/{above}')} above it is not on the bench")
    )


def _halves(entries: Iterable[ChangeEntry]) -> Iterator[ChangeEntry]:
    """A rename as what went and what came: either may have to stay."""
    for entry in entries:
        if entry.renamed_from is None:
            yield entry
        else:
            yield ChangeEntry(entry.renamed_from, entry.old, None)
            yield ChangeEntry(entry.path, None, entry.new)


def _overlays_of(entry: ChangeEntry, blobs: Blobs) -> list[FileOverlay]:
    """Whatever stands at a path is replaced by what is written there."""
    new = entry.new
    if new is None:
        return [FileOverlay(entry.path, "gone")]
    if new.kind == "symlink":
        return [FileOverlay(entry.path, "symlink", target=new.target)]
    if new.kind == "dir":
        return [FileOverlay(entry.path, "dir")]
    # Without content it was over a cap, and the change is not complete.
    return (
        [FileOverlay(entry.path, "file", mode=new.mode, source=blobs.path(new.sha256))] if new.sha256 else []
    )
