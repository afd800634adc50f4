"""Variables and rules that keep a git of the bench from running what a change wrote down.

    HEAD, refs/, objects/, config at the top of a workspace    looks like a bare repository; git would obey its config
    .git/config with core.fsmonitor                            of a whole system, where `.git` is carried

The variables stand above every file of settings. A contract that sets GIT_CONFIG_COUNT for a check has its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_ALWAYS = {
    "core.fsmonitor": "false",
    "core.pager": "cat",
    "core.sshCommand": "ssh",
    "core.alternateRefsCommand": "",
    "core.attributesFile": "/dev/null",
    "protocol.ext.allow": "never",
}
# In a workspace no `.git` of the agent's is on the bench, so there is no hook and no repository to be found.
_OF_WORKSPACES = {"safe.bareRepository": "explicit", "core.hooksPath": "/dev/null"}

_CONFIG = re.compile(r"(^|/)(\.?gitconfig|config|config\.worktree|\.gitmodules)$")
_KEYS = re.compile(
    rb"^\s*(\[[^\]\n]*\]\s*)?"
    rb"(fsmonitor|hookspath|sshcommand|pager|editor|gitproxy|askpass|alternaterefscommand|worktree|attributesfile|excludesfile"
    rb"|external|command|textconv|driver|clean|smudge|process|program|helper|packobjectshook|cmd|path|[\w-]+\s*=\s*[\"']?!)",
    re.IGNORECASE | re.MULTILINE,
)
_SECTION = re.compile(
    rb"^\s*\[\s*(core|alias|filter|diff|merge|include|includeif|credential|gpg|uploadpack|receive|difftool|mergetool|pager)\b",
    re.IGNORECASE | re.MULTILINE,
)


def git_variables(scope: str) -> Mapping[str, str]:
    """For a command of the bench."""
    settings = _ALWAYS if scope == "system" else {**_ALWAYS, **_OF_WORKSPACES}
    found = {"GIT_CONFIG_COUNT": str(len(settings)), "GIT_TERMINAL_PROMPT": "0"}
    for number, (key, value) in enumerate(settings.items()):
        found |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return found


def is_git_config(path: str) -> bool:
    return _CONFIG.search(path) is not None


def runs_programs(config: bytes) -> bool:
    """Whether settings of git name a program, or other settings."""
    return _SECTION.search(config) is not None and _KEYS.search(config) is not None
