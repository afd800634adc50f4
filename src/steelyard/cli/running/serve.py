"""Grade patches that arrive over HTTP: {contract, patch} -> the result line, for programs that train or rank.

On a loopback address or a socket by default. Any other address needs a token, read from STEELYARD_SERVE_TOKEN.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from steelyard.cli.console.output import check_out
from steelyard.cli.options.runs_option import add_runs_option
from steelyard.cli.options.store_option import add_store_option
from steelyard.cli.options.task_options import add_task_options, task_options
from steelyard.contract.contract import Contract
from steelyard.contract.load import load_contract
from steelyard.errors import OperatorFault
from steelyard.graders.catalogue import installed_catalogue
from steelyard.importers.direct import contract_at, find_folders, name_faults_as_typed
from steelyard.service import access as service_access
from steelyard.service import grader as service_grader
from steelyard.service import serve, server

HELP = "grade patches that arrive over HTTP"
TOKEN = "STEELYARD_SERVE_TOKEN"  # noqa: S105  # the name of a variable


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "suites", nargs="+", type=Path, metavar="SUITE", help="contracts that may be asked for"
    )
    parser.add_argument(
        "--host", default="127.0.0.1", help=f"default %(default)s; another than loopback needs ${TOKEN}"
    )
    parser.add_argument("--port", type=int, default=8642, help="default %(default)s; 0: any free one")
    parser.add_argument(
        "--socket", type=Path, metavar="PATH", help="a socket that only this user can open, instead of a port"
    )
    parser.add_argument(
        "-j",
        "--jobs",
        type=int,
        default=os.cpu_count() or 1,
        metavar="N",
        help="gradings at a time (default %(default)s)",
    )
    parser.add_argument(
        "--room", type=int, default=256, metavar="N", help="gradings that may wait (default %(default)s)"
    )
    parser.add_argument(
        "--max-body", type=int, default=64, metavar="MB", help="of a request (default %(default)s)"
    )
    parser.add_argument(
        "--sandbox", choices=["bubblewrap", "docker", "local"], help="instead of the contracts'"
    )
    add_task_options(parser)
    add_runs_option(parser)
    add_store_option(parser)


def run(args: argparse.Namespace) -> int:
    token = os.environ.pop(TOKEN, "")
    is_local = args.socket is not None or service_access.is_loopback(args.host)
    if token and len(token) < service_access.SHORTEST_TOKEN:
        raise OperatorFault(f"{TOKEN} has at least {service_access.SHORTEST_TOKEN} characters")
    if not is_local and not token:
        raise OperatorFault(
            f"--host {args.host} is reachable from elsewhere: set {TOKEN}, or use 127.0.0.1 or --socket"
        )
    if args.room < 1 or args.jobs < 1:
        raise OperatorFault("--room and --jobs are at least 1")
    check_out(args.runs)
    contracts = _contracts(args)
    grader = service_grader.Grader(args.runs, jobs=args.jobs, sandbox=args.sandbox, store=args.store)
    access = service_access.Access(is_local, token)
    service = server.Service.of(grader, contracts, access, room=args.room, body_bytes=args.max_body << 20)
    try:
        serve.serve(service.app(), host=args.host, port=args.port, socket=args.socket, on_ready=_say)
    finally:
        grader.close()
    return 0


def _say(where: str) -> None:
    sys.stdout.write(f"steelyard: serving on {where}\n")
    sys.stdout.flush()


def _contracts(args: argparse.Namespace) -> list[Contract]:
    catalogue, tasks = installed_catalogue(), task_options(args)
    folders = find_folders(args.suites)
    contract_folders = [contract_at(path, tasks) for path in folders]
    with name_faults_as_typed(dict(zip(contract_folders, folders, strict=True))):
        contracts = [load_contract(path, catalogue) for path in contract_folders]
    ids = [one.id for one in contracts]
    twice = next((name for name in ids if ids.count(name) > 1), None)
    if twice is not None:
        raise OperatorFault(f"two contracts have the id {twice}; a request could mean either")
    return contracts
