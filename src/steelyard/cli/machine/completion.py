"""Print a script that completes `steelyard` in a shell: verbs, their options and values, and names of runs.

bash:  source <(steelyard completion bash)
zsh:   source <(steelyard completion zsh)
fish:  steelyard completion fish | source
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from steelyard.cli.run_verb import parser_of
from steelyard.cli.verbs import VERBS
from steelyard.evidence.folder.folder import RUNS

HELP = "print a completion script for bash, zsh or fish"

_BASH = """\
_steelyard() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" verb="${{COMP_WORDS[1]}}" words="" runs=""
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="{verbs}"
    else
        case "$verb $before" in
{values}
            *) case "$word" in
                -*) case "$verb" in
{options}
                esac ;;
                *) case "$verb" in
{places}
                esac ;;
            esac ;;
        esac
    fi
    while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -W "$words" -- "$word")
    [ -z "$runs" ] || while IFS= read -r line; do
        case "$line" in
            *[!A-Za-z0-9._-]*) ;;
            "$word"*) COMPREPLY+=("$line") ;;
        esac
    done < <(command ls {runs} 2>/dev/null)
}}
complete -o default -F _steelyard steelyard
"""


@dataclass(frozen=True)
class Words:
    """What can follow a verb."""

    options: Mapping[str, str]  # each with its help
    values: Mapping[str, Sequence[str]]  # of the options that have only some
    places: Sequence[str]  # words that stand without an option
    takes_runs: bool

    @property
    def bare(self) -> list[str]:
        return [*self.places, *(["last"] if self.takes_runs else [])]


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=["bash", "zsh", "fish"])


def run(args: argparse.Namespace) -> int:
    words = {verb: _words(parser_of(verb)) for verb in VERBS}
    sys.stdout.write(_fish(words) if args.shell == "fish" else _bash(words, is_zsh=args.shell == "zsh"))
    return 0


def _words(parser: argparse.ArgumentParser) -> Words:
    actions = parser._actions  # noqa: SLF001  # argparse has no other list of them
    bare = [one for one in actions if not one.option_strings]
    return Words(
        options={name: str(one.help or "") for one in actions for name in one.option_strings},
        values={name: [*one.choices] for one in actions if one.choices for name in one.option_strings},
        places=[str(word) for one in bare for word in one.choices or ()],
        takes_runs=any(str(one.metavar).startswith("RUN") for one in bare),
    )


def _bash(words: Mapping[str, Words], *, is_zsh: bool) -> str:
    values = [
        f'            "{verb} {option}") words="{" ".join(allowed)}" ;;'
        for verb, one in words.items()
        for option, allowed in one.values.items()
    ]
    options = [
        f'                    {verb}) words="{" ".join(one.options)}" ;;' for verb, one in words.items()
    ]
    # `compgen -W` expands its words, commands too, so names of folders are not among them.
    places = [
        f'                    {verb}) words="{" ".join(one.bare)}" runs={"yes" if one.takes_runs else ""} ;;'
        for verb, one in words.items()
        if one.bare
    ]
    script = _BASH.format(
        runs=RUNS,
        verbs=" ".join(words),
        values="\n".join(values),
        options="\n".join(options),
        places="\n".join(places),
    )
    return f"autoload -U +X bashcompinit && bashcompinit\n{script}" if is_zsh else script


def _fish(words: Mapping[str, Words]) -> str:
    lines = [
        f"complete -c steelyard -n __fish_use_subcommand -f -a {verb} -d {_quote(does)}"
        for verb, does in VERBS.items()
    ]
    for verb, one in words.items():
        seen = f"'__fish_seen_subcommand_from {verb}'"
        for name, help_ in one.options.items():
            kind = "-l" if name.startswith("--") else "-s"
            allowed = f" -x -a {_quote(' '.join(one.values[name]))}" if name in one.values else ""
            lines.append(
                f"complete -c steelyard -n {seen} {kind} {name.lstrip('-')}{allowed} -d {_quote(help_.partition(';')[0])}"
            )
        runs = [f"(command ls {RUNS} 2>/dev/null)"] if one.takes_runs else []
        if one.bare:
            lines.append(f"complete -c steelyard -n {seen} -a {_quote(' '.join([*one.bare, *runs]))}")
    return "\n".join(lines) + "\n"


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("%(default)s", "...")
    return f"'{escaped}'"
