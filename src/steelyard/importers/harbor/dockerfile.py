"""A Dockerfile -> what a container makes of it, or what goes into a sandbox without an image.

    FROM debian:12
    RUN apt-get install -y gcc      needs docker
    WORKDIR /app                    workdir  /app
    ENV MODE=fast                   env      MODE
    COPY src/ /app/src/             moved    src/ -> src    (a folder of the contract's repository)
    RUN make -C src                 setup

Without an image this machine's own system stands in for it: only what is done in the working folder can be done there.
"""

from __future__ import annotations

import json
import posixpath
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from steelyard.contract.model import USER_PATTERN

_HEREDOC = re.compile(r"(?:^|(?<=\s))\d*<<-?([\"']?)([A-Za-z_][\w.-]*)\1(?=$|[\s;|&)>])")
_PINNED = re.compile(r"^[^@\s]+@sha256:[0-9a-f]{64}$")
_WILD = frozenset("*?[]$")
_BRINGS = ("COPY", "ADD")
# What our containers do not do; CMD is replaced by Harbor too.
REFUSED = {
    "ENTRYPOINT": "nothing of the image's own is started",
    "HEALTHCHECK": "nothing of the image's own is started",
    "VOLUME": "a volume is in no image",
    "ONBUILD": "is for other images",
}
_PASS_ON = frozenset({"tini", "dumb-init", "catatonit", "env", "sh", "bash"})
_NO_PROGRAM = frozenset({"--", "-c", "-g", "-s"})
_SAYS_NOTHING = frozenset(
    {
        "ENTRYPOINT",
        "HEALTHCHECK",
        "FROM",
        "WORKDIR",
        "RUN",
        "COPY",
        "ADD",
        "ENV",
        "CMD",
        "EXPOSE",
        "LABEL",
        "MAINTAINER",
        "USER",
    }
)
_OF_THE_SYSTEM = re.compile(
    r"(?<![\w./-])(sudo|apt|apt-get|apk|dpkg|dnf|yum|microdnf|pacman|zypper|useradd|adduser|groupadd|usermod|chown)(?![\w.-])"
)
_KNOWN = _SAYS_NOTHING | {"ARG", "ONBUILD", "SHELL", "STOPSIGNAL", "VOLUME"}
NEEDS = "needs docker"


class Instruction(NamedTuple):
    word: str
    rest: str
    first: int  # line, from 0
    last: int


class CopiedPath(NamedTuple):
    source: str  # in the build context; "." is all of it
    dest: str  # in the working folder; "." is all of it
    is_folder: bool


class DockerfileParts(NamedTuple):
    """What a task brings to a sandbox without an image."""

    base: str
    workdir: str | None
    moved: tuple[CopiedPath, ...]
    commands: tuple[str, ...]
    env: dict[str, str]


class DockerfileError(ValueError):
    def __init__(self, line: int, message: str) -> None:
        self.line = line + 1
        super().__init__(message)


def is_pinned(text: str) -> bool:
    """Whether every FROM names a digest. Raises DockerfileError for what our containers do not do."""
    _, bases = _stage(text)
    return _is_pinned(bases)


def user_of(text: str) -> str | None:
    """The user that commands of the image run as; None where only the engine knows, or no user is named."""
    stage, _ = _stage(text)
    named = [one.rest.strip().strip("\"'") for one in stage if one.word == "USER"]
    return named[-1] if named and re.fullmatch(USER_PATTERN, named[-1]) else None


