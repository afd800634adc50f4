"""Steelyard weighs coding agents on whole repositories, against executable contracts.

>>> import steelyard
>>> contract = steelyard.load_contract("examples/python-discount")
>>> result = steelyard.run_trial(contract, agent="reference")
>>> evaluation = steelyard.evaluation_of(result["folder"])
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` costs as much as Python itself; type checkers know the name
if TYPE_CHECKING:
    from typing import Any

    from steelyard.api import Grader, grade, load_contract, run_trial
    from steelyard.review.record import evaluation_of
    from steelyard.verdict.evaluation import (
        Annotation,
        ConfidenceMetadata,
        ErrorTag,
        EvaluationResult,
        ValidityCheck,
    )

__version__ = "0.1.0"
__all__ = [
    "Annotation",
    "ConfidenceMetadata",
    "ErrorTag",
    "EvaluationResult",
    "Grader",
    "ValidityCheck",
    "__version__",
    "evaluation_of",
    "grade",
    "load_contract",
    "run_trial",
]
_EVALUATION = "steelyard.verdict.evaluation"
_MODULES = {
    "Grader": "steelyard.api",
    "grade": "steelyard.api",
    "load_contract": "steelyard.api",
    "run_trial": "steelyard.api",
    "evaluation_of": "steelyard.review.record",
    "Annotation": _EVALUATION,
    "ConfidenceMetadata": _EVALUATION,
    "ErrorTag": _EVALUATION,
    "EvaluationResult": _EVALUATION,
    "ValidityCheck": _EVALUATION,
}


def __getattr__(name: str) -> Any:
    # Import is free: the API loads when it is first used.
    if name in _MODULES:
        from importlib import import_module  # noqa: PLC0415  # lazily, on purpose

        from steelyard.deferred.modules import defer_own_modules  # noqa: PLC0415  # as above

        defer_own_modules()
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'steelyard' has no attribute {name!r}")
