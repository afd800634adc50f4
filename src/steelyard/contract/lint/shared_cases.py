"""Shell scripts that check the work -> loops that share their cases with it.

    while read a b; do                      `sh run.sh` has the cases as its standard input, and can read them all:
        [ "$(sh run.sh $a)" = "$b" ] || exit 1       then none is left to be tried, and the loop ends
    done < cases

Only what the words tell; a warning, since the author may know better.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from steelyard.contract.contract import Contract
from steelyard.contract.execution_spec import ScriptSpec
from steelyard.errors import Problem

MAX_BYTES = 1 << 20
SHARED = "the work shares its standard input with `read`, so it can take all cases, and none is tried"
FIX = "start it with `</dev/null`, or read from another descriptor: `read -u 3 a b; ... done 3< cases`"
_SHELL = (".sh", ".bash")
# With limits: otherwise a long line of nothing but these words takes minutes
_LOOP = re.compile(r"\bwhile\b[^\n;]{0,200}?\bread\b(?![^\n;]{0,200}(?:-u|<&))[^\n;]{0,200}[;\n]\s*do\b")
_END = re.compile(r"(?:^|[;\n&|])\s*(?:done\b(?P<after>[^\n;&|)]*)|(?P<inner>(?:while|for|until)\b))")
_STARTS = re.compile(
    r"(?:^|[\s;&|(`\"])(?:(?:sh|bash|dash|node|perl|ruby|php|lua|java|python3?(?:\.\d+)?)\s+(?!/tests/)[\w.$\"'{/-]"
    r"|\./\S|/workspace/\S|\.\./\S)"
)
_OWN_INPUT = re.compile(
    r"(?<![<\d])<(?![<(&])|<\s*/dev/null|\|\s*(?:sh|bash|node|perl|ruby|php|python3?|\./)"
)


def shared_cases(contract: Contract) -> list[Problem]:
    found = {}
    for entry in (*contract.checks, *contract.graders):
        spec = entry.execution
        if spec is None:
            continue
        named = {source: contract.files[source] for source, _ in spec.injected if source in contract.files}
        beside = contract.files_beside(spec.script) if isinstance(spec, ScriptSpec) else {}
        for name, file in (named | beside).items():
            if name.endswith(_SHELL) and file.mode != "link" and file.path.stat().st_size <= MAX_BYTES:
                found[str(file.path)] = file.path.read_text(errors="replace")
    return [
        Problem(f"{where}:{line}", "", SHARED, FIX)
        for where, text in sorted(found.items())
        for line in sharing_lines(text)
    ]


def sharing_lines(text: str) -> Iterator[int]:
    """Numbers of the lines that start the work in a loop over its cases."""
    text = re.sub(r"(?m)^[^\S\n]*#.*$", "", text)
    for loop in _LOOP.finditer(text):
        body = _body(text, loop)
        if body is None:
            continue
        for offset, line in _lines(text, *body):
            if _STARTS.search(line) and not _OWN_INPUT.search(line):
                yield text.count("\n", 0, offset) + 1


def _body(text: str, loop: re.Match[str]) -> tuple[int, int] | None:
    """Of a loop that is fed by a file, a document or a pipe before it; None of one that is not known to be."""
    depth = 1
    for word in _END.finditer(text, loop.end()):
        depth += 1 if word["inner"] else -1
        if depth == 0:
            is_fed = word["after"].lstrip().startswith("<") or text[: loop.start()].rstrip().endswith("|")
            return (loop.end(), word.start()) if is_fed else None
    return None


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    at = start
    for line in text[start:end].splitlines(keepends=True):
        yield at, line
        at += len(line)
