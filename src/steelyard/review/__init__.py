"""People -> annotations beside the automated result of a run, and what follows from them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from steelyard.review.disagreement import Disagreement, disagreements, kinds_of
    from steelyard.review.queue import reasons_to_review
    from steelyard.review.record import ReviewEntry, adjudicate, annotate, evaluation_of
    from steelyard.review.record import list_annotations as annotations
    from steelyard.review.status import ReviewStatus, review_status
    from steelyard.verdict.evaluation import Annotation

__all__ = [
    "Annotation",
    "Disagreement",
    "ReviewEntry",
    "ReviewStatus",
    "adjudicate",
    "annotate",
    "annotations",
    "disagreements",
    "evaluation_of",
    "kinds_of",
    "reasons_to_review",
    "review_status",
]
_PLACES = {
    "Annotation": "steelyard.verdict.evaluation:Annotation",
    "Disagreement": "steelyard.review.disagreement:Disagreement",
    "ReviewEntry": "steelyard.review.record:ReviewEntry",
    "ReviewStatus": "steelyard.review.status:ReviewStatus",
    "adjudicate": "steelyard.review.record:adjudicate",
    "annotate": "steelyard.review.record:annotate",
    "annotations": "steelyard.review.record:list_annotations",
    "disagreements": "steelyard.review.disagreement:disagreements",
    "evaluation_of": "steelyard.review.record:evaluation_of",
    "kinds_of": "steelyard.review.disagreement:kinds_of",
    "reasons_to_review": "steelyard.review.queue:reasons_to_review",
    "review_status": "steelyard.review.status:review_status",
}


def __getattr__(name: str) -> Any:
    # A page that shows one run needs none of these, and pydantic takes time to load.
    if name not in _PLACES:
        raise AttributeError(f"module 'steelyard.review' has no attribute {name!r}")
    module, _, inside = _PLACES[name].partition(":")
    return getattr(import_module(module), inside)
