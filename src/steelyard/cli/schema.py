"""Print the JSON Schema of contract.yaml, with every installed grader type, or of a result line."""

from __future__ import annotations

import argparse
import json
import sys

from steelyard.contract.schema import contract_schema
from steelyard.graders.catalogue import installed_catalogue
from steelyard.report.result import result_schema

HELP = "print the JSON Schema of a contract or of a result line"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", nargs="?", choices=("contract", "result"), default="contract")
    parser.add_argument("--json", action="store_true", help="on one line")


def run(args: argparse.Namespace) -> int:
    schema = result_schema() if args.what == "result" else contract_schema(installed_catalogue())
    text = json.dumps(schema, indent=None if args.json else 2)
    sys.stdout.write(f"{text}\n")
    return 0
