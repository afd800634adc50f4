"""BASELINE SCRATCH COMMAND... -> the merged view, the baseline and the upper, as descriptors on a socket.

Runs alone in a mount namespace. The mounts outlive it for as long as somebody holds the descriptors.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path


def stage(channel: int, baseline: str, scratch: str, command: list[str]) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", scratch], check=True)
    for name in ("upper", "work", "merged"):
        (Path(scratch) / name).mkdir()
    layers = f"lowerdir={baseline},upperdir={scratch}/upper,workdir={scratch}/work"
    options = f"{layers},redirect_dir=on,index=off,metacopy=off"
    merged = f"{scratch}/merged"
    subprocess.run(["mount", "-t", "overlay", "overlay", "-o", options, merged], check=True)
    subprocess.run(command, cwd=merged, check=True)
    fds = [os.open(path, os.O_RDONLY | os.O_DIRECTORY) for path in (merged, baseline, f"{scratch}/upper")]
    with socket.socket(fileno=channel) as sock:
        socket.send_fds(sock, [b"x"], fds)


if __name__ == "__main__":
    stage(int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:])
