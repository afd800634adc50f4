"""Asks of the tests -> the candidate's answers, over the bridge. One connection for each process of tests."""

import fnmatch
import json
import os
import socket
import threading
from typing import Any, BinaryIO, Dict, List, Optional

from .values import MAX_FRAME, CannotCross, Malformed, from_line, to_line

with open(os.path.join(os.path.dirname(__file__), "settings.json")) as _file:
    SETTINGS: Dict[str, Any] = json.load(_file)
LINE = 2 * MAX_FRAME


class CandidateGone(BaseException):
    """The candidate's process died, hung, sent too much or sent something that is no answer.

    No `Exception`, so that dying is never taken for the error that a test expects.
    """


class Link:
    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._socket: Optional[socket.socket] = None
        self._lines: Optional[BinaryIO] = None
        self._process = 0
        self._last = 0
        self._unused: List[int] = []
        self.generation = 0  # of the candidate's process: objects of an earlier one are gone

    def ask(self, op: str, **fields: Any) -> Dict[str, Any]:
        """The answer's only key and what is under it, or CandidateGone."""
        with self._lock:
            if len(self._unused) >= 200 and op != "drop":
                dropped, self._unused = self._unused, []
                self.ask("drop", handles=dropped)
            return self._request(op, fields)

    def forget(self, generation: int, number: int) -> None:
        """The tests hold this object no longer. The candidate learns of released objects in batches."""
        if generation == self.generation:
            self._unused.append(number)

    def reset(self) -> None:
        self.ask("reset")
        self._next_generation()

    def _request(self, op: str, fields: Dict[str, Any]) -> Dict[str, Any]:
        self._connect()
        self._last += 1
        assert self._socket is not None
        assert self._lines is not None
        self._socket.sendall(to_line(dict(fields, id=self._last, op=op)))
        line = self._lines.readline(LINE)
        if not line.endswith(b"\n"):
            raise CandidateGone("the split ended")
        answer = self._read(line)
        if "gone" in answer:
            self._next_generation()
            raise CandidateGone(str(answer["gone"])[:500])
        return answer

    def _read(self, line: bytes) -> Dict[str, Any]:
        try:
            answer = from_line(line)
        except Malformed as error:
            raise CandidateGone("the candidate's answer is %s" % error) from None
        if answer.pop("id", None) != self._last or len(answer) != 1:
            raise CandidateGone("the candidate's answer is malformed")
        return answer

    def _next_generation(self) -> None:
        self.generation += 1
        self._unused = []

    def _connect(self) -> None:
        if self._socket is not None and self._process == os.getpid():
            return
        # A forked process of tests asks on its own connection, and so a candidate's process of its own.
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(SETTINGS["address"])
        self._lines = self._socket.makefile("rb")
        self._process, self._last = os.getpid(), 0
        self._next_generation()
        self._socket.sendall(to_line({"hello": 1, "worker": "python"}))


LINK = Link()


def may_stay(label: str) -> bool:
    """May what this name gives stay in the candidate's sandbox, as an object that is used from here?"""
    return any(fnmatch.fnmatchcase(label, pattern) for pattern in SETTINGS["objects"])


def refusal(label: str, why: Any) -> CannotCross:
    reason = str(why).replace("cannot cross the split: ", "")[:1000]
    if "not plain data" not in reason:
        return CannotCross("%s: %s" % (label, reason))
    return CannotCross(
        "%s gave %s. If the tests need the object itself, list %r under the check's `objects`"
        % (label, reason, label)
    )
