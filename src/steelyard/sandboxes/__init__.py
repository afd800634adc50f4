"""Where commands run: a name -> its backend.

    bubblewrap   namespaces around an overlay: the default on Linux
    docker       a container of the contract's image, by Docker Engine or Podman
    local        the same init, no isolation; must be asked for

Others add theirs by the entry point group `steelyard.sandboxes`: a name and a factory without arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from steelyard.errors import OperatorFault

if TYPE_CHECKING:
    from steelyard.sandboxes.base import Backend


def _bubblewrap() -> Backend:
    from steelyard.sandboxes.bubblewrap.backend import BubblewrapBackend  # noqa: PLC0415  # loads when it is chosen

    return BubblewrapBackend()


def _docker() -> Backend:
    from steelyard.sandboxes.docker.backend import DockerBackend  # noqa: PLC0415  # loads when it is chosen

    return DockerBackend()


def _local() -> Backend:
    from steelyard.sandboxes.local import LocalBackend  # noqa: PLC0415  # loads when it is chosen

    return LocalBackend()


BACKENDS: dict[str, Callable[[], Backend]] = {"bubblewrap": _bubblewrap, "docker": _docker, "local": _local}


def backend(name: str) -> Backend:
    """The backend of that name; ours first, so that a plugin cannot stand in for bubblewrap."""
    if name in BACKENDS:
        return BACKENDS[name]()
    from importlib.metadata import entry_points  # noqa: PLC0415  # slow, and only for other people's

    for found in entry_points(group="steelyard.sandboxes", name=name):
        factory: Callable[[], Backend] = found.load()
        return factory()
    raise OperatorFault(f"there is no sandbox {name!r}; known: {', '.join(sorted(BACKENDS))}")
