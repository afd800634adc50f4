"""Texts on stdin -> where the rules match, on stdout. A program of its own, because a search cannot be interrupted.

    first line    JSON: the regular expression
    then          u32 bytes, u32 milliseconds, the text in UTF-8       ->      JSON: [[start, length, number of the rule], ...]

A search that takes longer than its time ends this process (SIGALRM): the other side reads an end of file. So nothing is left
behind by a controller that is killed during a search, either.
"""

import json
import re
import signal
import struct
import sys


def main() -> None:
    either = re.compile(json.loads(sys.stdin.buffer.readline()))
    while head := sys.stdin.buffer.read(8):
        size, time_ms = struct.unpack("<II", head)
        text = sys.stdin.buffer.read(size).decode("utf-8", "surrogatepass")
        signal.setitimer(signal.ITIMER_REAL, time_ms / 1000)
        found = [
            [match.start(), len(match[0]), number]
            for match in either.finditer(text)
            if match[0]
            for number in [int(str(match.lastgroup).removeprefix("rule"))]
        ]
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
