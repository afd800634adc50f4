"""A Ray cluster of three nodes on this machine, a study on it, and a node that dies in the middle; then a second study on the
node that is left, with the options that are given. Prints one JSON line.

A process of its own: Ray starts threads and servers that no other test should share.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from ray._private import services
from ray.cluster_utils import Cluster

PATIENCE_S = 600.0  # a busy machine is no failure


def wait_for_nodes_patiently() -> None:
    """Ray waits 30 seconds for the start of a node, and no option changes that."""
    get_node: Any = services.get_node

    def patient_get_node(gcs_address: str, node_id: str) -> Any:
        until = time.monotonic() + PATIENCE_S
        while True:
            try:
                return get_node(gcs_address, node_id)
            except RuntimeError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.2)

    services.get_node = patient_get_node


def main(study: str, runs: str, second: str, *options: str) -> None:
    wait_for_nodes_patiently()
    cluster = Cluster()
    cluster.add_node(wait=False, num_cpus=0, include_dashboard=False)
    nodes = [cluster.add_node(wait=False, num_cpus=1) for _ in range(2)]
    cluster.wait_for_nodes(PATIENCE_S)
    command = [sys.executable, "-m", "steelyard", "study", "run"]
    on_cluster = ["--engine", "ray", "--ray-address", cluster.address]
    process = subprocess.Popen([*command, study, "--runs", runs, "--no-judge", *on_cluster])
    while len(list(Path(runs).glob("*/report.json"))) < 2 and process.poll() is None:
        time.sleep(0.05)
    cluster.remove_node(nodes[0], allow_graceful=False)
    code = process.wait()
    again = subprocess.run([*command, second, *options, *on_cluster], check=False).returncode
    cluster.shutdown()  # type: ignore[no-untyped-call]
    sys.stdout.write(json.dumps({"codes": [code, again]}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
