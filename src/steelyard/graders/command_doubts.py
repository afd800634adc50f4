"""What is amiss with the command of a check, as far as its words and the snapshot tell."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from steelyard.bench.package_scripts import missing_script, without_package_manager
from steelyard.bench.run_tests import suite_of
from steelyard.bench.runners.catalogue import BY_NAME, runner_for
from steelyard.bench.runners.node_command import through_npm
from steelyard.bench.suite import SuiteOptions
from steelyard.contract.catalogue import Doubt, Material

OF_ANY_COMMAND = frozenset({"exit_code", "junit", "tap"})


def script_doubts(cmd: str, material: Material, injected: tuple[tuple[str, str], ...]) -> Iterator[Doubt]:
    """`npm test`, and a package.json without such a script; a change may still bring it, so it is only suspicious."""
    name = missing_script(cmd, material.tree)
    if name is not None and not any(dest.endswith("package.json") for _, dest in injected):
        yield Doubt("cmd", f"package.json of the snapshot has no script called {name!r}", fatal=False)


def runner_doubts(options: SuiteOptions, tree: Path) -> Iterator[Doubt]:
    """A `runner` that the command is none of, and a report that nobody will read."""
    suite = without_package_manager(through_npm(suite_of(options), tree), tree)
    if options.runner and options.runner not in OF_ANY_COMMAND and not BY_NAME[options.runner].claims(suite):
        fits = runner_for(suite).NAME
        instead = f"; it is one of {fits}" if fits != "exit_code" else ""
        yield Doubt("runner", f"`{suite.command}` is not a command of {options.runner}{instead}", fatal=True)
        return
    runner = runner_for(suite, options.runner)
    if options.report and runner.NAME != "junit":
        said = f"is not read: {runner.NAME} tells its results in its own way"
        yield Doubt("junit_xml", said, fatal=bool(options.runner))
