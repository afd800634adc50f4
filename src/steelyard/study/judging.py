"""A graded run -> what a jury of models says of it; or None, where nobody was asked.

Asked after everything is sealed and graded, outside every sandbox. Whatever goes wrong here is said in the judgement
and makes no run invalid.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from steelyard.contract.contract import Contract
from steelyard.evidence.evidence import Evidence
from steelyard.evidence.folder.folder import RunFolder
from steelyard.evidence.folder.gradings import read_gradings
from steelyard.graders.grade import Graded
from steelyard.graders.judged.judge_input import build_judge_input
from steelyard.judge.ask import Panel, judged
from steelyard.judge.judgement import Judgement, Opinion
from steelyard.study.answer_status import answer_status
from steelyard.verdict.auto_fail import auto_fail_reason


@dataclass(frozen=True)
class Judging:
    """With whose keys models are asked."""

    env: Mapping[str, str]
    on_ask: Callable[[Contract], None] = field(default=lambda _: None)

    def judge(self, contract: Contract, evidence: Evidence, grades: Sequence[Graded]) -> Judgement | None:
        """None where nobody can be asked, unless the contract counts on it: then N/A, with the reason."""
        wanted = contract.spec.judge
        panel = Panel.from_environment(wanted.models if wanted else (), self.env)
        why_not = panel if isinstance(panel, str) else _unfit(contract, evidence)
        if isinstance(panel, str) or why_not:
            return Judgement.not_applicable(why_not) if wanted else None
        self.on_ask(contract)
        try:
            told = build_judge_input(contract, evidence, grades)
            return judged(told, panel, known_opinions(evidence.folder))
        except Exception as defect:  # noqa: BLE001  # a judge's defect is no fault of the run's
            # Its text may hold what was sent, keys included.
            return Judgement.not_applicable(f"internal error in the judge: {type(defect).__name__}")


def _unfit(contract: Contract, evidence: Evidence) -> str:
    ended, spec = evidence.termination, contract.spec
    if spec.workspace == "none":
        given = answer_status(evidence.change, evidence.blobs)
        if why := auto_fail_reason(ended, given, spec.expected_outcome):
            return why
    return "" if ended == "completed" else f"only completed runs are judged; this one ended with {ended}"


def known_opinions(folder: RunFolder) -> dict[tuple[str, str], Opinion]:
    """What models said in earlier gradings of this run: nobody pays twice for one question.

    Who did not answer is asked again. Who was steered is not: that would be asking until somebody is not.
    """
    known: dict[tuple[str, str], Opinion] = {}
    try:
        for grading in read_gradings(folder):
            for data in (grading["verdict"].get("judge") or {}).get("opinions", ()):
                opinion = Opinion.from_json(data)
                if opinion.verdict != "UNPARSEABLE":
                    known[opinion.model, opinion.question] = replace(opinion, reused=True)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return known  # damaged; whoever verifies the run is told
    return known
