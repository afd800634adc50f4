"""`${NAME}` in a contract's variables -> the value that this machine has, when a sandbox is started.

    environment:
      host_variables: [API_KEY, MODE]
      env: {KEY: "${API_KEY}", MODE: "${MODE:-fast}"}

Only names that `host_variables` lists are replaced; every other text stays as it is. A contract gets a value only if the
operator lets it: `--take-env NAME`, or STEELYARD_TAKE_ENV=NAME,NAME. Otherwise the default counts, or nothing starts. The
value is in no contract, digest, manifest or setup layer: setup runs without the variables that need one.

    environment: {secrets: [{name: API_TOKEN, for: checks}]}

A secret is such a variable under its own name, which the sandboxes of one phase have and no other.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from steelyard.contract.contract import Contract
from steelyard.contract.execution_spec import ScriptSpec
from steelyard.contract.model import PHASES, Phase, ScriptReference
from steelyard.deferred.pattern import deferred_pattern
from steelyard.errors import OperatorFault

ALLOWED = "STEELYARD_TAKE_ENV"
SECRET_NAME = deferred_pattern(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH", re.IGNORECASE)
TEMPLATE = deferred_pattern(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


def allow_host_variables(names: Iterable[str]) -> None:
    """Let contracts take these variables of this machine, for as long as this process lasts."""
    if allowed := sorted({*_allowed(), *names}):
        os.environ[ALLOWED] = ",".join(allowed)


def _allowed() -> set[str]:
    return {*os.environ.get(ALLOWED, "").replace(",", " ").split()}


def with_host_values(env: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """Raises OperatorFault for a variable that this machine does not have and the contract has no default for."""
    return {key: _value(text, names) for key, text in env.items()} if names else dict(env)


def without_host_values(env: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """The variables that need nothing of this machine."""
    return {
        key: text for key, text in env.items() if not any(one[1] in names for one in TEMPLATE.finditer(text))
    }


def phase_secrets(contract: Contract, phase: Phase) -> dict[str, str]:
    """The variables of `environment.secrets` for one phase; raises OperatorFault for a value that it may not have."""
    names = [one.name for one in contract.spec.environment.secrets if one.for_ == phase]
    return with_host_values({name: f"${{{name}}}" for name in names}, names)


def secret_host_values(contract: Contract) -> dict[str, str]:
    """The secrets of the contract, and the values that it takes from this machine under such a name: no record shows them.

    Other values, a mode or a path for example, may be part of honest work, where replacing them would change it.
    """
    declared = contract.spec.environment
    named = {name for name in declared.host_variables if SECRET_NAME.search(name)}
    names = {*named, *(one.name for one in declared.secrets)} & _allowed()
    return {name: os.environ[name] for name in sorted(names) if name in os.environ}


def check_host_variables(contract: Contract) -> None:
    """Find a missing value before any agent starts; raises OperatorFault."""
    names = contract.spec.environment.host_variables
    for env in _variables(contract) if names else ():
        with_host_values(env, names)
    for phase in PHASES:
        phase_secrets(contract, phase)


def _value(text: str, names: Sequence[str]) -> str:
    def put(found: re.Match[str]) -> str:
        name, default = found[1], found[2]
        if name not in names:
            return found[0]
        is_allowed = name in _allowed()
        value = os.environ.get(name, default) if is_allowed else default
        if value is None and is_allowed:
            raise OperatorFault(f"the contract takes {name} from this machine, which has none: set {name}")
        if value is None:
            raise OperatorFault(
                f"the contract takes {name} from this machine: say --take-env {name} to let it"
            )
        return value

    return TEMPLATE.sub(put, text)


def _variables(contract: Contract) -> Iterator[Mapping[str, str]]:
    spec = contract.spec
    yield spec.environment.env
    for entry in (*contract.checks, *contract.graders):
        if isinstance(script := entry.execution, ScriptSpec):
            yield from script.variables
    for reference in (contract.reference_script, *(step.reference for step in contract.steps)):
        if isinstance(reference, ScriptReference):
            yield reference.env
