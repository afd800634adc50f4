"""A sealed run and its contract -> one more grading of it, beside the result of record.

Nothing of the agent's is run but by graders that execute, on a fresh bench in the run's own kind of sandbox: checks are
read from the record. What would break the record is refused before anything is appended.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from pathlib import Path

from steelyard.contract.contract import Contract
from steelyard.deferred.data_class import dataclass
from steelyard.environment.prepare import Environment, prepare_environment
from steelyard.errors import ContractFault, InfraFault, OperatorFault
from steelyard.evidence.evidence import Evidence
from steelyard.evidence.folder.folder import REPORT, SEAL
from steelyard.evidence.folder.gradings import read_gradings
from steelyard.evidence.folder.signature import signs_as
from steelyard.evidence.trace.chain import read_events
from steelyard.monitors.watchdog import replay_alerts
from steelyard.study.judging import Judging
from steelyard.study.record import Record, bound_report, grade_evidence
from steelyard.study.verify_record import derived_report


@dataclass(frozen=True)
class Regrader:
    """With which key gradings are signed, and whether models are asked."""

    signer: Path | None = None
    judging: Judging | None = None
    on_prepare: Callable[[Contract], None] = field(default=lambda _: None)
    _environments: dict[tuple[str, str], Environment] = field(default_factory=dict)

    def regrade(self, contract: Contract, evidence: Evidence) -> Record:
        """Raises OperatorFault where a further grading would make the record contradict itself."""
        refuse_to_regrade(contract, evidence, self.signer)
        if any(entry.executes and not entry.is_check for entry in contract.graders):
            self._environment(contract, evidence)  # a fault is raised before anything is appended
        record = grade_evidence(
            contract,
            evidence,
            lambda: self._environment_or_infra_fault(contract, evidence),
            self.signer,
            self.judging,
        )
        _report_if_missing(evidence)
        return record

    def _environment_or_infra_fault(self, contract: Contract, evidence: Evidence) -> Environment:
        try:
            return self._environment(contract, evidence)
        except (OperatorFault, ContractFault) as fault:  # of a grader that only reads the final tree
            raise InfraFault(str(fault)) from fault

    def _environment(self, contract: Contract, evidence: Evidence) -> Environment:
        # Perhaps not the contract's: see --sandbox
        sandbox = str(evidence.manifest["environment"]["sandbox"])
        key = contract.digest, sandbox
        if key not in self._environments:
            self.on_prepare(contract)
            self._environments[key] = prepare_environment(contract, sandbox=sandbox)
        return self._environments[key]


def _report_if_missing(evidence: Evidence) -> None:
    """A run that was killed between its first grading and the report gets the report of that grading, if this version makes the same."""
    if evidence.folder.file(REPORT).exists():
        return
    first = read_gradings(evidence.folder)[0]
    report = derived_report(evidence, first)
    if first.get("report") in (None, bound_report(report)):
        evidence.folder.write_json(REPORT, report)


def contract_digest(evidence: Evidence) -> str:
    return str(evidence.manifest.get("contract", {}).get("digest"))


def refuse_to_regrade(contract: Contract, evidence: Evidence, signer: Path | None) -> None:
    run = evidence.folder.run_id
    if evidence.broken:
        raise OperatorFault(f"{run} was altered: {evidence.broken}")
    if contract_digest(evidence) != contract.digest:
        raise OperatorFault(
            f"{run} has contract digest {contract_digest(evidence)}, not {contract.digest} ({contract.id}); "
            "to grade its change by another contract: `steelyard diff --raw` and `steelyard grade --patch -`"
        )
    replay = replay_alerts(evidence.manifest, read_events(evidence.folder.events))
    if replay.why:
        raise OperatorFault(f"{run}: the log does not give the alerts that it has: {replay.why}")
    signature = evidence.folder.read_json(SEAL).get("signature")
    if signature is None:
        return
    if signer is None:
        raise OperatorFault(f"{run} is signed, and an unsigned grading would break it; give --sign KEY")
    if not signs_as(signature, signer):
        raise OperatorFault(f"{run} is signed with another key than {signer}; its gradings need its own")
