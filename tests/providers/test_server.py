"""A server in a thread of this process leaves no connection behind."""

from __future__ import annotations

import gc
import socket
import warnings
from contextlib import ExitStack
from urllib.parse import urlsplit

from steelyard.providers.scripted.model import ScriptedModel, serving

ENDLESS = {"status": 200, "body": "x", "endless": True}
BODY = b'{"model": "m", "messages": [{"role": "user", "content": "a"}]}'
REQUEST = b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (len(BODY), BODY)


def test_a_connection_whose_client_reads_no_more_is_closed_with_its_server() -> None:
    with warnings.catch_warnings(record=True) as seen, socket.socket() as client:
        warnings.simplefilter("always")
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        with serving(ScriptedModel({"*": [ENDLESS]})) as url:
            client.connect(("127.0.0.1", urlsplit(url).port))
            client.sendall(REQUEST)
            assert client.recv(1) == b"H"
        gc.collect()
    assert [str(one.message) for one in seen if one.category is ResourceWarning] == []


def test_a_connection_that_is_accepted_in_the_last_moment_is_closed_with_its_server() -> None:
    with warnings.catch_warnings(record=True) as seen, ExitStack() as clients:
        warnings.simplefilter("always")
        for _ in range(20):
            with serving(ScriptedModel({"*": [ENDLESS]})) as url:
                address = "127.0.0.1", urlsplit(url).port
                for _ in range(10):
                    clients.enter_context(socket.create_connection(address, 60))
        gc.collect()
    assert [str(one.message) for one in seen if one.category is ResourceWarning] == []
