"""A verifier's files -> the modules that it brings or installs, and the paths that it copies its files to.

    /tests/helpers.py                                 `helpers`
    uvx -p 3.13 -w pytest==8.4.1 -w pyyaml pytest     `pytest`, `yaml`
    cp /tests/test_outputs.py /app/tests/             /app/tests/test_outputs.py, below the folder /app/tests
    mkdir -p /app/out                                 the folder /app/out

The script is read as text, by the line. What it computes is not known; then a file that has the name of one of the
verifier's is taken to be where that file goes.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping

from steelyard.bench.transfer.names.shadowing import module_at
from steelyard.contract.catalogue import ContractFile
from steelyard.contract.contract import Contract
from steelyard.contract.execution_spec import ScriptSpec
from steelyard.deferred.data_class import dataclass
from steelyard.deferred.pattern import deferred_pattern
from steelyard.evidence.change.change import ChangeEntry
from steelyard.filesystem.tree import is_within, prefixes

MAX_BYTES = 1 << 20
IN_THE_WAY = "the verifier copies its own files to this path; left out"
_MODULES = {
    "pyyaml": ["yaml"],
    "pillow": ["PIL"],
    "beautifulsoup4": ["bs4"],
    "scikit-learn": ["sklearn"],
    "scikit-image": ["skimage"],
    "opencv-python": ["cv2"],
    "opencv-python-headless": ["cv2"],
    "python-dateutil": ["dateutil"],
    "attrs": ["attr", "attrs"],
    "pycryptodome": ["Crypto"],
    "psycopg2-binary": ["psycopg2"],
    "python-dotenv": ["dotenv"],
    "pytest-xdist": ["xdist"],
    "protobuf": ["google.protobuf"],
}
_INSTALLS = deferred_pattern(r"\b(?:pip3?|uv|uvx|pipx|conda|poetry)\b")
_WITH = frozenset({"-w", "--with"})
_REQUIREMENT = deferred_pattern(r"([A-Za-z0-9][A-Za-z0-9._-]*)(\[[^\]]*\])?([<>=!~@;].*)?")
_NO_REQUIREMENT = frozenset(
    ["install", "add", "run", "pip", "tool", "uv", "uvx", "sync", "init", "venv", "python"]
)
_COPIES = frozenset({"cp", "mv", "install", "rsync", "ln"})
_OTHER_MODULES = deferred_pattern(r"(test_.*|.*_test|conftest|__init__|__main__|setup)")


@dataclass(frozen=True)
class Targets:
    """Where verifiers write, as absolute paths without their leading slash."""

    files: frozenset[str] = frozenset()  # nothing of the change may be a folder or a link there
    folders: frozenset[str] = frozenset()  # nothing of the change may be a file or a link there
    names: frozenset[str] = frozenset()  # of the verifier's own files

    def stopped_by(self, entry: ChangeEntry, path: str) -> bool:
        """`path`: that of the entry, from the root. A folder that goes away is missed where files are copied into it."""
        old, new = entry.old, entry.new
        if new is None:
            return (
                old is not None
                and old.kind == "dir"
                and any(is_within(place, path) for place in self.folders)
            )
        return (old is None or old.kind != new.kind) and self._stops(path, new.kind)

    def _stops(self, path: str, kind: str) -> bool:
        """Whether a file, a link or a folder of the change would be in the way of the verifier's own."""
        parts = prefixes(path)
        if any(one in self.files for one in parts[:-1]) or (path in self.files and kind != "file"):
            return True
        if kind != "dir" and any(is_within(place, path) for place in self.folders):
            return True
        if kind != "dir" and any(place != path and is_within(place, path) for place in self.files):
            return True
        module = module_at(path, link=kind == "symlink")
        # A package or an extension is imported before the module of the same name.
        is_before = module is not None and path != f"{module}.py"
        own = f"{module}.py"
        if is_before and (own in self.files or posixpath.basename(own) in self.names):
            return True
        names = path.split("/")
        return any(name in self.names for name in names[:-1]) or (kind != "file" and names[-1] in self.names)


NO_TARGETS = Targets()


def verifier_modules(contract: Contract) -> frozenset[str]:
    found: set[str] = set()
    for files in _verifiers(contract):
        for name, file in files.items():
            stem = name.removesuffix(".py")
            if stem != name and "/" not in stem and not _OTHER_MODULES.fullmatch(stem):
                found.add(stem)
            if name.endswith((".sh", ".bash")) or "." not in name:
                found.update(_required(_text(file)))
    return frozenset(found)


