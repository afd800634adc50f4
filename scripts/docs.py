"""The code -> the reference pages of `docs/`.   usage: docs.py [--check]

    docs/reference/cli.md                 from the parsers of the verbs
    docs/reference/contract.md            from the models behind contract.yaml
    docs/reference/contract.schema.json   the same, for editors
    docs/reference/result.schema.json     the line that `--json` prints
    docs/reference/result.md              only its table of verdict rules, between two marks
    docs/reference/rules.md               from src/steelyard/monitors/rules/rules.yaml
    docs/limits.md                        only how many risky operations the rules catch, between two marks
    docs/graders.md                       from the docstrings of the graders
    docs/failure-modes.md                 from src/steelyard/verdict/failures/failure_modes.jsonl
    docs/reference/evaluation.schema.json EvaluationResult, the public record of a reward
    docs/reference/why.schema.json        gates, outcomes and evidence pointers, as `show --why --json` prints them
    docs/reference/rubric.csv             the gated rubric as a table to fill in

`--check` writes nothing and exits 1 when a page is not what the code says.
"""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[1] / "docs"
NOTES = Path(__file__).with_name("contract_notes.yaml")
MADE = "<!-- Made by `make docs` from the code; edit the code instead. -->\n"
RULES_BEGIN = "<!-- made by `make docs` from src/steelyard/verdict/rules.py -->"
RULES_END = "<!-- end of what is made -->"
RATES_BEGIN = "<!-- made by `make docs` from scripts/risky_operations.yaml -->"
OPERATIONS = Path(__file__).with_name("risky_operations.yaml")
FORMATS = {"shell": "shell", "python": "code", "text": "text"}
WIDTH = 100


def cli_page() -> str:
    """Every verb with its help, as the terminal would show it 100 columns wide."""
    parts = [MADE, "# The command line\n", "`steelyard VERB --help` prints the same.\n"]
    verbs = import_module("steelyard.cli.verbs")
    for verb in verbs.VERBS:
        if find_spec(verbs.module_of(verb)) is None:
            parts.append(f"## {verb}\n\nNot there yet.\n")
            continue
        module = import_module(verbs.module_of(verb))
        parser = argparse.ArgumentParser(
            prog=f"steelyard {verb}",
            description=module.__doc__,
            formatter_class=lambda prog: argparse.HelpFormatter(prog, max_help_position=32, width=WIDTH),
        )
        module.arguments(parser)
        parts.append(f"## {verb}\n\n```text\n{parser.format_help().strip()}\n```\n")
    return "\n".join(parts)


def contract_page() -> str:
    """Every key of contract.yaml: a table for each model, the outermost first."""
    model = import_module("steelyard.contract.model")
    schema = model.ContractSpec.model_json_schema(by_alias=True)
    parts = [
        MADE,
        "# contract.yaml\n",
        "Unknown keys are refused. [Graders](../graders.md) lists the options of graders and checks.",
        "For an editor: [contract.schema.json](contract.schema.json).\n",
        *_model_section("The contract", schema, model.ContractSpec),
    ]
    for name in _in_order_of_use(schema):
        parts += _model_section(_section(name), schema["$defs"][name], getattr(model, name))
    return "\n".join(parts)


def _section(model: str) -> str:
    """The heading of a model: `EnvironmentSpec` is `Environment`."""
    return model.removesuffix("Spec")


def _in_order_of_use(schema: Mapping[str, Any]) -> list[str]:
    order: list[str] = []
    waiting = [schema]
    while waiting:
        for name in re.findall(r"#/\$defs/(\w+)", json.dumps(waiting.pop(0).get("properties", {}))):
            if name not in order:
                order.append(name)
                waiting.append(schema["$defs"][name])
    return order


def _model_section(title: str, schema: Mapping[str, Any], model: Any) -> Iterator[str]:
    yield f"## {title}\n"
    doc = vars(model).get("__doc__")
    if doc:
        yield f"{inspect.cleandoc(doc)}\n"
    yield "| key | type | default | |"
    yield "|---|---|---|---|"
    notes = _notes()[model.__name__]
    missing = _not_yet().get(model.__name__, {})
    for name, field in model.model_fields.items():
        key = field.alias or name
        default = "required" if field.is_required() else _default(field)
        shape = schema["properties"][key]
        note = notes.pop(key) + (_refusal(shape, missing[key]) if key in missing else "")
        yield f"| `{key}` | {_type(shape)} | {default} | {note} |"
    if notes:
        raise KeyError(
            f"contract_notes.yaml has notes for keys that {model.__name__} has not: {sorted(notes)}"
        )
    yield ""


