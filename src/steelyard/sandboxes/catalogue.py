"""The name of a sandbox -> its backend.

    bubblewrap   namespaces around an overlay: the default on Linux
    docker       a container of the contract's image, by Docker Engine or Podman
    local        the same init, no isolation; must be asked for

Others add theirs by the entry point group `steelyard.sandboxes`: a name and a factory without arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import metadata
from typing import TYPE_CHECKING

from steelyard.errors import OperatorFault
from steelyard.sandboxes import local
from steelyard.sandboxes.bubblewrap import backend as bubblewrap
from steelyard.sandboxes.docker import backend as docker

if TYPE_CHECKING:
    from steelyard.sandboxes.base import Backend

BACKENDS = ("bubblewrap", "docker", "local")


def backend(name: str) -> Backend:
    """The backend of that name; ours first, so that a plugin cannot stand in for bubblewrap."""
    match name:
        case "bubblewrap":
            return bubblewrap.BubblewrapBackend()
        case "docker":
            return docker.DockerBackend()
        case "local":
            return local.LocalBackend()
    for found in metadata.entry_points(group="steelyard.sandboxes", name=name):
        factory: Callable[[], Backend] = found.load()
        return factory()
    raise OperatorFault(f"there is no sandbox {name!r}; known: {', '.join(BACKENDS)}")
