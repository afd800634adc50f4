"""A message of a contract -> the text that an agent reads: the message, the hints, and the rules it is held to.

    Make add() add.

    Hints:
    - tests: ci/test.sh

    Rules:
    - Change only files that match one of: src/**, tests/**
    - There is no network.
    - You have 60 seconds.

Hints and rules come once in a conversation, with its first message. Checks, hidden files and the reference are never named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from steelyard.contract.contract import Contract

# What `steelyard init` writes, to be replaced by the author.
TEMPLATE = """\
Write here what the agent has to do, as you would explain it to a colleague who knows the repository.
State what must hold afterwards, not how to do it; never mention the hidden tests.
"""

_STAGED = (
    "Work in stages. The workspace is read-only until you run `steelyard-stage write`; "
    "run `steelyard-stage test` before you run the tests."
)


def obligations(contract: Contract, step_wall_s: float | None = None) -> dict[str, Any]:
    """What the work is held to beside the checks: which files it may change, what it may reach, how long it may take."""
    spec = contract.spec
    network, wall_s = spec.environment.network, spec.budget.agent_wall_s
    stages = list(spec.policy.stages)
    staged = {"stages": stages} if "enforced_stages" in spec.policy.require and stages != ["write"] else {}
    return {
        **staged,
        "allowed_paths": list(spec.policy.allowed_paths),
        "network": network if isinstance(network, str) else list(network),
        "wall_s": min(wall_s, step_wall_s or wall_s),
        "of": "step" if step_wall_s else "run",
    }


def briefing(text: str, hints: Sequence[str], rules: Mapping[str, Any]) -> str:
    """The first message of a conversation, as delivered."""
    parts = [text if text.endswith("\n") else f"{text}\n"]
    if hints:
        parts.append("Hints:\n" + "".join(f"- {hint}\n" for hint in hints))
    parts.append("Rules:\n" + "".join(f"- {rule}\n" for rule in _sentences(rules)))
    return "\n".join(parts)


def delivered_messages(contract: Contract) -> Iterator[str]:
    """Everything that an agent reads, message by message; each step is a conversation of its own."""
    hints = contract.spec.hints
    for number, text in enumerate(contract.messages):
        if contract.steps:
            yield briefing(text, hints, obligations(contract, contract.steps[number].wall_s))
        else:
            yield text if number else briefing(text, hints, obligations(contract))


def _sentences(rules: Mapping[str, Any]) -> list[str]:
    network, wall_s = rules["network"], f"{rules['wall_s']:g} seconds"
    scope = f"Change only files that match one of: {', '.join(rules['allowed_paths'])}"
    return [
        *(_STAGED for _ in rules.get("stages", ())[:1]),
        *([scope] if rules["allowed_paths"] else []),
        "There is no network."
        if network == "none"
        else f"Only these hosts can be reached: {', '.join(network)}",
        f"You have {wall_s}." if rules["of"] == "run" else f"You have {wall_s} for this step.",
    ]
