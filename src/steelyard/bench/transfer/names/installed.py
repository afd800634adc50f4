"""An environment without the change -> what its interpreters find by name: modules of Python, packages of Node.

    m yaml /usr/lib/python3/dist-packages     a module, and the folder that a Python of the bench finds it in
    m google.protobuf /workspace/.venv/...    below a namespace, where a folder of the workspace could come first
    s /workspace/app                          a folder where a Python of the bench looks for modules
    n chai                                    a package of Node

A file of the change with one of these names is imported in its place. The list is made once for an environment, and only
when a change adds something that an import could find.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from steelyard.bench.execution_spec import bench_specs, own_variables
from steelyard.bench.suite.command_words import command_words
from steelyard.bench.transfer.paths_from_change import entries_of
from steelyard.deferred.data_class import dataclass
from steelyard.environment.prepare import Environment
from steelyard.filesystem.tree import is_within
from steelyard.sandboxes.base import WORKSPACE, Command

LOOK_S = 60.0
KEEP_BYTES = 8 << 20
MOST_INTERPRETERS = 8
# Names that stray into site-packages and that every project has for itself.
_EVERYBODYS = frozenset(
    [
        "test",
        "tests",
        "docs",
        "doc",
        "examples",
        "example",
        "scripts",
        "benchmarks",
        "setup",
        "conftest",
        "src",
    ]
)
_PYTHON = """\
import os, pkgutil, sys
ENDS = (".py", ".pyc", ".so", ".pyd")
def is_package(folder):
    try:
        return any(n.split(".")[0] == "__init__" and n.endswith(ENDS) for n in os.listdir(folder))
    except OSError:
        return True
def show(top, folder, before, depth):
    found = 0
    for one in pkgutil.iter_modules([folder]):
        print("m", before + one.name, top)
        found += 1
    try:
        names = os.listdir(folder) if depth else []
    except OSError:
        names = []
    for name in names:
        inner = os.path.join(folder, name)
        if name.isidentifier() and os.path.isdir(inner) and not is_package(inner):
            if show(top, inner, before + name + ".", depth - 1):
                print("m", before + name, top)
                found += 1
    return found
for path in sys.path:
    if path:
        print("s", path)
        show(path, path, "", 3 if path.endswith("-packages") else 0)
"""
_LOOK = """\
look=$1; shift
for p in "$@" "$(command -v python3)" "$(command -v python)"; do
  if [ -x "$p" ] && [ ! -d "$p" ]; then "$p" -c "$look" </dev/null 2>/dev/null; fi
done
IFS=:
for d in $NODE_PATH "$workspace/node_modules" /node_modules /usr/lib/node_modules /usr/local/lib/node_modules /usr/share/nodejs; do
  for f in "$d"/* "$d"/@*/*; do
    if [ -d "$f" ]; then printf 'n %s\\n' "${f#"$d"/}"; fi
  done
done
:
"""


@dataclass(frozen=True)
class InstalledNames:
    modules: frozenset[str] = frozenset()  # dotted
    packages: frozenset[str] = frozenset()  # of Node, with their scopes
    roots: frozenset[str] = frozenset()  # folders of the workspace where modules are looked for


NONE_INSTALLED: InstalledNames = InstalledNames()


def installed_names(environment: Environment, interpreters: Iterable[str] = ()) -> InstalledNames:
    """`interpreters`: absolute paths of Pythons that PATH does not lead to."""
    sandbox_spec = environment.sandbox_spec()
    workspace = f"/{sandbox_spec.workdir.strip('/')}" if sandbox_spec.scope == "system" else WORKSPACE
    pythons = [*dict.fromkeys((*_pythons(environment), *interpreters))][:MOST_INTERPRETERS]

    def look(folder: Path) -> None:
        argv = ("/bin/sh", "-c", _LOOK, "look", _PYTHON, *pythons)
        variables = {"workspace": workspace, "PYTHONDONTWRITEBYTECODE": "1"}
        with environment.backend.start(sandbox_spec) as sandbox:
            done = sandbox.run(Command(argv, cwd="/", env=variables, timeout_s=LOOK_S, keep_bytes=KEEP_BYTES))
        (folder / "names.txt").write_bytes(done.stdout.head + done.stdout.tail)

    key = json.dumps([*environment.identity, pythons, workspace, _LOOK, _PYTHON])
    kept = (
        environment.cache.build("module_names", hashlib.sha256(key.encode()).hexdigest(), look) / "names.txt"
    )
    return read_names(kept.read_text(errors="surrogateescape"), workspace, environment.baseline)


def read_names(listing: str, workspace: str, baseline: Collection[str]) -> InstalledNames:
    """From what was printed. What the snapshot itself brings is the product's, and not installed."""
    modules, packages, roots = set[str](), set[str](), set[str]()
    own = own_names(baseline)
    for line in listing.splitlines():
        kind, _, rest = line.partition(" ")
        if kind == "n":
            packages.add(rest)
        elif kind == "s" and is_within(rest, workspace) and not _is_of_packages(rest):
            roots.add(rest.removeprefix(workspace).strip("/"))
        elif kind == "m":
            name, _, folder = rest.partition(" ")
            is_own = (
                is_within(folder, workspace)
                and not _is_of_packages(folder)
                and _is_in(folder, workspace, name, baseline)
            )
            if not is_own and name.partition(".")[0] not in own | _EVERYBODYS:
                modules.add(name)
    return InstalledNames(frozenset(modules), frozenset(packages), frozenset(roots))


def own_names(baseline: Collection[str]) -> frozenset[str]:
    """The top-level names of Python that the snapshot has itself, at its root, in `src` or in `lib`."""
    found = set()
    for path in baseline:
        if not path.endswith((".py", ".so", ".pyx")):
            continue
        parts = path.split("/")
        found.add(parts[0].partition(".")[0])
        if parts[0] in {"src", "lib", "python"} and len(parts) > 1:
            found.add(parts[1].partition(".")[0])
    return frozenset(found)


def _is_in(folder: str, workspace: str, name: str, baseline: Collection[str]) -> bool:
    """A workspace that has no known baseline (a whole system) is the product's everywhere."""
    if not baseline:
        return True
    at = f"{folder.removeprefix(workspace).strip('/')}/{name}".lstrip("/")
    return any(path in baseline for path in (f"{at}.py", f"{at}/__init__.py"))


def _is_of_packages(folder: str) -> bool:
    return any(name in {"site-packages", "dist-packages"} for name in folder.split("/"))


def _pythons(environment: Environment) -> list[str]:
    """Interpreters in the workspace, as setup or the snapshot has them: `.venv/bin/python`."""
    layers: tuple[Mapping[str, object], ...] = (
        environment.baseline,
        entries_of(environment.setup.change if environment.setup else None),
    )
    found = (path for layer in layers for path in layer if path.endswith(("bin/python3", "bin/python")))
    specs = list(bench_specs(environment.contract.checks))
    of_checks = (own_variables(spec).get("PATH", "") for spec in specs)
    folders = (folder for path in of_checks for folder in path.split(":") if folder.startswith("/"))
    named = (word for spec in specs for word in command_words(spec.command).argv[:1])
    absolute = (word for word in named if word.startswith("/") and "python" in word)
    return [
        *(f"{WORKSPACE}/{path}" for path in sorted(found)),
        *(f"{folder}/python3" for folder in folders),
        *absolute,
    ]
