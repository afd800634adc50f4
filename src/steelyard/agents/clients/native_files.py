"""Session files of a client, read out of the sandbox that it worked in; and the client's own folder there.

Everything is read by commands inside the sandbox, so a link leads to nothing that the agent could not read itself. Names,
number and sizes are the agent's choice, and bounded here.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from steelyard.agents.base import Turn
from steelyard.agents.traces.items import NativeFile
from steelyard.errors import InfraFault, SteelyardError
from steelyard.sandboxes.base import Command

MOST_FILES = 24
MOST_FILE_BYTES = 8 << 20
MOST_BYTES = 32 << 20
_LONGEST_S = 30.0
_HOME = 'h="$HOME"; [ -d "$h" ] && [ -w "$h" ] || h=/tmp; d="$h/.steelyard-agent"; umask 077; mkdir -p "$d" && printf %s "$d"'
_WRITE = 'umask 077; mkdir -p "${1%/*}" && rm -rf -- "$1" && cat > "$1"'
# Plain files only, in the shell's own order; a pattern that fits nothing stays as it is and is no file.
_LIST = 'cd "$1" || exit 0; shift; for p do for f in $p; do [ -f "$f" ] && [ ! -L "$f" ] && printf "%s\\0" "$f"; done; done'
_READ = 'cd "$1" && wc -c < "$2" && head -c "$3" < "$2"'


def make_home(turn: Turn) -> str:
    """The client's folder; its path inside."""
    done = turn.sandbox.run(Command(("/bin/sh", "-c", _HOME), timeout_s=_LONGEST_S))
    if done.exit_code != 0:
        raise InfraFault(f"the client has no folder for its configuration: {done.stderr.text.strip()}")
    return os.fsdecode(done.stdout.head + done.stdout.tail)


def write_file(turn: Turn, path: str, content: bytes) -> None:
    done = turn.sandbox.run(
        Command(("/bin/sh", "-c", _WRITE, "write", path), stdin=content, timeout_s=_LONGEST_S)
    )
    if done.exit_code != 0:
        raise InfraFault(f"{path} could not be written: {done.stderr.text.strip()}")


def collect_files(turn: Turn, home: str, patterns: Sequence[str]) -> tuple[NativeFile, ...]:
    """The files that fit the patterns, as far as their number and sizes are bounded. A sandbox that does not answer has none."""
    if not patterns:
        return ()
    try:
        return tuple(_collect(turn, home, patterns))
    except SteelyardError:
        return ()


def _collect(turn: Turn, home: str, patterns: Sequence[str]) -> Iterator[NativeFile]:
    done = turn.sandbox.run(
        Command(("/bin/sh", "-c", _LIST, "list", home, *patterns), timeout_s=_LONGEST_S, keep_bytes=64 << 10)
    )
    names = [os.fsdecode(name) for name in done.stdout.head.split(b"\0")[:-1] if name]
    left = MOST_BYTES
    for name in names[:MOST_FILES]:
        room = min(MOST_FILE_BYTES, left)
        if room <= 0:
            return
        line = ("/bin/sh", "-c", _READ, "read", home, name, str(room))
        read = turn.sandbox.run(Command(line, timeout_s=_LONGEST_S, keep_bytes=2 * MOST_FILE_BYTES + 128))
        size, newline, content = (read.stdout.head + read.stdout.tail).partition(b"\n")
        if read.exit_code == 0 and newline and size.strip().isdigit() and len(size) < 20:
            left -= len(content)
            yield NativeFile(name, content[:room], max(int(size), len(content)))
