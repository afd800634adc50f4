"""The list of packages that a client is installed with belongs to the version that Steelyard installs."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.agents.clients.openhands import OpenHands
from steelyard.agents.installation import install

LISTS = sorted((Path(install.__file__).parent / "constraints").glob("*.txt"))


def test_the_list_of_openhands_is_of_the_version_that_is_installed() -> None:
    package = OpenHands.package
    (listed,) = [path for path in LISTS if path.name == f"{package.name}-{package.version}.txt"]
    pins = set(listed.read_text().split())
    assert {f"{package.name}=={package.version}", *package.extra} <= pins


@pytest.mark.parametrize("path", LISTS, ids=lambda path: str(path.name))
def test_every_package_of_a_list_is_pinned_once(path: Path) -> None:
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    names = [line.partition("==")[0] for line in lines]
    assert (len(set(names)), all("==" in line for line in lines)) == (len(lines), True)
