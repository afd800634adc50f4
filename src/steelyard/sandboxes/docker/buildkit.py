r"""A Dockerfile with BuildKit's syntax -> one that every engine builds: the engine's build call knows no BuildKit.

    RUN <<EOF                                   RUN ["/bin/sh", "-c", "make\nmake install\n"]
    make
    make install
    EOF
    RUN python3 <<EOF ...                       RUN ["/bin/sh", "-c", "python3 <<EOF\n...\nEOF\n"]
    COPY <<'EOF' /app/x.cfg ...                 COPY .steelyard-heredoc-1/EOF /app/x.cfg
    RUN --mount=type=cache,target=/c make       RUN make, in an image that keeps /c
    RUN --mount=type=bind,source=a,target=/b    COPY a /b, RUN, and /b is removed again

A Dockerfile without any of this comes out byte for byte. What cannot be said without BuildKit is refused.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

_HEREDOC = re.compile(r"(?:^|(?<=\s))\d*<<(-?)([\"']?)([A-Za-z_][\w.-]*)\2(?=$|[\s;|&)>])")
_FLAG = re.compile(r"--([a-z]+)(?:=(\S+))?\s+")
_NAME = re.compile(r"\\\$|\$(?:\{(\w+)\}|(\w+)|\{[^}]*\})")
_READS_HEREDOCS = frozenset({"RUN", "COPY", "ADD"})
SHELL = ("/bin/sh", "-c")
# A script with a first line of its own is a file that is run.
_AS_FILE = 'f=$(mktemp) && printf %s "$1" > "$f" && chmod +x "$f" && "$f"; s=$?; rm -f "$f"; exit $s'


class NeedsBuildKitError(ValueError):
    """What no engine builds without BuildKit, with its line."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(f"line {line + 1} of the Dockerfile: {message}")


class Plain(NamedTuple):
    """The Dockerfile, and the files that it needs beside those of the folder."""

    text: str
    files: Mapping[str, bytes]


class Heredoc(NamedTuple):
    name: str
    is_quoted: bool
    body: str


@dataclass
class _Instruction:
    line: int
    word: str
    rest: str  # continued lines joined
    raw: list[str]
    heredocs: list[Heredoc] = field(default_factory=list)


@dataclass
class _Stage:
    """What the instructions before have set."""

    shell: tuple[str, ...] = SHELL
    user: str = ""
    values: dict[str, str] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)


def plain_dockerfile(text: str) -> Plain:
    """Raises NeedsBuildKitError."""
    if re.match(r"(?:#.*\n)*#\s*escape\s*=\s*[^\\\s]", text, re.IGNORECASE):
        return Plain(text, {})  # another language for its continued lines; no rewriting
    stage = _Stage()
    lines: list[str] = []
    for one in _instructions(text.split("\n")):
        _keep(one, stage)
        if one.word == "RUN" and (one.heredocs or re.match(r"--(mount|network|security)\b", one.rest)):
            lines += _run(one, stage)
        elif one.word in {"COPY", "ADD"} and one.heredocs:
            lines.append(_copy(one, stage))
        else:
            lines += one.raw
    return Plain("\n".join(lines), stage.files)


def _instructions(lines: Sequence[str]) -> Iterator[_Instruction]:
    at = 0
    while at < len(lines):
        first, line = at, lines[at].strip()
        at += 1
        if not line or line.startswith("#"):
            yield _Instruction(first, "", "", [lines[first]])
            continue
        while line.endswith("\\") and at < len(lines):
            more = lines[at].strip()
            at += 1
            line = line if not more or more.startswith("#") else f"{line[:-1]} {more}"
        word, _, rest = line.partition(" ")
        heredocs: list[Heredoc] = []
        for strips, quote, name in _HEREDOC.findall(rest) if word.upper() in _READS_HEREDOCS else ():
            start = at
            while at < len(lines) and (lines[at].lstrip("\t") if strips else lines[at]) != name:
                at += 1
            if at == len(lines):
                raise NeedsBuildKitError(first, f"the here-document {name} never ends")
            body = "".join(f"{one.lstrip(chr(9)) if strips else one}\n" for one in lines[start:at])
            heredocs.append(Heredoc(name, bool(quote), body))
            at += 1
        yield _Instruction(first, word.upper(), rest.strip(), list(lines[first:at]), heredocs)


