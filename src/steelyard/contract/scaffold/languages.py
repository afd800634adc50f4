"""The files of a repository -> how a first contract for it builds and tests.

The language is read from file names, the test runner from the project's own settings: a Python project that uses pytest
gets pytest, a JavaScript project that uses jest gets jest. What setup has to install is written into the contract.
"""

from __future__ import annotations

import json
import posixpath
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import field
from fnmatch import fnmatch
from typing import Any

from steelyard.contract.scaffold.templates import (
    GLOBAL_TEST,
    GO_TEST,
    MOCHA_TEST,
    NODE_TEST,
    PYTHON_TEST,
    RUST_TEST,
    TAP_TEST,
    VITEST_TEST,
)
from steelyard.deferred.data_class import dataclass


@dataclass(frozen=True, slots=True)
class Repository:
    """The paths of a repository's files, and the text of some."""

    paths: frozenset[str] = frozenset()
    read: Callable[[str], str] = lambda _path: ""

    def has(self, *names: str) -> bool:
        return any(name in self.paths for name in names)

    def has_suffix(self, *suffixes: str) -> bool:
        return any(path.endswith(suffixes) for path in self.paths)

    def text(self, *names: str) -> str:
        return "\n".join(self.read(name) for name in names if name in self.paths)


@dataclass(frozen=True, slots=True)
class Recipe:
    """What one language puts into a contract."""

    cmd: str
    hidden: str  # the name of the hidden test in `hidden/`
    dest: str  # its path in the tree
    text: str
    toolchain: tuple[str, str] | None = None  # name and release
    setup: tuple[str, ...] = ()
    build: str | None = None  # the command of a check `under: build`
    runner: str | None = None
    junit_xml: str | None = None
    alternatives: str = ""  # other commands, for a comment


@dataclass(frozen=True, slots=True)
class Language:
    recipe: Callable[[Repository], Recipe]
    is_used_by: Callable[[Repository], bool]
    because: str = field(default="")  # which files say so


def _python(repository: Repository) -> Recipe:
    settings = repository.text(
        "pyproject.toml", "setup.cfg", "tox.ini", "requirements.txt", "requirements-dev.txt"
    )
    test = ("test_acceptance.py", "tests/test_acceptance.py", PYTHON_TEST)
    toolchain = ("python", "3")
    if "pytest" not in settings and not repository.has("pytest.ini", "conftest.py", "tests/conftest.py"):
        other = "python3 -m pytest, once `setup` installs it"
        cmd = f"{_import_path(repository)}python3 -m unittest tests/test_acceptance.py"
        return Recipe(cmd, *test, toolchain, alternatives=other)
    is_package = repository.has("pyproject.toml", "setup.py")
    packages = "pytest -e ." if is_package else "pytest"
    if repository.has("requirements.txt"):
        packages += " -r requirements.txt"
    setup = ("python3 -m venv .venv", f".venv/bin/pip install {packages}")
    path = "" if is_package else _import_path(repository)
    return Recipe(f"{path}.venv/bin/python -m pytest -q tests/test_acceptance.py", *test, toolchain, setup)


def _import_path(repository: Repository) -> str:
    """For modules in `src/` of a project that is not installed."""
    has_modules = any(path.startswith("src/") and path.endswith(".py") for path in repository.paths)
    return "PYTHONPATH=src " if has_modules else ""


_NODE_RUNNERS = {
    "vitest": ("npx vitest run", "test/acceptance.test.{suffix}", VITEST_TEST),
    "jest": ("npx jest", "test/acceptance.test.{suffix}", GLOBAL_TEST),
    "mocha": ("npx mocha", "test/acceptance.test.{suffix}", MOCHA_TEST),
}


def _package(repository: Repository) -> Mapping[str, Any]:
    """package.json as far as it is one."""
    try:
        found = json.loads(repository.text("package.json"))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _npm_packages(repository: Repository) -> set[str]:
    package = _package(repository)
    groups = [package.get(key) for key in ("dependencies", "devDependencies")]
    return {name for group in groups if isinstance(group, dict) for name in group}


def _npm_setup(repository: Repository) -> tuple[str, ...]:
    if not _npm_packages(repository):
        return ()
    return ("npm ci",) if repository.has("package-lock.json", "npm-shrinkwrap.json") else ("npm install",)


def _javascript(repository: Repository, suffix: str = "js", compiler: str | None = None) -> Recipe:
    packages, setup = _npm_packages(repository), _npm_setup(repository)
    toolchain = ("node", "20")
    for runner, (cmd, pattern, text) in _NODE_RUNNERS.items():
        if runner in packages:
            dest = pattern.format(suffix=suffix)
            return Recipe(f"{cmd} {dest}", dest.split("/")[-1], dest, text, toolchain, setup, compiler)
    test = ("acceptance.test.mjs", "test/acceptance.test.mjs", NODE_TEST)
    other = "npx jest, npx vitest run, npx mocha, once `setup` installs them"
    if compiler is None:
        return Recipe("node --test test/acceptance.test.mjs", *test, toolchain, setup, alternatives=other)
    report = "--test-reporter=junit --test-reporter-destination=acceptance.xml"
    cmd = f"npx tsc && node --test {report} test/acceptance.test.mjs"
    return Recipe(cmd, *test, toolchain, setup, compiler, junit_xml="acceptance.xml", alternatives=other)


