"""Commands that record the state of the live system for a verifier that runs in another container.

They run in the agent's sandbox, after the agent has ended and while the processes it left still run: a dump of a database,
the answer of a service. The agent could have forged what they write, so it is captured with the agent's work. A command that
fails leaves nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.agents.base import Ending
from steelyard.bench.execution_spec import VerifierSpec, bench_specs
from steelyard.contract.catalogue import GraderEntry
from steelyard.evidence.folder.blobs import store_text
from steelyard.execution.live_run import LiveRun
from steelyard.sandboxes.base import Command


def collect(run: LiveRun, checks: Sequence[GraderEntry], ending: Ending) -> None:
    if run.delivery is not None or ending.code == "infrastructure" or run.stop.is_at_once:
        return
    specs = [spec for spec in bench_specs(checks) if isinstance(spec, VerifierSpec)]
    hooks = (hook for spec in specs if spec.separate is not None for hook in spec.separate.collect)
    for hook in dict.fromkeys(hooks):
        done = run.sandbox.run(Command(("/bin/sh", "-c", hook.cmd), timeout_s=hook.timeout_s))
        streams = {"stdout": done.stdout, "stderr": done.stderr}
        run.events.append(
            "collect",
            "harness",
            {
                "cmd": hook.cmd,
                "exit": done.exit_code,
                "timed_out": done.timed_out,
                "wall_ns": done.wall_ns,
                **{name: store_text(stream.view, run.blobs) for name, stream in streams.items()},
            },
        )
        if done.lost:
            return  # the event of the agent's end says so
