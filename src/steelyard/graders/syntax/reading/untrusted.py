"""A source file of the candidate -> its tree, whatever the file does to the parser.

Recovery from errors takes time and memory by the square of a file's size: 20 KB of `a=>` take gigabytes as Java. So a process
of its own parses the file first, within limits, and only what parses cleanly there is parsed here.
"""

from __future__ import annotations

import subprocess
import sys
from functools import lru_cache
from typing import TYPE_CHECKING

from steelyard.grammars import Grammar, parse

if TYPE_CHECKING:
    from tree_sitter import Tree

HARMLESS_BYTES = 1 << 10  # at most 0.1 s and 50 MB
CPU_S, CPU_S_PER_BYTE = 1.0, 5e-6
MEMORY_BYTES = 1 << 30
PATIENCE_S = 600.0  # for a machine that stalls
# Counted for a file that does not parse, beside its size: it may have taken all of its time
UNPARSED_BYTES = 64 << 10

# The timer counts processor time and ends the process by its signal: no code of Python runs while the parser does.
_CHILD = r"""
import resource, signal, sys
path, package, entry, cpu_s, memory = sys.argv[1:]
sys.path[:0] = path.split(":")
from importlib import import_module
from tree_sitter import Language, Parser
parser = Parser(Language(vars(import_module(package))[entry]()))
source = sys.stdin.buffer.read()
resource.setrlimit(resource.RLIMIT_AS, (int(memory), int(memory)))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
signal.setitimer(signal.ITIMER_PROF, float(cpu_s))
sys.exit(3 if parser.parse(source).root_node.has_error else 0)
"""


def parse_untrusted(source: bytes, grammar: Grammar) -> Tree | None:
    """The tree, or None if the file does not parse cleanly, or not within the limits."""
    if len(source) > HARMLESS_BYTES and not _parses(source, grammar.package, grammar.entry):
        return None
    return parse(source, grammar)


@lru_cache(maxsize=64)  # several graders read the same files
def _parses(source: bytes, package: str, entry: str) -> bool:
    cpu_s = CPU_S + CPU_S_PER_BYTE * len(source)
    argv = [sys.executable, "-I", "-S", "-B", "-c", _CHILD, ":".join(sys.path), package, entry]
    try:
        done = subprocess.run(
            [*argv, str(cpu_s), str(MEMORY_BYTES)],
            input=source,
            capture_output=True,
            timeout=PATIENCE_S,
            env={},
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0
