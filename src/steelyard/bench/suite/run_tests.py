"""A grader that runs tests -> what was reported, and what the controls said, by the contract's `oracle.mode`.

    in_process   the tests run beside the candidate's code, under our own runner where there is one for the language
    twin         the same twice, each time with a secret half of the tests changed, which honest work must fail
    split        the tests in one sandbox, the candidate in another, plain data between them

The tree is the snapshot, setup, the change without its tests, and the hidden files last.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol

from steelyard.bench.execution_spec import SuiteSpec
from steelyard.bench.outcome import OracleKind
from steelyard.bench.runners.base import Runner, RunnerResult
from steelyard.bench.runners.catalogue import runner_for
from steelyard.bench.runners.command_line import last_words
from steelyard.bench.runners.node_command import through_npm
from steelyard.bench.runners.products import without_products
from steelyard.bench.split import kinds as kinds_of_tests
from steelyard.bench.split import run_split as split_runs
from steelyard.bench.split import trusted as split_trusted
from steelyard.bench.suite.cargo_targets import CargoTargets
from steelyard.bench.suite.controls import Controls
from steelyard.bench.suite.expected import Expectation, as_expected, has_other_parameters
from steelyard.bench.suite.go_packages import GoPackages
from steelyard.bench.suite.package_scripts import without_package_manager
from steelyard.bench.suite.randomise_names import NO_RANDOMISED_NAMES, RandomisedNames, randomise_names
from steelyard.bench.suite.reported import SuiteReport
from steelyard.bench.suite.result_files import ResultFiles
from steelyard.bench.suite.suite import Decision, Suite
from steelyard.bench.suite.suite_of_spec import suite_of
from steelyard.bench.transfer.kept_settings import kept_settings, without_lost_settings
from steelyard.bench.transfer.oracle.files import OracleFiles
from steelyard.bench.transfer.paths_from_change import changed_words, entries_of, python_modules
from steelyard.bench.twin.halves import run_halves
from steelyard.bench.twin.run_twin import Oracle, control, without_controls
from steelyard.bench.twin.snapshot_tests import snapshot_tests
from steelyard.bench.twin.trusted import TrustedTree
from steelyard.bench.twin.written import WrittenTests, is_surely_run, written_tests
from steelyard.deferred.data_class import dataclass
from steelyard.environment.prepare import Environment
from steelyard.filesystem.tree import prefixes
from steelyard.sandboxes.base import ExitStats, FileOverlay, Sandbox

MAX_SOURCE_BYTES = 4 << 20
FORGED = "result forging"
NO_EXPECTATION = "it is unknown which tests the suite has, so missing tests are not noticed"
NO_RESULT_FILES = ResultFiles()


class InSandbox(Protocol):
    """Write these files into a fresh sandbox, use it, stop it; again if the machine lost it."""

    def __call__(
        self, overlays: tuple[FileOverlay, ...], use: Callable[[Sandbox], RunnerResult]
    ) -> tuple[RunnerResult, ExitStats]: ...


class SuiteExecution(NamedTuple):
    """One execution of a suite with everything around it."""

    ran: RunnerResult
    exit_stats: ExitStats
    oracle: OracleKind
    controls: Controls | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OracleBench:
    """A suite, and everything that is needed to run it: once, and again with other contents in its files."""

    environment: Environment
    spec: SuiteSpec
    suite: Suite
    work: tuple[FileOverlay, ...]  # the change, without what belongs to the oracle
    hidden: tuple[FileOverlay, ...]
    in_sandbox: InSandbox
    again: tuple[FileOverlay, ...] = ()  # test files of the snapshot that every run writes anew
    names: RandomisedNames = NO_RANDOMISED_NAMES  # of the hidden files, the same in every run
    places: ResultFiles = NO_RESULT_FILES  # of the oracle's files
    needs_all: bool = True  # nothing is earned by some of the tests

    @property
    def runner(self) -> Runner:
        return runner_for(self.suite, self.spec.runner)

    def run(self, instead: Mapping[str, bytes] | None = None) -> tuple[RunnerResult, ExitStats]:
        """The suite in a fresh sandbox; `instead` holds other contents for some of the oracle's files.

        Nothing but those contents differs between two runs.
        """
        runner = self.runner
        suite = self.names.suite(self.suite)
        with self.environment.cache.temporary() as scratch:
            oracle = self.names.overlays(_with(instead or {}, (*self.again, *self.hidden), scratch))
            ran, exit_stats = self.in_sandbox(
                (*self.work, *oracle), lambda sandbox_spec: runner.run(sandbox_spec, suite)
            )
        reported = self.places.with_files(self.names.restore(ran).reported)
        return ran._replace(reported=without_candidates(reported, self.work)), exit_stats

    def on(self, change: tuple[FileOverlay, ...]) -> OracleBench:
        """The same suite on another change."""
        return oracle_bench(self.environment, self.spec, change, self.hidden, self.in_sandbox)

    def limited(self, ids: Collection[str]) -> OracleBench:
        """The same suite, of which only these tests are run."""
        return replace(self, suite=replace(self.suite, only=tuple(sorted(ids))))

    def source(self, path: str) -> bytes | None:
        """The text of a file that every run writes, if it is of a reasonable size."""
        pieces = (one for one in (*self.hidden, *self.again) if one.path == path)
        return _contents(next((one.source for one in pieces), None))


def oracle_bench(
    environment: Environment,
    spec: SuiteSpec,
    change: tuple[FileOverlay, ...],
    hidden: tuple[FileOverlay, ...],
    in_sandbox: InSandbox,
) -> OracleBench:
    theirs = OracleFiles(environment.baseline, spec.oracle_patterns)
    places = {*(dest for _, dest in spec.injected), *(one.path for one in hidden)}
    work = tuple(
        one
        for one in without_lost_settings(environment, change)
        if one.path not in theirs and places.isdisjoint(prefixes(one.path))
    )
    tree = environment.contract.snapshot.tree
    asked = through_npm(suite_of(spec, environment.contract.spec.oracle.isolation), tree)
    asked = without_package_manager(asked, tree)
    work = tuple(without_products(runner_for(asked, spec.runner), work, environment.baseline))
    suite = _on(environment, asked, work)
    again: tuple[FileOverlay, ...] = ()
    if environment.contract.spec.oracle.mode == "twin":
        again = tuple(one for one in snapshot_tests(environment, theirs, suite) if one.path not in places)
    names = randomise_names(hidden, environment.baseline)
    oracles = [*(path for path in environment.baseline if path in theirs), *(one.path for one in hidden)]
    read = partial(_source, tree, hidden)
    packages = GoPackages.of(oracles, environment.baseline, read)
    targets = CargoTargets.of(oracles, environment.baseline, read)
    files = ResultFiles.of(oracles, suite.cwd, packages, targets)
    return OracleBench(environment, spec, suite, work, hidden, in_sandbox, again, names, files)


def run_tests(bench: OracleBench) -> SuiteExecution:
    """One execution by the contract's mode."""
    done = _by_mode(bench)
    silent = _silent(bench, done.ran.reported)
    if not silent:
        return done
    reported = replace(done.ran.reported, problems=(*done.ran.reported.problems, silent))
    return done._replace(ran=done.ran._replace(reported=reported))


