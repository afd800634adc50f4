"""The verbs of the command line: what each does, its module, and what a misspelt one was probably meant to be."""

from __future__ import annotations

from collections.abc import Iterable

# verb -> what it does; its module is steelyard.cli.<folder>.<verb>
GROUPS = {
    "begin, and write contracts": {
        "demo": "run honest and cheating agents on the bundled contracts",
        "init": "write a new contract to start from",
        "import": "import SWE-bench rows, touchstone cases, Harbor and aec-bench tasks, scorers",
        "check": "find mistakes in a contract before any agent runs",
        "certify": "try a contract before money is spent: reference, empty change, repeats, known cheats",
        "schema": "print a JSON Schema: contract, result line, evaluation, annotation, why",
    },
    "run agents, grade changes": {
        "run": "run agents on contracts",
        "agents": "list agents; `agents install NAME` installs the client of one",
        "grade": "grade a patch or a folder against a contract, without an agent",
        "serve": "grade patches that arrive over HTTP, for programs that train or rank",
        "plan": "write a study down before it runs: contracts, agents, order, budgets, stopping rules",
        "study": "run a planned study, resume it, show its progress",
        "operate": "decide about paused runs: list, show the alert, resume, terminate or quarantine",
    },
    "read results": {
        "runs": "list runs: when, contract, agent, verdict; `runs rm`, `runs gc` remove some",
        "show": "show a run: verdict, gates, grades, findings",
        "view": "read results in a browser: explorer, runs, contracts, agents, studies",
        "report": "summarise a study or runs: rates with intervals, comparisons, cost, disclosures",
        "compare": "compare two agents on the contracts that they share; an exit code for CI",
        "power": "how many contracts and repeats a comparison needs",
        "logs": "print what the agent of a run printed; -f follows it",
        "diff": "show what a run changed, or how two runs differ",
    },
    "review, verify, repeat": {
        "review": "record what a person thinks of a run; list disagreements",
        "judge": "measure how far the judge agrees with people",
        "verify": "verify that the record of a run was not altered",
        "replay": "make the recorded changes of a run again and compare the results",
        "regrade": "grade sealed runs again; the original result still counts",
        "rescore": "what the results would be under other caps or weights: counterfactual, never mixed with results",
    },
    "look after this machine": {
        "doctor": "report what this machine can enforce, and how to fix what it cannot",
        "cache": "show the cache and its size; `cache prune` removes old entries",
        "store": "the index of runs: `store rebuild` makes it again from the run folders",
        "completion": "print a completion script for bash, zsh or fish",
    },
}
VERBS = {verb: does for group in GROUPS.values() for verb, does in group.items()}
_MODULES = {
    "authoring": ("demo", "init", "import_", "check", "certify", "schema"),
    "running": ("run", "agents", "grade", "serve", "plan", "study", "operate"),
    "reading": ("list_runs", "show", "view", "report", "compare", "power", "logs", "diff"),
    "records": ("review", "judge", "verify", "replay", "regrade", "rescore"),
    "machine": ("doctor", "cache", "store_index", "completion"),
}  # folder -> its verbs
_NAMES = {
    "import": "import_",
    "runs": "list_runs",
    "store": "store_index",
}  # a keyword, and modules that others import
_SYNONYMS = {  # words of other tools, and what they are here
    "list": "runs",
    "ls": "runs",
    "eval": "run",
    "test": "run",
    "validate": "check",
    "lint": "check",
    "certificate": "certify",
    "new": "init",
    "log": "logs",
    "score": "grade",
    "clean": "doctor",
    "resume": "operate",
    "pause": "operate",
    "export": "runs",
    "retain": "runs",
}


def module_of(verb: str) -> str:
    name = _NAMES.get(verb, verb)
    folder = next(folder for folder, names in _MODULES.items() if name in names)
    return f"steelyard.cli.{folder}.{name}"


def verb_like(word: str) -> str:
    """The verb that `word` was probably meant to be, or nothing."""
    hint = similar(word, [*VERBS, *_SYNONYMS])
    return _SYNONYMS.get(hint, hint)


def similar(word: str, words: Iterable[str]) -> str:
    """The one that `word` was probably meant to be, or nothing."""
    import difflib  # noqa: PLC0415  # only where something is wrong

    return next(iter(difflib.get_close_matches(word, words, n=1, cutoff=0.6)), "")
