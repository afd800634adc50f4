"""Options for Harbor task folders, which `run`, `check` and `grade` take in the place of a contract."""

from __future__ import annotations

import argparse
import re

from steelyard.contract.allowed_hosts import checked_door
from steelyard.contract.model import HOST_PORT_PATTERN
from steelyard.importers.task import Options


def add_task_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "Harbor task folders", "a folder with task.toml is imported automatically"
    )
    add_network_options(group, "")
    group.add_argument("--workdir", metavar="PATH", help="the agent's folder, instead of the task's")
    group.add_argument(
        "--take-env",
        metavar="NAME",
        action="append",
        default=[],
        help="a variable of this machine that the task gets; may be repeated",
    )
    group.add_argument(
        "--export",
        metavar="GLOB",
        action="append",
        default=[],
        help="system paths that count as work, like '/etc/nginx/**'; may be repeated",
    )


def add_network_options(group: argparse._ActionsContainer, of_formats: str) -> None:
    either = group.add_mutually_exclusive_group()
    either.add_argument(
        "--offline", action="store_true", help=f"remove the network access that a task asks for{of_formats}"
    )
    either.add_argument(
        "--network",
        metavar="HOST:PORT",
        type=_allowed_host,
        action="append",
        default=[],
        help=f"allowed host for a task that asks for the whole internet{of_formats}; may be repeated",
    )


def _allowed_host(text: str) -> str:
    if not re.fullmatch(HOST_PORT_PATTERN, text):
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT")
    try:
        return checked_door(text)
    except ValueError as wrong:
        raise argparse.ArgumentTypeError(str(wrong)) from wrong


def task_options(args: argparse.Namespace) -> Options:
    return Options(
        offline=args.offline,
        network=tuple(dict.fromkeys(args.network)),
        workdir=args.workdir,
        sandbox=args.sandbox,
        take_env=frozenset(args.take_env),
        exports=tuple(args.export),
    )
