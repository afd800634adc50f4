"""Why a verdict is what it is, and why a regrade differs."""

from __future__ import annotations

from steelyard.report.explanation.explain import Explanation, Node, explain_run

__all__ = ["Explanation", "Node", "explain_run"]
