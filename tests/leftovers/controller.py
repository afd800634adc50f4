"""A controller of its own process: runs trials until it is told to stop, and says what it holds.

    controller.py CONTRACT OUT TRIALS JOBS AGENT

Prints one line of JSON a trial: {"verdict": "fail", "descriptors": 14, "threads": 3}.
"""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path

import steelyard
from steelyard.plan.trial import Trial
from steelyard.report.result import result_line
from steelyard.study.engine import Engine


def main() -> None:
    contract = steelyard.load_contract(sys.argv[1])
    out, trials, jobs, agent = Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
    engine = Engine(out, jobs=jobs)
    for _ in range(0, trials, jobs):
        for result in engine.run(Trial(contract, agent, number) for number in range(1, jobs + 1)):
            line = result_line(result.record.evidence, result.record.grading)
            held = {
                "verdict": line["verdict"],
                "status": line["status"],
                "runs": len(result.records),
                "descriptors": len(list(Path("/proc/self/fd").iterdir())),
                "threads": threading.active_count(),
            }
            sys.stdout.write(json.dumps(held) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
