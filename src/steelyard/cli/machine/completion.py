"""Print a script that completes `steelyard` in a shell: verbs, their options, and names of runs.

bash:  source <(steelyard completion bash)
zsh:   source <(steelyard completion zsh)
fish:  steelyard completion fish | source
"""

from __future__ import annotations

import argparse
import sys

from steelyard.cli.run_verb import parser_of
from steelyard.cli.verbs import VERBS

HELP = "print a completion script for bash, zsh or fish"
# Verbs whose words are names of runs.
OF_RUNS = ("show", "logs", "diff", "verify", "regrade")

_BASH = """\
_steelyard() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" verb="${{COMP_WORDS[1]}}" words=""
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="{verbs}"
    else
        case "$verb" in
{cases}
        esac
    fi
    case "$word" in -*) ;; *) case "$verb" in
        {of_runs}) [ "$COMP_CWORD" -gt 1 ] && words="last $(ls .steelyard/runs 2>/dev/null)" ;;
        *) [ "$COMP_CWORD" -gt 1 ] && words="" ;;
    esac ;; esac
    while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -W "$words" -- "$word")
}}
complete -o default -F _steelyard steelyard
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=["bash", "zsh", "fish"])


def run(args: argparse.Namespace) -> int:
    options = _options()
    sys.stdout.write(_fish(options) if args.shell == "fish" else _bash(options, is_zsh=args.shell == "zsh"))
    return 0


def _options() -> dict[str, dict[str, str]]:
    """Verb -> its options, each with its help."""
    found: dict[str, dict[str, str]] = {}
    for verb in VERBS:
        actions = parser_of(verb)._actions  # noqa: SLF001  # argparse has no other list of them
        found[verb] = {name: str(action.help or "") for action in actions for name in action.option_strings}
    return found


def _bash(options: dict[str, dict[str, str]], *, is_zsh: bool) -> str:
    cases = "\n".join(f'            {verb}) words="{" ".join(names)}" ;;' for verb, names in options.items())
    script = _BASH.format(verbs=" ".join(options), cases=cases, of_runs="|".join(OF_RUNS))
    return f"autoload -U +X bashcompinit && bashcompinit\n{script}" if is_zsh else script


def _fish(options: dict[str, dict[str, str]]) -> str:
    lines = [
        f"complete -c steelyard -n __fish_use_subcommand -f -a {verb} -d {_quote(does)}"
        for verb, does in VERBS.items()
    ]
    for verb, names in options.items():
        seen = f"'__fish_seen_subcommand_from {verb}'"
        for name, help_ in names.items():
            kind = "-l" if name.startswith("--") else "-s"
            lines.append(
                f"complete -c steelyard -n {seen} {kind} {name.lstrip('-')} -d {_quote(help_.partition(';')[0])}"
            )
        if verb in OF_RUNS:
            lines.append(
                f"complete -c steelyard -n {seen} -a 'last (command ls .steelyard/runs 2>/dev/null)'"
            )
    return "\n".join(lines) + "\n"


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("%(default)s", "...")
    return f"'{escaped}'"
