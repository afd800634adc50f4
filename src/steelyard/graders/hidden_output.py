"""Whether what an entry prints on the bench may show a hidden file.

A test that fails prints its own source and the values that it expected. Such output stays in the run folder
(`checks/<id>/`, `gradings/`), which is the operator's; result lines, exports and judges do not get it.
"""

from __future__ import annotations

from steelyard.contract.catalogue import GraderEntry
from steelyard.contract.contract import Contract


def may_show_hidden(contract: Contract, entry: GraderEntry) -> bool:
    """On a live bench every check works in one tree, so each of them may print what another was given."""
    if contract.spec.bench == "live":
        return any(one.options_files for one in (*contract.checks, *contract.graders))
    return bool(entry.options_files)
