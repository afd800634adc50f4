"""People -> annotations beside the automated result of a run, and what follows from them."""

from steelyard.review.disagreements import Disagreement, disagreements, kinds_of
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