def verifier_folders(contract: Contract, workdir: str) -> frozenset[str]:
    """Where verifiers go, and where their PYTHONPATH leads to, without leading slashes."""
    found: set[str] = set()
    for own in _verifiers(contract):
        for name, file in own.items():
            if name.endswith((".sh", ".bash")) or "." not in name:
                found.update(_entered(_text(file), workdir))
    return frozenset(found)


def _entered(text: str, workdir: str) -> Iterator[str]:
    at = workdir
    for words in _commands(text):
        if words[0] in {"cd", "pushd"} and len(words) == 2:
            at = _absolute(words[1], at) or at
            yield at
        for word in words:
            if word.startswith("PYTHONPATH="):
                places = (_absolute(one, at) for one in word.partition("=")[2].split(":") if one)
                yield from (place for place in places if place)


def copy_targets(contract: Contract, workdir: str) -> Targets:
    """`workdir`: where verifiers start."""
    files, folders, names = set[str](), set[str](), set[str]()
    for own in _verifiers(contract):
        names.update(posixpath.basename(name) for name in own if _is_telling(name))
        tops = {name.split("/")[0] for name in own}
        for name, file in own.items():
            if name.endswith((".sh", ".bash")) or "." not in name:
                for target in _copied(_text(file), workdir, tops):
                    (folders if target.is_folder else files).add(target.path)
    return Targets(frozenset(files), frozenset(folders), frozenset(names))


@dataclass(frozen=True)
class _Target:
    path: str
    is_folder: bool = False


def _verifiers(contract: Contract) -> Iterator[Mapping[str, ContractFile]]:
    for entry in (*contract.checks, *contract.graders):
        spec = entry.execution
        if isinstance(spec, ScriptSpec) and spec.script in contract.files:
            yield contract.files_beside(spec.script)


def _is_telling(name: str) -> bool:
    """Whether a file has a name that only the verifier would use."""
    return posixpath.basename(name).startswith("test_") or name.endswith(
        (".test.js", ".test.ts", "_test.py", "_test.go")
    )


def _text(file: ContractFile) -> str:
    if file.mode == "link" or not file.path.is_file() or file.path.stat().st_size > MAX_BYTES:
        return ""
    return file.path.read_text(errors="replace")


def _commands(text: str) -> Iterator[list[str]]:
    for line in text.replace("\\\n", " ").splitlines():
        for part in re.split(r"&&|\|\||[;|]", line):
            try:
                words = shlex.split(part, comments=True)
            except ValueError:
                continue
            if words:
                yield words


def _required(text: str) -> Iterator[str]:
    for words in _commands(text):
        line = " ".join(words)
        if not _INSTALLS.search(line):
            continue
        installs = bool({"install", "add"} & set(words))
        for before, word in zip(["", *words], words, strict=False):
            found = _REQUIREMENT.fullmatch(word)
            is_asked = before in _WITH or (installs and not before.startswith("-"))
            if found and is_asked and word not in _NO_REQUIREMENT:
                name = found[1].lower()
                yield from _MODULES.get(name, [name.replace("-", "_").replace(".", "_")])


def _copied(text: str, workdir: str, tops: set[str]) -> Iterator[_Target]:
    at = workdir
    for words in _commands(text):
        plain = [word for word in words[1:] if not word.startswith("-")]
        if words[0] == "cd" and len(plain) == 1:
            at = _absolute(plain[0], at) or at
        elif words[0] == "mkdir":
            for word in plain:
                place = _absolute(word, at)
                if place is not None:
                    yield _Target(place, is_folder=True)
        elif words[0] in _COPIES and len(plain) > 1:
            yield from _of_copy(plain, at, tops)


def _of_copy(plain: list[str], at: str, tops: set[str]) -> Iterator[_Target]:
    *sources, last = plain
    own = [
        one for one in sources if "/tests" in one or posixpath.basename(one.rstrip("/")) in tops or "$" in one
    ]
    place = _absolute(last, at)
    if not own or place is None:
        return
    into = last.endswith(("/", "/.")) or last == "." or len(sources) > 1
    for source in own:
        name = posixpath.basename(source.rstrip("/"))
        if into:
            yield _Target(place, is_folder=True)
        if name and not set(name) & set("$*?"):
            # Without an ending it may be a folder that the copy makes, or one that the copy goes into.
            yield _Target(f"{place}/{name}".lstrip("/"))
        if not into and "." in posixpath.basename(last):
            yield _Target(place)


def _absolute(word: str, at: str) -> str | None:
    """Without its leading slash; None where a shell would have to compute it."""
    word = word.replace("$PWD", f"/{at}").replace("${PWD}", f"/{at}").replace("$(pwd)", f"/{at}")
    if set(word) & set("$`*?~{"):
        return None
    return posixpath.normpath(posixpath.join("/", at, word)).strip("/")
