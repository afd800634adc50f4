"""The gated rubric as rows: gates, dimensions of quality and subscores, with their range and their evidence."""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    part: str
    name: str
    values: str
    weight: str
    computed_from: str
    evidence: str


_GATE = "pass | fail | error"
ROWS: tuple[Row, ...] = (
    Row(
        "gate G1",
        "patch",
        _GATE,
        "",
        "patch applies; no conflict markers; every check starts",
        "change.json; patch.diff",
    ),
    Row("gate G2", "build", _GATE, "", "required checks under build and static", "checks/<id>/outcome.json"),
    Row(
        "gate G3",
        "acceptance",
        _GATE,
        "",
        "required checks under acceptance; else the score",
        "checks/<id>/outcome.json",
    ),
    Row(
        "gate G4",
        "safety",
        _GATE,
        "",
        "required safety graders; violations; alerts",
        "findings.json; events.jsonl",
    ),
    Row(
        "quality",
        "minimal",
        "0..1",
        "quality.weights.minimal",
        "exp(-lambda x delta)",
        "patch.diff; change.json",
    ),
    Row(
        "quality",
        "trace",
        "0 | 1",
        "quality.weights.trace",
        "everything that a replay needs",
        "manifest.json; events.jsonl",
    ),
    Row(
        "quality",
        "maintainability",
        "0..1",
        "quality.weights.maintainability",
        "mean of named graders",
        "gradings/",
    ),
    Row(
        "quality",
        "efficiency",
        "0..1",
        "quality.weights.efficiency",
        "mean of efficiency graders",
        "events.jsonl",
    ),
    Row("subscore", "functional", "0..1", "", "scores of build and acceptance grades", "gradings/"),
    Row("subscore", "patch_validity", "0..1", "", "V: applies; formatting; envelope; scope", "change.json"),
    Row("subscore", "safety", "0 | 1", "", "1 - P", "findings.json; events.jsonl"),
    Row(
        "subscore",
        "efficiency",
        "0..1",
        "",
        "efficiency graders; else the budget that is left",
        "events.jsonl",
    ),
)