def _silent(bench: OracleBench, reported: SuiteReport) -> str:
    """Hidden tests of which none ran: the author put them where the command does not look."""
    if reported.channel != "reporter" or not reported.results:
        return ""
    holding = [path for path, written in _written(bench, reported.runner) if written.keys]
    reported_files = {one.file for one in reported.results}
    if not holding or not reported_files.isdisjoint(holding):
        return ""
    return f"{holding[0]} was injected, but none of its tests ran; does the command look there?"


def _by_mode(bench: OracleBench) -> SuiteExecution:
    mode = bench.environment.contract.spec.oracle.mode
    if mode == "split":
        return _with_split(bench)
    if mode == "twin":
        return _with_twin(bench)
    ran, exit_stats = bench.run()
    ran, notes = _expected(bench, ran)
    return SuiteExecution(ran, exit_stats, "in_process", notes=notes)


def _with_twin(bench: OracleBench) -> SuiteExecution:
    trusted = TrustedTree(bench.environment, bench.on)
    oracle = None if _tells_an_exit_code_only(bench) else _oracle(bench, trusted)
    twins = oracle.draw() if oracle is not None and oracle.facts.controllable else None
    if oracle is None or twins is None or not twins.files:
        ran, exit_stats = bench.run()
        ran, notes = _expected(bench, ran, trusted)
        controls = without_controls() if ran.reported.passed and not ran.reported.problems else None
        return SuiteExecution(ran, exit_stats, "in_process", controls, notes)
    halves = run_halves(bench, twins)
    ran, notes = _expected(bench, halves.real, trusted)
    if not ran.reported.passed or ran.reported.problems:
        return SuiteExecution(ran, halves.exit_stats, "in_process", notes=notes)
    controls, reported = control(oracle, twins, halves._replace(real=ran))
    ran = ran._replace(reported=reported)
    return SuiteExecution(ran, halves.exit_stats, "twin" if controls.hold else "in_process", controls, notes)