def _keep(one: _Instruction, stage: _Stage) -> None:
    if one.word == "FROM":
        stage.shell, stage.user, stage.values = SHELL, "", {}
    elif one.word == "USER":
        stage.user = one.rest
    elif one.word == "SHELL":
        try:
            stage.shell = tuple(map(str, json.loads(one.rest)))
        except (ValueError, TypeError):  # the engine says so
            stage.shell = SHELL
    elif one.word in {"ENV", "ARG"} and "$" not in one.rest:
        try:
            words = shlex.split(one.rest)
        except ValueError:
            return
        if one.word == "ENV" and words and "=" not in words[0]:
            words = [f"{words[0]}={' '.join(words[1:])}"]
        stage.values |= dict(word.partition("=")[::2] for word in words if "=" in word)


def _run(one: _Instruction, stage: _Stage) -> Iterator[str]:
    rest, after = one.rest, []
    while found := _FLAG.match(rest):
        rest = rest[found.end() :]
        before, undo = _flag(one, found[1], found[2] or "")
        yield from before
        after += undo
    yield f"RUN {_command(rest, one.heredocs, stage.shell)}"
    if after:
        # COPY writes as root. Where no USER was named, the image's own is not known, and could not be restored.
        removal = f"RUN {json.dumps(['/bin/sh', '-c', f'rm -rf {shlex.join(after)}'])}"
        yield from ("USER 0", removal, f"USER {stage.user}") if stage.user else (removal,)


def _command(rest: str, heredocs: Sequence[Heredoc], shell: tuple[str, ...]) -> str:
    if not heredocs:
        return rest
    alone = _HEREDOC.fullmatch(rest)
    if alone and heredocs[0].body.startswith("#!"):
        return json.dumps(["/bin/sh", "-c", _AS_FILE, "sh", heredocs[0].body])
    if alone:
        return json.dumps([*shell, heredocs[0].body])
    bodies = "".join(f"{one.body}{one.name}\n" for one in heredocs)
    return json.dumps([*shell, f"{rest}\n{bodies}"])


def _flag(one: _Instruction, name: str, value: str) -> tuple[list[str], list[str]]:
    """(instructions before the command, paths to remove after it)."""
    if (name, value) in {("network", "default"), ("security", "sandbox")}:
        return [], []
    if name != "mount":
        raise NeedsBuildKitError(one.line, f"--{name}={value} needs BuildKit")
    keys = dict(part.partition("=")[::2] for part in value.strip("\"'").split(","))
    kind = keys.get("type", "bind")
    target = keys.get("target") or keys.get("dst") or keys.get("destination") or ""
    if kind in {"cache", "tmpfs"} and target:
        make = f"mkdir -p {shlex.quote(target)} 2>/dev/null || true"
        return [f"RUN {json.dumps(['/bin/sh', '-c', make])}"], []
    if kind == "secret" and keys.get("required", "false") == "false":
        return [], []
    if kind == "bind" and target.rstrip("/").rpartition("/")[2] not in {"", ".", ".."} and "$" not in value:
        source = keys.get("source") or keys.get("src") or "."
        origin = f"--from={keys['from']} " if "from" in keys else ""
        copy = f"COPY {origin}{json.dumps([source, target])}"
        return [copy], [target]
    raise NeedsBuildKitError(one.line, f"--mount={value} needs BuildKit")


def _copy(one: _Instruction, stage: _Stage) -> str:
    rest = one.rest
    for heredoc, found in zip(one.heredocs, _HEREDOC.finditer(one.rest), strict=True):
        place = f".steelyard-heredoc-{len(stage.files) + 1}/{heredoc.name}"
        body = heredoc.body if heredoc.is_quoted else _expand(one, heredoc.body, stage.values)
        stage.files[place] = body.encode("utf-8", "surrogateescape")
        rest = rest.replace(found[0], place, 1)
    return f"{one.word} {rest}"


def _expand(one: _Instruction, body: str, values: Mapping[str, str]) -> str:
    """As BuildKit does it where the name of the here-document is not quoted."""

    def put(found: re.Match[str]) -> str:
        if found[0] == "\\$":
            return "$"
        name = found[1] or found[2]
        if name not in values:
            message = f"only BuildKit knows {found[0]} in a here-document; quote its name, as in <<'EOF'"
            raise NeedsBuildKitError(one.line, message)
        return values[name]

    return _NAME.sub(put, body)
