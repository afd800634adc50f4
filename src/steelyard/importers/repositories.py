"""`owner/name` and a commit -> `repository` of a contract, from clones and bundles on this machine.

--repos DIR holds, for pallets/flask: pallets/flask, pallets__flask or flask; a clone, a bare one (.git) or a .bundle.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from steelyard.contract.snapshot.git_source import check_id
from steelyard.errors import ContractFault, Problem
from steelyard.filesystem.tree import printable
from steelyard.importers.reading import fault
from steelyard.importers.task import Options

_ENDINGS = ("", ".git", ".bundle")


def repository_of(name: str, commit: str, options: Options, where: str) -> dict[str, Any]:
    """The place is absolute; `write` makes it relative to the contract."""
    if options.repos is None:
        raise fault(
            where, "repo", f"{printable(name)} must be on this machine", "say --repos DIR with a clone of it"
        )
    _check(name, where)
    try:
        check_id(commit)
    except ContractFault as wrong:
        problem = wrong.problems[0]
        raise ContractFault(Problem(where, "base_commit", problem.message, problem.fix)) from wrong
    found = clone_of(name, options, where)
    if found is None:
        fix = f"git clone --mirror it to {options.repos / _forms(name)[1]}.git"
        raise fault(where, "repo", f"{options.repos} has no {name}", fix)
    return {"git": str(found), "commit": commit}


def clone_of(name: str, options: Options, where: str) -> Path | None:
    """The clone or bundle of `owner/name` in --repos, by its absolute path; None when there is none."""
    _check(name, where)
    if options.repos is None:
        return None
    tried = [f"{form}{ending}" for form in _forms(name) for ending in _ENDINGS]
    found = next((path for path in (options.repos / one for one in tried) if path.exists()), None)
    return None if found is None else Path(os.path.abspath(found))  # noqa: PTH100  # keep symlinks as named


def _check(name: str, where: str) -> None:
    parts = name.split("/")
    if len(parts) != 2 or any(part in {"", ".", ".."} or printable(part) != part for part in parts):
        raise fault(where, "repo", f"{printable(name)!r} is not of the form owner/name")


def _forms(name: str) -> tuple[str, str, str]:
    owner, own = name.split("/")
    return name, f"{owner}__{own}", own