def part(text: str, is_folder: Callable[[str], bool | None], workdir: str | None = None) -> DockerfileParts:
    """Raises DockerfileError. `is_folder` says of a name in the build context what it is, None when nothing."""
    stage, bases = _stage(text)
    if len(bases) > 1:
        raise DockerfileError(bases[1].first, f"several stages: {NEEDS}")
    for one in stage:
        if one.word not in _SAYS_NOTHING:
            raise DockerfileError(
                one.first, f"{one.word} {NEEDS if one.word in _KNOWN else 'is no instruction'}"
            )
    place = workdir or _workdir(stage)
    if place is None:
        raise DockerfileError(0, f"there is no WORKDIR, so it is about the whole system: {NEEDS}")
    words = bases[0].rest.split()
    env = {name: value for one in stage if one.word == "ENV" for name, value in _variables(one)}
    return DockerfileParts(
        words[0] if words else "", place, _moved(stage, place, is_folder), _commands(stage), env
    )


def _stage(text: str) -> tuple[list[Instruction], list[Instruction]]:
    """The instructions of the last stage, and every FROM."""
    instructions = list(_instructions(text))
    bases = [one for one in instructions if one.word == "FROM"]
    if not bases:
        raise DockerfileError(0, "has no FROM")
    stage = instructions[instructions.index(bases[-1]) + 1 :]
    for one in stage:
        if one.word in REFUSED and not _starts_nothing(one):
            raise DockerfileError(one.first, f"{one.word} is not supported: {REFUSED[one.word]}")
    return stage, bases


def _starts_nothing(one: Instruction) -> bool:
    """An entry point that only starts what it is given, and no check of health."""
    if one.word == "HEALTHCHECK":
        return one.rest.strip().upper() == "NONE"
    if one.word != "ENTRYPOINT":
        return False
    try:
        words = json.loads(one.rest)
    except ValueError:
        return False
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        return False
    return not words or (posixpath.basename(words[0]) in _PASS_ON and {*words[1:]} <= _NO_PROGRAM)


def _commands(stage: Sequence[Instruction]) -> tuple[str, ...]:
    return tuple(_command(one) for one in stage if one.word == "RUN")


def _command(one: Instruction) -> str:
    line = one.rest
    if line.startswith("--") or _HEREDOC.search(line):
        raise DockerfileError(one.first, f"RUN with options or a here-document {NEEDS}")
    if line.startswith("["):
        try:
            line = shlex.join(json.loads(line))
        except (ValueError, TypeError) as error:
            raise DockerfileError(one.first, f"cannot be read: {error}") from error
    if found := _OF_THE_SYSTEM.search(line):
        raise DockerfileError(one.first, f"{found[1]} changes the system, which {NEEDS}")
    if not line.strip():
        raise DockerfileError(one.first, "RUN needs a command")
    return line


def _variables(one: Instruction) -> Iterator[tuple[str, str]]:
    """`A=1 B="x y"`, or the old `A some text`."""
    try:
        words = shlex.split(one.rest)
    except ValueError as error:
        raise DockerfileError(one.first, f"cannot be read: {error}") from error
    if "$" in one.rest:
        raise DockerfileError(one.first, f"ENV with variables {NEEDS}")
    if words and "=" not in words[0]:
        yield words[0], " ".join(words[1:])
        return
    for word in words:
        name, _, value = word.partition("=")
        yield name, value


def _instructions(text: str) -> Iterator[Instruction]:
    lines = text.split("\n")
    number = 0
    while number < len(lines):
        first, line = number, lines[number].strip()
        number += 1
        if re.match(r"#\s*escape\s*=\s*[^\\]", line, re.IGNORECASE):
            raise DockerfileError(first, "another escape character is not supported")
        if not line or line.startswith("#"):
            continue
        while line.endswith("\\") and number < len(lines):
            more = lines[number].strip()
            number += 1
            line = line if more.startswith("#") else f"{line[:-1]} {more}"
        word, _, rest = line.partition(" ")
        if word.upper() in {"RUN", "COPY", "ADD"}:
            for _, end in _HEREDOC.findall(rest):
                number = _after(lines, number, end, first)
        yield Instruction(word.upper(), rest.strip(), first, number - 1)


def _after(lines: Sequence[str], number: int, end: str, first: int) -> int:
    while number < len(lines):
        number += 1
        if lines[number - 1].strip() == end:
            return number
    raise DockerfileError(first, f"its {end} never comes")


