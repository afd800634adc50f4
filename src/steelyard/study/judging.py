"""A graded run -> the judgement of a jury of models, or None where no model is asked.

Models are asked after everything is sealed and graded, outside every sandbox. A failure here is recorded in the
judgement and makes no run invalid. Before the first request one line announces what is sent, and where.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from urllib.parse import urlsplit

from steelyard.contract.contract import Contract
from steelyard.deferred.data_class import dataclass
from steelyard.errors import OperatorFault
from steelyard.evidence.evidence import Evidence
from steelyard.evidence.folder.folder import RunFolder
from steelyard.evidence.folder.gradings import read_gradings
from steelyard.graders.grade import WeightedGrade
from steelyard.graders.judged import judge_input as judge_inputs
from steelyard.graders.judged import model_judge
from steelyard.judge import ask, judgement, prompt, score
from steelyard.judge import cost as judge_costs
from steelyard.judge import panel as judge_panel
from steelyard.judge.judge_input import MAX_DIFF_BYTES
from steelyard.study import answer_status
from steelyard.verdict.auto_fail import auto_fail_reason

SWITCH = "STEELYARD_JUDGE"
SENT_DATA = "brief, change, what the agent printed and the results of checks"
TURN_OFF = f"--no-judge, {SWITCH}=off or `judge: off` turns this off"


class Announcer:
    """Passes each line on once, from any thread, and before the caller goes on."""

    def __init__(self, announce: Callable[[str], None]) -> None:
        self._announce = announce
        self._announced: set[str] = set()
        self._lock = threading.Lock()

    def __call__(self, line: str) -> None:
        with self._lock:
            if line not in self._announced:
                self._announced.add(line)
                self._announce(line)


def judging_by(
    env: Mapping[str, str], announce: Callable[[str], None], *, is_off: bool = False
) -> Judging | None:
    """Judging with the keys of `env`; None where it is turned off, by the caller or by STEELYARD_JUDGE."""
    switch = env.get(SWITCH, "").strip().lower()
    if switch not in {"", "on", "off"}:
        raise OperatorFault(f"{SWITCH} is {switch!r}; it can be `on` (the default) or `off`")
    return None if is_off or switch == "off" else Judging(env, announce=Announcer(announce))


@dataclass(frozen=True)
class Judging:
    """With whose keys models are asked."""

    env: Mapping[str, str]
    on_ask: Callable[[Contract], None] = field(default=lambda _: None)
    announce: Callable[[str], None] = field(default=lambda _: None)

    def may_judge(self, contract: Contract) -> bool:
        """Whether results of this contract can have a judgement, if only one that says why there is none."""
        wanted = contract.spec.judge
        if wanted is False:
            return False
        return wanted is not None or isinstance(
            judge_panel.Panel.from_environment((), self.env), judge_panel.Panel
        )

    def default_models(self) -> tuple[str, ...]:
        """Which models judge runs of contracts that name none; empty where no key is set."""
        panel = judge_panel.Panel.from_environment((), self.env)
        return panel.models if isinstance(panel, judge_panel.Panel) else ()

    def announce_request(self, panel: judge_panel.Panel) -> None:
        """Announce what is about to leave this machine, to which host, for which model."""
        jurors = [f"{one.model} at {urlsplit(one.url).netloc}" for one in panel.jurors if not one.missing]
        self.announce(
            f"judging: {SENT_DATA} of each completed run are sent to {', '.join(jurors)}; {TURN_OFF}"
        )

    def announce_graders(self, contract: Contract) -> None:
        """The same for graders that ask a model themselves, before the first of them does."""
        if not any(entry.type == "model_judge" for entry in contract.graders):
            return
        for entry in contract.graders:
            if isinstance(entry.grader, model_judge.ModelJudge):
                panel = judge_panel.Panel.from_environment(entry.grader.named_models, self.env)
                if isinstance(panel, judge_panel.Panel):
                    self.announce_request(panel)

    def most_usd(self, contract: Contract, rows: judge_costs.Rows) -> float:
        """What all questions to models about one run may cost, at the prices that are known."""
        total = 0.0
        for models, size in _questions(contract):
            panel = judge_panel.Panel.from_environment(models, self.env)
            if isinstance(panel, judge_panel.Panel):
                total += judge_costs.most_usd(panel, size, rows)
        return total

    def judge(
        self, contract: Contract, evidence: Evidence, grades: Sequence[WeightedGrade]
    ) -> judgement.Judgement | None:
        """None where no model can be asked; N/A with the reason if the contract needs a judgement."""
        wanted = contract.spec.judge
        if wanted is False:
            return None
        panel = judge_panel.Panel.from_environment(wanted.models if wanted else (), self.env)
        why_not = panel if isinstance(panel, str) else _unfit(contract, evidence)
        if isinstance(panel, str) or why_not:
            return judgement.Judgement.not_applicable(why_not) if wanted else None
        self.announce_request(panel)
        self.on_ask(contract)
        try:
            judge_input = judge_inputs.build_judge_input(contract, evidence, grades)
            return ask.judge_run(judge_input, panel, known_opinions(evidence.folder))
        except Exception as defect:  # noqa: BLE001  # a judge's defect is no fault of the run's
            # Its text may hold what was sent, keys included.
            return judgement.Judgement.not_applicable(f"internal error in the judge: {type(defect).__name__}")


def _questions(contract: Contract) -> Iterator[tuple[tuple[str, ...], int]]:
    """The models of each question about a run, and how many bytes it has at most."""
    wanted = contract.spec.judge
    if wanted is not False:
        most_diff = MAX_DIFF_BYTES if wanted is None else wanted.max_diff_bytes
        yield (wanted.models if wanted else ()), prompt.most_bytes(most_diff)
    for entry in contract.graders:
        if isinstance(entry.grader, model_judge.ModelJudge):
            yield entry.grader.named_models, score.most_bytes()


def _unfit(contract: Contract, evidence: Evidence) -> str:
    ended, spec = evidence.termination, contract.spec
    if spec.workspace == "none":
        status = answer_status.answer_status(evidence.change, evidence.blobs)
        if why := auto_fail_reason(ended, status, spec.expected_outcome):
            return why
    return "" if ended == "completed" else f"only completed runs are judged; this one ended with {ended}"


def known_opinions(folder: RunFolder) -> dict[tuple[str, str], judgement.Opinion]:
    """Opinions from earlier gradings of this run, so that no question is paid for twice.

    A model that did not answer is asked again. A model that was steered is not: repeating would end with one that was not.
    """
    known: dict[tuple[str, str], judgement.Opinion] = {}
    try:
        for grading in read_gradings(folder):
            for data in (grading["verdict"].get("judge") or {}).get("opinions", ()):
                opinion = judgement.Opinion.from_json(data)
                if opinion.verdict != "UNPARSEABLE":
                    known[opinion.model, opinion.question] = replace(opinion, reused=True)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return known  # damaged; `steelyard verify` reports it
    return known
