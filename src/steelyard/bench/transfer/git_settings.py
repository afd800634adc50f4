"""Variables and rules that keep a git of the bench from running what a change wrote down.

    HEAD, refs/, objects/, config at the top of a workspace    looks like a bare repository; git would obey its config
    .git/config with core.fsmonitor                            of a whole system, where `.git` is carried

No `.git` of a workspace reaches the bench, and without a HEAD a folder is no repository. The variables stand above every
file of settings, for commands and verifiers, which are believed by their word. A contract or a check that sets
GIT_CONFIG_COUNT itself has its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from steelyard.deferred.pattern import deferred_pattern

_ALWAYS = {"core.fsmonitor": "false", "core.pager": "cat", "protocol.ext.allow": "never"}
_OF_WORKSPACES = {"safe.bareRepository": "explicit"}

_CONFIG = deferred_pattern(r"(^|/)(\.?gitconfig|config|config\.worktree|\.gitmodules)$")
_HEAD = deferred_pattern(rb"\s*(ref:|[0-9a-fA-F]{40})")
_KEYS = deferred_pattern(
    rb"^\s*(\[[^\]\n]*\]\s*)?"
    rb"(fsmonitor|hookspath|sshcommand|pager|editor|gitproxy|askpass|alternaterefscommand|worktree|attributesfile|excludesfile"
    rb"|external|command|textconv|driver|clean|smudge|process|program|helper|packobjectshook|cmd|path|[\w-]+\s*=\s*[\"']?!)",
    re.IGNORECASE | re.MULTILINE,
)
_SECTION = deferred_pattern(
    rb"^\s*\[\s*(core|alias|filter|diff|merge|include|includeif|credential|gpg|uploadpack|receive|difftool|mergetool|pager)\b",
    re.IGNORECASE | re.MULTILINE,
)


def git_variables(scope: str) -> Mapping[str, str]:
    """Of a whole system a bare repository can be the work, and its verifier may well look into it."""
    settings = _ALWAYS if scope == "system" else {**_ALWAYS, **_OF_WORKSPACES}
    found = {"GIT_CONFIG_COUNT": str(len(settings)), "GIT_TERMINAL_PROMPT": "0"}
    if scope != "system":
        found["GIT_CEILING_DIRECTORIES"] = "/"
    for number, (key, value) in enumerate(settings.items()):
        found |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return found


def is_git_config(path: str) -> bool:
    return _CONFIG.search(path) is not None


def is_git_hook(path: str) -> bool:
    return re.search(r"\.git(/modules/.+)?/hooks/[^/.]+$", path) is not None


def makes_a_repository(path: str, content: bytes | None) -> bool:
    """Whether a file is a HEAD as git wants it; a link in its place is one, too (`content` is None)."""
    if path.rsplit("/", 1)[-1] != "HEAD":
        return False
    return content is None or _HEAD.match(content) is not None


def runs_programs(config: bytes) -> bool:
    """Whether settings of git name a program, or other settings."""
    return _SECTION.search(config) is not None and _KEYS.search(config) is not None
