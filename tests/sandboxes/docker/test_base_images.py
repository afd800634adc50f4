"""Where the base image of a Dockerfile comes from."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from containers import container_engine

from steelyard.contract.catalogue import ContractFile
from steelyard.errors import InfraFault
from steelyard.sandboxes.docker.image import Recipe, build_image


class _NoRegistry(BaseHTTPRequestHandler):
    """A server that is no registry: every answer is empty and has no type."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def do_HEAD(self) -> None:
        self.do_GET()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name of the parent's parameter
        pass


@pytest.fixture
def server() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), _NoRegistry) as listening:
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        yield f"127.0.0.1:{listening.server_port}"
        listening.shutdown()
        thread.join()


def test_a_registry_that_answers_nonsense_is_not_the_contracts_fault(server: str, tmp_path: Path) -> None:
    dockerfile = tmp_path / "Dockerfile"
    dockerfile.write_text(f"FROM {server}/base:1\n")
    recipe = Recipe({"Dockerfile": ContractFile(dockerfile, "644", server)}, "none", allow_unpinned=True)
    with pytest.raises(InfraFault, match="could not be built"):
        build_image(container_engine(), recipe)
