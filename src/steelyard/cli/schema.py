"""`steelyard schema` -> the JSON Schema of contract.yaml, with every installed grader type."""

from __future__ import annotations

import argparse
import json
import sys

from steelyard.contract.schema import contract_schema
from steelyard.graders.catalogue import installed_catalogue

HELP = "print the JSON Schema of contract.yaml, for editors"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="on one line")


def run(args: argparse.Namespace) -> int:
    text = json.dumps(contract_schema(installed_catalogue()), indent=None if args.json else 2)
    sys.stdout.write(f"{text}\n")
    return 0
