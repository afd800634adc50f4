"""`node --test ...`, as it is typed -> which files to run, with which of its options.

node --test                          what Node takes for tests, anywhere below
node --test test/                    the same below one folder
node --test "test/**/*.test.js"      what a pattern matches
node --import tsx --test a.test.ts   with options that the tests' processes get too
node test/cart.test.js               a single file
"""

from __future__ import annotations

import json
import posixpath
import re
import shlex
from collections.abc import Iterable
from dataclasses import field, replace
from fnmatch import translate
from pathlib import Path
from typing import Any

from steelyard.bench.suite.command_words import command_words
from steelyard.bench.suite.suite import Suite
from steelyard.deferred.data_class import dataclass

_NODE = re.compile(r"(/usr(/local)?/bin/)?node(js)?")
# Options whose value is the next word.
_VALUED = frozenset(
    [
        "-r",
        "--require",
        "--import",
        "--loader",
        "--experimental-loader",
        "-C",
        "--conditions",
        "--env-file",
        "--test-name-pattern",
        "--test-skip-pattern",
        "--test-reporter",
        "--test-reporter-destination",
        "--test-concurrency",
        "--test-timeout",
        "--test-coverage-include",
        "--test-coverage-exclude",
        "--test-isolation",
        "--experimental-test-isolation",
        "--test-shard",
        "--test-global-setup",
        "--title",
        "--stack-trace-limit",
        "--disable-warning",
        "--input-type",
    ]
)
# Ours to decide: who reports, and how the files share a process.
_OURS = frozenset(
    [
        "--test",
        "--test-reporter",
        "--test-reporter-destination",
        "--test-concurrency",
        "--test-isolation",
        "--experimental-test-isolation",
        "--experimental-test-coverage",
        "--test-coverage-include",
        "--test-coverage-exclude",
        "--test-coverage-lines",
        "--test-coverage-branches",
        "--test-coverage-functions",
    ]
)
# What we would run otherwise than Node does.
_STRANGE = ("-e", "--eval", "-p", "--print", "-c", "--check", "-i", "--watch", "--run")
_STRANGE_STARTS = (
    "--watch",
    "--test-shard",
    "--test-update-snapshots",
    "--test-rerun-failures",
    "--test-global-setup",
)
_FILTERS = ("--test-name-pattern", "--test-skip-pattern", "--test-only")

_SCRIPT = re.compile(r"\.[cm]?js$")
_TYPED = re.compile(r"\.[cm]?[jt]s$")
_NAMED = re.compile(r"(^|/)(test|test-[^/]*|[^/]+[.\-_]test)\.[cm]?[jt]s$")
_IN_TEST_FOLDER = re.compile(r"(^|/)test/")
_WILD = re.compile(r"[*?\[{]")
_PACKAGE_MANAGERS = ("npm", "pnpm", "yarn")
_SHELL = frozenset("();<>|&~$`\n#\\")


@dataclass(frozen=True, slots=True)
class NodeCommand:
    program: str
    options: tuple[str, ...] = ()  # for each process of tests
    paths: tuple[str, ...] = ()  # files, folders and patterns; none: everything that looks like a test
    env: dict[str, str] = field(default_factory=dict)

    @property
    def filters(self) -> bool:
        """Whether registered tests may be left out without a word."""
        return any(word.startswith(_FILTERS) for word in self.options)

    @property
    def forces_exit(self) -> bool:
        return "--test-force-exit" in self.options


def node_command(suite: Suite) -> NodeCommand | None:
    """The command of this suite, if Steelyard knows how to run it."""
    env, words = ({}, list(suite.argv)) if suite.argv else _words(suite.command)
    if not words or words[0] in suite.theirs or not (_NODE.fullmatch(words[0]) or _in_the_tree(words[0])):
        return None
    if not suite.argv and "PATH" in {**suite.env, **env}:  # the program was not looked up
        return None
    options, paths = _sorted(words[1:])
    if any(word in _STRANGE or word.startswith(_STRANGE_STARTS) for word in options):
        return None
    if "--test" not in options and not (len(paths) == 1 and _NAMED.search(paths[0])):
        return None
    return NodeCommand(words[0], _theirs(options), tuple(paths), {**suite.env, **env})


