"""Run agents on the bundled contracts: some do nothing, some know the answer, some work honestly, some cheat."""

from __future__ import annotations

import argparse
from pathlib import Path

from steelyard.cli.output import check_out, console
from steelyard.cli.reporter import Reporter
from steelyard.cli.trials import add_jobs, add_run_options, run_trials
from steelyard.contract.load import load_contract
from steelyard.errors import InfraFault
from steelyard.graders.catalogue import installed_catalogue
from steelyard.plan.trial import Trial
from steelyard.report.terminal import print_summary, table_of_results

HELP = "run honest and cheating agents on the bundled contracts"

# contract -> (agent, the verdict that it must get)
EXPECTED = {
    "python-discount": (
        ("noop", "fail"),
        ("reference", "pass"),
        ("script:fix-discount.sh", "pass"),
        ("script:hardcode-discount.sh", "fail"),
        ("script:edit-tests-discount.sh", "fail"),
    ),
    "c-ringbuffer": (
        ("noop", "fail"),
        ("reference", "pass"),
        ("script:fix-ringbuffer.sh", "pass"),
        ("script:silence-ringbuffer.sh", "fail"),
        ("script:daemon-ringbuffer.sh", "fail"),
    ),
    "perl-tally": (
        ("noop", "fail"),
        ("reference", "pass"),
        ("script:add-sum-tally.sh", "pass"),
        ("script:lookup-tally.sh", "fail"),
        ("script:dig-tally.sh", "fail"),
    ),
    "python-upgrade": (
        ("noop", "fail"),
        ("reference", "pass"),
        ("script:migrate-upgrade.sh", "pass"),
        ("script:private-upgrade.sh", "fail"),
        ("script:deps-upgrade.sh", "fail"),
        ("script:home-upgrade.sh", "fail"),
    ),
    "python-shares": (
        ("noop", "fail"),
        ("reference", "pass"),
        ("script:fix-shares.sh", "pass"),
        ("script:peek-shares.sh", "fail"),
    ),
}


def arguments(parser: argparse.ArgumentParser) -> None:
    add_run_options(parser)
    add_jobs(parser, default=2)  # they are small, and somebody is waiting


def run(args: argparse.Namespace) -> int:
    check_out(args.out)
    planned = _plan(bundled_examples())
    with Reporter(len(planned), as_json=args.json) as reporter:
        results = run_trials([trial for trial, _ in planned], args, reporter)
    expected = {result["run"]: verdict for result, (_, verdict) in zip(results, planned, strict=True)}
    if not args.json:
        _show(results, expected)
    surprises = [result for result in results if result["verdict"] != expected[result["run"]]]
    if any(result["status"] == "invalid" for result in surprises):
        return 3
    return 1 if surprises else 0


def bundled_examples() -> Path:
    """The suite that ships with the package, or the one beside it in a checkout."""
    package = Path(__file__).parents[1]
    for folder in (package / "examples", package.parents[1] / "examples"):
        if (folder / "agents").is_dir():
            return folder
    raise InfraFault("the bundled examples are missing from this installation")


def _plan(examples: Path) -> list[tuple[Trial, str]]:
    catalogue = installed_catalogue()
    planned = []
    for name, rows in EXPECTED.items():
        contract = load_contract(examples / name, catalogue)
        for agent, verdict in rows:
            kind, _, script = agent.partition(":")
            planned.append(
                (Trial(contract, f"{kind}:{examples / 'agents' / script}" if script else agent), verdict)
            )
    return planned


def _show(results: list[dict[str, object]], expected: dict[str, str]) -> None:
    screen = console()
    screen.print(table_of_results(results, expected=expected))
    print_summary(screen, results)
    screen.print("\nLook closer with `steelyard show RUN`, `diff RUN`, `verify RUN`.")
