"""Wait until a new sandbox passes the contract's readiness command (`environment.ready`)."""

from __future__ import annotations

import time

from steelyard.contract.model import Ready
from steelyard.errors import ContractFault, InfraFault, Problem
from steelyard.sandboxes.base import Command, CommandResult, Sandbox


def await_ready(sandbox: Sandbox, ready: Ready | None, field: str = "environment.ready") -> None:
    """Raises ContractFault when the sandbox does not become ready: no agent has run in it yet."""
    if why := unready(sandbox, ready):
        raise ContractFault(Problem("contract.yaml", field, why))


def unready(sandbox: Sandbox, ready: Ready | None) -> str:
    """Run the command until it succeeds. Returns why it never did, or an empty string."""
    if ready is None:
        return ""
    grace, failures = time.monotonic() + ready.start_period_s, 0
    while True:
        is_early = time.monotonic() < grace
        done = sandbox.run(Command(("/bin/sh", "-c", ready.cmd), timeout_s=ready.timeout_s))
        if done.exit_code == 0:
            return ""
        if done.lost and not sandbox.stop().oom_kills:
            raise InfraFault("the sandbox died before it was ready")
        failures += not is_early
        if failures >= ready.retries or done.lost:
            return f"never ready: {_failure(done)}"
        time.sleep(ready.start_interval_s if is_early else ready.interval_s)


def _failure(done: CommandResult) -> str:
    output = (done.stderr.text.strip() or done.stdout.text.strip())[-500:]
    how = "timed out" if done.timed_out else f"exit code {done.exit_code}"
    return f"{how}{f': {output}' if output else ''}"