def _notes() -> dict[str, dict[str, str]]:
    notes: dict[str, dict[str, str]] = import_module("yaml").safe_load(NOTES.read_text())
    return notes


def _not_yet() -> dict[str, dict[str, Callable[[Any], bool]]]:
    """Model -> key -> which values are refused, because their part of Steelyard does not exist yet."""
    spec = import_module("steelyard.contract.model").ContractSpec
    properties = spec.model_json_schema(by_alias=True)["properties"]
    found: dict[str, dict[str, Callable[[Any], bool]]] = {}
    for row in import_module("steelyard.contract.parse.not_yet").NOT_YET:
        *outer, key = row.place
        model = properties[outer[0]]["$ref"].rpartition("/")[2] if outer else spec.__name__
        found.setdefault(model, {})[key] = row.refused
    return found


def _refusal(shape: Mapping[str, Any], refused: Callable[[Any], bool]) -> str:
    choices = re.findall(r"`(\w+)`", _type(shape))
    absent = [choice for choice in choices if refused(choice) or refused([choice])]
    if absent and len(absent) < len(choices):
        return f"; not yet: {', '.join(f'`{choice}`' for choice in absent)}"
    return (
        f"; not yet: anything but {', '.join(f'`{choice}`' for choice in choices)}"
        if choices
        else "; **not yet**"
    )


def _default(field: Any) -> str:
    value = field.get_default(call_default_factory=True)
    if value is None:
        return "none"
    if hasattr(value, "model_dump"):
        return "its own"
    if isinstance(value, tuple | dict):
        return f"`{json.dumps(value)}`" if value else "empty"
    return f"`{json.dumps(value)}`"


