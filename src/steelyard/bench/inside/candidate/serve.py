"""The loop of a harness program in the candidate's sandbox: one ask a line in, one answer a line out.

stdin and stdout are the channel. Before anything of the candidate's can run they are moved out of the way: what it
prints goes to stderr, and what it reads is empty.
"""

import os
import sys
from typing import Any, BinaryIO, Callable, Dict

from .values import MAX_FRAME, CannotCross, Malformed, from_line, to_line

Answer = Callable[[Dict[str, Any]], Dict[str, Any]]


def serve(source: BinaryIO, answer: Answer) -> None:
    """Until stdin ends. `answer` gives the rest of the frame: ok, raised or refused."""
    target = _own_channel()
    while True:
        line = source.readline(MAX_FRAME + 1)
        if not line.endswith(b"\n"):
            return
        ask = from_line(line)
        try:
            frame = to_line(dict(answer(ask), id=ask["id"]))
        except (CannotCross, Malformed) as error:
            frame = to_line({"id": ask["id"], "refused": str(error)[:1000]})
        view = memoryview(frame)
        while view:
            view = view[os.write(target, view) :]


def _own_channel() -> int:
    """A high descriptor for answers, which no program uses by accident; 0 then reads nothing, and 1 is stderr."""
    sys.stdout.flush()
    target = os.dup(1)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    os.dup2(2, 1)
    return target
