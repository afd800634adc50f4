r"""The candidate, as split tests reach it: it is in another sandbox, and only plain data goes there and back.

    import candidate

    done = candidate.run(["./tally", "--sum"], stdin=b"1\n2\n")
    assert (done.exit_code, done.stdout) == (0, b"3\n")

Importing one of the candidate's Python modules works too; see docs/split.md.
"""

from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Union

from .link import LINK, SETTINGS, CandidateGone
from .proxies import call as _call
from .proxies import decode_result, encode_argument, install, request, stand_in
from .values import CannotCross

__all__ = [
    "CandidateGone",
    "CannotCross",
    "Process",
    "ProgramResult",
    "Response",
    "call",
    "exists",
    "http",
    "list",
    "read",
    "reset",
    "run",
    "stand_in",
    "start",
    "write",
]
_List = List[str]


class ProgramResult(NamedTuple):
    """How a program ended: `exit_code`, or None and the `signal` that ended it."""

    exit_code: Optional[int]
    stdout: bytes
    stderr: bytes
    signal: Optional[int] = None


class Response(NamedTuple):
    status: int
    headers: Dict[str, str]  # names in lower case
    body: bytes


class Process:
    """A program that was started and runs on, until `stop` or the end of the tests."""

    def __init__(self, number: int) -> None:
        self._number = number

    def stop(self) -> ProgramResult:
        return _ran(_remote_op("stop", process=self._number), 0)

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()


def run(
    argv: Sequence[str],
    stdin: Union[bytes, str] = b"",
    cwd: str = "",
    env: Optional[Dict[str, str]] = None,
    timeout_s: Optional[float] = None,
) -> ProgramResult:
    """Run a program where the candidate is; `cwd` is relative to its workspace. TimeoutError after `timeout_s`."""
    limit_s = float(timeout_s or SETTINGS["call_s"])
    answer = _remote_op("run", argv=_words(argv), stdin=_data(stdin), cwd=cwd, env=env or {}, limit_s=limit_s)
    return _ran(answer, limit_s)


def start(argv: Sequence[str], cwd: str = "", env: Optional[Dict[str, str]] = None) -> Process:
    """Start a program that runs on: a server."""
    answer = _remote_op("start", argv=_words(argv), cwd=cwd, env=env or {})
    return Process(_checked(answer["process"], int))


def http(  # noqa: PLR0913, PLR0917  # what a request is made of
    method: str,
    path: str,
    body: Union[bytes, str] = b"",
    headers: Optional[Dict[str, str]] = None,
    port: int = 8000,
    timeout_s: Optional[float] = None,
) -> Response:
    """One request to 127.0.0.1 of the candidate's sandbox. ConnectionRefusedError while no server listens."""
    limit_s = float(timeout_s or SETTINGS["call_s"])
    pairs = [[name, value] for name, value in (headers or {}).items()]
    answer = _remote_op(
        "http", method=method, path=path, body=_data(body), headers=pairs, port=port, limit_s=limit_s
    )
    found = {
        _checked(name, str).lower(): _checked(value, str)
        for name, value in _checked(answer["headers"], _list)
    }
    return Response(_checked(answer["status"], int), found, _bytes(answer["body"]))


def read(path: str) -> bytes:
    """A file of the candidate's workspace, up to 4 MiB. FileNotFoundError and such as everywhere."""
    return _bytes(_remote_op("read", path=path))


def write(path: str, data: Union[bytes, str]) -> None:
    """Write a file there, with the folders above it."""
    _remote_op("write", path=path, data=_data(data))


def exists(path: str) -> bool:
    return _remote_op("exists", path=path) is True


def list(path: str = "") -> _List:  # noqa: A001  # candidate.list reads well
    """The names in a folder there, in order."""
    return [_checked(name, str) for name in _checked(_remote_op("list", path=path), _list)]


def call(target: str, *args: Any, **kwargs: Any) -> Any:
    """Call "module:function" with data; the same as importing it."""
    module, _, name = target.partition(":")
    return _call({"module": module, "path": name.split(".")}, target, args, kwargs, None)


def reset() -> None:
    """A new process for the candidate's code; its files, and programs that were started, stay."""
    LINK.reset()


_list: Any = type([])


def _remote_op(op: str, **fields: Any) -> Any:
    limit_s = fields.get("limit_s")
    if limit_s is not None:
        fields["timeout_s"] = limit_s + 10
    return request(op, "candidate.%s" % op, **fields)


def _ran(answer: Any, limit_s: float) -> ProgramResult:
    names = {"exit_code", "signal", "timed_out", "stdout", "stderr"}
    ended: List[Any] = (
        [answer["exit_code"], answer["signal"]] if isinstance(answer, dict) and set(answer) == names else [""]
    )
    if not all(one is None or type(one) is int for one in ended):
        raise CandidateGone("the answer to candidate.run is malformed")
    if answer["timed_out"] is True:
        raise TimeoutError("timed out after %g s" % limit_s)
    return ProgramResult(ended[0], _bytes(answer["stdout"]), _bytes(answer["stderr"]), ended[1])


def _words(argv: Sequence[str]) -> _List:
    if isinstance(argv, str) or not all(isinstance(word, str) for word in argv):
        raise TypeError("argv is a list of words: ['./tally', '--sum']")
    return [*argv]


def _data(value: Union[bytes, str]) -> Any:
    return encode_argument(value.encode() if isinstance(value, str) else bytes(value), "candidate")


def _bytes(answer: Any) -> bytes:
    return _checked(decode_result(answer, "candidate"), bytes)  # type: ignore[no-any-return]


def _checked(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise CandidateGone("the candidate's answer is malformed")
    return value


install()
