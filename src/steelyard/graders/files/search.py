"""Regular expressions and files -> which expressions occur somewhere, whatever the text does to them.

The expressions are the contract's, the text is the candidate's: `(a+)+b` on the right text runs for years. So they run
in a process of their own that gives up on a file after a while, and is killed when all of it takes too long.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from steelyard.errors import GraderFault

FILE_BYTES = 2 << 20  # of one file are searched
TOTAL_BYTES = 256 << 20
FILE_S = 2.0  # one expression in one file
TOTAL_S = 60.0
MEMORY_BYTES = 1 << 30

# In: {"patterns", "files", "limits"}. Out: {"found": {pattern number: [file number, line]}, "slow": [file number],
# "unread": files beyond the limit}. Python looks at signals while it matches, so an alarm ends a match that does not.
_CHILD = r"""
import json, os, re, resource, signal, sys, warnings
asked = json.load(sys.stdin)
file_bytes, total_bytes, file_s, memory = asked["limits"]
resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
warnings.simplefilter("ignore")
waiting = {n: re.compile(p, re.MULTILINE) for n, p in enumerate(asked["patterns"])}
found, slow, unread = {}, [], 0

class Slow(Exception): pass
def ring(*_): raise Slow
signal.signal(signal.SIGALRM, ring)

for number, name in enumerate(asked["files"]):
    if not waiting: break
    if total_bytes <= 0:
        unread += 1
        continue
    try:
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        unread += 1
        continue
    with open(handle, "rb") as stream:
        data = stream.read(min(file_bytes, total_bytes))
    total_bytes -= len(data)
    if b"\0" in data[:8192]: continue
    text = data.decode("utf-8", "replace")
    for n, pattern in list(waiting.items()):
        match = None
        try:
            signal.setitimer(signal.ITIMER_REAL, file_s)
            match = pattern.search(text)
            signal.setitimer(signal.ITIMER_REAL, 0)
        except (Slow, MemoryError, RecursionError):
            slow.append(number)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        if match is not None:
            found[n] = [number, text.count("\n", 0, match.start()) + 1]
            del waiting[n]
json.dump({"found": found, "slow": sorted(set(slow))[:100], "unread": unread}, sys.stdout)
"""


class Occurs(NamedTuple):
    file: int  # which of the files
    line: int


class SearchResult(NamedTuple):
    found: dict[int, Occurs]  # by the number of the expression
    slow: tuple[int, ...]  # files on which an expression was given up
    unread: int  # files beyond the limit


def search(patterns: Sequence[str], files: Sequence[Path], total_s: float = TOTAL_S) -> SearchResult:
    """The first place of each expression, `^` and `$` at lines; binary files are skipped."""
    limits = (FILE_BYTES, TOTAL_BYTES, FILE_S, MEMORY_BYTES)
    asked = json.dumps({"patterns": list(patterns), "files": [str(path) for path in files], "limits": limits})
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-B", "-c", _CHILD],
            input=asked.encode("ascii"),
            capture_output=True,
            timeout=total_s,
            env={},
            check=True,
        )
        answer = json.loads(done.stdout)
    except subprocess.TimeoutExpired as error:
        raise GraderFault(f"the search for patterns timed out after {total_s:g} s") from error
    except (subprocess.CalledProcessError, ValueError) as error:
        raise GraderFault("the search for patterns crashed") from error
    return SearchResult(
        {int(number): Occurs(*place) for number, place in answer["found"].items()},
        tuple(answer["slow"]),
        answer["unread"],
    )
