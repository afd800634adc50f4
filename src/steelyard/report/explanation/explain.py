"""A grading and its run folder -> a tree from the reward down to each grade and the evidence that it can be read from.

    {"what": "reward", "value": 0.62, "why": "reward: combined", "evidence": [], "quote": "",
     "parts": [{"what": "verdict", "value": "fail", ...}, ...]}

`show RUN --why` prints the tree; with `--json` it is one JSON object. Every number in it is in the grading already, or is
computed again here from numbers that are: `consistent` says whether both agree.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from steelyard.contract.catalogue import POLICY_NAME
from steelyard.contract.threshold import TOLERANCE
from steelyard.deferred.data_class import dataclass
from steelyard.errors import DAMAGED
from steelyard.evidence.folder.gradings import blocks
from steelyard.evidence.trace.chain import read_events
from steelyard.judge.judgement import RUBRIC
from steelyard.report.breakdown import own_errors
from steelyard.report.one_run import check_output

SCHEMA = "steelyard.why/1"
GATES = {
    "patch": ("G1", ("patch",)),
    "build": ("G2", ("build", "static")),
    "acceptance": ("G3", ("acceptance",)),
    "safety": ("G4", ("safety",)),
}
SUBSCORES = ("functional", "patch_validity", "safety", "efficiency")
QUALITY = ("minimal", "trace", "maintainability", "efficiency")
QUOTE_CHARS, MOST_IDS = 300, 10


@dataclass(frozen=True, slots=True)
class Node:
    """One number or decision, with what it follows from."""

    what: str
    value: Any = None
    why: str = ""
    evidence: tuple[str, ...] = ()
    quote: str = ""  # of the transcript
    parts: tuple[Node, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        return {
            "what": self.what,
            "value": self.value,
            "why": self.why,
            "evidence": list(self.evidence),
            "quote": self.quote,
            "parts": [part.to_json() for part in self.parts],
        }


@dataclass(frozen=True, slots=True)
class Explanation:
    run: str
    grading: int
    tree: Node
    beside: tuple[Node, ...]  # what changes no number: judge, people, failure modes, causes
    consistent: bool

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "run": self.run,
            "grading": self.grading,
            "consistent": self.consistent,
            "tree": self.tree.to_json(),
            "beside": [one.to_json() for one in self.beside],
        }


class _Record:
    """Where in the run folder things can be read."""

    def __init__(self, folder: Path, number: int, *, show_hidden: bool) -> None:
        self.folder, self.show_hidden = folder, show_hidden
        self.grading = f"gradings/{number:04d}.json"
        self.checks: dict[str, int] = {}
        self.termination: int | None = None
        try:
            for event in read_events(folder / "events.jsonl"):
                if event.type == "check.end":
                    self.checks[str(event.payload.get("id"))] = event.seq
                elif event.type == "termination":
                    self.termination = event.seq
        except DAMAGED:
            pass

    def evidence(self, grade: Mapping[str, Any]) -> tuple[str, ...]:
        found = [
            pointer for pointer in map(str, grade.get("pointers", ())) if (self.folder / pointer).exists()
        ]
        if grade.get("check"):
            found.append(f"checks/{grade['name']}/outcome.json")
            if seq := self.checks.get(str(grade["name"])):
                found.append(f"events.jsonl#{seq}")
        data = grade.get("data") or {}
        for name in ("fail_to_pass", "pass_to_pass"):
            failed = (data.get(name) or {}).get("failed", []) if isinstance(data.get(name), dict) else []
            found += [f"{found[0] if found else self.grading}#{test}" for test in failed[:MOST_IDS]]
        if not grade.get("check"):
            found.append(f"{self.grading}#{grade['name']}")
        return tuple(dict.fromkeys(found))

    def pointers(self, evidence: Sequence[str]) -> tuple[str, ...]:
        """Pointers of failure modes, with the file of this grading where they mean a grade."""
        return tuple(
            f"{self.grading}#{one.removeprefix('gradings#')}" if one.startswith("gradings#") else one
            for one in evidence
        )

    def quote(self, grade: Mapping[str, Any]) -> str:
        """The first line of the transcript that says why; of a hidden check only where the operator alone reads it."""
        if grade["outcome"] not in ("fail", "error") or (
            grade.get("hidden") is not False and not self.show_hidden
        ):
            return ""
        text = (
            check_output(self.folder, str(grade["name"]))
            if grade.get("check")
            else str(grade.get("output_tail", ""))
        )
        lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("[")]
        telling = next((line for line in lines if "Error" in line or "error" in line or "::" in line), "")
        return (telling or (lines[-1] if lines else ""))[:QUOTE_CHARS]


def explain_run(
    run: str,
    folder: Path,
    grading: Mapping[str, Any],
    *,
    review: Mapping[str, Any] | None = None,
    show_hidden: bool = False,
) -> Explanation:
    """`review` is what people decided, as JSON; with `show_hidden` the output of hidden checks is quoted."""
    record = _Record(folder, int(grading["number"]), show_hidden=show_hidden)
    verdict, grades = grading["verdict"], grading["grades"]
    tree = Node(
        "reward",
        verdict["reward"],
        _reward_why(verdict),
        parts=(_verdict(verdict, grades, record), *_reward_parts(verdict, grading, record)),
    )
    modes = (*_failure_modes(verdict, record), *_errors(grading))
    beside = (*_judge(verdict), *_people(review), *modes, *_causes(verdict))
    return Explanation(run, int(grading["number"]), tree, beside, _is_consistent(verdict, grades))


def _reward_why(verdict: Mapping[str, Any]) -> str:
    rule = verdict.get("reward_rule", "combined")
    if verdict["reward"] is None:
        return f"unknown: the verdict is {verdict['verdict']}"
    if verdict.get("patch_verdict") is not None:
        return (
            f"0: something stopped the run; the patch alone would earn {_number(verdict.get('patch_reward'))}"
        )
    lowered = " less w_viol, because a policy was violated" if verdict.get("penalty") else ""
    return {
        "combined": f"reward: combined is the score{lowered}; without anything weighted 1 for a pass, else 0",
        "binary": "reward: binary is 1 for a pass, else 0",
        "verifier": "reward: verifier is what the verifier wrote",
        "quality": f"reward: quality is the quality of a pass{lowered}, else 0",
        "contract": "reward: contract is the contract score",
    }.get(str(rule), str(rule))


def _verdict(verdict: Mapping[str, Any], grades: Sequence[Mapping[str, Any]], record: _Record) -> Node:
    seq = f"events.jsonl#{record.termination}" if record.termination else "events.jsonl"
    stopped = [tag.removeprefix("termination_") for tag in verdict["tags"] if tag.startswith("termination_")]
    ending = Node("termination", stopped[0] if stopped else "completed", "how the run ended", (seq,))
    gates = [
        _gate(name, gate, [one for one in grades if one.get("under") in GATES[name][1]], record)
        for name, gate in sorted(
            (verdict["gates"] or {}).items(), key=lambda item: list(GATES).index(item[0])
        )
    ]
    loose = [] if verdict["gates"] else [_grade(one, record) for one in grades]
    steps = [
        Node(f"step {one['name']}", one["outcome"], f"reward {_number(one['reward'])}: {one['why']}")
        for one in verdict.get("steps", ())
    ]
    return Node(
        "verdict",
        verdict["verdict"],
        str(verdict["reason"]),
        parts=(
            Node("status", verdict["status"], "does the run count?"),
            Node("acceptance", verdict["acceptance"], "of the checks that are required"),
            ending,
            *gates,
            *loose,
            *steps,
            _score(verdict, grades, record),
        ),
    )


def _gate(name: str, gate: Mapping[str, Any], grades: Sequence[Mapping[str, Any]], record: _Record) -> Node:
    parts = tuple(_grade(one, record) for one in grades)
    telling = next((part for part in parts if part.value == gate["outcome"] and part.value != "pass"), None)
    evidence = (
        telling.evidence if telling else tuple(pointer for part in parts for pointer in part.evidence[:1])
    )
    if telling is None and gate["outcome"] != "pass":
        evidence = record.pointers(gate.get("pointers") or ("findings.json",))
    quote = telling.quote if telling else ""
    return Node(f"gate {GATES[name][0]} {name}", gate["outcome"], str(gate["why"]), evidence, quote, parts)


def _grade(grade: Mapping[str, Any], record: _Record) -> Node:
    role = _role(grade)
    score = "" if grade["score"] is None else f", score {_number(grade['score'])}"
    return Node(
        f"grade {grade['name']}",
        grade["outcome"],
        f"{role}{score}: {grade['why']}",
        record.evidence(grade),
        record.quote(grade),
    )


def _role(grade: Mapping[str, Any]) -> str:
    if grade["required"]:
        return "required"
    if grade.get("weight"):
        return f"weight {grade['weight']:g}{', disqualifies' if grade.get('disqualifies') else ''}"
    return "penalty" if grade["name"] == POLICY_NAME else "advisory"


def _score(verdict: Mapping[str, Any], grades: Sequence[Mapping[str, Any]], record: _Record) -> Node:
    threshold = verdict.get("pass_threshold", 1.0)
    weighed = _weighted_grades(grades)
    total = math.fsum(one["weight"] for one in weighed)
    parts = [
        Node(
            f"weighted {one['name']}",
            one["score"],
            f"weight {one['weight']:g} of {total:g}: adds {_number(one['weight'] * (one['score'] or 0.0) / total)}",
            record.evidence(one)[:1],
        )
        for one in weighed
    ]
    mean = Node("mean_score", verdict["mean_score"], "unweighted, for reading alone; it decides nothing")
    if verdict["score"] is None:
        why = "nothing with a weight applied" if not weighed else "no decision, so no score"
    elif _is_blocked(verdict, grades):
        why = "0: something required did not pass, a grader disqualifies the run, or a violation was found"
    else:
        why = f"sum of weight x score over sum of weights; at least {threshold:g} passes"
    return Node(
        "score",
        verdict["score"],
        why,
        parts=(*parts, Node("pass_threshold", threshold, "the contract's"), mean),
    )


def _weighted_grades(grades: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [
        one
        for one in grades
        if one.get("weight", 0) > 0 and not one.get("gate") and one["outcome"] in ("pass", "fail")
    ]


def _is_blocked(verdict: Mapping[str, Any], grades: Sequence[Mapping[str, Any]]) -> bool:
    return any(map(blocks, grades)) or any(one["severity"] == "violation" for one in verdict["findings"])


def _reward_parts(verdict: Mapping[str, Any], grading: Mapping[str, Any], record: _Record) -> Iterator[Node]:
    if verdict.get("quality"):
        yield _quality(verdict["quality"])
    if verdict.get("contract_score"):
        yield _contract_score(verdict["contract_score"])
    if verdict.get("penalty"):
        evidence = record.pointers([f"gradings#{POLICY_NAME}"])
        yield Node("penalty", verdict.get("penalty_weight"), f"w_viol, for {verdict['penalty']}", evidence)
    evaluation = grading.get("evaluation")
    if evaluation:
        validity = evaluation["validity"]
        flags = [f"{name}: {str(validity[name]).lower()}" for name in _FLAGS]
        errors = "; ".join(map(str, validity["errors"]))
        yield Node("evaluation", evaluation["reward"], ", ".join(flags) + (f"; {errors}" if errors else ""))
    if verdict.get("subscores"):
        parts = tuple(Node(name, verdict["subscores"].get(name)) for name in SUBSCORES)
        yield Node("subscores", None, "for comparison; they decide nothing", parts=parts)


_FLAGS = ("output_parseable", "schema_valid", "verifier_completed")


def _quality(quality: Mapping[str, Any]) -> Node:
    parts = tuple(
        Node(
            f"q_{name}",
            one["score"],
            f"weight {one['weight']:.4g}, counted {quality['weights'][name]:.4g}: {one['why']}",
            tuple(one["pointers"]),
        )
        for name in QUALITY
        if (one := quality["dimensions"].get(name)) is not None
    )
    return Node("quality", quality["score"], str(quality["why"]), parts=parts)


def _contract_score(scored: Mapping[str, Any]) -> Node:
    weights = scored["weights"]
    valid = tuple(Node(name, holds) for name, holds in scored["parts"].items())
    return Node(
        "contract_score",
        scored["score"],
        "w_ok x [verdict is pass] + w_val x V - w_viol x P, within 0..1",
        parts=(
            Node("w_ok", weights["w_ok"], f"counts: {str(scored['passed']).lower()}"),
            Node("w_val", weights["w_val"], f"times V = {_number(scored['validity'])}", parts=valid),
            Node(
                "w_viol",
                weights["w_viol"],
                f"times P = {int(bool(scored['violation']))} {scored['violation']}".strip(),
            ),
        ),
    )


def _judge(verdict: Mapping[str, Any]) -> Iterator[Node]:
    judge = verdict.get("judge")
    if not judge:
        return
    scores = tuple(
        Node(name, judge["scores"][name], "of 5") for name in RUBRIC if name in (judge["scores"] or {})
    )
    yield Node("judge", judge["verdict"], str(judge["why"]), parts=scores)
    if verdict.get("disagreement", "none") != "none":
        yield Node("disagreement", verdict["disagreement"])


def _people(review: Mapping[str, Any] | None) -> Iterator[Node]:
    if review and review.get("annotations"):
        minutes = "not measured" if review["minutes"] is None else f"{review['minutes']:g} minutes"
        people = review["reviewers"]
        why = f"{people} reviewer{'' if people == 1 else 's'}, {minutes}; by {review['by']}"
        yield Node("people", review["decision"], why, ("annotations/",))


def _failure_modes(verdict: Mapping[str, Any], record: _Record) -> Iterator[Node]:
    for tag in verdict.get("failure_modes", ()):
        more = "".join(f" {name}={value}" for name, value in tag["attributes"].items())
        yield Node(f"failure mode {tag['id']}{more}", None, tag["why"], record.pointers(tag["evidence"]))


def _errors(grading: Mapping[str, Any]) -> Iterator[Node]:
    """What the verifier or a judge named."""
    named = (grading.get("evaluation") or {}).get("error_taxonomy")
    for one in own_errors({"tags": grading["verdict"].get("tags"), "error_taxonomy": named}):
        yield Node(f"error {one['category']}", str(one["source"]), str(one.get("description") or ""))


def _causes(verdict: Mapping[str, Any]) -> Iterator[Node]:
    causes = verdict.get("causes")
    if not causes:
        return
    parts = tuple(
        Node("event", None, one["text"], tuple(f"events.jsonl#{seq}" for seq in one["events"]))
        for one in causes["sentences"]
    )
    yield Node(
        "causes", causes["label"], "made from the events alone; not a part of the verdict", parts=parts
    )


def _is_consistent(verdict: Mapping[str, Any], grades: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the score and the numbers after it follow from the grades by the rules that are printed here."""
    weighed = _weighted_grades(grades)
    total = math.fsum(one["weight"] for one in weighed)
    if verdict["score"] is not None and not _is_blocked(verdict, grades):
        mean = math.fsum(one["weight"] * (one["score"] or 0.0) for one in weighed) / total if total else None
        if mean is not None and abs(mean - verdict["score"]) > TOLERANCE:
            return False
    quality = verdict.get("quality")
    if quality and quality["score"] is not None:
        known = [
            (quality["weights"][name], one["score"])
            for name, one in quality["dimensions"].items()
            if one["score"] is not None
        ]
        again = math.fsum(weight * score for weight, score in known)
        if abs(again - quality["score"]) > _ROUNDING:
            return False
    return True


_ROUNDING = 1e-4


def _number(value: Any) -> str:
    return "unknown" if value is None else f"{value:.4f}".rstrip("0").rstrip(".") or "0"
