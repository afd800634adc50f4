"""Listeners in a sandbox -> connections to the allowed hosts, each forwarded by the controller and reported when it ends.

    program in the sandbox -> 127.0.1.N:port, where init listens -> frames -> a `Stream` here -> host:port

The sandbox itself has no network. The names of the hosts are in its /etc/hosts; what they are really called by is
looked up here, at each connection.
"""

from __future__ import annotations

import os
import resource
import struct
import threading
import time
from dataclasses import replace

from steelyard.errors import InfraFault
from steelyard.sandboxes.base import AllowedHost, Connection, OnConnection, addresses
from steelyard.sandboxes.egress import stream as streams
from steelyard.sandboxes.init import frames
from steelyard.sandboxes.init.frames import Frame
from steelyard.sandboxes.init.wire import Wire

MOST_STREAMS = 64  # what init lets in at once
MOST_REPORTED = 1000  # connections that are reported one by one
_ANSWER_S = 10.0
_GRACE_S = 0.5


class EgressProxy:
    """Shut until `open`; may be opened again after `shut`. Any thread may do either."""

    def __init__(
        self, wire: Wire, allowed_hosts: tuple[AllowedHost, ...], on_connection: OnConnection | None
    ) -> None:
        self._wire = wire
        self._allowed_hosts = allowed_hosts
        self._on_connection = on_connection
        self._changing = threading.Lock()  # held while listeners are opened or closed
        self._open = False
        self._lock = threading.Condition()  # of what follows; notified when a stream has ended
        self._streams: dict[int, streams.Stream] = {}
        self._count = 0
        self._more: dict[
            AllowedHost, Connection
        ] = {}  # the connections to each host after the first thousand

    def open(self) -> None:
        """Every listener is open when this returns; costs nothing if they are open already."""
        if self._open or not self._allowed_hosts:
            return
        with self._changing:
            if self._open:
                return
            _take_all_descriptors()
            self._wire.on_stream = self._take
            hosts = addresses(self._allowed_hosts)
            for allowed_host in self._allowed_hosts:
                self._listen(allowed_host, hosts[allowed_host.host])
            self._open = True
            threading.Thread(target=self._attend, name="steelyard-egress", daemon=True).start()

    def shut(self) -> None:
        """No byte is forwarded after this returns, and every connection has been reported."""
        with self._changing:
            if not self._open:
                return
            self._let_end()
            self._open = False
            answer = None if self._wire.gone else self._wire.ask(b"u", b"", _ANSWER_S)
            refused = frames.unpack_counts(answer) if answer else []
            self._end_all("still open when the network was shut")
            self._tell_more(dict(zip(self._allowed_hosts, refused, strict=False)))

    def _let_end(self) -> None:
        """A client that has said all, and is gone maybe, is not cut off in the middle; but this does not wait long."""
        with self._lock:
            self._lock.wait_for(
                lambda: self._wire.gone or not any(one.is_ending for one in self._streams.values()), _GRACE_S
            )

    def _listen(self, allowed_host: AllowedHost, address: str) -> None:
        answer = self._wire.ask(b"l", frames.pack_address(address, allowed_host.port), _ANSWER_S)
        if self._wire.gone:
            return  # the command that wanted it will say so
        error = struct.unpack("<i", answer)[0] if answer else 0
        if error or not answer:
            why = os.strerror(error) if error else "no answer"
            raise InfraFault(f"{allowed_host} could not be made reachable in the sandbox: {why}")

    def _attend(self) -> None:
        """Frames are read between commands too: a background process may use an allowed host."""
        self._wire.attend(lambda: not self._open)
        if self._wire.gone:
            self._end_all("the sandbox died")

    def _take(self, frame: Frame) -> None:
        """Called by the reading thread, so it waits for nothing and sends nothing."""
        with self._lock:
            stream = self._streams.get(frame.id)
            if frame.type == b"c":
                self._begin(frame)
            elif stream is not None:
                stream.take(frame)

    def _begin(self, frame: Frame) -> None:
        number = frames.unpack_count(frame.payload)
        if (
            number >= len(self._allowed_hosts)
            or frame.id in self._streams
            or len(self._streams) >= MOST_STREAMS
        ):
            raise ValueError("a connection that init cannot have let in: the two sides are out of step")
        try:
            stream = streams.Stream(frame.id, self._allowed_hosts[number], self._wire, self._ended)
            self._streams[frame.id] = stream
            threading.Thread(target=stream.serve, name="steelyard-stream", daemon=True).start()
        except (RuntimeError, OSError) as full:  # no thread, no descriptor: its client waits until the end
            self._tell(Connection(str(self._allowed_hosts[number]), time.monotonic_ns(), 0, 0, str(full)))
            self._streams.pop(frame.id, None)

    def _ended(self, stream: streams.Stream, failed: str | None) -> None:
        with self._lock:
            self._record(stream, failed)

    def _end_all(self, why: str) -> None:
        with self._lock:
            for stream in list(self._streams.values()):
                stream.end(why)
                self._record(stream, why)

    def _record(self, stream: streams.Stream, failed: str | None) -> None:
        """Once for each stream, by the first thread that gets here."""
        if self._streams.pop(stream.number, None) is None:
            return
        one = Connection(str(stream.allowed_host), stream.opened, stream.out_bytes, stream.in_bytes, failed)
        self._lock.notify_all()
        self._count += 1
        if self._count <= MOST_REPORTED:
            self._tell(one)
        else:
            before = self._more.get(stream.allowed_host)
            self._more[stream.allowed_host] = one if before is None else _together(before, one)

    def _tell_more(self, refused: dict[AllowedHost, int]) -> None:
        with self._lock:
            for allowed_host in self._allowed_hosts:
                nothing = Connection(str(allowed_host), time.monotonic_ns(), 0, 0, count=0)
                more = replace(self._more.pop(allowed_host, nothing), refused=refused.get(allowed_host, 0))
                if more.count or more.refused:
                    self._tell(more)

    def _tell(self, connection: Connection) -> None:
        if self._on_connection is not None:
            try:
                self._on_connection(connection)
            except InfraFault:  # the log cannot be written: the next writer reports it
                self._on_connection = None


def _take_all_descriptors() -> None:
    """Each connection takes two descriptors, and one agent must not use up what the others need."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _together(before: Connection, one: Connection) -> Connection:
    return replace(
        before,
        out_bytes=before.out_bytes + one.out_bytes,
        in_bytes=before.in_bytes + one.in_bytes,
        failed=one.failed or before.failed,  # the last reason stands for all
        count=before.count + one.count,
    )
