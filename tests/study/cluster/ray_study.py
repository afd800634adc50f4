"""A Ray cluster of three nodes on this machine, a study on it, and a node that dies while an agent works there; then a second study
on the node that is left, with the options that are given. Prints one JSON line; what the first study prints is in `results.jsonl`.

The agents of the first study sleep, for a time that no other process sleeps, until the node is dead; then their sleep is ended. The runs
of that study reach the folder `runs` only through a store.

A process of its own: Ray starts threads and servers that no other test should share.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from ray._private import services
from ray.cluster_utils import Cluster

from steelyard.evidence.folder.folder import RunFolder, find_runs
from steelyard.evidence.unfinished import unfinished_state

PATIENCE_S = 600.0  # a busy machine is no failure
NODE_S, STARTS = 120.0, 10


def wait_for_nodes_patiently() -> None:
    """Ray waits 30 seconds for the start of a node, and no option changes that. What a node waits for can be changed."""
    os.environ |= {
        "RAY_agent_register_timeout_ms": str(int(PATIENCE_S * 1000)),
        "RAY_worker_register_timeout_seconds": str(int(PATIENCE_S)),
        "RAY_gcs_rpc_server_reconnect_timeout_s": str(int(PATIENCE_S)),
    }
    get_node: Any = services.get_node

    def patient_get_node(gcs_address: str, node_id: str) -> Any:
        until = time.monotonic() + NODE_S
        while True:
            try:
                return get_node(gcs_address, node_id)
            except RuntimeError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.2)

    services.get_node = patient_get_node


def start_node(cluster: Any, **options: Any) -> Any:
    """A node gives up, and never registers, if its own agents take 15 seconds to start. That limit is compiled in; another node may start in time."""
    for _ in range(STARTS - 1):
        with suppress(Exception):  # Ray raises no class of its own
            return cluster.add_node(wait=False, **options)
    return cluster.add_node(wait=False, **options)


def main(study: str, runs: str, blobs: str, sleep_s: str, second: str, *options: str) -> None:
    wait_for_nodes_patiently()
    cluster = Cluster()
    start_node(cluster, num_cpus=0, include_dashboard=False)
    nodes = [start_node(cluster, num_cpus=1) for _ in range(2)]
    cluster.wait_for_nodes(PATIENCE_S)
    command = [sys.executable, "-m", "steelyard", "study", "run"]
    on_cluster = ["--engine", "ray", "--ray-address", cluster.address]
    words = [*command, study, "--runs", runs, "--blobs", blobs, "--no-judge", "--json", *on_cluster]
    with Path(runs).with_name("results.jsonl").open("wb") as results:
        process = subprocess.Popen(words, stdout=results)
    while len(at_work := _at_work(Path(runs))) < len(nodes) and process.poll() is None:
        time.sleep(0.05)
    followed = _follow(at_work[0]) if at_work else ""
    workers = _children(nodes[0].all_processes["raylet"][0].process.pid)
    cluster.remove_node(nodes[0], allow_graceful=False)
    while any(map(_is_alive, workers)):  # a worker could still deliver its run
        time.sleep(0.05)
    while (code := process.poll()) is None:
        _end_sleep(sleep_s)
        time.sleep(0.05)
    again = subprocess.run([*command, second, *options, *on_cluster], check=False).returncode
    cluster.shutdown()  # type: ignore[no-untyped-call]
    sys.stdout.write(json.dumps({"codes": [code, again], "followed": followed}) + "\n")


def _at_work(runs: Path) -> list[RunFolder]:
    """Runs under way whose agent has printed something that reached this machine."""
    return [
        run
        for run in find_runs(runs)
        if unfinished_state(run) == "running" and run.file("agent/stdout.txt").exists()
    ]


def _stat(pid: int) -> list[str]:
    """State, parent and more of a process; nothing of one that is gone."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return []


def _children(parent: int) -> list[int]:
    pids = [int(path.name) for path in Path("/proc").glob("[0-9]*")]
    return [pid for pid in pids if _stat(pid)[1:2] == [str(parent)]]


def _is_alive(pid: int) -> bool:
    return _stat(pid)[:1] not in ([], ["Z"])


def _end_sleep(sleep_s: str) -> None:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if path.read_bytes() == f"sleep\0{sleep_s}\0".encode():
                os.kill(int(path.parent.name), signal.SIGKILL)


def _follow(run: RunFolder) -> str:
    """What `steelyard logs` prints of a run that goes on elsewhere."""
    words = [sys.executable, "-m", "steelyard", "logs", str(run.path)]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    main(*sys.argv[1:])
