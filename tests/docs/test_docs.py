"""The documentation is true: its commands parse, its links lead somewhere, its contracts load."""

from __future__ import annotations

import argparse
import importlib
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from stages import PAGES, ROOT, blocks

from command_socket import served_command

EXAMPLES = sorted(path.parent for path in ROOT.glob("examples/*/contract.yaml"))


def named(items: list[Path]) -> list[str]:
    return [str(item.relative_to(ROOT)) for item in items]


def shell_examples() -> list[str]:
    lines = [line for block in blocks("console") for line in block.text.splitlines()]
    return sorted({line.removeprefix("$ ") for line in lines if line.startswith("$ steelyard ")})


@pytest.mark.parametrize("line", shell_examples())
def test_every_command_in_the_documentation_parses(line: str) -> None:
    from steelyard.cli.verbs import VERBS, module_of

    _, verb, *words = shlex.split(line, comments=True)
    assert verb in VERBS
    module = importlib.import_module(module_of(verb))
    parser = argparse.ArgumentParser(prog=verb, allow_abbrev=False, exit_on_error=False)
    module.arguments(parser)
    parser.parse_args(words)


def test_no_command_stands_outside_the_blocks_that_tests_run() -> None:
    unread = [line for block in blocks("sh", "bash", "shell", "") for line in block.text.splitlines()]
    assert not [line for line in unread if line.removeprefix("$ ").startswith("steelyard ")]


@pytest.mark.parametrize("page", PAGES, ids=named(PAGES))
def test_every_link_leads_somewhere(page: Path) -> None:
    links = re.findall(
        r"\]\(([^)#]+)(?:#[^)]*)?\)", re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    )
    local = [link for link in links if "://" not in link]
    assert not [link for link in local if not (page.parent / link).exists()]


@pytest.mark.parametrize("page", PAGES, ids=named(PAGES))
def test_no_page_has_both_sides_of_a_merge(page: Path) -> None:
    assert not re.findall(r"^(?:<{7} |={7}$|>{7} )", page.read_text(), flags=re.MULTILINE)


def test_contracts_in_the_documentation_are_accepted() -> None:
    from steelyard.contract.model import ContractSpec

    shown = list(blocks("yaml contract"))
    assert shown
    for block in shown:
        ContractSpec.model_validate_json(_as_json(block.text))


def _as_json(text: str) -> str:
    import json

    return json.dumps(yaml.safe_load(text))


@pytest.mark.parametrize("folder", EXAMPLES, ids=named(EXAMPLES))
def test_the_example_contracts_load_without_a_doubt(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "steelyard.cli.main", "check", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stdout.lower() + done.stderr.lower()


@pytest.mark.parametrize("folder", EXAMPLES, ids=named(EXAMPLES))
def test_the_example_references_apply(folder: Path, tmp_path: Path) -> None:
    import shutil

    from steelyard.api import load_contract

    tree = tmp_path / "repo"
    shutil.copytree(load_contract(folder).snapshot.tree, tree, symlinks=True)
    subprocess.run(["git", "init", "-q", str(tree)], check=True)
    subprocess.run(["git", "apply", "--check", str(folder / "reference.patch")], cwd=tree, check=True)


def test_the_page_about_ones_own_agent_works_as_written(tmp_path: Path) -> None:
    """Its agent is made and run, and the key is nowhere; the command with a host of the internet is only parsed."""
    page = ROOT / "docs/how-to/evaluate-your-agent.md"
    own = [block for language in ("sh", "console") for block in blocks(language) if block.page == page]
    lines = [line.removeprefix("$ ") for block in own for line in block.text.splitlines()]
    runnable = [line for line in lines if "--agent-host" not in line]
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    with served_command() as programs:
        done = subprocess.run(
            ["bash", "-e", "-c", "\n".join(runnable)],
            cwd=tmp_path,
            env={
                **os.environ,
                "PATH": f"{programs}:{os.environ['PATH']}",
                "STEELYARD_CACHE": str(tmp_path / "cache"),
            },
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "mine" in done.stdout
    key = "sk-test-0123456789abcdef"
    assert key not in done.stdout + done.stderr
    records = [path for path in (tmp_path / ".steelyard").rglob("*") if path.is_file()]
    assert records
    assert not [path for path in records if key.encode() in path.read_bytes()]


def test_every_event_type_is_in_the_reference() -> None:
    from steelyard.evidence.trace.events import EVENT_TYPES

    for name in ("docs/reference/events.md", "docs/protocol.md"):
        page = (ROOT / name).read_text()
        assert not {kind for kind in EVENT_TYPES if f"`{kind}`" not in page}, name


def test_every_termination_code_and_every_alert_is_in_the_page_about_the_protocol() -> None:
    from steelyard.evidence.trace.termination import CODES
    from steelyard.execution.alerts import FOLLOWS
    from steelyard.execution.stages.stage_control import ALERT
    from steelyard.monitors.budget import CAPS
    from steelyard.monitors.liveness import ENDS_AS

    page = (ROOT / "docs/protocol.md").read_text()
    codes = {
        *CODES,
        *FOLLOWS,
        *ENDS_AS,
        *(cap.code for cap in CAPS.values()),
        ALERT,
        "no_progress",
        "check_time",
    }
    assert not {code for code in codes if f"`{code}`" not in page}


def test_every_key_of_the_budget_is_in_the_page_about_budgets() -> None:
    from steelyard.contract.model import Budget, Headroom

    page = (ROOT / "docs/budgets.md").read_text()
    keys = {
        *(Budget.model_fields.keys() - {"headroom"}),
        *(f"headroom.{name}" for name in Headroom.model_fields),
    }
    assert not {key for key in keys if f"`{key}`" not in page}


def test_every_key_of_a_result_is_in_the_reference() -> None:
    from steelyard.report.result import result_schema

    page = (ROOT / "docs/reference/result.md").read_text()
    assert not {name for name in result_schema()["properties"] if f"`{name}`" not in page}


def test_the_readme_lists_every_grader_and_no_other() -> None:
    from steelyard.graders.catalogue import CATALOGUE

    row = next(
        line for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("| graders |")
    )
    assert set(re.findall(r"`(\w+)`", row.split("|")[2])) == set(CATALOGUE.types)


def test_the_generated_pages_are_fresh() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts/docs.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
