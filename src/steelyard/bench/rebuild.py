"""An imported change -> what is written on a fresh tree, and what is left behind with a finding."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from steelyard.bench.execution_spec import SuiteSpec, bench_specs
from steelyard.bench.transfer import link_targets
from steelyard.bench.transfer.around_change import oracle_data, surroundings
from steelyard.bench.transfer.check_scripts import CheckScripts
from steelyard.bench.transfer.hidden_files import hidden_files, patched_files
from steelyard.bench.transfer.merged_settings import with_contents
from steelyard.bench.transfer.names.system_headers import is_system_header
from steelyard.bench.transfer.names.verifier_names import IN_THE_WAY, copy_targets
from steelyard.bench.transfer.oracle import data as oracle_material
from steelyard.bench.transfer.steering import Steering, Steers, may_steer
from steelyard.bench.transfer.system import policy as system_policy
from steelyard.contract.catalogue import Material
from steelyard.contract.contract import Contract
from steelyard.deferred.named_tuple import NamedTuple
from steelyard.environment import setup_layer
from steelyard.environment.prepare import Environment
from steelyard.evidence.change.change import Change, ChangeEntry
from steelyard.evidence.change.oddities import escapes
from steelyard.evidence.finding import Finding
from steelyard.evidence.folder.blobs import Blobs
from steelyard.filesystem.tree import is_within, printable
from steelyard.sandboxes.base import WORKSPACE, FileOverlay


class BenchFiles(NamedTuple):
    """The data that turns a fresh environment into the tree to be graded."""

    overlays: tuple[FileOverlay, ...]
    findings: tuple[Finding, ...]
    data: tuple[
        FileOverlay, ...
    ] = ()  # of the tests: for checks that run the change's own tests, and for no others


def rebuild(environment: Environment, change: Change, blobs: Blobs) -> BenchFiles:
    if environment.contract.spec.environment.scope == "system":
        system = system_policy.system_change(environment, change, blobs)
        return BenchFiles(system.overlays, system.findings)
    carried: list[ChangeEntry] = []
    findings: list[Finding] = []
    spec = environment.contract.spec
    # An answer is the work, whatever its name could steer elsewhere.
    listed = (*spec.runner_files, *([spec.answer_path] if spec.answer_path else []))
    hidden = hidden_places(environment.contract)
    every_hidden = (*hidden, *hidden_modules(environment.contract))
    steering = Steering(
        environment.baseline,
        change.changed_paths,
        every_hidden,
        lambda sha256: blobs.read(sha256) if sha256 in blobs else None,
        surroundings(environment),
    )
    data = oracle_data(environment)
    scripts = CheckScripts(environment.contract, data)
    kept = _kept_paths(environment, change, listed, steering, (data, scripts))
    showing = _showing_hidden(environment, change, every_hidden) | _in_the_way(environment, change)
    showing |= _in_place_of_tests(environment, change, data)
    merged: dict[str, bytes] = {}
    of_tests: list[ChangeEntry] = []
    for entry in change.entries:
        steered = None if _is_listed(entry, listed) else steering.of(entry)
        finding = showing.get(entry.path) or _left_behind(entry, environment.setup, kept, steered)
        if finding is None and not _is_listed(entry, listed):
            finding = data.left_behind(entry)
            if finding is not None:
                of_tests.append(entry)
            else:
                finding = scripts.left_behind(entry)
        if finding is None:
            carried.append(entry)
            finding = _finding_of_carried(entry, listed, hidden, (scripts, data))
        if finding is not None:
            findings.append(finding)
        if steered is not None and steered.instead is not None and finding == _steering_finding(steered):
            carried.append(entry)
            merged[entry.path] = steered.instead
    overlays = with_contents(laid_entries(carried, blobs), merged, environment.cache)
    return BenchFiles(overlays, tuple(dict.fromkeys(findings)), laid_entries(of_tests, blobs))


def _steering_finding(steered: Steers) -> Finding:
    return Finding("steers_runner", "warning", printable(steered.where), steered.why)


def _showing_hidden(environment: Environment, change: Change, hidden: tuple[str, ...]) -> dict[str, Finding]:
    """Links that would show a check its own hidden files instead of the work."""
    made = {one.path: one.new.target for one in change.entries if one.new and one.new.kind == "symlink"}
    if not made:
        return {}
    links = {path: one.target for path, one in environment.baseline.items() if one.kind == "symlink"} | made
    why = "points to where hidden files go; not on the bench"
    return {
        path: Finding("leads_to_hidden", "warning", printable(path), why)
        for path in made
        if link_targets.shows_hidden(path, links, hidden, environment.baseline)
    }


def _in_place_of_tests(
    environment: Environment, change: Change, data: oracle_material.OracleData
) -> dict[str, Finding]:
    """Links and files where the baseline has a folder with tests."""
    turned = [
        entry.path
        for entry in change.entries
        if entry.old is not None and entry.old.kind == "dir" and entry.new is not None
    ]
    why = "would remove tests of the baseline from the bench; left out"
    return {
        path: Finding("takes_along", "warning", printable(path), why)
        for path in turned
        if any(is_within(one, path) and one in data.texts.oracle for one in environment.baseline)
    }


def _in_the_way(environment: Environment, change: Change) -> dict[str, Finding]:
    """Folders, links and files where a verifier copies its own files to: it would stop, or run something else."""
    targets = copy_targets(environment.contract, WORKSPACE[1:])
    return {
        entry.path: Finding("at_hidden_place", "warning", printable(entry.path), IN_THE_WAY)
        for entry in change.entries
        if any(targets.stopped_by(entry, f"{top.strip('/')}/{entry.path}") for top in _tops(environment))
    }


def _tops(environment: Environment) -> tuple[str, ...]:
    """The names that the workspace has."""
    workdir = environment.contract.spec.environment.workdir
    return (WORKSPACE, workdir) if workdir else (WORKSPACE,)


def hidden_places(contract: Contract) -> tuple[str, ...]:
    """Where checks and graders write their hidden files."""
    specs = bench_specs((*contract.checks, *contract.graders))
    return tuple(dest for spec in specs for _, dest in spec.injected)


def hidden_modules(contract: Contract) -> set[str]:
    """Where hidden files come to lie, those of injected folders and of test patches too."""
    snapshot = contract.snapshot
    material = Material(snapshot.tree, snapshot.entries, contract.files)
    specs = list(bench_specs((*contract.checks, *contract.graders)))
    patches = [spec.patch for spec in specs if isinstance(spec, SuiteSpec) and spec.patch]
    patched = {path for patch in patches for path in patched_files(patch, material)}
    return patched | {one.path for spec in specs for one in hidden_files(contract, spec)}


def laid_entries(entries: Sequence[ChangeEntry], blobs: Blobs) -> tuple[FileOverlay, ...]:
    """Entries as data to write, deletions first: a file may stand where a folder was."""
    overlays = [one for entry in entries for one in _overlays_of(entry, blobs)]
    return tuple(sorted(overlays, key=lambda one: one.kind != "gone"))


def _left_behind(
    entry: ChangeEntry,
    setup: setup_layer.SetupLayer | None,
    kept: tuple[str, ...],
    steered: Steers | None,
) -> Finding | None:
    """Why an entry stays off the bench, or None."""
    where = printable(entry.path)
    if setup is not None and any(setup.owns(path) for path in entry.paths):
        return Finding(
            "setup_layer_changed", "warning", where, "created by setup; the bench uses its own unchanged copy"
        )
    if steered is not None:
        return _steering_finding(steered)
    if entry.new is not None and entry.new.kind == "symlink" and escapes(entry.path, entry.new.target):
        return Finding(
            "escaping_symlink_dropped", "warning", where, "points out of the tree; not on the bench"
        )
    if entry.old is not None and entry.old.kind == "dir":
        along = next((path for path in kept if is_within(path, entry.path)), None)
        if along is not None:
            return Finding(
                "takes_along", "warning", where, f"would remove {printable(along)} from the bench; left out"
            )
    return None


def _kept_paths(
    environment: Environment,
    change: Change,
    listed: tuple[str, ...],
    steering: Steering,
    oracle: tuple[oracle_material.OracleData | CheckScripts, ...],
) -> tuple[str, ...]:
    """What the bench keeps, whatever becomes of the folders around it; asked for only when a folder went."""
    if not any(entry.old is not None and entry.old.kind == "dir" for entry in change.entries):
        return ()
    tree = environment.contract.snapshot.tree
    steer = (
        path
        for path, entry in environment.baseline.items()
        if steering.keeps(path, entry, tree) or any(one.keeps(path) for one in oracle)
    )
    own = (path for path in steer if not any(fnmatchcase(path, pattern) for pattern in listed))
    return (*(environment.setup.roots if environment.setup else ()), *own)


def _finding_of_carried(
    entry: ChangeEntry,
    listed: tuple[str, ...],
    hidden: tuple[str, ...],
    oracle: tuple[CheckScripts | oracle_material.OracleData, ...],
) -> Finding | None:
    if any(is_within(path, place) for path in entry.paths for place in hidden):
        return Finding(
            "at_hidden_place",
            "warning",
            printable(entry.path),
            "a hidden file has this path; the check sees the hidden file",
        )
    if any(may_steer(path) for path in entry.paths) and not _is_listed(entry, listed):
        return Finding(
            "may_steer_runner",
            "info",
            printable(entry.path),
            "can steer the build or the tests; kept on the bench",
        )
    if _is_listed(entry, listed):
        return None
    if entry.old is None and is_system_header(entry.path):
        why = "has the name of a header of the system; an include path may find it first"
        return Finding("may_replace_header", "warning", printable(entry.path), why)
    return next((finding for one in oracle if (finding := one.carried_finding(entry)) is not None), None)


def _is_listed(entry: ChangeEntry, listed: tuple[str, ...]) -> bool:
    return all(any(fnmatchcase(path, pattern) for pattern in listed) for path in entry.paths)


def _overlays_of(entry: ChangeEntry, blobs: Blobs) -> list[FileOverlay]:
    gone = [FileOverlay(entry.renamed_from, "gone")] if entry.renamed_from is not None else []
    new = entry.new
    if new is None:
        return [*gone, FileOverlay(entry.path, "gone")]
    if new.kind == "file" and not new.sha256:
        return gone  # over an import cap: there is no content, and the change is not complete
    if new.kind == "file":
        return [*gone, FileOverlay(entry.path, "file", mode=new.mode, source=blobs.path(new.sha256))]
    if new.kind == "symlink":
        return [*gone, FileOverlay(entry.path, "symlink", target=new.target)]
    # A patch cannot hold an empty folder, and no path rule sees one; a `test/` can still satisfy `make test`.
    return [*gone, FileOverlay(entry.path, "gone")] if entry.old is not None else gone