def _workdir(stage: Sequence[Instruction]) -> str | None:
    place: str | None = None
    for one in stage:
        if one.word != "WORKDIR":
            continue
        named = one.rest.strip("\"'")
        if "$" in named or (place is None and not named.startswith("/")):
            raise DockerfileError(one.first, "a WORKDIR that only the engine can tell is not supported")
        place = posixpath.normpath(posixpath.join(place or "/", named))
    return place


def _is_pinned(bases: Sequence[Instruction]) -> bool:
    stages = {"scratch"}
    for one in bases:
        base, *named = [word for word in one.rest.split() if not word.startswith("--")] or [""]
        if base.lower() not in stages and not _PINNED.match(base):
            return False
        if len(named) == 2:
            stages.add(named[1].lower())
    return True


def _moved(
    stage: Sequence[Instruction], workdir: str, is_folder: Callable[[str], bool | None]
) -> tuple[CopiedPath, ...]:
    """What COPY puts into the working folder."""
    moved: list[CopiedPath] = []
    here = "/"
    for one in stage:
        if one.word == "WORKDIR":
            here = posixpath.normpath(posixpath.join(here, one.rest.strip("\"'")))
        elif one.word in _BRINGS:
            moved += _moved_paths(one, *_copy_paths(one, here, workdir), moved, is_folder)
    return tuple(moved)


def _copy_paths(one: Instruction, here: str, workdir: str) -> tuple[list[str], str]:
    """(sources, destination below the working folder)."""
    words = _words(one)
    flags = [word for word in words if word.startswith("--")]
    *sources, dest = [word for word in words if not word.startswith("--")]
    full = posixpath.normpath(posixpath.join(here, dest))
    if "$" in dest:
        raise DockerfileError(one.first, "a destination with a variable is not supported")
    if full != workdir and not full.startswith(f"{workdir.rstrip('/')}/"):
        raise DockerfileError(one.first, f"puts files outside of {workdir}, which {NEEDS}")
    if flags or one.word == "ADD" or any(_WILD & {*source} or "<<" in source for source in sources):
        raise DockerfileError(one.first, f"anything but COPY of plain names, without options, {NEEDS}")
    below = posixpath.relpath(full, workdir)
    return sources, f"{below}/" if dest.endswith("/") or below == "." or len(sources) > 1 else below


def _words(one: Instruction) -> list[str]:
    flags, rest = [], one.rest
    while rest.startswith("--"):
        flag, _, rest = rest.partition(" ")
        flags.append(flag)
        rest = rest.strip()
    try:
        words = json.loads(rest) if rest.startswith("[") else shlex.split(rest)
    except ValueError as error:
        raise DockerfileError(one.first, f"cannot be read: {error}") from error
    if not all(isinstance(word, str) for word in words) or len(words) < 2:
        raise DockerfileError(one.first, f"{one.word} needs a source and a destination")
    return [*flags, *words]


def _moved_paths(
    one: Instruction,
    sources: list[str],
    dest: str,
    before: Sequence[CopiedPath],
    is_folder: Callable[[str], bool | None],
) -> Iterator[CopiedPath]:
    """The contents of a folder go to the destination, a file goes into it when it is a folder."""
    for named in sources:
        source = posixpath.normpath(named.lstrip("/") or ".")
        if source.split("/")[0] == "..":
            raise DockerfileError(one.first, f"{named} is outside of the build context")
        folder = is_folder(source)
        if folder is None:
            raise DockerfileError(one.first, f"there is no {named} beside it")
        into = dest.endswith("/") or any(posixpath.dirname(old.dest) == dest or old.dest == dest for old in before if old.is_folder or "/" in old.dest)  # fmt: skip
        place = dest if folder or not into else posixpath.join(dest, posixpath.basename(source))
        yield CopiedPath(source, posixpath.normpath(place), folder)
