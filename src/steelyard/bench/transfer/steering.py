"""Files that steer a test runner instead of being tested by it.

A change to one of these is a finding. Those that do nothing else are taken from the baseline on the bench, whatever
the agent made of them, unless the contract lists them in `runner_files`; so are files that do other work too, when the
change concerns what steers in them (steering_parts.py), and files that would be imported in place of a runner or a
test (shadowing.py). The rest, a `Makefile` or a `pom.xml`, is carried, and a finding says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from fnmatch import translate
from functools import cache, cached_property
from pathlib import Path

from steelyard.bench.transfer.git_settings import is_git_config, makes_a_repository, runs_programs
from steelyard.bench.transfer.merged_settings import with_old_settings
from steelyard.bench.transfer.names import node_names
from steelyard.bench.transfer.names.node_shadows import NodeShadows
from steelyard.bench.transfer.names.shadowing import ALONE, Shadows, Surroundings, is_idle
from steelyard.bench.transfer.steering_parts import MAX_BYTES, PARTS, same_part
from steelyard.deferred.named_tuple import NamedTuple
from steelyard.deferred.pattern import deferred_pattern
from steelyard.evidence.change.change import ChangeEntry, claimed_paths
from steelyard.filesystem.tree import Entry, prefixes, printable

# Matched against the base name unless the pattern has a slash.
NEUTRALISED = (
    # Python
    *("conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini", ".coveragerc"),
    *("uv.toml", "mise.toml", ".mise.toml"),
    *("nose.cfg", ".noserc", "nose2.cfg", "unittest.cfg", ".testr.conf", ".stestr.conf"),
    *("sitecustomize.*", "usercustomize.*", "sitecustomize/*", "*/sitecustomize/*"),
    *(
        "usercustomize/*",
        "*/usercustomize/*",
        "*.pth",
        "*.egg-link",
        "*.dist-info/*",
        "*.egg-info/*",
        "pyvenv.cfg",
    ),
    # JavaScript
    *(".npmrc", ".yarnrc", ".yarnrc.*", ".yarn/*", "*/.yarn/*", ".pnp.*", ".pnpmfile.*", "bunfig.toml"),
    *(
        ".mocharc*",
        "mocha.opts",
        "jest.config.*",
        "jest.setup.*",
        "jest-preset.*",
        "__mocks__/*",
        "*/__mocks__/*",
    ),
    *(
        "vitest.config.*",
        "vitest.setup.*",
        "vitest.workspace.*",
        "ava.config.*",
        ".taprc",
        ".nycrc*",
        "nyc.config.*",
    ),
    *(".c8rc*", "babel.config.*", ".babelrc*", ".swcrc", "jasmine.json", "wdio.conf.*"),
    *("playwright.config.*", "cypress.config.*", "karma.conf.*"),
    # others
    *(
        ".Rprofile",
        ".Renviron",
        ".RData",
        ".octaverc",
        ".ghci",
        ".ocamlinit",
        ".erlang",
        ".gdbinit",
        ".lldbinit",
    ),
    *(".jvmopts", ".sbtopts"),
    *(".proverc", ".rspec", ".rspec-local", ".irbrc", ".pryrc", ".bundle/*", "*/.bundle/*"),
    *(
        "minitest/*_plugin.rb",
        "*/minitest/*_plugin.rb",
        "phpunit.xml",
        "phpunit.xml.dist",
        "phpunit.dist.xml",
    ),
    *(".cargo/*", "*/.cargo/*", "rust-toolchain", "rust-toolchain.toml", ".config/nextest.toml", "go.work"),
    *(".mvn/*", "*/.mvn/*", "mvnw", "gradlew", "gradle/wrapper/*", "*/gradle/wrapper/*", "init.gradle*"),
    *("*.runsettings", "junit-platform.properties", "*META-INF/services/org.junit*", "testng.xml"),
)
CARRIED = (
    *(
        "pyproject.toml",
        "setup.cfg",
        "setup.py",
        "noxfile.py",
        "package.json",
        "tsconfig*.json",
        "vite.config.*",
    ),
    *(
        "deno.json",
        "deno.jsonc",
        "Makefile",
        "makefile",
        "GNUmakefile",
        "justfile",
        "Justfile",
        "Taskfile.y*ml",
    ),
    *("CMakeLists.txt", "meson.build", "build.rs", "Cargo.toml", "go.mod", "pom.xml", "build.gradle*"),
    *("settings.gradle*", "gradle.properties", "Rakefile", "Gemfile", "composer.json", "Directory.Build.*"),
    *(".bashrc", ".profile", ".bash_profile", ".envrc"),
)
_INSTALLED = frozenset(
    {"node_modules", ".venv", "site-packages", "dist-packages", "__pypackages__", ".tox", ".nox"}
)
_VITE = deferred_pattern(r"(^|/)vite\.config\.[^/]+$")
# Of languages in which what is compiled or listed first is found first.
_JUDGES_SOURCES = deferred_pattern(
    r"(^|/)src/main/[^/]+/(org/(junit|testng|hamcrest|assertj|mockito|opentest4j|spockframework)|junit|io/kotest)/"
    r"|(^|/)lib/Test2?(/(More|Simple|Builder|Harness|Most|Deep|Exception|API|V0)(/.+)?)?\.pm$"
    r"|(^|/)lib/(minitest|rspec|test/unit|test-unit)(/.+)?\.rb$|(^|/)(src|lib|app)/PHPUnit/"
)
_ENVIRONMENT = deferred_pattern(r"/pyvenv\.cfg$|(^|/)vendor/(modules\.txt|autoload\.php)$")
# Installed in the repository itself they may be patched; those that run or judge the tests may not.
_JUDGES = frozenset(
    [
        "pytest",
        "_pytest",
        "pluggy",
        "iniconfig",
        "unittest",
        "nose",
        "nose2",
        "jest",
        "jest-cli",
        "jest-circus",
        "jest-runner",
        "expect",
        "mocha",
        "vitest",
        "ava",
        "tap",
        "tape",
        "jasmine",
        "jasmine-core",
        "karma",
        "uvu",
        "chai",
        "sinon",
        "should",
        "nyc",
        "c8",
        ".bin",
        "@jest",
        "@vitest",
        "@babel",
    ]
)


def steers(path: str) -> bool:
    """Does this path exist only to steer a runner?"""
    return _matches(path, NEUTRALISED)


def may_steer(path: str) -> bool:
    return _matches(path, CARRIED)


def _matches(path: str, patterns: tuple[str, ...]) -> bool:
    names, paths = _compiled(patterns)
    return bool(names.match(path.rsplit("/", 1)[-1]) or paths.match(path))


@cache
def _compiled(patterns: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """One for base names and one for paths; a change may have ten thousand entries."""
    names = [translate(pattern) for pattern in patterns if "/" not in pattern]
    paths = [translate(pattern) for pattern in patterns if "/" in pattern]
    return re.compile("|".join(names) or "(?!)"), re.compile("|".join(paths) or "(?!)")


class Steers(NamedTuple):
    where: str
    why: str
    instead: bytes | None = None  # the file as it is carried: the change's, with the baseline's settings


class Steering:
    """What of a change steers, in view of the baseline and of where hidden files go. `read`: bytes by their sha256."""

    def __init__(
        self,
        baseline: Collection[str],
        changed: Collection[str],
        hidden: Collection[str],
        read: Callable[[str], bytes | None],
        around: Surroundings = ALONE,
    ) -> None:
        self._baseline = baseline
        self._changed = changed
        self._hidden = hidden
        self._read = read
        self._around = around
        self._shadows = Shadows(baseline, changed, hidden, around)
        self._node_shadows = NodeShadows(baseline, hidden)

    def of(self, entry: ChangeEntry) -> Steers | None:
        """Where and why this entry steers a runner, if it does."""
        return next(filter(None, self._reasons(entry)), None)

    def _reasons(self, entry: ChangeEntry) -> Iterator[Steers | None]:
        is_system = self._around.is_system
        is_inside = is_system and any(name in _INSTALLED for name in entry.path.split("/")[:-1])
        if not is_inside and any(steers(path) for path in claimed_paths(entry)):
            yield Steers(entry.path, "steers the test runner; the bench uses the baseline's")
        installed = next(
            filter(None, map(self._installed, (*entry.paths, *self._paths_of_link(entry)))), None
        )
        if installed is not None and (not is_system or entry.old is not None):
            yield Steers(installed, "is an installed file; the bench uses its own")
        if "vitest" in self._around.runners and any(map(_VITE.search, entry.paths)):
            yield Steers(entry.path, "runs inside the test runner; the bench uses the baseline's")
        if any(path not in self._baseline and self._is_judges(path) for path in entry.paths):
            yield Steers(
                entry.path, "would be imported instead of a library used for grading; not on the bench"
            )
        if (
            entry.old is None
            and entry.path.endswith("/package.json")
            and self._shadows.holds_tests(entry.path)
        ):
            yield Steers(entry.path, "would turn the tests' folder into a package; not on the bench")
        if self._is_git(entry):
            yield Steers(entry.path, "would make git treat its folder as a repository; not on the bench")
        if self._changes_a_part(entry):
            instead = self._merge(entry)
            whose = "the baseline's settings" if instead is not None else "the baseline's"
            yield Steers(entry.path, f"changes what steers the test runner; the bench uses {whose}", instead)
        yield self._shadowing(entry)
        if any(self._shadows.is_of_tests(path) for path in entry.paths) and not self._is_idle(entry):
            yield Steers(entry.path, "runs before the tests; the bench uses the baseline's")

    def _shadowing(self, entry: ChangeEntry) -> Steers | None:
        if entry.new is None:
            return None
        link = entry.new.kind == "symlink"
        if self._shadows.by_name(entry.path, link=link) or self._node_shadows.of(entry.path):
            why = "would be imported instead of a library, a runner or a test; not on the bench"
            return Steers(entry.path, why)
        helper = self._shadows.helper(entry.path, link=link)
        if helper is None:
            return None
        # Of a hidden file the agent is not to learn the name.
        of = printable(helper) if helper in self._baseline else "a file of the tests"
        why = f"has the name of {of} and could be imported instead; not on the bench. `runner_files` can allow it"
        return Steers(entry.path, why)

    @staticmethod
    def keeps(path: str, entry: Entry, tree: Path) -> bool:
        """Whether the bench keeps this file of the baseline, whatever becomes of the folder around it."""
        part = PARTS.get(path.rsplit("/", 1)[-1])
        if part is None or entry.kind != "file" or entry.size > MAX_BYTES:
            return steers(path)
        return not same_part(part, (tree / path).read_bytes(), None)

    def _content(self, side: Entry | None) -> bytes | None:
        """None when there is nothing, or nothing that can be looked at."""
        if side is None or side.kind != "file" or side.size > MAX_BYTES:
            return None
        return self._read(side.sha256)

    def _is_idle(self, entry: ChangeEntry) -> bool:
        sides = [side for side in (entry.old, entry.new) if side is not None]
        same = len(sides) == 2 and sides[0].sha256 == sides[1].sha256 and entry.renamed_from is None
        return same or all(is_idle(self._content(side)) for side in sides)

    def _changes_a_part(self, entry: ChangeEntry) -> bool:
        names = [path.rsplit("/", 1)[-1] for path in entry.paths]
        parts = [PARTS[name] for name in names if name in PARTS]
        is_new_place = entry.old is None and self._is_new_place(entry.path)
        if is_new_place or not (parts or names[-1].endswith(".json")):
            return False
        old, new = self._content(entry.old), self._content(entry.new)
        if new is not None and self._takes_a_name(names[-1], old, new):
            return True
        if not parts:
            return False
        if entry.new is not None and new is None:
            return True  # a link, or too large to be looked at
        if entry.renamed_from is not None:  # from one place to another: whatever steers does it elsewhere now
            return not all(same_part(part, side, None) for part in parts for side in (old, new))
        return not all(same_part(part, old, new) for part in parts)

    def _is_judges(self, path: str) -> bool:
        """A class or module of the product with the name of one that judges, unless the product is such a library."""
        return _JUDGES_SOURCES.search(path) is not None and not any(
            map(_JUDGES_SOURCES.search, self._baseline)
        )

    def _is_git(self, entry: ChangeEntry) -> bool:
        """A HEAD that is new, or settings with programs beside one that is not. A whole system has its own rule."""
        new = entry.new
        if self._around.is_system or new is None or new.kind == "dir":
            return False
        if new.kind == "file" and new.size > MAX_BYTES:
            return False
        if entry.path not in self._baseline and entry.path.rsplit("/", 1)[-1] == "HEAD":
            return makes_a_repository(entry.path, self._content(new))
        folder = entry.path.rpartition("/")[0]
        beside = f"{folder}/HEAD".lstrip("/") in self._baseline and is_git_config(entry.path)
        return beside and (new.kind != "file" or runs_programs(self._content(new) or b""))

    def _merge(self, entry: ChangeEntry) -> bytes | None:
        """The rest of a file belongs to the work where its settings can be separated from it."""
        name = entry.path.rsplit("/", 1)[-1]
        old, new = self._content(entry.old), self._content(entry.new)
        if new is None or entry.renamed_from is not None or (entry.old is not None and old is None):
            return None
        merged = with_old_settings(name, old, new)
        return None if merged is None or self._takes_a_name(name, old, merged) else merged

    def _takes_a_name(self, name: str, old: bytes | None, new: bytes) -> bool:
        if name != "package.json" and b'"paths"' not in new and b'"ts-node"' not in new:
            return False
        if name == "package.json" and b'"exports"' not in new and b'"imports"' not in (old or b""):
            return False
        return node_names.takes_a_name(
            name, old, new, self._around.installed().packages | _JUDGES | self._packages
        )

    @cached_property
    def _packages(self) -> frozenset[str]:
        """Of the snapshot's own node_modules."""
        found = set()
        for path in self._baseline:
            above, installed, below = path.partition("node_modules/")
            if installed and (not above or above.endswith("/")):
                parts = below.split("/")
                found.add("/".join(parts[: 2 if below.startswith("@") else 1]))
        return frozenset(found)

    def _is_new_place(self, path: str) -> bool:
        """A folder that neither the baseline nor a check has anything in: a package that the change adds."""
        folder = path.rpartition("/")[0]
        return not self._around.is_system and folder != "" and folder not in self._folders

    def _installed(self, path: str) -> str | None:
        """The folder of installed things that holds it, unless the baseline has that folder."""
        for folder in prefixes(path)[:-1]:
            if folder in self._environments or folder.rsplit("/", 1)[-1] in _INSTALLED:
                name = path[len(folder) + 1 :].split("/", 1)[0].removesuffix(".py")
                if (folder not in self._folders and not self._around.is_system) or name in _JUDGES:
                    return folder
        return None

    @staticmethod
    def _paths_of_link(entry: ChangeEntry) -> tuple[str, ...]:
        """What a link stands for: `node_modules -> mine` is a folder of installed things."""
        return (f"{entry.path}/x",) if entry.new is not None and entry.new.kind == "symlink" else ()

    @cached_property
    def _folders(self) -> frozenset[str]:
        kept = (folder for path in self._baseline for folder in prefixes(path)[:-1])
        return frozenset((*kept, *(folder for path in self._hidden for folder in prefixes(path))))

    @cached_property
    def _environments(self) -> frozenset[str]:
        """Folders that the change makes a virtual environment, or one of libraries that Go or PHP takes by itself."""
        return frozenset(
            path.rpartition("/")[0]
            for path in self._changed
            if _ENVIRONMENT.search(path) and path not in self._baseline
        )
