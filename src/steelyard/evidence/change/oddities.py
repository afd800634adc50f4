"""Names, links and modes of a hostile tree -> what is odd about them, in words."""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Iterable

_IGNORED = frozenset(map(chr, (0x00AD, 0x034F, 0x061C, 0x115F, 0x1160, 0x3164, 0xFEFF, 0xFFA0)))


def odd_name(name: str) -> str:
    """Why a reader could be misled by this name, or ""."""
    if any(0xDC80 <= ord(char) <= 0xDCFF for char in name):
        return "the name is not UTF-8"
    if any(_invisible(char) for char in name):
        return "the name has control, bidirectional or invisible characters"
    # Other file systems, and git itself, take these for the repository's own folder.
    if stands_for_git(name):
        return "the name means .git on other file systems"
    return ""


def stands_for_git(name: str) -> bool:
    return fold_name(name) == ".git" or name.casefold().startswith("git~")


def _invisible(char: str) -> bool:
    return char in _IGNORED or unicodedata.category(char) in {"Cc", "Cf", "Zl", "Zp"}


def fold_name(name: str) -> str:
    """What a file system that ignores case and composition would call it."""
    if name.isascii():
        return name.lower().rstrip(". ")
    visible = "".join(char for char in name if not _invisible(char))
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", visible).casefold()).rstrip(". ")


def collisions(names: Iterable[str]) -> dict[str, str]:
    """Each name that another name in the same folder folds to as well -> one such other."""
    groups: dict[str, list[str]] = {}
    for name in sorted(names, key=os.fsencode):
        groups.setdefault(fold_name(name), []).append(name)
    return {
        name: group[0] if name != group[0] else group[1]
        for group in groups.values()
        if len(group) > 1
        for name in group
    }


def escapes(path: str, target: str) -> bool:
    """Whether a link at `path` may lead out of the tree.

    `..` is only sure to mean "one up" before the first name: after it, that name may be a link itself.
    """
    if target.startswith("/"):
        return True
    parts = [part for part in target.split("/") if part not in {"", "."}]
    ups = next((index for index, part in enumerate(parts) if part != ".."), len(parts))
    return ups > path.count("/") or ".." in parts[ups:]


def special_bits(mode: int) -> int:
    return mode & (stat.S_ISUID | stat.S_ISGID | stat.S_ISVTX)


def shut_out(mode: int) -> bool:
    """Whether the owner may not read it: a naive walk would pass it by."""
    needed = 0o500 if stat.S_ISDIR(mode) else 0o400
    return mode & needed != needed
