"""What the contract prohibits and what the built-in rules call risky, in commands, code and plain text alike.

A built-in rule is advisory unless `policy.rules` gives its class an action. What an author wrote (`deny_commands`,
`read_paths`, `tools`, `dependencies`) is a violation, and `policy.on_violation` says what follows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from fnmatch import fnmatchcase
from posixpath import normpath

from steelyard.contract.model import Action, Policy
from steelyard.deferred.data_class import dataclass
from steelyard.deferred.named_tuple import NamedTuple
from steelyard.evidence.trace.chain import Event
from steelyard.monitors.alert import Alert, Severity
from steelyard.monitors.context import Context
from steelyard.monitors.kernel import meaning_of
from steelyard.monitors.reading import Call, Install, texts_of
from steelyard.monitors.rules.rule import EXCERPT_CHARS, Match, Rules
from steelyard.sandbox_paths import WORKSPACE

NAME = "policy"
MOST_ALERTS = 200  # of one rule; further matches change nothing
_READERS = frozenset(
    {
        "cat",
        "head",
        "tail",
        "less",
        "more",
        "nl",
        "tac",
        "grep",
        "rg",
        "egrep",
        "awk",
        "sed",
        "cut",
        "sort",
        "strings",
        "xxd",
    }
    | {"od", "base64", "cp", "diff", "wc", "jq", "vi", "vim", "nano", "source", "."}
)
# Where programs and libraries lie: every command reads there.
_SYSTEM = ("/usr/", "/bin/", "/lib", "/sbin/", "/opt/", "/dev/", "/tmp/", "/proc/self/", "/run/steelyard/")  # noqa: S108


class _Reaction(NamedTuple):
    """How grave a match is, and what follows."""

    severity: Severity
    action: Action

    @classmethod
    def to(cls, action: Action | None) -> _Reaction:
        """Without an action a match is advisory."""
        return cls("advisory", "alert") if action is None else cls("violation", action)


@dataclass(slots=True)
class PolicyMonitor:
    policy: Policy
    rules: Rules
    has_secrets: bool = True  # values of the agent's environment that no record shows
    _alerted: dict[str, int] = field(default_factory=dict)

    def observe(self, event: Event, context: Context) -> Iterator[Alert]:
        call = context.call
        if call is not None:
            yield from self._call_alerts(call)
        if event.type == "kernel.attempt" and context.is_agent_at_work:
            yield from self._kernel(event, context)
        for format_, text in texts_of(event):
            for match in self.rules.find(text, format_):
                yield from self._risky(match, event.seq)

    def _call_alerts(self, call: Call) -> Iterator[Alert]:
        yield from self._denied(call)
        yield from self._tools(call)
        yield from self._reads(call)
        for install in call.installs:
            yield from self._dependencies(install, call)
        is_exempt = call.sampled and not self.has_secrets
        found = (
            self.rules.find_argv(call.argv, has_secrets=not is_exempt)
            if call.argv
            else self.rules.find(call.line, "shell")
        )
        for match in found:
            yield from self._risky(match, call.seq)
        for format_, text in call.texts:
            for match in self.rules.find(text, format_):
                yield from self._risky(match, call.seq)

    def _risky(self, match: Match, seq: int) -> Iterator[Alert]:
        rule = match.rule
        action = self.policy.rules.get(rule.rule_class)
        yield from self._alert(
            f"rule {rule.id}",
            code=rule.rule_class,
            why=f"{rule.why}: {match.excerpt}",
            reaction=_Reaction.to(action),
            seq=seq,
            more={
                "rule": rule.id,
                "class": rule.rule_class,
                "format": match.format,
                "excerpt": match.excerpt,
            },
        )

    def _kernel(self, event: Event, context: Context) -> Iterator[Alert]:
        meaning = meaning_of(event.payload)
        if meaning is None or (context.stage == "inspect" and _is_in_workspace(event)):
            return  # a write in `inspect` is an alert of the stages
        action = None if meaning.rule_class is None else self.policy.rules.get(meaning.rule_class)
        yield from self._alert(
            meaning.rule,
            code=meaning.code,
            why=meaning.why,
            reaction=_Reaction.to(action),
            seq=event.seq,
            more={
                "rule": meaning.rule,
                "class": meaning.code,
                "format": "kernel",
                "excerpt": meaning.excerpt,
            },
        )

    def _denied(self, call: Call) -> Iterator[Alert]:
        for pattern in self.policy.deny_commands:
            for command in call.parsed.commands:
                if _is_denied(pattern, command.program, command.line):
                    yield from self._violation("deny_commands", pattern, command.line, call.seq)

    def _tools(self, call: Call) -> Iterator[Alert]:
        if call.sampled:
            return
        names = [name for name in (call.name, call.kind) if name]
        tools = self.policy.tools
        for pattern in tools.deny:
            if any(fnmatchcase(name, pattern) for name in names):
                yield from self._violation("tools", f"deny {pattern}", " ".join(names), call.seq)
        if tools.allow and not any(fnmatchcase(name, one) for name in names for one in tools.allow):
            yield from self._violation("tools", "not in allow", " ".join(names), call.seq)

    def _reads(self, call: Call) -> Iterator[Alert]:
        if not self.policy.read_paths:
            return
        paths = list(call.paths) if call.kind in {"read", "search"} else []
        for command in call.parsed.commands:
            if command.program in _READERS:
                paths += [word for word in command.words[1:] if "/" in word and not word.startswith("-")]
        for path in paths:
            if not self._may_read(path):
                yield from self._violation("read_paths", "not in read_paths", path, call.seq)

    def _may_read(self, path: str) -> bool:
        whole = normpath(path if path.startswith("/") else f"{WORKSPACE}/{path}")
        if f"{whole}/".startswith(_SYSTEM):
            return True
        inside = whole.removeprefix(f"{WORKSPACE}/") if whole.startswith(f"{WORKSPACE}/") else whole
        return any(
            fnmatchcase(inside, pattern) or inside == pattern.rstrip("/*")
            for pattern in self.policy.read_paths
        )

    def _dependencies(self, install: Install, call: Call) -> Iterator[Alert]:
        rule = self.policy.dependencies
        for package in install.packages if rule.allow else ():
            if package.startswith(("-r ", ".")) or any(fnmatchcase(package, one) for one in rule.allow):
                continue
            yield from self._violation("dependencies", "not in allow", package, call.seq)
        for registry in install.registries if rule.registries else ():
            host = registry.split("://")[-1].split("/")[0].split("@")[-1]
            if not any(
                fnmatchcase(host, one) or fnmatchcase(host.split(":")[0], one) for one in rule.registries
            ):
                yield from self._violation("dependencies", "not in registries", host, call.seq)

    def _violation(self, key: str, rule: str, excerpt: str, seq: int) -> Iterator[Alert]:
        is_mild = self.policy.effect == "penalty" and key in {"tools", "dependencies"}
        excerpt = excerpt[:EXCERPT_CHARS]
        yield from self._alert(
            f"{key} {rule} {excerpt}",
            code=key,
            why=f"policy.{key}: {rule}: {excerpt}",
            reaction=_Reaction("penalty", "alert") if is_mild else _Reaction.to(self.policy.on_violation),
            seq=seq,
            more={"rule": rule, "class": key, "format": "shell", "excerpt": excerpt},
        )

    def _alert(  # noqa: PLR0913  # the parts of one row
        self, about: str, *, code: str, why: str, reaction: _Reaction, seq: int, more: dict[str, str]
    ) -> Iterator[Alert]:
        """One alert for each match, up to a bound."""
        times = self._alerted[about] = self._alerted.get(about, 0) + 1
        if times > MOST_ALERTS:
            return
        yield Alert(
            monitor=NAME,
            code=code,
            why=why,
            severity=reaction.severity,
            action=reaction.action,
            signals={"times": times},
            threshold={"times": 1},
            events=(seq,),
            ends_as="safety",
            more=more,
        )


def _is_in_workspace(event: Event) -> bool:
    return f"{event.payload.get('target')}/".startswith(f"{WORKSPACE}/")


def _is_denied(pattern: str, program: str, line: str) -> bool:
    """`curl` denies the program, `git push*` a command line."""
    return fnmatchcase(program, pattern) or fnmatchcase(line, pattern)
