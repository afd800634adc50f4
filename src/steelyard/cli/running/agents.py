"""List the agents that `--agent` can name, and install the clients of real ones: `steelyard agents install claude_code`.

A client is installed into the cache from its registry, with the runtime that it needs, and mounted read-only into sandboxes.
"""

from __future__ import annotations

import argparse
import json
import sys
from textwrap import wrap
from typing import Any

from steelyard.agents.catalogue import BUILT_IN
from steelyard.agents.clients.base import Client
from steelyard.agents.clients.catalogue import CLIENTS, installable
from steelyard.agents.installation.install import install
from steelyard.agents.installation.installed import installed_versions
from steelyard.agents.options import describe
from steelyard.cli.console import terminal_width
from steelyard.errors import OperatorFault

HELP = "list agents; `agents install NAME` installs the client of one"
SCHEMA = "steelyard.agents/1"
LEAST, INDENT = 30, 4  # columns of a terminal


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action", nargs="?", choices=["list", "install"], default="list", help="default: list"
    )
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME[==VERSION]",
        help="a client; without a version the one that was tried",
    )
    parser.add_argument("--json", action="store_true", help="one JSON line for each agent")


def run(args: argparse.Namespace) -> int:
    """{"schema": "steelyard.agents/1", "name": "codex", "installed": ["0.166.0"], "tried": "0.166.0", "needs": {...}, ...}."""
    if args.action == "install":
        return _install(args.names, as_json=args.json)
    if args.names:
        return _describe(args.names, as_json=args.json)
    facts = [_facts(client) for client in CLIENTS.values()]
    if args.json:
        sys.stdout.write("".join(json.dumps(one) + "\n" for one in facts))
        return 0
    sys.stdout.write("".join(f"{line}\n" for line in _table(facts, terminal_width())))
    return 0


def _install(names: list[str], *, as_json: bool) -> int:
    if not names:
        raise OperatorFault(
            f"name a client: steelyard agents install NAME; there are {', '.join(installable())}"
        )
    wanted = [(_installable(name.partition("==")[0]), name.partition("==")[2]) for name in names]
    for name, version in wanted:
        folder = install(name, installable()[name], version, _note)
        record = json.loads((folder / "installed.json").read_text())
        if as_json:
            line = {"schema": SCHEMA, "name": name, "version": record["version"], "folder": str(folder)}
            sys.stdout.write(json.dumps(line) + "\n")
        else:
            packages = len(record["packages"])
            sys.stdout.write(f"{name} {record['version']} is installed ({packages} packages) in {folder}\n")
    return 0


def _note(text: str) -> None:
    sys.stderr.write(f"steelyard: {text}\n")
    sys.stderr.flush()


def _installable(name: str) -> str:
    if name in CLIENTS:
        return CLIENTS[name].installed_as
    if name in installable():
        return name
    if name in BUILT_IN:
        raise OperatorFault(f"agent {name} is part of Steelyard; nothing has to be installed")
    raise OperatorFault(f"there is no client {name!r} to install; there are {', '.join(installable())}")


def _known(name: str) -> Client:
    if name in CLIENTS:
        return CLIENTS[name]
    raise OperatorFault(f"there is no client {name!r}; there are {', '.join(CLIENTS)}")


def _describe(names: list[str], *, as_json: bool) -> int:
    for client in map(_known, names):
        facts = _facts(client)
        lines = (
            [json.dumps(facts)]
            if as_json
            else [
                *_table([facts], terminal_width()),
                *([f"installed: {', '.join(facts['installed'])}"] if len(facts["installed"]) > 1 else []),
                describe(client.kind, client.options),
            ]
        )
        sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0


def _facts(client: Client) -> dict[str, Any]:
    package = client.package
    return {
        "schema": SCHEMA,
        "name": client.kind,
        "title": client.title,
        "installed": [one.version for one in installed_versions(client.installed_as)],
        "tried": package.version,
        "registry": package.registry,
        "package": package.name,
        "needs": {
            "providers": list(client.providers),
            "runtime": package.runtime,
        },
        "gives": list(client.gives),
        "resumes": client.is_resumable,
        "options": [line.strip() for line in describe(client.kind, client.options).splitlines()[1:]],
    }


def _table(facts: list[dict[str, Any]], width: int = 0) -> list[str]:
    head = ("agent", "installed", "tried with", "models of", "its trace gives")
    rows = [head, *map(_row, facts)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    lines = [line for row in rows for line in _fitted(row, widths, width)]
    if len(facts) > 1:
        lines.append("")
        for note in (
            f"without a client: {', '.join(BUILT_IN)}",
            "`steelyard agents install NAME` installs one; `steelyard agents list NAME` shows its options",
        ):
            lines += wrap(note, width) if width else [note]
    return lines


def _fitted(row: tuple[str, ...], widths: list[int], width: int) -> list[str]:
    """The cells of a row; on a terminal the last one goes on below itself, or below its row where there is no room beside."""
    beside = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False))
    if not width:
        return [f"{beside}  {row[-1]}"]
    room = width - sum(widths) - 2 * len(widths)
    if room >= LEAST:
        first, *more = wrap(row[-1], room)
        return [f"{beside}  {first}", *(" " * (width - room) + line for line in more)]
    below = [line for cell in row[3:] for line in wrap(cell, width - INDENT)]
    return ["  ".join(cell.ljust(size) for cell, size in zip(row[:3], widths, strict=False)).rstrip()] + [
        " " * INDENT + line for line in below
    ]


def _newest(installed: list[str]) -> str:
    """A column is as wide as its widest cell, and a client may be there in dozens of versions."""
    return f"{installed[-1]} (+{len(installed) - 1})" if len(installed) > 1 else "".join(installed) or "no"


def _row(facts: dict[str, Any]) -> tuple[str, ...]:
    return (
        facts["name"],
        _newest(facts["installed"]),
        facts["tried"],
        ", ".join(facts["needs"]["providers"]),
        ", ".join(facts["gives"]),
    )