def through_npm(suite: Suite, tree: Path) -> Suite:
    """`npm test` -> the command that the snapshot's own package.json gives it, if Steelyard knows how to run that."""
    package = tree / suite.cwd / "package.json"
    if not suite.argv or suite.argv[0] not in _PACKAGE_MANAGERS or not package.is_file():
        return suite
    script = script_of(package.read_bytes(), suite.argv) or ""
    env, argv, cwd = command_words(script)
    direct = replace(suite, command=script, argv=argv, env={**suite.env, **env})
    return direct if not cwd and node_command(direct) else suite


def script_of(package_json: bytes, words: Iterable[str]) -> str | None:
    """`npm test` -> what the package's own `test` script says, when nothing runs before or after it."""
    if [word for word in words if word not in {"-s", "--silent", "run"}][1:] not in (["test"], ["t"]):
        return None
    try:
        package: Any = json.loads(package_json)
        scripts: Any = package["scripts"]
        script, around = scripts["test"], {"pretest", "posttest"} & set(scripts)
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return script if isinstance(script, str) and not around else None


def select_files(command: NodeCommand, files: Iterable[str], *, typescript: bool) -> list[str]:
    """Which of the files below are run, in order; a path that is neither file nor folder is run all the same."""
    known = sorted(path for path in files if (_TYPED if typescript else _SCRIPT).search(path))
    if not command.paths:
        return [path for path in known if _looks_like_one(path)]
    found: dict[str, None] = {}
    for asked in command.paths:
        found.update(dict.fromkeys(_files_at(posixpath.normpath(asked), known)))
    return list(found)


def _files_at(path: str, known: list[str]) -> list[str]:
    if _WILD.search(path):
        shape = re.compile(_pattern(path))
        return [one for one in known if shape.fullmatch(one)]
    below = known if path == "." else [one for one in known if one.startswith(f"{path}/")]
    return [one for one in below if _looks_like_one(one)] if below else [path]


def _looks_like_one(path: str) -> bool:
    return bool(_NAMED.search(path) or _IN_TEST_FOLDER.search(path))


def _pattern(glob: str) -> str:
    """A glob with `**`, `{a,b}` and `?(c|m)` as a regular expression."""
    pieces = re.split(r"(\*\*/|\*\*|\*|\?\([^()]*\)|\{[^{}]*\}|\?|\[[^\]]*\])", glob)
    return "".join(_piece(piece) for piece in pieces)


_PIECES = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def _piece(piece: str) -> str:
    if piece in _PIECES:
        return _PIECES[piece]
    if piece.startswith("?("):
        return f"(?:{'|'.join(map(re.escape, piece[2:-1].split('|')))})?"
    if piece.startswith("{"):
        return f"(?:{'|'.join(_pattern(one) for one in piece[1:-1].split(','))})"
    return translate(piece)[4:-3] if piece.startswith("[") else re.escape(piece)


def _words(command: str) -> tuple[dict[str, str], list[str]]:
    """A command that a shell would only expand patterns in; the patterns are for us."""
    if set(command) & _SHELL:
        return {}, []
    try:
        words = shlex.split(command)
    except ValueError:
        return {}, []
    env: dict[str, str] = {}
    while words and words[0].partition("=")[0].isidentifier() and "=" in words[0]:
        name, _, value = words.pop(0).partition("=")
        env[name] = value
    return env, words


def _in_the_tree(word: str) -> bool:
    """A node that setup installed; `theirs` has been asked before."""
    return posixpath.basename(word) == "node" and not word.startswith("/")


def _sorted(words: list[str]) -> tuple[list[str], list[str]]:
    """Options first, each in one word; then paths. Node stops looking for options at the first path."""
    options, rest = [], list(words)
    while rest and rest[0].startswith("-"):
        word = rest.pop(0)
        if word == "--":
            break
        if word in _VALUED and rest:
            word = f"{word}={rest.pop(0)}" if word.startswith("--") else f"{_LONG[word]}={rest.pop(0)}"
        options.append(word)
    return options, rest


_LONG = {"-r": "--require", "-C": "--conditions"}


def _theirs(options: list[str]) -> tuple[str, ...]:
    return tuple(word for word in options if word.partition("=")[0] not in _OURS)
