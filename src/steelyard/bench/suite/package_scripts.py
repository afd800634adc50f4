"""`npm test` -> what the snapshot's package.json says that is.

    npm test                       npx jest --coverage
    cd web && npm run unit -- -i   cd web && npx jest -i
    npm test, with a pretest       export PATH=... && <pretest> && <test>

The candidate's package.json is on the bench, its scripts are not what is run. A script that runs others with a tool of
its own (`npm-run-all`) is beyond this: it is run as it is, and finds the scripts of the candidate.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard.bench.runners.command_line import last_step
from steelyard.bench.suite.command_words import command_words
from steelyard.bench.suite.suite import Suite

MAX_DEPTH = 5
MAX_BYTES = 1 << 20
# What starts a program of node_modules, beside each package manager.
_LAUNCHERS = {"npm": "npx", "yarn": "yarn", "pnpm": "pnpm exec"}
_OWN_WORDS = {"yarn": frozenset({"install", "add", "exec", "dlx", "node", "workspace", "workspaces"})}
_PATH = 'export PATH="$PWD/node_modules/.bin:$PATH" && '
_KNOWN = frozenset({"jest", "vitest", "mocha"})


def without_package_manager(suite: Suite, tree: Path) -> Suite:
    """The suite with the scripts of `tree` in place of the package manager's word for them."""
    text = _resolve(suite.command, tree, 0)
    if text == suite.command:
        return suite
    env, argv, cwd = command_words(text)
    return replace(suite, command=text, argv=argv, env={**suite.env, **env}, cwd=cwd)


def missing_script(command: str, tree: Path) -> str | None:
    """The script that a package manager is asked for and `tree` has a package.json without; None: nothing is amiss."""
    step = last_step(command)
    words = step.plain_words() if step is not None else []
    asked = _script_call(words)
    if step is None or asked is None or "--if-present" in words:
        return None
    manager, name, _ = asked
    if manager != "npm" and words[1:2] not in (
        ["run"],
        ["test"],
    ):  # yarn and pnpm also start programs by name
        return None
    folder = _folder(step.before, tree)
    return name if (folder / "package.json").is_file() and name not in _scripts(folder) else None


def _folder(before: str, tree: Path) -> Path:
    """Where the command is when the steps before it are done."""
    found = re.search(r"(?:^|&& )cd (\w[\w./-]*) && $", before)
    return tree / found.group(1) if found and ".." not in found.group(1) else tree


def _resolve(command: str, tree: Path, depth: int) -> str:
    step = last_step(command)
    asked = _script_call(step.plain_words()) if step is not None and depth < MAX_DEPTH else None
    if step is None or asked is None:
        return command
    manager, name, extra = asked
    scripts = _scripts(_folder(step.before, tree))
    own = [scripts[one] for one in (f"pre{name}", name, f"post{name}") if one in scripts]
    if name not in scripts:
        return command
    arguments = " ".join(step.words[len(step.words) - extra :]) if extra else ""
    variables = " ".join(step.words[: step.assigned])
    if len(own) == 1:
        plain = _direct(_with(variables, _with(own[0], arguments)), manager)
        if plain is not None:
            return step.before + plain
    texts = [_with(one, arguments) if one is scripts[name] else one for one in own]
    first = f"export {variables} && " if variables else ""
    steps = " && ".join(_resolve(one, tree, depth + 1) for one in texts)
    return f"{step.before}{first}{_PATH}{steps}"


def _direct(script: str, manager: str) -> str | None:
    """A script that is one command of a known runner, started as the package manager would start it."""
    step = last_step(script)
    if step is None or step.before:
        return None
    if step.plain(0) == "cross-env":
        words = tuple(word for place, word in enumerate(step.words) if place != step.assigned)
        step = last_step(" ".join(words)) or step
    if step.plain(0) not in _KNOWN:
        return None
    at = step.assigned
    return " ".join((*step.words[:at], _LAUNCHERS[manager], *step.words[at:]))


def _script_call(words: list[str]) -> tuple[str, str, int] | None:
    """(package manager, script, how many words at the end are for the script)."""
    if not words or words[0] not in _LAUNCHERS:
        return None
    own, rest = words[0], words[1:]
    if "--" in rest:
        place = rest.index("--")
        rest, extra = rest[:place], len(rest) - place - 1
    else:
        extra = 0
    rest = [word for word in rest if word not in {"-s", "--silent", "--if-present"}]
    if rest[:1] in (["run"], ["run-script"]):
        rest = rest[1:]
    elif rest[:1] in (["t"], ["tst"]) and own != "yarn":
        rest = ["test", *rest[1:]]
    elif rest[:1] != ["test"] and (own == "npm" or rest[:1] == [] or rest[0] in _OWN_WORDS.get(own, ())):
        return None
    if own != "npm":  # yarn and pnpm pass on what follows the script's name without `--`
        extra += len(rest[1:])
    return (own, rest[0], extra) if rest and (own != "npm" or len(rest) == 1) else None


def _scripts(folder: Path) -> dict[str, str]:
    package = folder / "package.json"
    if not package.is_file() or package.stat().st_size > MAX_BYTES:
        return {}
    try:
        scripts: Any = json.loads(package.read_bytes())["scripts"]
        return {name: text for name, text in scripts.items() if isinstance(text, str) and text.strip()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return {}


def _with(*texts: str) -> str:
    return " ".join(text for text in texts if text)
