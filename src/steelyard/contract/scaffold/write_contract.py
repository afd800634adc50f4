"""A repository -> the first contract.yaml, brief.md and hidden test for it, commented, valid, to be filled in."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path

from steelyard.contract.briefing import TEMPLATE
from steelyard.contract.model import NAME_PATTERN
from steelyard.contract.scaffold.languages import LANGUAGES, Recipe, Repository, detect, source_places
from steelyard.contract.scaffold.templates import ANSWER, CONTRACT, QUESTION, QUESTION_BRIEF, VERIFIER
from steelyard.contract.snapshot.git_source import check_commit, check_id, git_dir_of
from steelyard.deferred.named_tuple import NamedTuple
from steelyard.errors import ContractFault, OperatorFault
from steelyard.filesystem.git import GitRefused, git
from steelyard.filesystem.tree import printable

_NETWORK = "setup_network: host             # for setup only: agents and checks have no network"
_NO_BUILD = (
    "build: none                     # remove this line once a check is `under: build` or `under: static`"
)


class SnapshotOrigin(NamedTuple):
    """Where the snapshot is to come from; neither means a folder `repo` to be filled."""

    git: Path | None = None
    commit: str | None = None
    tree: Path | None = None
    id: str | None = None
    language: str | None = None  # None: by the repository's files
    question: bool = False  # a contract without a repository
    node: str | None = None  # the release of Node.js on this machine


class NewContract(NamedTuple):
    """The files of a new contract, and what they were made for."""

    paths: list[Path]
    language: str | None  # None: a question
    because: str


def write_contract(folder: Path, asked: SnapshotOrigin) -> NewContract:
    """Write the files of a new contract. Nothing is ever overwritten."""
    if asked.id is not None and not re.fullmatch(NAME_PATTERN, asked.id):
        raise OperatorFault(f"--id {asked.id!r} cannot be an id; it must match {NAME_PATTERN}")
    if folder.exists() and not folder.is_dir():
        raise OperatorFault(f"{folder} is not a folder; nothing was written")
    name = (
        asked.id
        if asked.id is not None
        else re.sub(r"[^A-Za-z0-9._-]+", "-", folder.absolute().name).strip("-._")
    )
    quoted = json.dumps(name or "contract")
    if asked.question:
        return NewContract(_write(folder, _question_files(quoted, asked)), None, "")
    texts, language, because = _repository_files(folder, quoted, asked)
    paths = _write(folder, texts)
    if asked.git is None and asked.tree is None:
        (folder / "repo").mkdir(exist_ok=True)
    return NewContract(paths, language, because)


def _question_files(name: str, asked: SnapshotOrigin) -> dict[str, str]:
    if asked.git is not None or asked.tree is not None or asked.language is not None:
        raise OperatorFault("a question has no repository: --question without --git, --tree, --language")
    return {
        "contract.yaml": QUESTION.format(id=name),
        "brief.md": QUESTION_BRIEF,
        "tests/test.sh": VERIFIER,
        "right.txt": ANSWER,
    }


def _repository_files(folder: Path, name: str, asked: SnapshotOrigin) -> tuple[dict[str, str], str, str]:
    repository = _repository(folder, asked)
    files = list_files(asked.git, asked.commit, asked.tree)
    language, because = (asked.language, "--language") if asked.language else detect(files)
    recipe = LANGUAGES[language].recipe(files)
    places = json.dumps(source_places(files, language))
    contract = CONTRACT.format(id=name, repository=repository, places=places, **_lines(recipe, asked.node))
    return (
        {"contract.yaml": contract, "brief.md": TEMPLATE, f"hidden/{recipe.hidden}": recipe.text},
        language,
        because,
    )


def _lines(recipe: Recipe, node: str | None) -> dict[str, str]:
    """What a recipe puts into the text of a contract, line by line."""
    setup = [f"  - {command}" for command in recipe.setup]
    build_check = f"    - {{id: build, under: build, cmd: {json.dumps(recipe.build)}}}\n"
    return {
        "toolchain": _toolchain_line(recipe.toolchain, node),
        "setup": "\n".join(
            ["setup:                          # run once and cached, before any agent", *setup, _NETWORK]
        )
        if setup
        else "# setup:                        # run once and cached, before any agent\n#   - make deps",
        "build": "" if recipe.build else f"{_NO_BUILD}\n\n",
        "build_check": build_check if recipe.build else "",
        "cmd": recipe.cmd,
        "runner": "".join(
            f"      {key}: {value}\n"
            for key, value in (("runner", recipe.runner), ("junit_xml", recipe.junit_xml))
            if value
        ),
        "alternatives": f"      # or: {recipe.alternatives}\n" if recipe.alternatives else "",
        "src": f"hidden/{recipe.hidden}",
        "dest": recipe.dest,
    }


def _toolchain_line(toolchain: tuple[str, str] | None, node: str | None) -> str:
    if toolchain is None:
        return '  # toolchains: {python: "3.11"}  # toolchains of this machine; without it only /usr is available'
    name, release = toolchain
    wanted = node if name == "node" and node else release
    return f'  toolchains: {{{name}: "{wanted}"}}    # of this machine'


def _write(folder: Path, texts: Mapping[str, str]) -> list[Path]:
    paths = {folder / name: text for name, text in texts.items()}
    for path in paths:
        if path.exists() or path.is_symlink():
            raise OperatorFault(f"{path} exists; nothing was written")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in paths.items():
            path.parent.mkdir(exist_ok=True)
            with path.open("x") as file:
                file.write(text)
    except OSError as error:
        raise OperatorFault(f"{error.filename or folder}: {error.strerror}") from error
    return list(paths)


def list_files(git_path: Path | None, commit: str | None, tree: Path | None) -> Repository:
    """The files that a contract will start from; of a bundle none are known yet."""
    if git_path is not None and git_path.is_dir():
        return _committed_files(git_dir_of(git_path), commit or "HEAD")
    if tree is not None:
        return _folder_files(tree)
    return Repository()


def _committed_files(git_dir: Path, commit: str) -> Repository:
    paths = git(git_dir, "ls-tree", "-r", "-z", "--name-only", commit).decode(errors="replace").split("\0")

    def read(path: str) -> str:
        return git(git_dir, "cat-file", "blob", f"{commit}:{path}").decode(errors="replace")

    return Repository(frozenset(paths), read)


def _folder_files(tree: Path) -> Repository:
    paths = frozenset(
        str(Path(folder, name).relative_to(tree)) for folder, _, names in os.walk(tree) for name in names
    )

    def read(path: str) -> str:
        return (tree / path).read_text(errors="replace") if (tree / path).is_file() else ""

    return Repository(paths, read)


def _repository(folder: Path, asked: SnapshotOrigin) -> str:
    if asked.git is not None and asked.tree is not None:
        raise OperatorFault("use --git or --tree, not both")
    if asked.git is not None:
        return _git_lines(folder, asked.git, asked.commit)
    if asked.commit is not None:
        raise OperatorFault("--commit needs --git")
    name = "repo" if asked.tree is None else os.path.relpath(asked.tree, folder)
    if asked.tree is not None and not asked.tree.is_dir():
        raise OperatorFault(f"{asked.tree} is not a folder")
    if name.startswith("..") or name == ".":
        raise OperatorFault(
            f"{asked.tree} must be a folder inside {folder}; copy it there first, as {folder}/repo"
        )
    return f"  tree: {json.dumps(name)}                  # a folder with the files that the agent starts from"


def _git_lines(folder: Path, path: Path, commit: str | None) -> str:
    if not path.exists():
        raise OperatorFault(f"{path} does not exist")
    if path.is_dir():
        git_dir = _git_dir(path)
        commit = commit or _head(git_dir, path)
        check_id(commit)  # before git would take a short one
        check_commit(git_dir, commit)
    if commit is None:
        raise OperatorFault(
            f"a bundle needs --commit with the full commit id: `git bundle list-heads {path}` names some"
        )
    check_id(commit)
    place = _text(os.path.relpath(path, folder))
    return f"  git: {json.dumps(place)}\n  commit: {json.dumps(commit)}\n  history: none                 # or full"


def _git_dir(path: Path) -> Path:
    try:
        return git_dir_of(path)
    except ContractFault as error:  # no contract has been written that it could be a fault of
        raise OperatorFault(f"{path} is not a git repository; `git init` there, or --tree DIR") from error


def _text(path: str) -> str:
    """A path that YAML can hold."""
    try:
        path.encode()
    except UnicodeEncodeError as error:
        why = "its name is not UTF-8, and a contract cannot name it; rename it, or give a link to it"
        raise OperatorFault(f"{printable(path)}: {why}") from error
    return path


def _head(git_dir: Path, path: Path) -> str:
    try:
        return git(git_dir, "rev-parse", "--verify", "HEAD^{commit}").decode().strip()
    except GitRefused as error:
        raise OperatorFault(
            f"{path} has no commit yet: `git add -A && git commit` there, then try again"
        ) from error