def _tells_an_exit_code_only(bench: OracleBench) -> bool:
    """One result for all tests: where some of them are changed it says nothing."""
    return bench.runner.NAME == "exit_code"


def _oracle(bench: OracleBench, trusted: TrustedTree) -> Oracle:
    contract = bench.environment.contract
    hidden = [one.path for one in bench.hidden if one.kind == "file"]
    paths = tuple(dict.fromkeys([*(one.path for one in bench.again), *hidden]))
    return Oracle(
        bench,
        paths,
        trusted.facts(paths),
        trusted.changed,
        baseline=trusted.baseline(),
        hidden=frozenset(hidden),
        max_chance=contract.spec.oracle.max_chance,
        has_reference=contract.reference is not None,
        needs_all=bench.needs_all,
        further=lambda ids: _further(bench, trusted, ids),
    )


def _further(bench: OracleBench, trusted: TrustedTree, ids: Collection[str]) -> OracleBench:
    """What is run again for the sake of chance: the deciding tests alone, where they pass alone with the reference."""
    can_select = bench.suite.isolation == "suite" and bench.runner.NAME in {"pytest", "unittest"}
    return bench.limited(ids) if can_select and trusted.passes_alone(ids) else bench


def _expected(
    bench: OracleBench, ran: RunnerResult, trusted: TrustedTree | None = None
) -> tuple[RunnerResult, tuple[str, ...]]:
    """The report as far as it fits what the suite reports on a trusted tree, and what is missing for that."""
    reported = ran.reported
    if reported.channel == "exit_code" or not (reported.passed or reported.tampering):
        return ran, ()
    trusted = trusted or TrustedTree(bench.environment, bench.on)
    report = trusted.report()
    expectation = Expectation(
        report.reported,
        report.has_reference,
        written=dict(_written(bench, reported.runner)),
        files=bench.places.files,
        changed=frozenset(one.path for one in bench.work),
        surely_run=frozenset(one.path for one in bench.hidden if is_surely_run(one.path, bench.suite)),
        declared=bench.spec.declared,
    )
    if expectation.knows_every_test and has_other_parameters(reported, expectation):
        again = {one.id for one in trusted.report(again=True).reported.results}
        expectation = replace(expectation, steady=again == {one.id for one in report.reported.results})
    fitting = without_candidates(as_expected(reported, expectation), bench.work)
    return ran._replace(reported=fitting), (NO_EXPECTATION,) if expectation.says_nothing else ()


def _written(bench: OracleBench, runner: str) -> Iterator[tuple[str, WrittenTests]]:
    for path in dict.fromkeys(one.path for one in bench.hidden):
        source = bench.source(path)
        if source is not None:
            yield path, written_tests(path, source, runner)


def _with_split(bench: OracleBench) -> SuiteExecution:
    """The suite in a sandbox of its own, held against what it reports and looks up on the trusted tree."""
    report = _trusted_split(bench)
    ran, exit_stats = _split(bench, kinds_of_tests.Kinds(report.kinds))
    if ran.reported.channel == "exit_code":
        return SuiteExecution(ran, exit_stats, "split")
    # Nothing of the change is where these tests run, so none of their files is the candidate's.
    expectation = Expectation(
        report.reported,
        report.has_reference,
        written=dict(_written(bench, ran.reported.runner)),
        files=bench.places.files,
        surely_run=frozenset(one.path for one in bench.hidden if is_surely_run(one.path, bench.suite)),
        declared=bench.spec.declared,
    )
    if expectation.knows_every_test and has_other_parameters(ran.reported, expectation):
        again = {one.id for one in _trusted_split(bench, again=True).reported.results}
        expectation = replace(expectation, steady=again == {one.id for one in report.reported.results})
    notes = (NO_EXPECTATION,) if expectation.says_nothing else ()
    return SuiteExecution(
        ran._replace(reported=as_expected(ran.reported, expectation)), exit_stats, "split", notes=notes
    )


