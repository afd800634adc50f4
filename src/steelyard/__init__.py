"""Steelyard weighs coding agents on whole repositories, against executable contracts.

>>> import steelyard
>>> contract = steelyard.load_contract("examples/python-discount")
>>> result = steelyard.run_trial(contract, agent="reference")
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` costs as much as Python itself; type checkers know the name
if TYPE_CHECKING:
    from typing import Any

    from steelyard.api import Grader, grade, load_contract, run_trial

__version__ = "0.1.0"
__all__ = ["Grader", "__version__", "grade", "load_contract", "run_trial"]


def __getattr__(name: str) -> Any:
    # Import is free: the API loads when it is first used.
    if name in {"Grader", "grade", "load_contract", "run_trial"}:
        from steelyard import api  # noqa: PLC0415  # lazily, on purpose

        return getattr(api, name)
    raise AttributeError(f"module 'steelyard' has no attribute {name!r}")
