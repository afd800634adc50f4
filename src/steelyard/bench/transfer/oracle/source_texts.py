"""The sources of the snapshot and of hidden tests -> which data files tests name, and which the product names.

    tests/test_cart.py    json.load(open("data/expected.json"))            names data/expected.json
                          Path(__file__).parent / "cases" / f"{name}.txt"   names the folder cases
    shop/rates.py         files("shop").joinpath("rates.json")              the product reads rates.json, too

Sources are read as text: a name counts where it stands in a string. The snapshot's sources are asked, never the change's,
so that a change cannot make a file of the tests its own.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path

from steelyard.bench.transfer.oracle.files import OracleFiles
from steelyard.bench.transfer.steering import steers
from steelyard.deferred.pattern import deferred_pattern
from steelyard.filesystem.tree import Entry, prefixes

MAX_FILE_BYTES = 1 << 20
MAX_TOTAL_BYTES = 32 << 20
_CODE = deferred_pattern(
    r"\.(pyi?|pyx|[cm]?[jt]sx?|vue|svelte|go|rs|java|kts?|scala|groovy|clj|rb|php|c|h|cc|cpp|cxx|hpp|m|swift|cs|fs|vb"
    r"|sh|bash|zsh|pl|pm|t|bats|lua|exs?|erl|hs|mli?|dart|r|jl|so|pyd|node|wasm)$",
    re.IGNORECASE,
)
_LITERAL = deferred_pattern(r"\"([^\"\n]{1,200})\"|'([^'\n]{1,200})'|`([^`\n]{1,200})`")
# A line that leads to a file, and not one that has a word which is also a folder's name.
_LEADS = deferred_pattern(
    r"path|join|open|glob|dir|resolve|require|import|load|read|embed|include|resource|__file__|package_data|template|/",
    re.IGNORECASE,
)
_IMPORTS = deferred_pattern(r"^.*\b(?:import|from|use|mod|include|require|export)\b.*$", re.MULTILINE)
_COMPUTES = deferred_pattern(
    r"glob|listdir|iterdir|readdir|scandir|os\.walk|pkgutil|resources|__file__|__dirname|import\.meta|go:embed|include_(?:str|bytes)"
)
_WORD = deferred_pattern(r"[\w.-]+")
_NAME = deferred_pattern(r"[\w-]+")
_DATA_FOLDER = deferred_pattern(
    r"(?:^|/)(fixtures?|__fixtures__|test[_-]?data|testfiles|golden(?:s|_?files)?"
    r"|expected(?:[_-](?:outputs?|results?|data))?|cassettes|vcr_cassettes|recordings|snapshots|approvals|baselines)/"
)
# What names data of the tests and is no product: it makes them, shows them or measures with them.
_BESIDE_THE_PRODUCT = deferred_pattern(
    r"(^|/)(scripts?|tools?|hack|dev|ci|benchmarks?|examples?|docs?)/|(^|/)(noxfile\.py|tasks\.py|[Gg](ulp|runt)file\.[cm]?[jt]s)$"
    r"|\.config\.[cm]?[jt]s$"
)


def data_folder(path: str) -> str | None:
    """The topmost folder on the way to a path that is named as folders of test data are."""
    found = _DATA_FOLDER.search(path)
    return path[: found.end(1)] if found else None


def is_code(path: str) -> bool:
    return _CODE.search(path) is not None


class SourceTexts:
    """`hidden`: path on the bench -> the text of a hidden test; asked for when it is needed."""

    def __init__(
        self,
        tree: Path,
        baseline: Mapping[str, Entry],
        hidden: Callable[[], Mapping[str, bytes]] = dict,
    ) -> None:
        self._tree = tree
        self._baseline = baseline
        self.hidden = hidden
        self.oracle = OracleFiles(baseline)

    def named_by_tests(self, path: str) -> bool:
        """Whether a string in a test stands for this file or for a folder that it is in."""
        own = {path, *prefixes(path)[:-1]}
        ends = {one.rsplit("/", 1)[-1] for one in own}
        return any(
            _stands_for(literal, folder, path)
            for end in ends & self._tests_names.keys()
            for literal, folder in self._tests_names[end]
        )

    def named_by_product(self, path: str) -> bool:
        """Whether product code of the snapshot reads this file, as far as strings tell."""
        folder, name = posixpath.split(path)
        return name in self._product_words or self._product_reads(folder)

    def imported_by_product(self, folder: str) -> bool:
        return posixpath.basename(folder) in self._product_imports

    def imported_by_tests(self, folder: str) -> bool:
        return posixpath.basename(folder) in self._tests_import

    def _product_reads(self, folder: str) -> bool:
        """Whether product code in that folder looks around in it, or other product code leads into it."""
        if folder not in self._read_folders:
            last = posixpath.basename(folder)
            beside = folder != "" and any(
                posixpath.dirname(path) == folder and _COMPUTES.search(text)
                for path, text in self._product.items()
            )
            reads = last != "" and any(_leads_into(last, text) for text in self._product.values())
            self._read_folders[folder] = beside or reads
        return self._read_folders[folder]

    @cached_property
    def _read_folders(self) -> dict[str, bool]:
        return {}

    @cached_property
    def _product_words(self) -> frozenset[str]:
        return frozenset(word.rstrip(".") for text in self._product.values() for word in _WORD.findall(text))

    @cached_property
    def _product_imports(self) -> frozenset[str]:
        return _imported(self._product.values())

    @cached_property
    def _tests_import(self) -> frozenset[str]:
        return _imported(text for _, text in self._of_tests)

    @cached_property
    def _tests_names(self) -> dict[str, list[tuple[str, str]]]:
        """Last name of a string in a test -> (the whole of it, the folder of the test)."""
        found: dict[str, list[tuple[str, str]]] = {}
        for path, text in self._of_tests:
            folder = posixpath.dirname(path)
            for literal in dict.fromkeys(_literals(text)):
                found.setdefault(literal.rsplit("/", 1)[-1], []).append((literal, folder))
        return found

    @cached_property
    def _of_tests(self) -> list[tuple[str, str]]:
        hidden = {
            path: data.decode(errors="replace") for path, data in self.hidden().items() if is_code(path)
        }
        own = self._read(lambda path: path in self.oracle or steers(path))
        return [*((path, text) for path, text in own if path not in hidden), *hidden.items()]

    @cached_property
    def _product(self) -> dict[str, str]:
        hidden = self.hidden()

        def is_product(path: str) -> bool:
            is_oracles = path in self.oracle or path in hidden or steers(path)
            return not (is_oracles or data_folder(path) or _BESIDE_THE_PRODUCT.search(path))

        return dict(self._read(is_product))

    def _read(self, wanted: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
        left = MAX_TOTAL_BYTES
        for path, entry in self._baseline.items():
            if entry.kind != "file" or entry.size > min(MAX_FILE_BYTES, left) or not is_code(path):
                continue
            if "node_modules/" not in path and wanted(path):
                left -= entry.size
                yield path, (self._tree / path).read_text(errors="replace")


def _imported(texts: Iterable[str]) -> frozenset[str]:
    """Every word of a line that imports something."""
    return frozenset(
        word for text in texts for line in _IMPORTS.findall(text) for word in _NAME.findall(line)
    )


def _literals(text: str) -> Iterator[str]:
    for found in _LITERAL.finditer(text):
        literal = next(filter(None, found.groups()))
        computed = re.search(r"[{$%*]", literal)
        if computed:  # what stands before it may still be a folder
            literal = literal[: computed.start()].rpartition("/")[0]
        literal = re.sub(r"^(\.{1,2}/)+", "", literal.strip()).rstrip("/")
        if literal and not literal.startswith("/"):
            yield posixpath.normpath(literal)


def _stands_for(literal: str, folder: str, path: str) -> bool:
    """`cases/a.txt` in tests/test_x.py: from the root, from the test's folder, or from one above it. Of a file its last
    names are enough, since paths are joined of pieces; a folder must be where the string says.
    """
    if path == literal or path.endswith(f"/{literal}"):
        return True
    tops = ["", *(f"{one}/" for one in prefixes(folder))] if folder else [""]
    return any(path.startswith(f"{top}{literal}/") for top in tops)


def _leads_into(folder: str, text: str) -> bool:
    quoted = re.compile(rf"[\"'`/ ]{re.escape(folder)}[\"'`/*]")
    return any(_LEADS.search(text[_line(text, one.start())]) for one in quoted.finditer(text))


def _line(text: str, at: int) -> slice:
    end = text.find("\n", at)
    return slice(text.rfind("\n", 0, at) + 1, len(text) if end < 0 else end)
