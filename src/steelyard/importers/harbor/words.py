"""Problems of a contract that was made of a Harbor task -> the words of the task's author.

oracle.reference: the contract has no reference  ->  solution/solve.sh: the task has no solution
... add its host to `oracle.network`             ->  ... allow its host with `--network HOST:PORT`
"""

from __future__ import annotations

import re
from dataclasses import replace

from steelyard.errors import Problem

# Keys of a contract -> what says the same in a task folder.
FIELDS = {
    "oracle.reference": "solution/solve.sh",
    "oracle.network": "verifier.network_mode",
    "environment.network": "agent.network_mode",
    "environment.build": "environment/Dockerfile",
    "environment.image": "environment.docker_image",
    "environment.ready": "environment.healthcheck",
    "environment.cpu": "environment.cpus",
    "environment.disk_mb": "environment.storage_mb",
    "exports": "metadata.steelyard.exports",
    "budget.wall_s": "agent.timeout_sec",
    "oracle.checks[0].timeout_s": "verifier.timeout_sec",
    "oracle.checks[0].script": "tests/test.sh",
    "oracle.checks[0].env": "verifier.env",
    "brief_file": "instruction.md",
}
_STEP = re.compile(r"^(steps\[\d+\])\.(reference|brief_file|wall_s|ready|files)")
_OF_STEPS = {
    "reference": "solution/solve.sh",
    "brief_file": "instruction.md",
    "wall_s": "agent.timeout_sec",
    "ready": "healthcheck",
    "files": "workdir",
}
# Phrases, in order.
PHRASES = (
    ("install it in the image or in `setup`", "install it in the image"),
    ("add its host to `oracle.network`", "allow its host with `--network HOST:PORT`"),
    ("(oracle.network)", "(`--network HOST:PORT`)"),
    ("the contract has no reference", "the task has no solution"),
    ("no reference solution, so", "no solution/solve.sh, so"),
    ("a build is offline unless `setup_network: host`", "a build is offline here"),
)
_REFERENCE = re.compile(r"^reference: (?:reference\.patch|right\.txt)\b.*", re.DOTALL)
WRITE_ONE = "write solution/solve.sh, a script that solves the task"


def in_words_of_harbor(problem: Problem) -> Problem:
    return replace(
        problem,
        field=_field(problem.field),
        message=_text(problem.message),
        fix=WRITE_ONE if _REFERENCE.match(problem.fix) else _text(problem.fix),
    )


def _field(name: str) -> str:
    if step := _STEP.match(name):
        return f"{step[1]}.{_OF_STEPS[step[2]]}{name[step.end() :]}"
    known = next((key for key in FIELDS if name == key or name.startswith((f"{key}.", f"{key}["))), None)
    return name if known is None else FIELDS[known] + name[len(known) :]


def _text(text: str) -> str:
    for ours, theirs in PHRASES:
        text = text.replace(ours, theirs)
    return text
