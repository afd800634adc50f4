"""An environment -> what is around a change on its bench: installed names, import roots, the data of its tests."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from functools import cache

from steelyard.bench.execution_spec import SuiteSpec, bench_specs, own_variables
from steelyard.bench.suite.command_words import command_words
from steelyard.bench.transfer import kept_settings
from steelyard.bench.transfer.hidden_files import hidden_files, patched_files
from steelyard.bench.transfer.names import installed as installed_packages
from steelyard.bench.transfer.names.shadowing import Surroundings
from steelyard.bench.transfer.names.verifier_names import verifier_folders, verifier_modules
from steelyard.bench.transfer.oracle import data as oracle_material
from steelyard.bench.transfer.oracle.files import OracleFiles
from steelyard.bench.transfer.oracle.source_texts import SourceTexts
from steelyard.contract.catalogue import Material
from steelyard.contract.contract import Contract
from steelyard.deferred.pattern import deferred_pattern
from steelyard.environment.prepare import Environment
from steelyard.filesystem.tree import is_within, prefixes
from steelyard.sandboxes.base import WORKSPACE

MAX_REFERENCE_BYTES = 8 << 20
MAX_SETTINGS_BYTES = 1 << 20
_PYTHONPATH = deferred_pattern(r"^\s*pythonpath\s*=\s*(.+(?:\n\s+.+)*)$", re.MULTILINE)
_WORD = deferred_pattern(r"[\w-]+")
_CHANGES_PATH = deferred_pattern(r"\bsys\.path\b|syspath_prepend|addsitedir")
_STRING = deferred_pattern(r"""["']([^"'\n]{1,200})["']""")
_TOUCHED = deferred_pattern(rb"^(?:\+\+\+ b/|--- a/|rename (?:from|to) )(.+?)\s*$", re.MULTILINE)


def surroundings(environment: Environment, interpreters: Iterable[str] = ()) -> Surroundings:
    contract = environment.contract

    @cache
    def installed() -> installed_packages.InstalledNames:
        return installed_packages.installed_names(environment, interpreters)

    return Surroundings(
        installed,
        brief=_brief(environment),
        roots=frozenset(_roots(environment)),
        verifiers=verifier_modules(contract),
        runners=frozenset(_runners(contract)),
    )


def oracle_data(environment: Environment) -> oracle_material.OracleData:
    contract = environment.contract
    snapshot = contract.snapshot
    texts = SourceTexts(snapshot.tree, snapshot.entries, cache(lambda: hidden_texts(contract)))
    has_suite = any(entry.executes for entry in (*contract.checks, *contract.graders))
    return oracle_material.OracleData(
        snapshot.entries,
        texts,
        _brief(environment),
        cache(lambda: frozenset(_referenced(contract))),
        has_suite,
    )


def hidden_texts(contract: Contract) -> dict[str, bytes]:
    """What hidden tests are, by where they go."""
    snapshot = contract.snapshot
    material = Material(snapshot.tree, snapshot.entries, contract.files)
    found: dict[str, bytes] = {}
    for spec in bench_specs((*contract.checks, *contract.graders)):
        if isinstance(spec, SuiteSpec) and spec.patch:
            patched = patched_files(spec.patch, material)
            found |= {path: one.content for path, one in patched.items() if one.content is not None}
        for one in hidden_files(contract, spec):
            if (
                one.kind == "file"
                and one.source is not None
                and one.source.stat().st_size <= MAX_REFERENCE_BYTES
            ):
                found[one.path] = one.source.read_bytes()
    return found


def _brief(environment: Environment) -> str:
    """With paths as they are in the workspace: `cart.py` for `/workspace/cart.py`."""
    text = environment.contract.brief
    for top in {
        WORKSPACE,
        environment.contract.spec.environment.workdir or WORKSPACE,
        environment.sandbox_spec().workdir or WORKSPACE,
    }:
        text = text.replace(f"{top.rstrip('/')}/", "")
    return text


def _referenced(contract: Contract) -> Iterator[str]:
    """The paths that the reference changes, where it is a patch."""
    path = contract.reference
    if path is None or path.stat().st_size > MAX_REFERENCE_BYTES:
        return
    for found in _TOUCHED.finditer(path.read_bytes()):
        yield found[1].decode(errors="surrogateescape")


def _runners(contract: Contract) -> Iterator[str]:
    for spec in bench_specs((*contract.checks, *contract.graders)):
        yield from _WORD.findall(spec.command)
    yield from _WORD.findall(_text(contract, "package.json"))


def _text(contract: Contract, path: str) -> str:
    entry = contract.snapshot.entries.get(path)
    if entry is None or entry.kind != "file" or entry.size > MAX_SETTINGS_BYTES:
        return ""
    return (contract.snapshot.tree / path).read_text(errors="replace")


def _pytest_paths(contract: Contract) -> Iterator[str]:
    """`pythonpath` of the snapshot's settings."""
    for name in kept_settings.NAMES:
        for found in _PYTHONPATH.finditer(_text(contract, name)):
            yield from (posixpath.normpath(word) for word in re.findall(r"[\w./-]+", found[1]))


def _put_on_the_path(contract: Contract) -> Iterator[str]:
    """Folders that tests and their conftest files name, or are in, while they change `sys.path`."""
    entries = contract.snapshot.entries
    oracle = OracleFiles(entries)
    own = [
        path for path in entries if path.endswith(".py") and (path in oracle or path.endswith("conftest.py"))
    ]
    texts = {path: _text(contract, path) for path in own}
    texts |= {path: text.decode(errors="replace") for path, text in hidden_texts(contract).items()}
    changing = {path: text for path, text in texts.items() if _CHANGES_PATH.search(text)}
    folders = {folder for path in entries if path.endswith(".py") for folder in prefixes(path)[:-1]}
    for path, text in changing.items():
        words = {word for found in _STRING.findall(text) for word in found.split("/")}
        named = {folder for folder in folders if set(folder.split("/")) <= words}
        above = set(prefixes(path)[:-1]) if "__file__" in text else set()
        yield from (one for one in named | above if f"{one}/__init__.py" not in entries)


def _roots(environment: Environment) -> Iterator[str]:
    """Folders of the workspace where commands of checks start, and where their PYTHONPATH leads to."""
    yield from _put_on_the_path(environment.contract)
    yield from (
        root
        for root in _pytest_paths(environment.contract)
        if root != "." and not root.startswith((".", "/"))
    )
    top = (
        environment.sandbox_spec().workdir
        if environment.contract.spec.environment.scope == "system"
        else WORKSPACE
    ).strip("/")
    for folder in verifier_folders(environment.contract, top):
        path = environment.real_name(f"/{folder}").strip("/")
        if top and is_within(path, top) and path != top:
            yield path.removeprefix(f"{top}/")
    for spec in bench_specs((*environment.contract.checks, *environment.contract.graders)):
        words = command_words(spec.command)
        if words.cwd:
            yield words.cwd
        own = {**own_variables(spec), **words.env}
        for folder in own.get("PYTHONPATH", "").split(":") if own.get("PYTHONPATH") else ():
            path = posixpath.normpath(posixpath.join(WORKSPACE, words.cwd, environment.real_name(folder)))
            if is_within(path, WORKSPACE) and path != WORKSPACE:
                yield path.removeprefix(f"{WORKSPACE}/")
