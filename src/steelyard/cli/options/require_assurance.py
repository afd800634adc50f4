"""`--require-assurance` of the verbs that print verdicts."""

from __future__ import annotations

import argparse

from steelyard.verdict.required import NOTHING, RequiredAssurance, parse_required


def add_required(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--require-assurance",
        metavar="LABEL",
        help="reject passes below this trust level: twin, or oracle=twin,isolation=bubblewrap,control_coverage=0.5",
    )


def required_by(args: argparse.Namespace) -> RequiredAssurance:
    text: str | None = getattr(args, "require_assurance", None)
    return NOTHING if text is None else parse_required(text)
