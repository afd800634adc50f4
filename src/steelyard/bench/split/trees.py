"""The baseline, the change and the hidden files -> what lies in the tests' sandbox, and what in the candidate's.

tests'        the oracle's files, files that steer a runner, data, hidden files; where the candidate's modules
              were, stubs; and the folder `candidate/`, which split tests import. Nothing of the change.
candidate's   the baseline without the oracle's files, and the change. Never a hidden file.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from steelyard.bench.split.programs import FOR_TESTS, INSIDE
from steelyard.bench.transfer.oracle.files import OracleFiles
from steelyard.bench.transfer.steering import steers
from steelyard.bench.twin.python.text import parse_source
from steelyard.filesystem.tree import prefixes
from steelyard.sandboxes.base import FileOverlay

ROOTS = ("", "src", "lib")  # folders that modules are imported from
PACKAGE = "candidate"
STUB = "import candidate\ncandidate.stand_in(__name__)\n"
MAX_SOURCE_BYTES = 4 << 20
# Files that tests may read beside their own. No list of what is code would be complete, so this says what is not.
DATA = re.compile(
    r"\.(json|jsonl|ya?ml|toml|cfg|ini|txt|md|rst|csv|tsv|xml|html?|css|svg|png|jpe?g|gif|pdf|gz|zip|tar|sql|db"
    r"|sqlite3?|lock|po|pot|tmpl|j2|bin|dat|pem|crt)$",
    re.IGNORECASE,
)
# A file that provides one of these is a part of the runner, which must not be the candidate's.
RUNNERS = frozenset(
    [
        PACKAGE,
        "unittest",
        "pytest",
        "_pytest",
        "pluggy",
        "iniconfig",
        "packaging",
        "exceptiongroup",
        "tomli",
        "xdist",
    ]
)


@dataclass(frozen=True, slots=True)
class Names:
    """The modules that tests reach on the other side, and where they are imported from."""

    first: dict[str, tuple[str, ...]]  # name -> folders; before anything installed of that name
    last: dict[str, tuple[str, ...]]  # only if there is nothing else of that name

    @property
    def roots(self) -> list[str]:
        found = {root for folders in (*self.first.values(), *self.last.values()) for root in folders}
        return [root for root in ROOTS if root in found or not root]


def is_oracles(path: str, theirs: OracleFiles) -> bool:
    return path in theirs or steers(path)


def candidate_names(
    baseline: Collection[str],
    theirs: OracleFiles,
    work: Sequence[FileOverlay],
    hidden: Sequence[FileOverlay],
    named: Sequence[str] = (),
) -> Names:
    """Those of the baseline that are not the oracle's; of the change's own, those that a hidden test must have.

    A change could bring a `pytest.py`: a name that it alone has counts only if a hidden test imports it without a
    way out, and then only when nothing else has that name. `named` replaces all of it.
    """
    own = _modules(path for path in baseline if not is_oracles(path, theirs))
    new = _modules(one.path for one in work if one.kind != "gone" and not is_oracles(one.path, theirs))
    if named:
        return Names({name: own.get(name) or new.get(name) or ("",) for name in named}, {})
    standard = sys.stdlib_module_names
    first = {name: folders for name, folders in own.items() if name not in standard}
    wanted = {name for one in hidden for name in _imported(one)}
    taken = standard | RUNNERS | first.keys()
    last = {name: new[name] for name in wanted & new.keys() if name not in taken}
    return Names(first, last)


def unusable(names: Names) -> str:
    """Why tests cannot be split from a candidate that has these modules, or ""."""
    both = sorted(RUNNERS & names.first.keys())
    if not both:
        return ""
    if both == [PACKAGE]:
        return (
            f"the repository has a module named {PACKAGE!r}, which split tests need; use `oracle.mode: twin`"
        )
    return f"the repository provides {both[0]!r}, a part of the test runner; use `oracle.mode: twin`"


def oracle_tree(
    baseline: Collection[str], theirs: OracleFiles, hidden: Sequence[FileOverlay], names: Names, scratch: Path
) -> tuple[FileOverlay, ...]:
    kept = {path for path in baseline if is_oracles(path, theirs) or DATA.search(path)}
    gone = _prune(baseline, kept)
    return (*(FileOverlay(path, "gone") for path in gone), *_stubs(baseline, names, scratch), *hidden)


def candidate_tree(
    baseline: Collection[str], theirs: OracleFiles, work: Sequence[FileOverlay]
) -> tuple[FileOverlay, ...]:
    kept = {path for path in baseline if path not in theirs}
    return (*(FileOverlay(path, "gone") for path in _prune(baseline, kept)), *work)


def package(settings: dict[str, object], names: Names, scratch: Path) -> list[FileOverlay]:
    """The folder that split tests import, once in each place that modules are imported from."""
    (scratch / "settings.json").write_text(json.dumps(settings))
    files = {f"{name}.py": INSIDE / f"{name}.py" for name in FOR_TESTS}
    files["settings.json"] = scratch / "settings.json"
    return [
        FileOverlay(_join(root, PACKAGE, name), "file", source=source)
        for root in names.roots
        for name, source in files.items()
    ]


def _stubs(baseline: Collection[str], names: Names, scratch: Path) -> list[FileOverlay]:
    stub = scratch / "stub.py"
    stub.write_text(STUB)
    folders = {prefix for path in baseline for prefix in prefixes(path)[:-1]}
    return [
        FileOverlay(
            _join(root, f"{name}/__init__.py" if _join(root, name) in folders else f"{name}.py"),
            "file",
            source=stub,
        )
        for name, roots in (*names.first.items(), *names.last.items())
        for root in roots
    ]


def _modules(paths: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Name -> the folders of ROOTS that it can be imported from."""
    found: dict[str, set[str]] = {}
    for path in paths:
        parts = PurePosixPath(path).parts
        if not parts or parts[-1].rpartition(".")[2] not in {"py", "so", "pyd"}:
            continue
        for root in ROOTS:
            below = parts if not root else parts[1:] if parts[0] == root else ()
            name = below[0].partition(".")[0] if below else ""
            if (
                name.isascii()
                and name.isidentifier()
                and not (root == "" and name in ROOTS and len(below) > 1)
            ):
                found.setdefault(name, set()).add(root)
    return {name: tuple(sorted(roots)) for name, roots in found.items()}


def _imported(one: FileOverlay) -> set[str]:
    """The top-level names that a hidden Python file imports, except inside a `try`."""
    if one.source is None or not one.path.endswith(".py") or one.source.stat().st_size > MAX_SOURCE_BYTES:
        return set()
    tree = parse_source(one.source.read_bytes())
    if tree is None:
        return set()
    names: set[str] = set()
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            names.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add((node.module or "").partition(".")[0])
        elif not isinstance(node, ast.Try):
            waiting += ast.iter_child_nodes(node)
    return names


def _prune(paths: Collection[str], kept: Collection[str]) -> list[str]:
    """What to remove so that only `kept` is left, whole folders where nothing in them is."""
    needed = {prefix for path in kept for prefix in prefixes(path)}
    return sorted(
        {next(one for one in prefixes(path) if one not in needed) for path in paths if path not in needed}
    )


def _join(*parts: str) -> str:
    return "/".join(part for part in parts if part)
