"""The grader types that exist, by the name a contract uses.

Other packages add theirs through the entry point group `steelyard.graders`.
"""

from __future__ import annotations

import functools
from importlib.metadata import EntryPoint, entry_points

from steelyard.contract.catalogue import Catalogue
from steelyard.errors import OperatorFault
from steelyard.graders.base import Grader
from steelyard.graders.checks.command import Command
from steelyard.graders.checks.runs_tests import Pytest, RunsTests
from steelyard.graders.checks.swebench import SweBench
from steelyard.graders.checks.verifier import Verifier
from steelyard.graders.conduct.efficiency import Efficiency
from steelyard.graders.conduct.trace import Trace
from steelyard.graders.files.allowed_paths import AllowedPaths
from steelyard.graders.files.contents import Files
from steelyard.graders.files.file_exists import FileExists
from steelyard.graders.files.forbid_paths import ForbidPaths
from steelyard.graders.files.forbid_secrets import ForbidSecrets
from steelyard.graders.files.max_files_changed import MaxFilesChanged
from steelyard.graders.files.unmodified import BaselineUnmodified, TestsUnmodified
from steelyard.graders.judged.llm_judge import LlmJudge
from steelyard.graders.judged.model_judge import ModelJudge
from steelyard.graders.rubric import Rubric
from steelyard.graders.tampering.assertions_not_weakened import AssertionsNotWeakened
from steelyard.graders.tampering.implemented import Implemented
from steelyard.graders.tampering.no_new_skips import NoNewSkips

BUILT_IN: tuple[type[Grader], ...] = (
    Command,
    RunsTests,
    Pytest,
    SweBench,
    Verifier,
    Files,
    Implemented,
    AllowedPaths,
    ForbidPaths,
    MaxFilesChanged,
    ForbidSecrets,
    FileExists,
    TestsUnmodified,
    BaselineUnmodified,
    NoNewSkips,
    AssertionsNotWeakened,
    Trace,
    Efficiency,
    LlmJudge,
    ModelJudge,
    Rubric,
)
PLANNED: frozenset[str] = frozenset()
CATALOGUE = Catalogue({grader.TYPE: grader for grader in BUILT_IN}, PLANNED)


@functools.cache  # it reads the metadata of every installed package
def installed_catalogue() -> Catalogue:
    """The built-in types and those that other installed packages bring; a built-in name cannot be taken over."""
    others = {point.name: loaded_type(point) for point in entry_points(group="steelyard.graders")}
    return Catalogue({**others, **CATALOGUE.types}, PLANNED - others.keys())


def loaded_type(point: EntryPoint) -> type[Grader]:
    """The grader type of another package; raises OperatorFault for anything else."""
    kind = point.load()
    if isinstance(kind, type) and issubclass(kind, Grader):
        return kind
    raise OperatorFault(f"the installed grader {point.name} ({point.value}) is not a subclass of Grader")
