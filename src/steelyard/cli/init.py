"""Start a new contract: write a contract.yaml, a brief.md and a hidden test for you to fill in."""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

from steelyard.contract.scaffold import Asked, write_contract
from steelyard.contract.snapshot.work_tree import uncommitted
from steelyard.errors import OperatorFault

HELP = "start a new contract from a repository or a folder of files"
SCHEMA = "steelyard.init/1"
_URL = re.compile(r"[a-z+]+://|[\w.-]+@[\w.-]+:")  # https://..., git@host:...


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="where the contract goes")
    parser.add_argument("--git", metavar="PATH", help="a git repository or bundle on this machine")
    parser.add_argument("--commit", metavar="ID", help="the full commit id; by default what is checked out")
    parser.add_argument("--tree", metavar="DIR", type=Path, help="a folder of files inside FOLDER")
    parser.add_argument("--id", metavar="NAME", help="by default the folder's name")
    parser.add_argument("--json", action="store_true", help="list the written files as JSON")


def run(args: argparse.Namespace) -> int:
    """{"schema": "steelyard.init/1", "contract": "demo", "wrote": ["demo/contract.yaml", ...]}."""
    if args.git is not None and _URL.match(str(args.git)):
        raise OperatorFault(
            f"--git takes a repository on this machine: `git clone --mirror {args.git} repo.git`, then --git repo.git"
        )
    wrote = write_contract(
        args.folder, Asked(None if args.git is None else Path(args.git), args.commit, args.tree, args.id)
    )
    if args.git is not None and (changed := uncommitted(Path(args.git))):
        sys.stderr.write(
            f"steelyard: note: {args.git} has uncommitted changes ({changed}); the contract has the commit without them\n"
        )
    if args.json:
        told = {
            "schema": SCHEMA,
            "contract": str(args.folder),
            "wrote": [str(path) for path in wrote],
        }
        sys.stdout.write(f"{json.dumps(told)}\n")
        return 0
    made = args.git is None and args.tree is None
    lines = [
        *(f"wrote {path}" for path in wrote),
        *([f"made  {args.folder / 'repo'}; put the files there that the agent starts from"] if made else []),
        f"next: fill them in, then steelyard check {args.folder}",
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0
