"""A script of the contract's that looks at the result and writes a reward."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Annotated

from steelyard.bench.execution_spec import VerifierSpec
from steelyard.bench.verifier import options
from steelyard.bench.verifier.run_verifier import LOGS
from steelyard.contract.catalogue import LintWarning, Material
from steelyard.contract.lint import line_ends
from steelyard.contract.model import PINNED_PATTERN, Fraction, NonEmpty, User, Variable
from steelyard.contract.threshold import TOLERANCE, is_enough
from steelyard.deferred.model import AfterValidator, ConfigDict, Field
from steelyard.filesystem.tree import is_within, printable
from steelyard.graders.base import Case, Grader
from steelyard.graders.checks import output_format
from steelyard.graders.grade import Grade, VerifierEvaluation
from steelyard.graders.output import output_tail
from steelyard.sandbox_paths import PUBLISHED
from steelyard.sandboxes.base import WORKSPACE

_IN_WORKSPACE = re.compile(rf"{WORKSPACE}/[\w./-]*\w")


def _below(*roots: str) -> AfterValidator:
    def check(path: str) -> str:
        parts = PurePosixPath(path).parts
        if ".." in parts or not any(path.startswith(f"{root}/") for root in roots):
            raise ValueError(f"must be an absolute path below {' or '.join(roots)}, without `..`")
        return str(PurePosixPath(path))

    return AfterValidator(check)


VerifierS = Annotated[float, Field(ge=1, le=86_400)]  # some build what they verify
InLogs = Annotated[NonEmpty, _below(LOGS)]
InWorkspace = Annotated[NonEmpty, _below(WORKSPACE)]


@dataclass(frozen=True)
class FixtureScores:
    """What the answers in `fixtures/pass` and `fixtures/fail` must score, for `steelyard check --fixtures`."""

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    pass_at_least: Fraction = 0.95
    fail_at_most: Fraction = 0.5

    def fit(self, score: float, *, must_pass: bool) -> bool:
        if must_pass:
            return is_enough(score, self.pass_at_least)
        return score <= self.fail_at_most + TOLERANCE


@dataclass(frozen=True)
class Verifier(Grader):
    """`script` writes a reward between 0 and 1 to `reward_path`; that is the score, as written.

    It runs in /workspace on a fresh bench, with its folder of the contract at /tests (read-only), an empty /logs and the
    variables of `env`, which no agent sees; with `scope: system` as root, or as the named `user` of the image. All
    processes are killed before the reward is read. A missing or malformed reward is an error, not a zero. With
    `separate` the verifier runs in its own container: fresh, of another image, with the declared `artifacts` of the
    agent and nothing else. With `output` the file at `expected_output_path` must parse (json, csv, yaml, text; a regular
    expression, a JSON Schema): an output that is missing or does not parse fails, whatever the reward. Without `output`, a file that is
    not what its suffix says is noted and changes no reward. Golden answers in
    `fixtures/pass` and `fixtures/fail` beside the contract test the script (`steelyard check --fixtures`) and have no
    other effect.

    Why: some results cannot be tested simply: numbers within a tolerance, a document, several answers with weights.
    Example: `{type: verifier, script: tests/test.sh, expected_output_path: /workspace/answer.json, output: {format: json}}`
    Fooled by: candidate code that the script loads into one of its own processes, or whose exit code it believes.
    """

    TYPE = "verifier"
    UNDER = "acceptance"
    REQUIRED = False
    WEIGHT = 1.0
    EXECUTES = True
    UNDIGESTED = frozenset({"fixtures"})

    script: NonEmpty
    expected_output_path: InWorkspace | None = None
    reward_path: InLogs = f"{LOGS}/verifier/reward.json"
    details_path: InLogs = f"{LOGS}/verifier/details.json"
    output: output_format.Output | None = None
    timeout_s: VerifierS = 900.0
    env: dict[Variable, str] = field(default_factory=dict)
    user: User | None = None
    separate: options.SeparateVerifier | None = None
    fixtures: FixtureScores = FixtureScores()

    def execution(self) -> VerifierSpec:
        of_systems = {"user": self.user, "separate": self.separate}
        return VerifierSpec(
            command=self.script,
            timeout_s=self.timeout_s,
            output_path=self.expected_output_path,
            system_options=tuple(name for name, value in of_systems.items() if value is not None),
            reward_path=self.reward_path,
            details_path=self.details_path,
            env=self.env,
            user=self.user,
            separate=self.separate,
        )

    def contract_files(self) -> tuple[str, ...]:
        folder = str(PurePosixPath(self.script).parent)
        schema = self.output.schema if self.output else None
        build = self.separate.build if self.separate else None
        more = [name for name in (schema, build) if name]
        return (self.script if folder == "." else folder, *more)

    def file_warnings(self, material: Material) -> tuple[LintWarning, ...]:
        if wrong := self._wrong_script(material):
            return (LintWarning("script", f"{self.script} {wrong}", fatal=True),)
        if self.separate is not None and (wrong := _unsound(self.separate, material)):
            return (LintWarning("separate", wrong, fatal=True),)
        if self.separate is not None and is_within(self.reward_path, PUBLISHED):
            return (LintWarning("reward_path", f"{PUBLISHED} holds files of the agent", fatal=True),)
        if self.output is not None and self.expected_output_path is None:
            return (LintWarning("expected_output_path", "name the file that `output` describes", fatal=True),)
        if self.fixtures.fail_at_most >= self.fixtures.pass_at_least:
            return (LintWarning("fixtures", "`fail_at_most` must be below `pass_at_least`", fatal=True),)
        return ()

    def _wrong_script(self, material: Material) -> str:
        if self.script not in material.files:
            return "is not a file of the contract"
        is_python = self.script.endswith(".py")  # which takes either kind of line end
        return (
            line_ends.CRLF
            if not is_python and line_ends.ends_in_crlf(_first_line(material.files[self.script].path))
            else ""
        )

    def output_in(self, brief: str, answer: str | None = None, root: str = WORKSPACE) -> str | None:
        """Where in the tree the output is: as declared, the contract's answer, or the last place that the brief names."""
        path = self.expected_output_path or answer or _last_path(brief)
        return None if path is None else _inside(path, root)

    def grade(self, case: Case) -> Grade:
        outcome = case.outcome
        if outcome is None or outcome.verified is None:
            # A change that made its own check impossible has failed it; anything else decides nothing.
            is_failure = outcome is not None and outcome.outcome == "fail"
            why = "never ran" if outcome is None else outcome.why
            return Grade.of(False, why) if is_failure else Grade.error(why)
        tail = output_tail(outcome)
        verified = outcome.verified
        looked = self._look(case)
        errors = (*verified.errors, *looked.errors)
        refused = not looked.parseable and bool(verified.reward)
        reward = 0.0 if refused else verified.reward
        evaluated = VerifierEvaluation(
            reward=reward if reward is not None else 0.0,
            output_parseable=looked.parseable,
            schema_valid=looked.schema_valid,
            verifier_completed=verified.completed,
            errors=errors,
            breakdown=verified.breakdown,
            tags=tuple((tag.category, tag.description) for tag in verified.tags),
        )
        pointer = (f"checks/{case.name}/",)
        # The change kept the verifier from its reward, or left an output that earns none.
        if outcome.outcome == "fail" and verified.reward is None:
            return Grade.of(False, outcome.why, pointers=pointer, output_tail=tail, evaluated=evaluated)
        if refused and outcome.outcome != "error":
            why = f"the verifier gave {verified.reward:g}, but {self._wrong_output(case, looked)}"
            return Grade.of(False, why, pointers=pointer, output_tail=tail, evaluated=evaluated)
        if verified.reward is None or outcome.outcome == "error":
            return Grade.error(outcome.why, pointers=pointer, output_tail=tail, evaluated=evaluated)
        return Grade(
            outcome.outcome, verified.reward, outcome.why, pointer, output_tail=tail, evaluated=evaluated
        )

    def _wrong_output(self, case: Case, looked: output_format.OutputDiagnosis) -> str:
        name = printable(_inside(self.expected_output_path or "the output", case.root))
        return (
            f"{name} is missing"
            if looked.errors[-1] == output_format.MISSING_OUTPUT
            else f"{name} is {looked.errors[-1]}"
        )

    def _look(self, case: Case) -> output_format.OutputDiagnosis:
        if self.output is not None and self.expected_output_path is not None:
            schema = None if self.output.schema is None else case.files[self.output.schema].path.read_bytes()
            content = _content(case, _inside(self.expected_output_path, case.root))
            return output_format.look(content, self.output, schema)
        path = self.expected_output_path or _last_path(case.brief)
        # No format was declared, so no reward depends on it: what is wrong is a note for readers.
        errors = () if path is None else _undeclared(case, path)
        return output_format.OutputDiagnosis(parseable=True, schema_valid=True, errors=errors)


