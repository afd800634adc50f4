"""`grade --predictions`: patches of a data set's instances -> one graded run each; what was graded before is kept.

{"instance_id": "pallets__flask-4045", "model_patch": "diff --git ...", "model_name_or_path": "my-agent"}

A prediction was graded before if a sealed run in --out has the same contract digest, agent, patch and sandbox, its
record verifies, and the machine did not spoil it.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from steelyard.cli.console.faults import print_faults
from steelyard.cli.console.output import exit_code
from steelyard.cli.console.reporter import Reporter
from steelyard.cli.console.trials import planned_rows, run_trials
from steelyard.cli.options.require_assurance import required_by
from steelyard.cli.options.task_options import task_options
from steelyard.contract.contract import Contract
from steelyard.contract.load import load_contract
from steelyard.deferred.data_class import dataclass
from steelyard.environment.prepare import prepare_environment
from steelyard.errors import DAMAGED, ContractFault, OperatorFault
from steelyard.evidence.evidence import load_evidence
from steelyard.evidence.folder.folder import MANIFEST, RunFolder, find_runs
from steelyard.evidence.folder.gradings import read_gradings
from steelyard.filesystem.cache import Cache
from steelyard.filesystem.tree import printable
from steelyard.graders.catalogue import installed_catalogue
from steelyard.importers.direct import contract_at, find_folders, name_faults_as_typed
from steelyard.importers.rows import read_rows
from steelyard.importers.task import as_name
from steelyard.plan.trial import Trial
from steelyard.report.result import result_line
from steelyard.report.short_line import short_line
from steelyard.verdict.required import RequiredAssurance

_SHOWN = 3


class Prediction(NamedTuple):
    """One line of the file."""

    instance: str
    model: str
    patch: bytes


class Key(NamedTuple):
    """What makes two gradings the same."""

    digest: str
    agent: str
    patch: str  # sha256
    sandbox: str


@dataclass(frozen=True)
class ContractPrediction:
    """A prediction and the contract of its instance."""

    contract: Contract
    prediction: Prediction
    file: Path  # holds the patch while it is graded

    @property
    def trial(self) -> Trial:
        return Trial(self.contract, f"patch:{self.file}")

    def key(self, sandbox: str | None) -> Key:
        wanted = sandbox or self.contract.spec.environment.sandbox
        patch = hashlib.sha256(self.prediction.patch).hexdigest()
        return Key(self.contract.digest, f"patch:{printable(self.file.name)}", patch, wanted)


def grade_predictions(args: argparse.Namespace) -> int:
    predictions = read_predictions(args.predictions)
    contracts, faults = _contracts(args, {one.instance for one in predictions})
    _print_unmatched(predictions, contracts)
    with _written(predictions, contracts) as predicted:
        least = required_by(args)
        known = graded_before(args.out, {one.key(args.sandbox) for one in predicted}, least)
        left = [one for one in predicted if one.key(args.sandbox) not in known]
        results = [short_line(known[key]) for one in predicted if (key := one.key(args.sandbox)) in known]
        with Reporter(planned_rows([one.trial for one in predicted], args), as_json=args.json) as reporter:
            for line in known.values():
                reporter.finished([line])
            results += run_trials([one.trial for one in left], args, reporter) if left else []
            reporter.summary(results)
    print_faults(results)
    if known:
        sys.stderr.write(
            f"{len(known)} of {len(predicted)} were graded before; their records are in {args.out}\n"
        )
    if faults:
        raise ContractFault(faults)
    return exit_code(results)


def read_predictions(path: Path) -> list[Prediction]:
    """Every line of the file; raises ContractFault for one that is no prediction."""
    if not path.is_file():
        raise OperatorFault(f"--predictions {path} is not a file")
    found: dict[tuple[str, str], str] = {}
    predictions = []
    for row in read_rows(path):
        if row.row is None:
            raise row.fault or OperatorFault(f"{row.where}: no prediction")
        one = _prediction(row.row, row.where, path)
        before = found.setdefault((one.instance, one.model), row.where)
        if before != row.where:
            raise OperatorFault(f"{row.where}: {printable(one.instance)} is at {before} too")
        predictions.append(one)
    if not predictions:
        raise OperatorFault(f"--predictions {path} has no line")
    return predictions


def _prediction(row: Mapping[str, Any], where: str, path: Path) -> Prediction:
    instance, patch, model = (row.get(key) for key in ("instance_id", "model_patch", "model_name_or_path"))
    if not isinstance(instance, str) or not instance:
        raise OperatorFault(f"{where}: `instance_id` is missing or not text")
    if "model_patch" not in row or not isinstance(patch, str | None):
        raise OperatorFault(f"{where}: `model_patch` is missing or not text")
    name = as_name(model) if isinstance(model, str) else ""
    return Prediction(
        instance, name or as_name(path.stem) or "model", (patch or "").encode("utf-8", "replace")
    )


def _contracts(args: argparse.Namespace, wanted: set[str]) -> tuple[dict[str, Contract], list[Any]]:
    """The contracts of the instances, each with its environment prepared, and the problems of the others."""
    options, catalogue = task_options(args), installed_catalogue()
    contracts: dict[str, Contract] = {}
    problems: list[Any] = []
    for folder in find_folders([args.contract]):
        try:
            contract_folder = contract_at(folder, options)
            with name_faults_as_typed({contract_folder: folder}):
                contract = load_contract(contract_folder, catalogue)
                if contract.id in wanted:
                    prepare_environment(contract, sandbox=args.sandbox)
        except ContractFault as fault:  # costs its own predictions, not those of the others
            problems += fault.problems
            continue
        contracts.setdefault(contract.id, contract)
    return contracts, problems


def _print_unmatched(predictions: Sequence[Prediction], contracts: Mapping[str, Contract]) -> None:
    unknown = sorted({one.instance for one in predictions} - {*contracts})
    missing = sorted({*contracts} - {one.instance for one in predictions})
    if len(unknown) == len({one.instance for one in predictions}):
        raise OperatorFault(
            f"no prediction is about a contract of this suite; the first is {printable(unknown[0])}"
        )
    for label, names in (
        ("predictions have no contract here", unknown),
        ("contracts have no prediction", missing),
    ):
        if names:
            more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            sys.stderr.write(f"{len(names)} {label}: {', '.join(map(printable, names[:_SHOWN]))}{more}\n")


@contextmanager
def _written(
    predictions: Sequence[Prediction], contracts: Mapping[str, Contract]
) -> Iterator[list[ContractPrediction]]:
    """Each patch in a file with its model's name, which becomes the name of the agent."""
    with Cache.default().temporary() as folder:
        predicted = []
        for number, one in enumerate(predictions):
            if one.instance not in contracts:
                continue
            file = folder / str(number) / f"{one.model}.patch"
            file.parent.mkdir()
            file.write_bytes(one.patch)
            predicted.append(ContractPrediction(contracts[one.instance], one, file))
        yield predicted


def graded_before(out: Path, wanted: set[Key], least: RequiredAssurance) -> dict[Key, dict[str, Any]]:
    """The result lines of runs that need not be repeated: verified, graded, and not invalid."""
    found: dict[Key, dict[str, Any]] = {}
    for folder in find_runs(out.absolute()) if out.is_dir() else ():
        key = _key_of(folder)
        if key is None or key not in wanted or key in found:
            continue
        evidence = load_evidence(folder)
        try:
            line = result_line(evidence, read_gradings(folder)[0])
        except DAMAGED:
            continue
        if not evidence.broken and line["status"] != "invalid":
            found[key] = least.applied(line)
    return found


def _key_of(folder: RunFolder) -> Key | None:
    try:
        manifest = folder.read_json(MANIFEST)
        agent = manifest["agent"]
        patch = agent["parameters"]["patch"]["sha256"]
        return Key(manifest["contract"]["digest"], agent["name"], patch, manifest["environment"]["sandbox"])
    except DAMAGED:
        return None
