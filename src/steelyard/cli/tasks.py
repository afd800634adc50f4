"""Options for task folders of Harbor's, which `run`, `check` and `grade` take in the place of a contract."""

from __future__ import annotations

import argparse

from steelyard.contract.importing.task import Options


def add_task_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "task folders of Harbor's", "a folder with task.toml is imported on the way"
    )
    group.add_argument("--offline", action="store_true", help="do without the network that a task asks for")
    group.add_argument("--workdir", metavar="PATH", help="the agent's folder, instead of the task's")
    group.add_argument(
        "--take-env",
        metavar="NAME",
        action="append",
        default=[],
        help="a variable of this machine that a task may have; may be repeated",
    )
    group.add_argument(
        "--export",
        metavar="GLOB",
        action="append",
        default=[],
        help="paths of the system that are the work, like '/etc/nginx/**'; may be repeated",
    )


def task_options(args: argparse.Namespace) -> Options:
    return Options(
        offline=args.offline,
        workdir=args.workdir,
        sandbox=args.sandbox,
        take_env=frozenset(args.take_env),
        exports=tuple(args.export),
    )
