"""Files that steer a test runner instead of being tested by it.

A change to one of these is a finding. Those that do nothing else are taken from the baseline on the bench,
whatever the agent made of them, unless the contract lists them in `runner_files`. Those that are also part of
ordinary work (a `pyproject.toml`, a `Makefile`) are carried, and the finding says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

# Matched against the base name unless the pattern has a slash.
NEUTRALISED = (
    "conftest.py",
    "pytest.ini",
    ".pytest.ini",
    "pytest.toml",
    ".pytest.toml",
    "tox.ini",
    "sitecustomize.py",
    "usercustomize.py",
    "*.pth",
    "*.egg-link",
    "*.dist-info/*",
    "*.egg-info/*",
    ".proverc",
    ".rspec",
    ".rspec-local",
    "phpunit.xml",
    "phpunit.xml.dist",
    ".cargo/config",
    ".cargo/config.toml",
    "*/.cargo/config",
    "*/.cargo/config.toml",
    "playwright.config.*",
    "cypress.config.*",
    "karma.conf.*",
    ".npmrc",
    ".mocharc*",
    "jest.config.*",
    "vitest.config.*",
    "babel.config.*",
    ".babelrc*",
)
CARRIED = (
    "pyproject.toml",
    "setup.cfg",
    "setup.py",
    "package.json",
    "Makefile",
    "makefile",
    "GNUmakefile",
    "CMakeLists.txt",
    "build.rs",
    "Cargo.toml",
    "go.mod",
)


def steers(path: str) -> bool:
    """Does this path exist only to steer a runner?"""
    return _matches(path, NEUTRALISED)


def may_steer(path: str) -> bool:
    return _matches(path, CARRIED)


def _matches(path: str, patterns: Sequence[str]) -> bool:
    name = path.rsplit("/", 1)[-1]
    return any(fnmatchcase(path if "/" in pattern else name, pattern) for pattern in patterns)