def _trusted_split(bench: OracleBench, *, again: bool = False) -> split_trusted.TrustedSplit:
    suite, spec = bench.suite, bench.spec
    which = [
        [suite.command, suite.report, suite.isolation, suite.timeout_s],
        [*spec.oracle_patterns],
        [[*spec.candidate], [*spec.objects]],
        split_trusted.digests(bench.hidden),
    ]
    return split_trusted.trusted_split(
        bench.environment, lambda change, kinds: _split(bench.on(change), kinds)[0], which, again=again
    )


def _split(bench: OracleBench, kinds: kinds_of_tests.Kinds) -> tuple[RunnerResult, ExitStats]:
    split = split_runs.SplitBench(
        bench.suite,
        runner_for(bench.suite, bench.spec.runner),
        bench.environment.baseline,
        patterns=bench.spec.oracle_patterns,
        named=bench.spec.candidate,
        objects=bench.spec.objects,
        work=bench.work,
        hidden=bench.hidden,
        in_sandbox=bench.in_sandbox,
        kinds=kinds,
    )
    with bench.environment.cache.temporary() as scratch:
        ran, exit_stats = split_runs.run_split(split, scratch)
    return ran._replace(reported=bench.places.with_files(ran.reported)), exit_stats


def decide(spec: SuiteSpec, tested: SuiteExecution) -> Decision:
    """The grader's own decision, unless the runner or the results were tampered with."""
    reported, controls = tested.ran.reported, tested.controls
    decision = spec.decide(reported)
    forged = [*reported.tampering, *(f"{one} passes with a wrong expected value" for one in _wrong(controls))]
    if forged:
        return Decision("fail", 0.0, f"{FORGED}: {forged[0]}", decision.failing)
    return decision


def _wrong(controls: Controls | None) -> tuple[str, ...]:
    return () if controls is None else controls.wrong


def without_candidates(reported: SuiteReport, work: Sequence[FileOverlay]) -> SuiteReport:
    """A test in a file that the candidate wrote says nothing about the candidate: it is as good as skipped."""
    theirs = {one.path for one in work}
    return replace(
        reported,
        results=tuple(
            replace(one, outcome="skipped", detail="in a test file that the change added or edited")
            if one.file and one.file in theirs
            else one
            for one in reported.results
        ),
    )


def _source(tree: Path, hidden: Sequence[FileOverlay], path: str) -> bytes | None:
    """The text of a hidden file, or of one of the snapshot."""
    pieces = [one.source for one in hidden if one.path == path]
    return _contents(pieces[0] if pieces else tree / path)


def _contents(path: Path | None) -> bytes | None:
    if path is None or not path.is_file() or path.stat().st_size > MAX_SOURCE_BYTES:
        return None
    return path.read_bytes()


def _on(environment: Environment, suite: Suite, work: Sequence[FileOverlay]) -> Suite:
    """The suite with what is known of the tree that it will run in."""
    env = {**environment.contract.spec.environment.env, **suite.env}
    own_words = suite.argv or last_words(suite.command)
    words = [f"{suite.cwd or '.'}/{word}" if _is_path(word) else word for word in own_words]
    words = [environment.real_name(word) for word in words]
    tree = (environment.baseline, entries_of(environment.setup.change if environment.setup else None))
    found = changed_words(words, environment.path_variable(env), tree, work)
    theirs = {own for own, word in zip(own_words, words, strict=True) if word in found}
    return replace(
        suite,
        env=env,
        changed=frozenset(one.path for one in work),
        theirs=frozenset(theirs),
        settings=kept_settings(environment, work, words),
        own_modules=python_modules(environment.baseline),
    )


def _is_path(word: str) -> bool:
    """A program that an interpreter is given (`python3 run.py`) is one without a slash too."""
    return not word.startswith("/") and ("/" in word or word.endswith(".py"))


def _with(instead: Mapping[str, bytes], pieces: Sequence[FileOverlay], folder: Path) -> list[FileOverlay]:
    """The pieces in their order, some of them with other contents."""
    overlays = []
    for number, piece in enumerate(pieces):
        if piece.path in instead:
            (folder / str(number)).write_bytes(instead[piece.path])
            overlays.append(replace(piece, source=folder / str(number)))
        else:
            overlays.append(piece)
    return overlays