def _type(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        name = _section(schema["$ref"].rpartition("/")[2])
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(_type(choice) for choice in schema["anyOf"] if choice.get("type") != "null")
    if "enum" in schema or "const" in schema:
        return ", ".join(f"`{choice}`" for choice in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    if schema.get("type") == "object":
        values = schema.get("additionalProperties")
        return f"map to {_type(values)}" if isinstance(values, dict) else "map"
    return " ".join(filter(None, [schema.get("type", "anything"), _bounds(schema)]))


def _bounds(schema: Mapping[str, Any]) -> str:
    signs = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}
    bounds = [f"{sign} {schema[key]:g}" for key, sign in signs.items() if key in schema]
    if "pattern" in schema:
        bounds.append("like `{}`".format(schema["pattern"].replace("|", "\\|")))
    return ", ".join(bounds)


def graders_page() -> str:
    """One section a grader, in the catalogue's order, from its docstring and its fields."""
    catalogue = import_module("steelyard.graders.catalogue").CATALOGUE
    parts = [
        MADE,
        "# Graders\n",
        "A *check* of the oracle has an `id` and is required by default; a *grader* may have a `name`. Both may have",
        "`weight`, `gate` and `under`, a grader also `required`; the defaults are below.",
        "Checks and graders that execute something run on a fresh bench, never in the agent's tree.\n",
        "- A grader with `required: false` fails no gate. Optional graders still count by weight; one with `weight: 0`",
        "  is *advisory*: it is shown but changes nothing.",
        "- `weight` is its share of the score. The score must reach `pass_threshold` (1.0 by default),",
        "  so a grader that must not fail a run needs `weight: 0`.",
        "- `gate: true` makes a grader required, without a share of the score.",
        "- `under` is the gate it belongs to: `build` and `static` (builds), `acceptance`, or `safety`.\n",
    ]
    for name, grader in catalogue.types.items():
        parts += _grader_section(name, grader)
    if catalogue.planned:
        planned = ", ".join(f"`{name}`" for name in sorted(catalogue.planned))
        parts.append(f"## Not supported yet\n\nContracts with these types are refused: {planned}.\n")
    return "\n".join(parts)


def _grader_section(name: str, grader: Any) -> Iterator[str]:
    yield f"## {name}\n"
    for part in re.split(r"\n(?=Why:|Example:|Fooled by:)", inspect.cleandoc(grader.__doc__)):
        yield re.sub(r"^(Why|Example|Fooled by):", r"**\1:**", part.strip()) + "\n"
    runs = ", executes on the bench" if grader.EXECUTES else ""
    yield f"*Default: {_counts_as(grader)}, under `{grader.UNDER}`{runs}.*\n"
    yield "| option | type | default |"
    yield "|---|---|---|"
    schema = import_module("pydantic").TypeAdapter(grader).json_schema()
    for field in dataclasses.fields(grader):
        shape = schema["properties"][field.name]
        yield f"| `{field.name}` | {_inline(_type(shape), schema)} | {_option_default(field, shape)} |"
    yield ""


def _option_default(field: Any, shape: Mapping[str, Any]) -> str:
    if field.default_factory is not dataclasses.MISSING:
        return f"`{json.dumps(field.default_factory())}`"
    if field.default is dataclasses.MISSING:
        return "required"
    return f"`{json.dumps(shape.get('default', field.default))}`"


def _counts_as(grader: Any) -> str:
    """What an entry of this type does to a verdict unless it says otherwise."""
    if getattr(grader, "GATE", False):
        return f"a gate (with `gate: false`: weight {grader.WEIGHT:g})"
    advisory = "advisory, weight 0" if not grader.WEIGHT else f"not required, weight {grader.WEIGHT:g}"
    kind = f"required, weight {grader.WEIGHT:g}" if grader.REQUIRED else advisory
    threshold = getattr(grader, "PASS_THRESHOLD", 1.0)
    return kind if threshold == 1.0 else f"{kind}, passes at {threshold:g}"


def _inline(text: str, schema: Mapping[str, Any]) -> str:
    """Small objects are shown where they are used: `{src, dest}`."""

    def members(link: re.Match[str]) -> str:
        return "`{" + ", ".join(schema["$defs"][link[1]]["properties"]) + "}`"

    return re.sub(r"\[(\w+)\]\(#\w+\)", members, text)


def result_page() -> str:
    """The page as its authors wrote it, with the table of verdict rules made again between its marks."""
    text = (DOCS / "reference/result.md").read_text()
    before, mark, rest = text.partition(RULES_BEGIN)
    _, end, after = rest.partition(RULES_END)
    if not mark or not end:
        raise ValueError(f"docs/reference/result.md has no {RULES_BEGIN} ... {RULES_END}")
    table = import_module("steelyard.verdict.rules").verdict_table()
    return f"{before}{RULES_BEGIN}\n{table}{RULES_END}{after}"


def failure_modes_page() -> str:
    """Every failure mode: what it means, which gates it can explain, and what must be on record for it."""
    modes = import_module("steelyard.verdict.failures.taxonomy").taxonomy()
    parts = [
        MADE,
        "# Failure modes\n",
        "The closed list of tags of a run. A tag follows from evidence by one deterministic rule, and carries a pointer to that",
        "evidence: `events.jsonl#12` is an event, `checks/unit/outcome.json#TEST` a test of a check, `findings.json#PATH` a",
        "finding, `gradings#NAME` a grade. A run that passed has only the modes that are marked with *. Tags label runs; they",
        "change no verdict and no score. `cause` says whom a mode speaks of.\n",
        "| id | meaning | gates | minimum evidence | cause | attributes |",
        "|---|---|---|---|---|---|",
    ]
    for mode in modes.values():
        star = " *" if mode.assigned == "any" else ""
        gates = ", ".join(mode.gates) or "-"
        named = [
            f"`{name}`: {values if values == 'text' else ', '.join(values)}"
            for name, values in mode.attributes.items()
        ]
        parts.append(
            f"| `{mode.id}`{star} | {mode.meaning} | {gates} | {mode.minimum_evidence} | {mode.cause} | {'; '.join(named)} |"
        )
    return "\n".join([*parts, ""])


def evaluation_schema() -> str:
    model = import_module("steelyard.verdict.evaluation").EvaluationResult
    return _json({"$schema": import_module("steelyard.contract.schema").DIALECT, **model.model_json_schema()})


def why_schema() -> str:
    return _json(import_module("steelyard.report.explanation.schema").explanation_schema())


def rubric_table() -> str:
    """A line for each gate, dimension and subscore: what it is, its range, and where its evidence lies."""
    rows = import_module("steelyard.verdict.rubric_template").ROWS
    return "\n".join(
        [",".join(rows[0]._fields), *(",".join(f'"{cell}"' for cell in row) for row in rows), ""]
    )


def rules_page() -> str:
    """Every policy rule, with what it matches and what it must not match."""
    rules = import_module("steelyard.monitors.rules.rule").built_in_rules()
    parts = [
        MADE,
        "# Policy rules\n",
        f"Version `{rules.version}`, digest `{rules.digest}`. The manifest of a run has both.\n",
        "A rule matches shell commands, code and plain text alike, and the alert records the `format`. It is advisory unless",
        "`policy.rules` of the contract gives its class an action. A shell pattern is matched at the beginning of each command of a",
        "pipe, after wrappers such as `env` and `sh -c` are opened; a text pattern in each sentence, unless a negation stands before it.",
        "The examples are tested: each of the first column must match, none of the second may.\n",
    ]
    for rule in rules.rules:
        parts += [
            f"## {rule.id}\n",
            f"Class `{rule.rule_class}`: {rule.why}.{_without_secrets(rule.without_secrets)}\n",
            "| format | matches | does not match |",
            "|---|---|---|",
        ]
        for name in rule.match:
            parts.append(f"| {name} | {_examples(rule.match[name])} | {_examples(rule.no_match[name])} |")
        parts.append("")
    return "\n".join(parts)


def _without_secrets(programs: frozenset[str]) -> str:
    listed = ", ".join(f"`{one}`" for one in sorted(programs))
    clause = "that is only seen as a process, without words, is no match where the agent is given no secret"
    return f" {listed} {clause}." if programs else ""


def _examples(examples: tuple[str, ...]) -> str:
    return "<br>".join(_code(one) for one in examples)


def _code(text: str) -> str:
    marks = "``" if "`" in text else "`"
    return f"{marks}{text}{marks}".replace("\n", " ⏎ ").replace("|", "\\|")


def limits_page() -> str:
    """The page as its authors wrote it, with the share of risky operations that is caught made again between its marks."""
    text = (DOCS / "limits.md").read_text()
    before, mark, rest = text.partition(RATES_BEGIN)
    _, end, after = rest.partition(RULES_END)
    if not mark or not end:
        raise ValueError(f"docs/limits.md has no {RATES_BEGIN} ... {RULES_END}")
    return f"{before}{RATES_BEGIN}\n{rates_table()}{RULES_END}{after}"


def rates_table() -> str:
    rules = import_module("steelyard.monitors.rules.rule").built_in_rules()
    listed = import_module("yaml").safe_load(OPERATIONS.read_text())
    lines = ["| format | risky operations caught | benign look-alikes caught |", "|---|---|---|"]
    for name, format_ in FORMATS.items():
        caught, benign = (
            sum(any(True for _ in rules.find(one[name], format_)) for one in listed[kind])
            for kind in ("risky", "benign")
        )
        lines.append(f"| {name} | {caught} of {len(listed['risky'])} | {benign} of {len(listed['benign'])} |")
    return "\n".join(lines) + "\n"


def contract_schema() -> str:
    catalogue = import_module("steelyard.graders.catalogue").CATALOGUE
    return _json(import_module("steelyard.contract.schema").contract_schema(catalogue))


def result_schema() -> str:
    return _json(import_module("steelyard.report.result").result_schema())


def _json(data: Any) -> str:
    return json.dumps(data, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


PAGES: dict[str, Callable[[], str]] = {
    "reference/cli.md": cli_page,
    "reference/contract.md": contract_page,
    "reference/contract.schema.json": contract_schema,
    "reference/result.schema.json": result_schema,
    "reference/result.md": result_page,
    "reference/rules.md": rules_page,
    "limits.md": limits_page,
    "graders.md": graders_page,
    "failure-modes.md": failure_modes_page,
    "reference/evaluation.schema.json": evaluation_schema,
    "reference/why.schema.json": why_schema,
    "reference/rubric.csv": rubric_table,
}


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Write the generated pages of docs/.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a page is stale")
    check = parser.parse_args(argv).check
    stale = 0
    for name, page in PAGES.items():
        path = DOCS / name
        old, new = path.read_text() if path.exists() else "", page()
        if old == new:
            continue
        stale += 1
        if check:
            sys.stdout.writelines(
                list(difflib.unified_diff(old.splitlines(True), new.splitlines(True), name, "the code"))[:40]
            )
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(new)
            sys.stdout.write(f"wrote docs/{name}\n")
    if check and stale:
        sys.stderr.write(f"{stale} of {len(PAGES)} generated pages are stale: make docs\n")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
