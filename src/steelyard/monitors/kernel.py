"""A `kernel.attempt` -> what it means: the class of a rule, or none, and why.

A call that ordinary programs try and do without (`io_uring_setup`) is no alert. Every other refused call is one: advisory, unless
`policy.rules` gives its class an action. A refused write, read or program without a class stays advisory. Programs that walk through all
folders (`find /`) or through /proc (`ps`, `sysctl -a`) are refused some as a matter of course: no alert, unless it is a secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.contract.model import RuleClass
from steelyard.deferred.named_tuple import NamedTuple
from steelyard.deferred.pattern import deferred_pattern
from steelyard.monitors.rules.rule import EXCERPT_CHARS

# Runtimes and allocators try these at their start, or where a debugger might be; a refusal changes nothing for them.
ORDINARY = frozenset(
    {"io_uring_setup", "io_uring_enter", "io_uring_register", "process_madvise", "personality", "kcmp"}
)
# Set-user-id programs that exist to act as another user; `mount` and `ping` also list and measure.
_ESCALATING = frozenset({"sudo", "sudoedit", "su", "doas", "pkexec", "newgrp", "sg"})
_SYSTEM = ("/etc/", "/boot/", "/bin/", "/sbin/", "/lib", "/usr/bin/", "/usr/sbin/", "/usr/lib", "/root/")
_SECRETS = ("/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/.ssh/", "/.aws/", "/.netrc")
# Of reading alone. Process 1 and the kernel itself may have what the sandbox keeps from an agent.
_SECRETS_TO_READ = (*_SECRETS, "/proc/kcore", "/run/secrets/", "/etc/ssl/private/", "/.gnupg/")
_MEMORY = deferred_pattern(r"/proc/\d+/(task/\d+/)?(environ|mem)")
_OF_THE_KERNEL = ("/proc/", "/sys/")
_DUMP_SETTING = deferred_pattern(r"/proc/\d+/coredump_filter")  # every start of a JVM writes its own
_STARTS_LATER = (
    "/etc/cron",
    "/var/spool/cron",
    "/etc/systemd/",
    "/etc/init.d/",
    "/etc/rc.local",
    "/etc/profile",
)


class Meaning(NamedTuple):
    """`rule_class` is None where no class of `policy.rules` covers it."""

    code: str
    rule_class: RuleClass | None
    rule: str
    why: str
    excerpt: str


def meaning_of(payload: Mapping[str, Any]) -> Meaning | None:
    """None: no alert."""
    kind, call = str(payload.get("kind", "")), str(payload.get("call", ""))
    target, process = str(payload.get("target") or ""), str(payload.get("process", ""))
    shown = f"{process}: {call} {target}".strip()[:EXCERPT_CHARS]
    if kind == "connect":
        where = target or "an address that it hid"
        return Meaning("network", "network", "kernel connect", f"{process} tried to reach {where}", shown)
    if kind == "open" and not _DUMP_SETTING.fullmatch(target):
        found = _class_of_path(target)
        why = f"{process} tried to write {target or 'a path that it hid'}: {payload.get('error')}"
        return Meaning(found or "denied_open", found, "kernel open", why, shown)
    if kind in {"read", "list"}:
        return _meaning_of_read(payload, kind, target, process, shown)
    if kind == "exec":
        is_set_user = payload.get("error") == "EPERM"
        is_escalating = is_set_user and target.rpartition("/")[2] in _ESCALATING
        found = "privilege_escalation" if is_escalating else None
        why = f"{process} started {target}, which asks for the rights of another user"
        why = why if is_set_user else f"{process} tried to start {target}: {payload.get('error')}"
        return Meaning(found or "denied_exec", found, "kernel exec", why, shown)
    if call in ORDINARY or kind == "open":
        return None
    found = "network" if call == "socket" else "privilege_escalation"
    return Meaning(found, found, "kernel call", f"{process} tried the denied system call {call}", shown)


def _meaning_of_read(
    payload: Mapping[str, Any], kind: str, target: str, process: str, shown: str
) -> Meaning | None:
    is_secret = any(part in f"{target}/" for part in _SECRETS_TO_READ) or _MEMORY.fullmatch(target)
    if not is_secret and (kind == "list" or target.startswith(_OF_THE_KERNEL)):
        return None
    found: RuleClass | None = "secret_access" if is_secret else None
    result = payload.get("error") or "it hides its memory"
    why = f"{process} tried to read {target or 'a path that it hid'}: {result}"
    return Meaning(found or "denied_read", found, "kernel read", why, shown)


def _class_of_path(path: str) -> RuleClass | None:
    if any(part in path for part in _SECRETS):
        return "secret_access"
    if path.startswith(_STARTS_LATER):
        return "persistence"
    return "destructive" if path.startswith(_SYSTEM) and "/__pycache__/" not in f"{path}/" else None