def _typescript(repository: Repository) -> Recipe:
    return _javascript(repository, "ts", "npx tsc --noEmit")


def _go(repository: Repository) -> Recipe:
    dest = "acceptance/acceptance_test.go"
    setup = (
        ("go mod download",) if repository.has("go.sum") and not repository.has("vendor/modules.txt") else ()
    )
    toolchain = ("go", "1")
    return Recipe(
        "go test ./acceptance/...", "acceptance_test.go", dest, GO_TEST, toolchain, setup, "go build ./..."
    )


def _rust(repository: Repository) -> Recipe:
    member = _cargo_member(repository)
    settings = repository.text("Cargo.toml", f"{member}Cargo.toml")
    has_dependencies = (
        'source = "registry' in repository.text("Cargo.lock")
        if repository.has("Cargo.lock")
        else "dependencies]" in settings
    )
    setup = ("cargo fetch",) if has_dependencies else ()
    dest, toolchain = f"{member}tests/acceptance.rs", ("rust", "1")
    return Recipe(
        "cargo test --test acceptance", "acceptance.rs", dest, RUST_TEST, toolchain, setup, "cargo build"
    )


def _cargo_member(repository: Repository) -> str:
    """`crates/shop/`: a workspace without a package at its top has tests in its members only."""
    try:
        settings = tomllib.loads(repository.text("Cargo.toml"))
    except tomllib.TOMLDecodeError:
        return ""
    workspace = settings.get("workspace")
    members = workspace.get("members") if isinstance(workspace, dict) else None
    if "package" in settings or not isinstance(members, list):
        return ""
    packages = (posixpath.dirname(one) for one in repository.paths if one.endswith("/Cargo.toml"))
    found = [one for one in packages if any(fnmatch(one, str(pattern)) for pattern in members)]
    return f"{min(found)}/" if found else ""


def _make(_repository: Repository) -> Recipe:
    return Recipe(
        *("sh tests/acceptance.sh", "acceptance.sh", "tests/acceptance.sh", TAP_TEST),
        build="make",
        runner="tap",
        alternatives="ctest, prove, bats; `type: command` compares only the exit code",
    )


LANGUAGES: dict[str, Language] = {
    "python": Language(
        _python,
        lambda files: files.has("pyproject.toml", "setup.py", "setup.cfg"),
        "pyproject.toml or setup.py",
    ),
    "rust": Language(_rust, lambda files: files.has("Cargo.toml"), "Cargo.toml"),
    "go": Language(_go, lambda files: files.has("go.mod"), "go.mod"),
    "typescript": Language(_typescript, lambda files: files.has("tsconfig.json"), "tsconfig.json"),
    "javascript": Language(_javascript, lambda files: files.has("package.json"), "package.json"),
    "c": Language(
        _make,
        lambda files: (
            files.has("Makefile", "makefile", "GNUmakefile") and files.has_suffix(".c", ".cc", ".cpp", ".h")
        ),
        "Makefile and C sources",
    ),
}  # in the order in which they are tried

_SUFFIXES = {"python": ".py", "javascript": (".js", ".mjs", ".cjs")}

_SOURCES = {
    "python": (".py",),
    "rust": (".rs",),
    "go": (".go",),
    "typescript": (".ts", ".tsx", ".js", ".mjs", ".cjs", ".jsx"),
    "javascript": (".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx"),
    "c": (".c", ".cc", ".cpp", ".h", ".hpp"),
}
_NO_SOURCES = frozenset({"vendor", "node_modules", "third_party", "dist", "build", "docs", "examples"})
_NO_SOURCE_FILES = ("setup.py", "conftest.py", "*.config.*")
_MOST_PLACES = 8
_USUAL_PLACES = ("src/**", "tests/**")


def source_places(repository: Repository, language: str) -> tuple[str, ...]:
    """Patterns for the folders and files at the top that have sources; the usual ones where there are none, or too many to list."""
    found = set()
    for path in repository.paths:
        top, _, below = path.partition("/")
        is_source = path.endswith(_SOURCES[language]) and re.fullmatch(r"\w[\w.-]*", top, re.ASCII)
        if is_source and below and top not in _NO_SOURCES:
            found.add(f"{top}/**")
        elif is_source and not below and not any(fnmatch(top, one) for one in _NO_SOURCE_FILES):
            found.add(top)
    return tuple(sorted(found)) if 0 < len(found) <= _MOST_PLACES else _USUAL_PLACES


def detect(repository: Repository) -> tuple[str, str]:
    """The language of a repository, and what says so."""
    if not repository.paths:
        return "python", "there are no files yet"
    for name, language in LANGUAGES.items():
        if language.is_used_by(repository):
            return name, language.because
    for name, suffix in _SUFFIXES.items():
        if repository.has_suffix(*([suffix] if isinstance(suffix, str) else suffix)):
            return name, "its files' names"
    return "python", "the repository's files name no language that `init` knows"