def _undeclared(case: Case, path: str) -> tuple[str, ...]:
    """What is wrong with an output of which only the name is known: it is missing, or is not what its suffix says."""
    inside = _inside(path, case.root)
    if case.final_tree().kind(inside) is None:
        return (f"{path} is missing",)
    declared = output_format.format_of_name(path)
    content = None if declared is None else _content(case, inside)
    if declared is None or content is None:
        return ()
    return tuple(
        f"{path} is {error}"
        for error in output_format.look(content, output_format.Output(declared), None).errors
    )


def _unsound(separate: options.SeparateVerifier, material: Material) -> str:
    if separate.image and separate.build:
        return "set one of image, build"
    if separate.image and not separate.allow_unpinned and not re.match(PINNED_PATTERN, separate.image):
        return "name the image by its digest, or set `allow_unpinned: true`"
    if separate.build and f"{separate.build.rstrip('/')}/Dockerfile" not in material.files:
        return f"{separate.build} is not a folder with a Dockerfile"
    return ""


def _first_line(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.readline(4096)


def _last_path(brief: str) -> str | None:
    return next(reversed(_IN_WORKSPACE.findall(brief)), None)


def _inside(path: str, root: str) -> str:
    return path.removeprefix(f"{root}/")


def _content(case: Case, path: str) -> bytes | None:
    """The file in the graded tree, no link followed, one byte more than is looked at."""
    entry = case.final_tree().entries.get(path)
    if entry is None or entry.kind != "file" or not entry.sha256:
        return None
    if case.baseline.get(path) == entry:
        return (case.baseline_tree / path).read_bytes()
    with case.blobs.open(entry.sha256) as stream:
        return stream.read(output_format.MAX_OUTPUT_BYTES + 1)
