"""Runs programs, reads and writes files and asks over HTTP in the candidate's sandbox, for `candidate.run` and such.

No code of the candidate's is loaded here, but what it starts can do what it likes to this process: what comes from
here is a claim too.
"""

import contextlib
import importlib
import os
import signal
import subprocess
import threading
from typing import Any, BinaryIO, Dict, List, Optional

from .serve import serve
from .values import CannotCross, decode, encode

MAX_OUTPUT_BYTES = 2 << 20  # bytes of each output stream
READ = 4 << 20  # bytes of a file or of an HTTP body
MAX_NAMES = 10_000
MAX_PROCESSES = 32
GRACE_S = 5.0


class Program:
    """One program under way. Its output is read to the end, and kept up to a limit."""

    def __init__(self, ask: Dict[str, Any], base: str, stdin: bytes) -> None:
        self._process = subprocess.Popen(
            ask["argv"],
            cwd=os.path.join(base, ask["cwd"]),
            env=dict(os.environ, **ask["env"]),
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._outputs = {"stdout": bytearray(), "stderr": bytearray()}
        self._threads = [self._thread(self._drain, name) for name in self._outputs]
        self._feeding = self._thread(self._feed, stdin) if stdin else None

    def ended(self, timeout_s: Optional[float]) -> Dict[str, Any]:
        try:
            code = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.kill(signal.SIGKILL)
            code = self._process.wait()
            return self._result(code, timed_out=True)
        return self._result(code, timed_out=False)

    def stopped(self) -> Dict[str, Any]:
        self.kill(signal.SIGTERM)
        try:
            self._process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            self.kill(signal.SIGKILL)
        return self._result(self._process.wait(), timed_out=False)

    def kill(self, number: int) -> None:
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, number)

    def _result(self, code: int, *, timed_out: bool) -> Dict[str, Any]:
        for thread in self._threads:
            thread.join(1.0)  # a process that was left behind may hold the pipe for ever
        result: Dict[str, Any] = {
            name: encode(bytes(output), _no_object) for name, output in self._outputs.items()
        }
        result.update(exit_code=code if code >= 0 else None, signal=-code if code < 0 else None)
        return dict(result, timed_out=timed_out)

    def _drain(self, name: str) -> None:
        stream, output = getattr(self._process, name), self._outputs[name]
        while True:
            data = stream.read1(1 << 16)
            if not data:
                return
            output += data[: MAX_OUTPUT_BYTES - len(output)]

    def _feed(self, stdin: bytes) -> None:
        try:
            self._process.stdin.write(stdin)  # type: ignore[union-attr]
            self._process.stdin.close()  # type: ignore[union-attr]
        except OSError:
            pass

    @staticmethod
    def _thread(target: Any, argument: Any) -> threading.Thread:
        thread = threading.Thread(target=target, args=(argument,), daemon=True)
        thread.start()
        return thread


class Hands:
    def __init__(self, base: str) -> None:
        self._base = base
        self._programs: Dict[int, Program] = {}
        self._last = 0

    def answer(self, ask: Dict[str, Any]) -> Dict[str, Any]:
        try:
            return {"ok": getattr(self, "_op_" + ask["op"])(ask)}
        except (OSError, ValueError) as error:
            mro = [[one.__module__, one.__qualname__] for one in type(error).__mro__[:-1]]
            args = [one if isinstance(one, (int, str)) else repr(one) for one in error.args]
            return {"raised": {"mro": mro, "args": args, "text": str(error)[:1000], "attrs": []}}

    def _op_run(self, ask: Dict[str, Any]) -> Dict[str, Any]:
        return Program(ask, self._base, _bytes(ask["stdin"])).ended(ask["limit_s"])

    def _op_start(self, ask: Dict[str, Any]) -> Dict[str, Any]:
        if len(self._programs) >= MAX_PROCESSES:
            raise CannotCross("more than %d programs at once" % MAX_PROCESSES)
        self._last += 1
        self._programs[self._last] = Program(ask, self._base, b"")
        return {"process": self._last}

    def _op_stop(self, ask: Dict[str, Any]) -> Dict[str, Any]:
        return self._programs.pop(ask["process"]).stopped()

    def _op_read(self, ask: Dict[str, Any]) -> Any:
        with open(self._path(ask), "rb") as file:
            data = file.read(READ + 1)
        if len(data) > READ:
            raise CannotCross("a file of more than %d bytes" % READ)
        return encode(data, _no_object)

    def _op_write(self, ask: Dict[str, Any]) -> None:
        path = self._path(ask)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(_bytes(ask["data"]))

    def _op_exists(self, ask: Dict[str, Any]) -> bool:
        return os.path.exists(self._path(ask))

    def _op_list(self, ask: Dict[str, Any]) -> List[str]:
        names = sorted(os.listdir(self._path(ask)))[:MAX_NAMES]
        return [name.encode(errors="replace").decode() for name in names]

    def _op_http(self, ask: Dict[str, Any]) -> Dict[str, Any]:
        client: Any = importlib.import_module("http.client")  # slow to load, and not always needed
        connection = client.HTTPConnection("127.0.0.1", ask["port"], timeout=ask["limit_s"])
        try:
            connection.request(ask["method"], ask["path"], _bytes(ask["body"]) or None, dict(ask["headers"]))
            response = connection.getresponse()
            body = response.read(READ + 1)
        except client.HTTPException as error:
            raise ConnectionError("what came back is not HTTP: %r" % error) from None
        finally:
            connection.close()
        if len(body) > READ:
            raise CannotCross("an answer of more than %d bytes" % READ)
        headers = [[name, value] for name, value in response.getheaders()]
        return {"status": response.status, "headers": headers, "body": encode(body, _no_object)}

    def _path(self, ask: Dict[str, Any]) -> str:
        return os.path.join(self._base, ask["path"])


def _bytes(data: Any) -> bytes:
    return bytes(decode(data, _no_object))


def _no_object(value: Any) -> Any:
    raise CannotCross("%r is not data" % (value,))


def main(source: BinaryIO, _config: Dict[str, Any]) -> None:
    serve(source, Hands(os.getcwd()).answer)
