"""Options for Harbor task folders, which `run`, `check` and `grade` take instead of a contract."""

from __future__ import annotations

import argparse
import re

from steelyard.contract.allowed_hosts import check_host
from steelyard.contract.model import HOST_PORT_PATTERN
from steelyard.contract.parse.host_variables import allow_host_variables
from steelyard.importers.task import Options


def add_task_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "Harbor task folders", "a folder with task.toml is imported automatically"
    )
    add_import_options(group)


def add_import_options(group: argparse._ActionsContainer, formats: str = "") -> None:
    """The options of importing a task folder; `formats` names the formats they are for, as ` (harbor, aec)`."""
    _add_network_options(group, formats)
    group.add_argument(
        "--workdir", metavar="PATH", help=f"the agent's folder, instead of the task's{formats}"
    )
    group.add_argument(
        "--take-env",
        metavar="NAME",
        action="append",
        default=[],
        help=f"a variable of this machine that a task, or a contract with `host_variables`, gets{formats}; "
        "may be repeated",
    )
    group.add_argument(
        "--export",
        metavar="GLOB",
        action="append",
        default=[],
        help=f"system paths that count as work, like '/etc/nginx/**'{formats}; may be repeated",
    )


def _add_network_options(group: argparse._ActionsContainer, formats: str) -> None:
    either = group.add_mutually_exclusive_group()
    either.add_argument(
        "--offline", action="store_true", help=f"remove the network access that a task asks for{formats}"
    )
    either.add_argument(
        "--network",
        metavar="HOST:PORT",
        type=_allowed_host,
        action="append",
        default=[],
        help=f"allowed host for a task that asks for the whole internet{formats}; may be repeated",
    )


def _allowed_host(text: str) -> str:
    if not re.fullmatch(HOST_PORT_PATTERN, text):
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT")
    try:
        return check_host(text)
    except ValueError as wrong:
        raise argparse.ArgumentTypeError(str(wrong)) from wrong


def task_options(args: argparse.Namespace) -> Options:
    allow_host_variables(args.take_env)
    return Options(
        offline=args.offline,
        network=tuple(dict.fromkeys(args.network)),
        workdir=args.workdir,
        sandbox=args.sandbox,
        take_env=frozenset(args.take_env),
        exports=tuple(args.export),
    )
