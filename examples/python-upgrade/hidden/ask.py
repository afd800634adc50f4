"""Asks `python3 -m contents` about documents, and compares what it prints with what it printed before the upgrade.

The cases are read into memory and removed before it is asked for the first time, so it cannot look them up; and this
process shuts its memory to others of the same user (prctl 4, PR_SET_DUMPABLE), so it cannot reach in here either.
"""

import ctypes
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def main():
    if ctypes.CDLL(None).prctl(4, 0, 0, 0, 0) != 0:
        sys.exit("cannot shut this process's memory")
    cases = []
    for document in sorted((HERE / "cases").glob("*.md")):
        text = document.read_bytes()
        cases.append((document.stem, [], text, (0, document.with_suffix(".contents").read_bytes())))
        links = document.with_suffix(".links").read_bytes()
        cases.append((f"{document.stem} --links", ["--links"], text, (1 if links else 0, links)))
    shutil.rmtree(HERE)
    wrong = [name for name, arguments, text, expected in cases if ask(arguments, text) != expected]
    for name in wrong:
        print(f"FAILED: {name}")
    print(f"{len(cases) - len(wrong)} of {len(cases)} as expected")
    sys.exit(bool(wrong) or not cases)


def ask(arguments, text):
    try:
        done = subprocess.run(
            [sys.executable, "-B", "-m", "contents", *arguments],
            input=text,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=10,
            cwd="/",
            env={"PYTHONPATH": f"{ROOT / '.deps'}:{ROOT / 'src'}", "LC_ALL": "C.UTF-8"},
        )
    except subprocess.TimeoutExpired:
        return None
    return done.returncode, done.stdout


main()
