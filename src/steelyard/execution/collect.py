"""Commands that write down what only a live system knows, for a verifier that has a system of its own.

They run where the agent worked, when it has ended and what it left running still runs: a dump of a database, the answer of a
service. What they leave is as good as the agent's own word, and is captured with its work. One that fails leaves nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.agents.base import Ending
from steelyard.bench.execution_spec import VerifierSpec, bench_specs
from steelyard.contract.catalogue import GraderEntry
from steelyard.evidence.folder.blobs import bounded
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
                **{name: bounded(stream.view, run.blobs) for name, stream in streams.items()},
            },
        )
        if done.lost:
            return  # the event of the agent's end says so
