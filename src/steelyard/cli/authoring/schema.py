"""Print the JSON Schema of contract.yaml with every installed grader type, of a result line, of an evaluation or of what
`show --why --json` prints.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from steelyard.contract.schema import DIALECT, contract_schema
from steelyard.graders.catalogue import installed_catalogue
from steelyard.report.explanation.schema import explanation_schema
from steelyard.report.result import result_schema
from steelyard.verdict.evaluation import Annotation, EvaluationResult

HELP = "print the JSON Schema of a contract, a result line, an evaluation, an annotation or an explanation"


def arguments(parser: argparse.ArgumentParser) -> None:
    choices = ("contract", "result", "evaluation", "annotation", "why")
    parser.add_argument("schema", nargs="?", choices=choices, default="contract")
    parser.add_argument("--json", action="store_true", help="on one line")


def run(args: argparse.Namespace) -> int:
    text = json.dumps(_schema(args.schema), indent=None if args.json else 2)
    sys.stdout.write(f"{text}\n")
    return 0


def _schema(what: str) -> dict[str, Any]:
    if what == "result":
        return result_schema()
    if what == "why":
        return explanation_schema()
    if what in ("evaluation", "annotation"):
        model = EvaluationResult if what == "evaluation" else Annotation
        return {"$schema": DIALECT, **model.model_json_schema()}
    return contract_schema(installed_catalogue())
