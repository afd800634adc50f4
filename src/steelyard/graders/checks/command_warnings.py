"""What is amiss with the command of a check, as far as its words and the snapshot tell."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from pathlib import Path

from steelyard.bench.execution_spec import SuiteSpec
from steelyard.bench.runners import catalogue as runners
from steelyard.bench.runners import node_command
from steelyard.bench.suite import suite_of_spec
from steelyard.bench.suite.package_scripts import missing_script, without_package_manager
from steelyard.contract.catalogue import LintWarning, Material
from steelyard.contract.lint import line_ends

OF_ANY_COMMAND = frozenset({"exit_code", "junit", "tap"})


def script_warnings(
    cmd: str, material: Material, injected: tuple[tuple[str, str], ...]
) -> Iterator[LintWarning]:
    """`npm test`, and a package.json without such a script; a change may still bring it, so it is only suspicious."""
    name = missing_script(cmd, material.tree)
    if name is not None and not any(dest.endswith("package.json") for _, dest in injected):
        yield LintWarning("cmd", f"package.json of the snapshot has no script called {name!r}", fatal=False)
    yield from _crlf_warnings(cmd, material, injected)


def _crlf_warnings(
    cmd: str, material: Material, injected: tuple[tuple[str, str], ...]
) -> Iterator[LintWarning]:
    """A shell script that the command names. One of the snapshot's may be what the work has to mend."""
    hidden = {dest: material.files[src].path for src, dest in injected if src in material.files}
    for word in dict.fromkeys(cmd.split()):
        path = posixpath.normpath(word)
        is_hidden = path in hidden
        file = hidden[path] if is_hidden else material.tree / path
        known = is_hidden or path in material.baseline
        if (
            known
            and path.endswith((".sh", ".bash"))
            and file.is_file()
            and line_ends.ends_in_crlf(_first_line(file))
        ):
            yield LintWarning("cmd", f"{path} {line_ends.CRLF}", fatal=is_hidden)


def _first_line(file: Path) -> bytes:
    with file.open("rb") as stream:
        return stream.readline(4096)


def runner_warnings(spec: SuiteSpec, tree: Path) -> Iterator[LintWarning]:
    """A `runner` that does not fit the command, and a report that is never read."""
    suite = without_package_manager(node_command.through_npm(suite_of_spec.suite_of(spec), tree), tree)
    if spec.runner and spec.runner not in OF_ANY_COMMAND and not runners.BY_NAME[spec.runner].claims(suite):
        fits = runners.runner_for(suite).NAME
        instead = f"; it fits {fits}" if fits != "exit_code" else ""
        yield LintWarning(
            "runner", f"`{suite.command}` is not a command of {spec.runner}{instead}", fatal=True
        )
        return
    runner = runners.runner_for(suite, spec.runner)
    if spec.report and runner.NAME != "junit":
        message = f"is not read: {runner.NAME} reports its results itself"
        yield LintWarning("junit_xml", message, fatal=bool(spec.runner))
