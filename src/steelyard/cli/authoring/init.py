"""Start a new contract: write a contract.yaml, a brief.md and a hidden test for you to fill in."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from pathlib import Path

from steelyard.contract.scaffold.languages import LANGUAGES
from steelyard.contract.scaffold.write_contract import NewContract, SnapshotOrigin, write_contract
from steelyard.contract.snapshot.git_source import check_local
from steelyard.contract.snapshot.work_tree import uncommitted_changes
from steelyard.filesystem.tree import printable
from steelyard.sandboxes.toolchains import installed_toolchains

HELP = "start a new contract from a repository or a folder of files"
SCHEMA = "steelyard.init/1"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="where the contract goes")
    parser.add_argument("--git", metavar="PATH", help="a git repository or bundle on this machine")
    parser.add_argument("--commit", metavar="ID", help="the full commit id; by default what is checked out")
    parser.add_argument("--tree", metavar="DIR", type=Path, help="a folder of files inside FOLDER")
    parser.add_argument("--id", metavar="NAME", help="by default the folder's name")
    parser.add_argument(
        "--language",
        choices=LANGUAGES,
        help="write tests and commands for it; by default the repository's files decide",
    )
    parser.add_argument(
        "--question", action="store_true", help="a question that is answered in words: no repository"
    )
    parser.add_argument("--json", action="store_true", help="list the written files as JSON")


def run(args: argparse.Namespace) -> int:
    """{"schema": "steelyard.init/1", "contract": "demo", "language": "python", "wrote": ["demo/contract.yaml", ...]}."""
    if args.git is not None:
        check_local(str(args.git))
    source = None if args.git is None else Path(args.git)
    written = write_contract(
        args.folder,
        SnapshotOrigin(source, args.commit, args.tree, args.id, args.language, args.question, _node()),
    )
    if args.git is not None and (changed := uncommitted_changes(Path(args.git))):
        sys.stderr.write(
            f"steelyard: note: {args.git} has uncommitted changes ({changed}); the contract has the commit without them\n"
        )
    if args.json:
        answer = {
            "schema": SCHEMA,
            "contract": str(args.folder),
            "language": written.language,
            "wrote": [str(path) for path in written.paths],
        }
        sys.stdout.write(f"{json.dumps(answer)}\n")
        return 0
    sys.stdout.write("\n".join(_lines(args, written)) + "\n")
    return 0


def _lines(args: argparse.Namespace, written: NewContract) -> list[str]:
    has_own_repo = args.git is None and args.tree is None and not args.question
    language = [f"for   {written.language} ({written.because}); --language chooses another"]
    return [
        *(f"wrote {printable(str(path))}" for path in written.paths),
        *([] if written.language is None or args.language else language),
        *(
            [f"made  {args.folder / 'repo'}; put the files there that the agent starts from"]
            if has_own_repo
            else []
        ),
        *_repository_hint(args.folder, has_own_repo=has_own_repo),
        f"next: fill them in, then steelyard check {shlex.quote(str(args.folder))}",
    ]


def _repository_hint(folder: Path, *, has_own_repo: bool) -> list[str]:
    """For those who stand in the repository that they mean."""
    places = folder.absolute().parents if has_own_repo else ()
    found = next((place for place in places if (place / ".git").exists()), None)
    if found is None:
        return []
    command = f"steelyard init FOLDER --git {shlex.quote(str(found))}"
    return [f"note: this is inside the Git repository {found}; `{command}` makes a contract from it"]


def _node() -> str | None:
    """The release of Node.js that a contract written here can name."""
    return next((found.version.split(".")[0] for found in installed_toolchains("node")), None)
