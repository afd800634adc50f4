"""Who decides, and why -> the same two options of every verb that records a person's decision."""

from __future__ import annotations

import argparse
import getpass
import os

PERSON = "STEELYARD_REVIEWER"


def add_decision_options(parser: argparse.ArgumentParser, *, reason: str, has_default: bool = True) -> None:
    """`reason` says when one is needed; without a default name, the option or the variable must give one."""
    default = f"the variable {PERSON}, else your user name" if has_default else f"the variable {PERSON}"
    parser.add_argument("--by", metavar="NAME", help=f"who decides (default: {default})")
    parser.add_argument("--reason", metavar="TEXT", help=f"why; {reason}")


def named_person(args: argparse.Namespace) -> str:
    """The name that was given or set; nothing if there is none."""
    return str(args.by or os.environ.get(PERSON, "")).strip()


def deciding_person(args: argparse.Namespace) -> str:
    return named_person(args) or getpass.getuser()


def written_reason(args: argparse.Namespace) -> str:
    return (args.reason or "").strip()
