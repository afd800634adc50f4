"""Hidden test files -> the same files under random names, and results under their own names again.

    tests/test_hidden.py        tests/test_h4c1f09ab.py

Code that looks for its tests by name finds none. The first letter stays, because files are run in the order of their
names; folder and ending stay too. A file keeps its name when something depends on it: it is also in the snapshot, it
is imported by its name, asks for its own name, or belongs to other files that carry it.
"""

from __future__ import annotations

import posixpath
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import field, replace

from steelyard.bench.runners.base import RunnerResult
from steelyard.bench.suite.reported import SuiteReport
from steelyard.bench.suite.suite import Suite
from steelyard.deferred.data_class import dataclass
from steelyard.sandboxes.base import FileOverlay

_NAMES = (
    re.compile(r"(?P<head>test_)(?P<word>[A-Za-z0-9_]+)(?P<tail>\.py)"),
    re.compile(r"(?P<head>)(?P<word>[A-Za-z0-9_]+)(?P<tail>_test\.py)"),
    re.compile(r"(?P<head>)(?P<word>[A-Za-z0-9_.-]+)(?P<tail>\.(test|spec)\.[cm]?[jt]s)"),
)
MAX_FILES = 200
# A test that uses one of these may see its own name, or need it.
_ASKS = re.compile(
    rb"__file__|linecache|getsource|getfile|from\s+\.|^\s*import\s+\.|__spec__|__filename|import\.meta|Snapshot|snapshot",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class RandomisedNames:
    """Words of names -> the words that stand for them while the tests run."""

    words: Mapping[str, str] = field(default_factory=dict)

    def overlays(self, pieces: Iterable[FileOverlay]) -> tuple[FileOverlay, ...]:
        return tuple(replace(one, path=self.path(one.path)) for one in pieces)

    def path(self, path: str) -> str:
        folder, name = posixpath.split(path)
        return posixpath.join(folder, _replaced(name, self.words))

    def suite(self, suite: Suite) -> Suite:
        return replace(
            suite,
            command=_replaced(suite.command, self.words),
            argv=tuple(_replaced(word, self.words) for word in suite.argv),
            declared=tuple(_replaced(name, self.words) for name in suite.declared),
            only=tuple(_replaced(name, self.words) for name in suite.only),
        )

    def restore(self, ran: RunnerResult) -> RunnerResult:
        back = {new: old for old, new in self.words.items()}
        return ran._replace(reported=_revealed(ran.reported, back)) if back else ran


NO_RANDOMISED_NAMES = RandomisedNames()


def randomise_names(hidden: Iterable[FileOverlay], others: Iterable[str]) -> RandomisedNames:
    """`others`: the paths of the tree, which none of the names may be a part of."""
    files = {one.path: one.source for one in hidden if one.kind == "file" and one.source is not None}
    if len(files) > MAX_FILES:
        return NO_RANDOMISED_NAMES
    texts = {path: source.read_bytes() for path, source in files.items()}
    everything, paths = b"\n".join(texts.values()), "\n".join([*others, *files])
    words: dict[str, str] = {}
    for path, text in texts.items():
        match = next((one for name in _NAMES if (one := name.fullmatch(posixpath.basename(path)))), None)
        if match is None or _ASKS.search(text):
            continue
        stem = f"{match['head']}{match['word']}{match['tail'].rpartition('.')[0]}"
        if len(stem) > 4 and paths.count(stem) == 1 and stem.encode() not in everything:
            other = f"{match['word'][0]}{secrets.token_hex(4)}"
            words[stem] = stem.replace(match["word"], other, 1)
    return RandomisedNames(words)


def _replaced(text: str, words: Mapping[str, str]) -> str:
    for old, new in words.items():
        text = re.sub(rf"(?<![A-Za-z0-9_-]){re.escape(old)}(?![A-Za-z0-9_-])", new, text)
    return text


def _revealed(reported: SuiteReport, back: Mapping[str, str]) -> SuiteReport:
    def plain(text: str) -> str:
        for new, old in back.items():
            text = text.replace(new, old)
        return text

    return replace(
        reported,
        results=tuple(
            replace(one, id=plain(one.id), detail=plain(one.detail), file=plain(one.file))
            for one in reported.results
        ),
        problems=tuple(map(plain, reported.problems)),
        tampering=tuple(map(plain, reported.tampering)),
    )
