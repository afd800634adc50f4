"""A viewer that really listens, in a thread, and what it answers to a client that sends what it likes."""

from __future__ import annotations

import asyncio
import http.client
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from steelyard.web.access import Access
from steelyard.web.records import Records
from steelyard.web.server import serve
from steelyard.web.site import Site


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


@dataclass(frozen=True)
class Viewer:
    access: Access
    site: Site

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.access.port}"

    def ask(
        self,
        path: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        body: str | None = None,
        token: bool = True,
    ) -> Answer:
        """One request; with the token in its cookie, unless it is left out."""
        connection = http.client.HTTPConnection("127.0.0.1", self.access.port, timeout=120)
        sent = {"Cookie": f"{self.access.cookie}={self.access.token}"} if token else {}
        connection.request(method, path, body=body, headers={**sent, **(headers or {})})
        answer = connection.getresponse()
        found = Answer(answer.status, dict(answer.getheaders()), answer.read())
        connection.close()
        return found

    def post(self, path: str, form: Mapping[str, str], headers: Mapping[str, str] | None = None) -> Answer:
        """A form, with the token of this server's forms unless it has another."""
        fields = {"csrf": self.access.csrf, **form}
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        return self.ask(path, method="POST", body=urlencode(fields), headers={**kind, **(headers or {})})


@contextmanager
def viewing(root: Path, records: Records | None = None, log: Path | None = None) -> Iterator[Viewer]:
    """A viewer of a folder of runs, on a port that the system chooses, until the end of the block."""
    ready = threading.Event()
    found: list[Access] = []
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()
    site = Site(root, records)
    site.records.sync()

    def on_ready(access: Access) -> None:
        found.append(access)
        ready.set()

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(serve(site, Access(0, log=log), on_ready, stop))

    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert ready.wait(300)
        yield Viewer(found[0], site)
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(300)
        site.records.close()
