"""Builds the probe with the ring that was changed, runs it, and compares what it says with what is expected.

What is expected is read and removed before anything of the change is compiled or run, so that cannot look it up; and
this process shuts its memory to others of the same user (prctl 4, PR_SET_DUMPABLE).
"""

import ctypes
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
CC = ["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-Isrc"]


def main():
    if ctypes.CDLL(None).prctl(4, 0, 0, 0, 0) != 0:
        sys.exit("cannot shut this process's memory")
    file = HERE / "expected.txt"
    expected = file.read_bytes()
    file.unlink()
    Path("out").mkdir(exist_ok=True)
    subprocess.run([*CC, "-o", "out/probe", str(HERE / "probe.c"), "src/ring.c"], check=True, timeout=40)
    said = subprocess.run(["out/probe"], stdout=subprocess.PIPE, check=True, timeout=10).stdout
    sys.exit(None if said == expected else "the probe says something else than expected")


main()
