"""A few grader types, enough to test the loader without the real ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from steelyard.contract.catalogue import Catalogue, GraderType, LintWarning
from steelyard.contract.execution_spec import ExecutionSpec
from steelyard.contract.model import NonEmpty, Under
from steelyard.filesystem.tree import Entry


@dataclass(frozen=True)
class Inject:
    src: NonEmpty
    dest: NonEmpty


@dataclass(frozen=True)
class Command(GraderType):
    """Exits as expected."""

    TYPE = "command"
    UNDER: ClassVar[Under] = "acceptance"
    WEIGHT = 1.0
    EXECUTES = True

    cmd: NonEmpty
    timeout_s: Annotated[float, Field(ge=1, le=3600)] = 900
    inject: tuple[NonEmpty | Inject, ...] = ()

    def contract_files(self) -> tuple[str, ...]:
        return tuple(src for src, _ in self._injected)

    def execution(self) -> ExecutionSpec:
        return ExecutionSpec(command=self.cmd, timeout_s=self.timeout_s, injected=self._injected)

    @property
    def _injected(self) -> tuple[tuple[str, str], ...]:
        return tuple(
            (item, item.rpartition("/")[2]) if isinstance(item, str) else (item.src, item.dest)
            for item in self.inject
        )


@dataclass(frozen=True)
class AllowedPaths(GraderType):
    """Every changed path matches."""

    TYPE = "allowed_paths"

    patterns: Annotated[tuple[NonEmpty, ...], Field(min_length=1)]

    def lint_warnings(self, baseline: Mapping[str, Entry]) -> tuple[LintWarning, ...]:
        return tuple(
            LintWarning(
                f"patterns[{number}]", f"{pattern} matches nothing", fatal=pattern.startswith("fatal")
            )
            for number, pattern in enumerate(self.patterns)
            if not any(path.startswith(pattern.rstrip("*")) for path in baseline)
        )


@dataclass(frozen=True)
class Implemented(GraderType):
    """A gate by default, with an option of each plain kind."""

    TYPE = "implemented"
    GATE = True
    PASS_THRESHOLD = 0.5

    count: Annotated[int, Field(ge=0)] = 0
    kind: Literal["any", "file"] = "any"


SMALL = Catalogue(
    {kind.TYPE: kind for kind in (Command, AllowedPaths, Implemented)},
    planned=frozenset({"swebench", "tests"}),
)
