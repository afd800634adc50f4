"""The grader types that exist, by the name a contract uses.

Other packages add theirs through the entry point group `steelyard.graders`. A type is loaded when a contract names it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import metadata

from steelyard.contract.catalogue import Catalogue
from steelyard.deferred.table import DeferredTable
from steelyard.errors import OperatorFault
from steelyard.graders import rubric
from steelyard.graders.base import Grader
from steelyard.graders.checks import command, runs_tests, swebench, verifier
from steelyard.graders.conduct import efficiency, trace
from steelyard.graders.files import (
    allowed_paths,
    contents,
    file_exists,
    forbid_paths,
    forbid_secrets,
    max_files_changed,
    unmodified,
)
from steelyard.graders.judged import llm_judge, model_judge
from steelyard.graders.tampering import assertions_not_weakened, implemented, no_new_skips

BUILT_IN: DeferredTable[type[Grader]] = DeferredTable(
    {
        "command": lambda: command.Command,
        "tests": lambda: runs_tests.RunsTests,
        "pytest": lambda: runs_tests.Pytest,
        "swebench": lambda: swebench.SweBench,
        "verifier": lambda: verifier.Verifier,
        "files": lambda: contents.Files,
        "implemented": lambda: implemented.Implemented,
        "allowed_paths": lambda: allowed_paths.AllowedPaths,
        "forbid_paths": lambda: forbid_paths.ForbidPaths,
        "max_files_changed": lambda: max_files_changed.MaxFilesChanged,
        "forbid_secrets": lambda: forbid_secrets.ForbidSecrets,
        "file_exists": lambda: file_exists.FileExists,
        "tests_unmodified": lambda: unmodified.TestsUnmodified,
        "baseline_unmodified": lambda: unmodified.BaselineUnmodified,
        "no_new_skips": lambda: no_new_skips.NoNewSkips,
        "assertions_not_weakened": lambda: assertions_not_weakened.AssertionsNotWeakened,
        "trace": lambda: trace.Trace,
        "efficiency": lambda: efficiency.Efficiency,
        "llm_judge": lambda: llm_judge.LlmJudge,
        "model_judge": lambda: model_judge.ModelJudge,
        "rubric": lambda: rubric.Rubric,
    }
)
PLANNED: frozenset[str] = frozenset()
CATALOGUE = Catalogue(BUILT_IN, PLANNED)


class InstalledTypes(Mapping[str, type[Grader]]):
    """The built-in types, then those of other packages, which are looked for when a name is not built in.

    A built-in name cannot be taken over.
    """

    @cached_property
    def _others(self) -> dict[str, type[Grader]]:
        return {point.name: loaded_type(point) for point in metadata.entry_points(group="steelyard.graders")}

    def __getitem__(self, name: str) -> type[Grader]:
        return BUILT_IN[name] if name in BUILT_IN else self._others[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**dict.fromkeys(BUILT_IN), **self._others})

    def __len__(self) -> int:
        return sum(1 for _ in self)


def installed_catalogue() -> Catalogue:
    """The built-in types and those that other installed packages bring."""
    return Catalogue(InstalledTypes(), PLANNED)


def loaded_type(point: metadata.EntryPoint) -> type[Grader]:
    """The grader type of another package; raises OperatorFault for anything else."""
    kind = point.load()
    if isinstance(kind, type) and issubclass(kind, Grader):
        return kind
    raise OperatorFault(f"the installed grader {point.name} ({point.value}) is not a subclass of Grader")
